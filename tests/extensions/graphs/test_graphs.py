"""Search graphs: read, and asked for their best strings; against others' expectations too."""

# ruff: noqa: E501  a case a line

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import portmert
from portmert.extensions.graphs import collection
from portmert.extensions.graphs._best_string_kernels import best_strings
from portmert.extensions.graphs.graph_readers import _base
from portmert.extensions.graphs.model import Builder, FeatureColumns, GraphError
from portmert.metrics._base import Vocabulary
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.warn import collected_warnings
from portmert.tuner.components import registry
from portmert.tuner.nbest.model import model_scores
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.weights.feature_weights import FeatureWeights
from tests.oracles.graphs import strings
from tests.support.places import ROOT

DATA = ROOT / "tests" / "data" / "graphs"


def read(path, form="auto"):
    return collection.read_graphs([path], registry.graph_reader(form))


def texts(nbest, segment=0):
    words = nbest.texts.vocabulary.words
    rows = range(*nbest.offsets[segment : segment + 2])
    return [" ".join(words[token] for token in nbest.texts.tokens.row(row)) for row in rows]


def best(path, size=100, **weights):
    return read(path).nbest([FeatureWeights.of(weights)], [size])


# The best strings of small graphs are those of enumeration.


@st.composite
def graphs(draw):
    """Draw arcs of up to two tails, in no order, some of them in no whole derivation."""
    nodes = draw(st.integers(1, 5))
    arcs = []
    for head in range(nodes):
        for _ in range(draw(st.integers(head == 0, 3))):
            tails = draw(st.lists(st.integers(0, max(0, head - 1)), max_size=2 if head else 0))
            words = draw(st.lists(st.sampled_from("ab"), max_size=2))
            body = draw(st.permutations([*words, *(-1 - t for t in range(len(tails)))]))
            features = draw(st.dictionaries(st.sampled_from("fg"), st.integers(-3, 3)))
            arcs.append((head, tails, body, features))
    return draw(st.permutations(arcs)), nodes - 1


@given(graphs(), st.integers(-2, 2), st.integers(1, 40))
def test_best_strings_equal_enumeration(graph, weight, size):
    arcs, goal = graph
    columns = FeatureColumns(Vocabulary())
    builder = Builder(columns)
    places = {name: columns.columns_of(name)[0] for name in "fg"}
    for head, tails, body, features in arcs:
        builder.arc(head, tails, body, [(places[name], v) for name, v in features.items()])
    weights = {"f": 1.0, "g": float(weight)}
    expected = strings(arcs, goal, weights)
    if not expected:
        with pytest.raises(GraphError, match="no path"):
            builder.graph(goal)
        return
    built = builder.graph(goal)
    found = best_strings(built, np.array([1.0, float(weight)]), size)
    words = columns.vocabulary.words
    rows = [
        tuple(words[token] for token in found.tokens[begin:end])
        for begin, end in zip(found.token_offsets[:-1], found.token_offsets[1:], strict=True)
    ]
    assert len(set(rows)) == len(rows) == min(size, len(expected))
    np.testing.assert_allclose(found.scores, [score for _, score in expected[:size]])
    np.testing.assert_allclose(found.features @ [1.0, weight], found.scores, atol=1e-12)
    assert all(dict(expected)[row] == score for row, score in zip(rows, found.scores, strict=True))


def test_a_cycle_is_refused():
    builder = Builder(FeatureColumns(Vocabulary()))
    for tail, head in ((0, 1), (1, 2), (2, 1), (2, 3)):
        builder.step(tail, head, "a", {})
    with pytest.raises(GraphError, match="node 1 is behind itself"):
        builder.graph(3, start=0)


# Others' expectations.


def test_cdec_hg_test_controlled():
    nbest = best(DATA / "cdec.tiny.json", f1=0.4, f2=0.8)
    assert texts(nbest)[0] == "X <s>"
    assert nbest.model_scores[0] == pytest.approx(-80.839996, rel=1e-6)


def test_cdec_hg_test_union():
    nbest = best(DATA / "cdec.tiny.json", f1=0.4, f2=-1.0)
    assert (texts(nbest)[0], nbest.model_scores[0]) == ("Z <s>", pytest.approx(98.82))


@pytest.mark.parametrize(("name", "count"), [("hg", 4), ("hg_int", 3)])
def test_cdec_hg_test_k_best(name, count):
    """cdec counts 4 derivations in both; two of hg_int have the string `a b`."""
    assert len(texts(best(DATA / f"cdec.{name}.json", f1=0.4, f2=0.8))) == count


def test_cdec_hg_test_inside_score():
    nbest = best(DATA / "cdec.tiny_lattice.json", f1=1.0)
    assert nbest.model_scores[0] == pytest.approx(-0.3)
    assert np.exp(nbest.model_scores).sum() == pytest.approx(1.7934048)  # by hand, says cdec


def test_cdec_hg_test_plf(tmp_path):
    line = "((('haupt',-2.06655,1),('hauptgrund',-5.71033,2),),(('grund',-1.78709,1),),(('für\\'',0.1,1),),)"
    (tmp_path / "plf").write_text(line)
    nbest = best(tmp_path / "plf", LatticeCost=1.0)
    assert texts(nbest) == ["haupt grund für'", "hauptgrund für'"]
    np.testing.assert_allclose(nbest.model_scores, [-2.06655 - 1.78709 + 0.1, -5.71033 + 0.1])


def test_travatar_test_lattice_hull():
    columns = FeatureColumns(Vocabulary())
    builder = Builder(columns)
    valid, slope = columns.columns_of("valid")[0], columns.columns_of("slope")[0]
    builder.arc(0, (), ["c"], [(valid, 1), (slope, -1)])
    builder.arc(0, (), ["d"], [(valid, 1), (slope, 1)])
    builder.arc(1, (0,), [-1, "a"], [(valid, 1), (slope, -1)])
    builder.arc(1, (0,), ["b", -1], [(valid, 3), (slope, 1)])
    graph, words = builder.graph(1), columns.vocabulary.words
    for step, winner in ((-2.0, "c a"), (-0.5, "b c"), (0.5, "b d")):
        found = best_strings(graph, np.array([1.0, step]), 1)
        assert " ".join(words[token] for token in found.tokens) == winner


def test_moses_hgdecode_with_sparse_features():
    weights = {"UnknownWordPenalty0": [0.0]}
    for name in ("dense", "sparse"):
        for line in (DATA / f"hgdecode-sparse.{name}").read_text().splitlines():
            feature, value = line.split()
            feature = feature.removesuffix("=") if name == "dense" else feature
            weights.setdefault(feature, []).append(float(value))
    nbest = best(DATA / "hgdecode-sparse.gz", 5, **weights)
    first, *rows = (DATA / "hgdecode-sparse.truth").read_text().splitlines()
    assert texts(nbest)[0] == first.removeprefix("STDOUT_1=<s> ").removesuffix(" </s> ")
    values, column = {}, 0
    for name, size in nbest.feature_names:
        for k in range(size):
            values[name if size == 1 else f"{name}_{k + 1}"] = nbest.features[0, column + k]
        column += size
    sparse = nbest.sparse
    for entry in range(sparse.offsets[1]):
        values[sparse.names[sparse.columns[entry]]] = sparse.values[entry]
    expected = dict(
        row.partition("=")[2].rsplit("=", 1)
        for row in rows
        if "_" in row and "WEIGHTS" not in row and "WALL" not in row
    )
    assert {name for name, value in values.items() if value} == set(expected)
    for name, value in expected.items():
        assert values[name] == pytest.approx(float(value), rel=1e-5)


def test_moses_lists_of_distinct_strings_are_those_of_its_graph():
    config = ROOT / "tests" / "data" / "graphs" / "moses.ini"
    graphs = read(DATA / "moses.osgx", f"osgx:config={config}")
    weights = FeatureWeights.of(
        {
            "UnknownWordPenalty0": 1.0, "WordPenalty0": -1.0, "PhrasePenalty0": 0.2,
            "TranslationModel0": [0.2] * 4, "LexicalReordering0": [0.3] * 6,
            "Distortion0": 0.3, "LM0": 0.5,
        }
    )  # fmt: skip
    nbest, moses = graphs.nbest([weights], [100]), read_nbest([DATA / "moses.nbest"], Vocabulary())
    np.testing.assert_allclose(nbest.model_scores, model_scores(nbest, weights), rtol=1e-8)
    for segment in range(2):
        assert sorted(texts(nbest, segment)) == sorted(texts(moses, segment))
        assert texts(nbest, segment)[0] == texts(moses, segment)[0]
    scores = [sorted(each.model_scores) for each in (nbest, moses)]
    np.testing.assert_allclose(*scores, atol=0.01)  # three decimals of each arc
    links = nbest.texts.links.row(0).tolist()
    assert [0, 0] in links
    assert max(target for _, target in links) < nbest.texts.tokens.lengths[0]


def test_a_moses_ini_as_weights_names_the_features_of_its_graphs():
    graphs = ROOT / "tests" / "data" / "graphs"
    chosen = [
        portmert.rerank(
            portmert.Lists.from_graphs(
                [graphs / "moses.osgx"], weights=graphs / "moses.ini", graph_format=name
            ),
            graphs / "moses.ini",
        ).lines
        for name in ("auto", "osgx", f"osgx:config={graphs / 'moses.ini'}")
    ]
    assert chosen[0] == chosen[1] == chosen[2]
    with collected_warnings() as told:
        read(graphs / "moses.osgx")
    assert "the graphs do not name their features; --graph-format osgx:config=moses.ini" in str(
        told
    )


def test_pocketsphinx_lattice_of_real_audio():
    nbest = best(DATA / "pocketsphinx.slf.gz", 50, acoustic=1.0, length=-5.0)
    assert len(texts(nbest)) == 50
    assert all("<" not in text and "!" not in text for text in texts(nbest))
    lengths = nbest.texts.tokens.lengths
    assert (nbest.features[:, 0] == lengths).all()


# Formats.

SLF = """VERSION=1.1
UTTERANCE=u1
base=10 start=0 end=3
N=4 L=4
I=0
I=1 W=a
I=2 W="b"
I=3 W=!NULL
J=0 S=0 E=1 a=-1 l=-2
J=1 S=0 E=2 a=-3 l=0
J=2 S=1 E=3
J=3 S=2 E=3 a=-1
"""
FST = "0 1 a 0.5\n0 1 <eps> 1\n1 2 b\n2 0.25\n"
KALDI = (
    "utt-1\n0 1 a 0.5,10,3_4\n0 1 <eps> 1,2,\n1 2 b 0,0,7\n2 0.25,1,\n\nutt-2\n0 1 c 1,1,\n1\n\n"
)
HYPERGRAPH = """# target ||| features ||| source-covered
3 4
# node 0
1
<s> |||  ||| 0
# node 1
2
[0] a b ||| TM_1=1 TM_2=2 LM0=-1.5 x_y=1 ||| 1
[0] c ||| TM_1=0 TM_2=1 LM0=-1 ||| 1
# node 2
1
[1] </s> |||  ||| 2
"""
OSGX = """0 hyp=0 stack=0 forward=1 fscore=-1.0
0 hyp=1 stack=1 back=0 score=-1 transition=-1 forward=2 fscore=-1 covered=0-0 scores="core=(0.500,-1.000) x_y=2 " out="s|a"
0 hyp=2 stack=2 back=1 score=-1 transition=-1 forward=-1 fscore=-1 covered=1-2 scores="core=(0.000,-1.000) " out="t u|b c"
0 hyp=3 stack=2 back=1 score=-2 transition=-1 recombined=2 forward=-1 fscore=-1 covered=1-2 scores="core=(0.000,-3.000) " out="t u|d"
"""
PLF = "((('a',1,1),('b',{'f':2.0},2),),(('*EPS*',0.5,1),),)\n"


@pytest.mark.parametrize(
    ("text", "weights", "title", "expected"),
    [
        (SLF, {"acoustic": 1, "language": 1, "length": 0}, "SLF", {"a": -3 * np.log(10), "b": -4 * np.log(10)}),
        (FST, {"-cost": 1, "length": 0}, "OpenFst text", {"a b": -0.75, "b": -1.25}),
        (KALDI.partition("\n\n")[0] + "\n", {"-graph": 1, "-acoustic": 0.1, "length": 0}, "Kaldi lattice", {"a b": -1.85, "b": -1.55}),
        (HYPERGRAPH, {"LM0": 1, "TM": [1, 0.1], "x_y": 10}, "Moses' hypergraph", {"a b": 9.7, "c": -0.9}),
        (OSGX, {"core": [1, 0.5], "x_y": 1}, "Moses' extended search graph", {"a b c": 1.5, "a d": 0.5}),
        (PLF, {"LatticeCost": 1, "f": 1}, "PLF", {"b": 2, "a": 1.5}),
    ],
)  # fmt: skip
def test_formats_are_recognised_and_read(tmp_path, text, weights, title, expected, caplog):
    caplog.set_level("INFO", "portmert")
    (tmp_path / "graph").write_text(text)
    graphs = read(tmp_path / "graph")
    assert f"{tmp_path}/graph: {title}, 1 graph, " in caplog.text
    nbest = graphs.nbest([FeatureWeights.of(weights)], [10])
    scores = dict(zip(texts(nbest), nbest.model_scores, strict=True))
    assert scores == pytest.approx(expected)
    np.testing.assert_allclose(
        nbest.model_scores, model_scores(nbest, FeatureWeights.of(weights)), rtol=1e-8
    )


def test_scores_that_only_some_links_have_are_told(tmp_path, caplog):
    (tmp_path / "graph").write_text(SLF.replace(" l=0", ""))
    read(tmp_path / "graph")
    assert "1 of 2 links with words have no language score; it counts as 0" in caplog.text


def test_links_are_those_of_phrases(tmp_path):
    (tmp_path / "graph").write_text(OSGX)
    nbest = best(tmp_path / "graph", core=[1.0, 1.0])
    assert nbest.texts.links.row(0).tolist() == [[0, 0], [1, 1], [1, 2], [2, 1], [2, 2]]


def test_words_of_numbers_come_from_symbols(tmp_path):
    (tmp_path / "words.txt").write_text("<eps> 0\nhello 7\n")
    (tmp_path / "graph").write_text("0 1 7 0.5\n1 2 0\n2\n")
    graphs = read(tmp_path / "graph", f"openfst:symbols={tmp_path / 'words.txt'}")
    assert texts(graphs.nbest([FeatureWeights.of({"-cost": 1, "length": 0})], [5])) == ["hello"]


def test_folder_archive_and_file_have_the_same_segments(tmp_path):
    folder = tmp_path / "lattices"
    folder.mkdir()
    for name in ("utt-10", "utt-2"):
        with gzip.open(folder / f"{name}.slf.gz", "wt") as out:
            out.write(SLF)
    (tmp_path / "archive").write_text(f"utt-2\n{SLF}\nutt-10\n{SLF}\n")
    one, other = read(folder), read(tmp_path / "archive")
    assert one.segments == other.segments == ("utt-2", "utt-10")
    weights = FeatureWeights.of({"acoustic": 1, "language": 1, "length": 0})
    assert one.nbest([weights], [5]).ids == ("utt-2", "utt-10")


# Bad input: one line with file, segment and line.

CDEC = json.dumps({"rules": [1, "[X] ||| a ||| a"], "features": ["f"]})[:-1]
BAD = {
    "an empty file": ("", "graph:1: empty, expected a search graph"),
    "a list": ("0 ||| a b ||| LM0= 1 ||| 2\n", "is an n-best list; give it as --nbest"),
    "no graph": ("hello world\n", "fits no format; formats of graphs: cdec-json, kaldi-lattice"),
    "no end": (FST.replace("2 0.25\n", ""), "graph:1: segment 0: OpenFst text: no final state; is the file cut off?"),
    "a dead end": (FST.replace("1 2 b\n", "1 3 b\n"), "graph:1: segment 0: OpenFst text: no path leads"),
    "a cycle": (FST.replace("1 2 b\n", "1 0 b\n1 2 b\n"), "OpenFst text: node 0 is behind itself"),
    "an arc to nowhere": (SLF.replace("E=3 a", "E=9 a"), "graph:12: segment u1: node 9 has no line I=9"),
    "a lattice cut off": (SLF[:-20], "3 links, the header says 4; is the file cut off?"),
    "NaN": (SLF.replace("l=0", "l=nan"), "graph:10: segment u1: l is nan; values must be finite"),
    "no number": (FST.replace("0 1 <eps> 1", "0 1 <eps> x 1y"), "graph:2: segment 0: '1y' for a cost is not a number"),
    "one cost of two": (KALDI.replace("<eps> 1,2,", "<eps> <eps> 12"), "graph:3: segment utt-1: '12' has one cost"),
    "Moses' SLF": ("VERSION=1.1\nx1scale=1\nN=0 L=0\n", "Moses writes on a link what the whole hypothesis has"),
    "features that change": (OSGX.replace("(0.000,-3.000)", "(0.000)"), "graph:4: segment 0: 1 feature value, line 2 has 2"),
    "NaN in Moses": (OSGX.replace("-3.000", "nan"), "graph:4: segment 0: a feature is nan"),
    "another segment": (OSGX.replace("0 hyp=3", "1 hyp=3"), "graph:4: segment 0: `1 hyp=3"),
    "a line cut off": (OSGX[:-30], "graph:4: segment 0: `0 hyp=3"),
    "no features": (OSGX.replace("core", "more"), "graph:1: no features; write the graph with"),
    "a node that is none": (HYPERGRAPH.replace("[1]", "[5]"), "graph:12: segment 0: [5] is no node, there are 3"),
    "a hypergraph cut off": (HYPERGRAPH[:-10], "1 field separated by |||, expected 3"),
    "a file with fewer arcs": (HYPERGRAPH.replace("3 4", "3 5"), "4 arcs, the header says 5; is the file cut off?"),
    "PLF that is none": ("((('a',1,1),\n", "graph:1: segment 0: `((('a',1,1),` is no lattice"),
    "PLF to nowhere": ("((('a',1,3),),)\n", "('a', 1, 3) leads to node 3 of 1"),
    "JSON cut off": (CDEC, "cdec JSON: Expecting ',' delimiter"),
    "a tail ahead": (CDEC + ', "edges": [{"tail": [4], "rule": 1}], "node": {"in_edges": [0]}}', "leads from node 4, not before it"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_told_in_one_line(tmp_path, case):
    text, message = BAD[case]
    (tmp_path / "graph").write_text(text)
    with pytest.raises(InputError) as error:
        read(tmp_path / "graph")
    assert message in str(error.value)
    assert str(error.value).startswith(f"{tmp_path}/graph:")
    assert "\n" not in str(error.value)


def test_a_truncated_gz_and_a_huge_graph_are_refused(tmp_path, monkeypatch):
    (tmp_path / "graph.gz").write_bytes(gzip.compress(SLF.encode())[:-20])
    with pytest.raises(InputError, match="cut off"):
        read(tmp_path / "graph.gz")
    monkeypatch.setattr(_base, "MOST_ARCS", 3)
    (tmp_path / "graph").write_text(SLF)
    with pytest.raises(InputError, match="at most 3 fit into memory; prune it"):
        read(tmp_path / "graph")


def test_a_feature_without_a_weight_is_told(tmp_path):
    (tmp_path / "graph").write_text(SLF)
    with pytest.raises(InputError, match="no weight for feature language"):
        best(tmp_path / "graph", acoustic=1.0, length=0.0)
