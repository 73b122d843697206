"""F0.5 of grammar correction: the scorer's published example, a slow twin, files, commands."""

import json
import re
from itertools import starmap
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import portmert
from portmert.extensions.m2.gold_edits import read_gold
from portmert.extensions.m2.m2 import M2, Edit, corrected, gold_of, gold_row
from portmert.metrics._base import Texts, Vocabulary
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.files import Lines
from portmert.tuner.cli import main
from portmert.tuner.texts.corpus import make_batch
from portmert.tuner.texts.statistics import compute_stats
from tests.oracles.m2 import max_match
from tests.support.examples import examples

# The example that the README of the M2 scorer explains.
GOLD = """S The cat sat at mat .
A 3 4|||Prep|||on|||REQUIRED|||-NONE-|||0
A 4 4|||ArtOrDet|||the||a|||REQUIRED|||-NONE-|||0

S The dog .
A 1 2|||NN|||dogs|||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||-NONE-|||-NONE-|||1

S Giant otters is an apex predator .
A 2 3|||SVA|||are|||REQUIRED|||-NONE-|||0
A 3 4|||ArtOrDet|||-NONE-|||REQUIRED|||-NONE-|||0
A 5 6|||NN|||predators|||REQUIRED|||-NONE-|||0
A 1 2|||NN|||otter|||REQUIRED|||-NONE-|||1
"""
SYSTEM = "A cat sat on the mat .\nThe dog .\nGiant otters are apex predator .\n"
SYSTEM2 = "A cat sat on mat .\nThe dog .\nGiant otters are apex predator .\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold.m2").write_text(GOLD)
    (tmp_path / "system").write_text(SYSTEM)
    (tmp_path / "system2").write_text(SYSTEM2)
    return tmp_path


@pytest.mark.parametrize(
    ("file", "precision", "recall", "score"),
    [("system", 0.8, 0.8, 0.8), ("system2", 0.75, 0.6, 0.7143)],
)
@pytest.mark.usefixtures("folder")
def test_the_published_example(file, precision, recall, score):
    for refs, metric in ((["gold.m2"], "m2"), ([], "m2:gold.m2")):
        found = portmert.score(Path(file), refs, metric=metric)
        assert found.score == pytest.approx(score, abs=5e-5)
        assert found.parts["precision"] == pytest.approx(precision)
        assert found.parts["recall"] == pytest.approx(recall)
    assert found.parts["correct"] == {"system": 4, "system2": 3}[file]


WORDS = st.lists(st.sampled_from("abc"), max_size=4)


@examples(300)
@given(WORDS, WORDS, st.data())
def test_counts_are_those_of_a_slow_twin(source, hypothesis, data):
    edits = []
    at = -1
    for first in range(len(source) + 1):
        if first <= at or not data.draw(st.booleans()):
            continue
        last = data.draw(st.integers(first, min(first + 2, len(source))))
        texts = data.draw(
            st.lists(WORDS.map(tuple).filter(lambda text: len(text) < 3), min_size=1, max_size=2)
        )
        texts = [text for text in texts if text != tuple(source[first:last])]
        if texts:
            edits.append((first, last, texts))
            at = max(first, last)
    row = row_of(source, [(a, b, [" ".join(text) for text in texts]) for a, b, texts in edits])
    length, parsed = gold_of(row.split())
    assert length == len(source)
    assert len(parsed) == sum(len(texts) for _, _, texts in edits)
    assert counts(row, hypothesis) == list(max_match(source, hypothesis, edits))


def row_of(source, edits):
    return gold_row(source, list(starmap(Edit, edits)))


def counts(row, hypothesis, *others):
    vocabulary = portmert.Vocabulary()
    batch = portmert.Batch(
        hypotheses=portmert.Texts.from_lines([" ".join(hypothesis)], vocabulary),
        offsets=np.array([0, 1]),
        references=portmert.Texts.from_lines([row, *others], vocabulary),
        reference_offsets=np.array([0, 1 + len(others)]),
    )
    return M2().stats(batch)[0].tolist()


def test_of_equal_insertions_at_a_place_the_first_is_the_gold_one_as_in_the_scorer():
    # m2scorer: (b -> nothing), (nothing -> a), (nothing -> a); with the second it were 2 edits.
    assert counts(row_of(["b"], [(1, 1, ["a"])]), ["a", "a"]) == [1, 3, 1]
    # So it is with two corrections of one insertion, `a||b`: m2scorer takes a, with b it were 2.
    assert counts(row_of(["a", "a", "c"], [(3, 3, ["a", "b"])]), ["c", "a", "b"]) == [1, 3, 1]


@pytest.mark.parametrize(
    ("hypothesis", "gold", "expected"),
    [
        ("a b", ["b"], [1, 2, 1]),  # found from the right, where b joins nothing
        ("a", ["a", "a"], [2, 1, 2]),  # one edit is both gold ones
        ("b a a", ["a", "a"], [2, 3, 2]),  # one from the left, one from the right
    ],
)
def test_gold_insertions_at_one_place(hypothesis, gold, expected):
    words = hypothesis.split()
    assert counts(row_of([], [(0, 0, [text]) for text in gold]), words) == expected
    assert [*max_match([], words, [(0, 0, [(text,)]) for text in gold])] == expected


@pytest.mark.parametrize(
    ("source", "hypothesis", "gold", "expected"),
    [
        # The scorer has edits in its list twice or more: if a step is in both lattices, or if
        # fewer steps were found for an edit later. Each costs 0.001, in floating point.
        ("c a", "a b a c", [], [0, 2, 0]),
        ("c c b", "b c b c", [(1, 1, ["a c"]), (2, 3, ["c"])], [0, 2, 2]),
        ("a c b", "b c a", [(2, 3, [""])], [1, 3, 1]),
        ("c c c b", "c b b b c", [], [0, 2, 0]),
        ("a a b a b a b", "a a b a c a b a", [(1, 3, [""]), (4, 5, ["a"])], [0, 2, 2]),
        (
            "b a b b",
            "b b b b",
            [(0, 1, [""]), (2, 2, ["c"]), (3, 3, ["b", "c"]), (3, 3, ["b"]), (4, 4, ["b"])],
            [1, 2, 5],
        ),
        # Of paths that are equal to the last digit, the one that its list has first is taken.
        (
            "c a b a b b c",
            "a c a a b c c b",
            [(1, 2, ["c"]), (4, 4, ["a c"]), (4, 4, ["b"])],
            [0, 3, 3],
        ),
        (
            "a a a a a b",
            "a b a b a a",
            [(1, 1, ["a", "b"]), (2, 2, ["a", "b"]), (2, 2, ["b"]), (5, 6, ["a", "b a"])],
            [3, 4, 4],
        ),
    ],
)
def test_counts_that_m2scorer_printed(source, hypothesis, gold, expected):
    assert counts(row_of(source.split(), gold), hypothesis.split()) == expected
    edits = [(a, b, [tuple(text.split()) for text in texts]) for a, b, texts in gold]
    assert [*max_match(source.split(), hypothesis.split(), edits)] == expected


def test_of_several_annotators_the_one_that_adds_most_counts():
    words = list("abcdefgh")
    upper = [word.upper() for word in words]
    every = row_of(words, [(n, n + 1, [word]) for n, word in enumerate(upper)])
    first, two = row_of(words, [(0, 1, ["A"])]), [*upper[:2], *words[2:]]
    # 1.25 for each edit that is right, less 2/3 of edits + gold edits / 4: 0.17 and -0.25.
    assert counts(every, two, first) == counts(first, two, every) == [2, 2, 8]
    assert counts(first, [upper[0], *words[1:]], every) == [1, 1, 1]
    metric = M2()
    assert metric.score(np.array([[0.0, 0, 0], [0, 1, 0], [0, 0, 2], [3, 4, 8]])).tolist() == [
        *(1, 0, 0),
        pytest.approx(1.25 * 3 / (4 + 0.25 * 8)),
    ]
    assert metric.parts(np.zeros(3))["precision"] == 1
    assert M2(beta=1).score(np.array([2.0, 4, 4])) == 0.5
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        M2(beta=-1)


def test_figures_of_the_scorer_take_the_annotator_that_makes_the_sum_highest(folder):
    # The first sentence has a wrong edit for both annotators. In the second, one of two edits is
    # the only gold edit of annotator 0, both are among the nine of annotator 1. At a score of 2/3
    # the first adds more to the text; the sum of both sentences is higher under the second.
    edit = "A {0} {1}|||T|||{2}|||REQUIRED|||-NONE-|||{3}"
    lines = [
        "S a b",
        edit.format(0, 1, "x", 0),
        edit.format(0, 1, "x", 1),
        "",
        "S c d e f g h i j k",
    ]
    lines.append(edit.format(0, 1, "C", 0))
    lines += [edit.format(k, k + 1, word, 1) for k, word in enumerate("CDEFGHIJK")]
    (folder / "two.m2").write_text("\n".join(lines) + "\n")
    (folder / "out").write_text("y b\nC D e f g h i j k\n")
    found, near = (
        portmert.score(Path("out"), ["two.m2"], metric=metric) for metric in ("m2", "m2:level=0.5")
    )
    # Sums of correct, edits, gold edits: 1, 3, 2 or 2, 3, 10.
    assert found.score == pytest.approx(1.25 / (3 + 0.25 * 2))
    assert found.parts["scorer"] == pytest.approx(2.5 / (3 + 0.25 * 10))
    assert found.parts["scorer_precision"] == pytest.approx(2 / 3)
    assert found.parts["scorer_recall"] == pytest.approx(2 / 10)
    assert near.score == pytest.approx(found.parts["scorer"])
    assert near.signature.startswith("m2:level=0.5|")
    assert M2(gold=Path("x.m2"), beta=1.0).signature == "m2:beta=1.0"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no sentence; expected an M2 file"),
        ("The cat\n", "x.m2:1: 'The cat', expected `S` and a sentence, then lines `A` of its"),
        ("S a b\nS c\n", "x.m2:2: 'S c', expected `S` and a sentence"),
        ("A 0 1|||T|||b|||R|||-|||0\n", "x.m2:1: 'A 0 1|||T|||b|||R|||-|||0', expected `S`"),
        ("S a b\nA 0 1|||T|||b\n", "x.m2:2: 'A 0 1|||T|||b' is no edit, expected `A 3 4|||type"),
        ("S a b\nA 1 3|||T|||b|||R|||-|||0\n", "x.m2:2: positions 1 to 3, the sentence has 2 wo"),
        (
            "S a b\nA 0 1|||T|||c|||R|||-|||0\nA 0 1|||U|||d||c|||R|||-|||0\n",
            "x.m2:3: 'c' stands twice at positions 0 to 1 for one annotator, and would count tw",
        ),
    ],
)
def test_wrong_files_are_refused(folder, text, message):
    (folder / "x.m2").write_text(text)
    with pytest.raises(InputError) as caught:
        portmert.score(Path("system"), ["x.m2"], metric="m2")
    assert message in str(caught.value)


EDITS = st.tuples(st.integers(0, 2), st.integers(0, 2), WORDS.map(tuple), st.integers(0, 1))


@examples(100)
@given(st.lists(EDITS, max_size=4), st.lists(st.integers(0, 3), max_size=3), WORDS)
def test_no_damage_to_gold_edits_gives_a_share_above_1(edits, twice, hypothesis):
    """Edits that are repeated, overlap, change nothing or are out of order."""
    damaged = edits + [edits[k] for k in twice if k < len(edits)]
    lines = [
        f"A {first} {last}|||T|||{' '.join(words) or '-NONE-'}|||R|||-|||{annotator}"
        for first, last, words, annotator in damaged
    ]
    gold = Lines("x.m2", ["S a b c", *lines])
    try:
        references = read_gold(gold, Vocabulary())
    except InputError as error:
        assert re.search("stands twice|the sentence has 3 words", str(error))  # noqa: PT017
        return
    assert len(set(damaged)) == len(damaged)
    texts = Texts.from_lines([" ".join(hypothesis)], references.texts.vocabulary)
    stats = compute_stats(M2(), make_batch(texts, np.array([0, 1]), references))
    shares = M2().parts(stats[0])
    assert 0 <= shares["precision"] <= 1
    assert 0 <= shares["recall"] <= 1


@pytest.mark.usefixtures("folder")
def test_gold_edits_and_texts_are_not_taken_for_each_other():
    with pytest.raises(InputError, match="bleu compares with texts, the references are gold edi"):
        portmert.score(Path("system"), ["gold.m2"], metric="bleu")
    with pytest.raises(InputError, match="m2 compares with gold edits: give an M2 file in place"):
        portmert.score(Path("system"), ["system2"], metric="m2")
    with pytest.raises(InputError, match="an M2 file has the edits of all annotators; it goes"):
        portmert.score(Path("system"), ["gold.m2", "system2"], metric="m2")
    with pytest.raises(InputError, match="1 line, but gold"):
        portmert.score(["a"], ["gold.m2"], metric="m2")


def test_gold_edits_are_shown_as_corrected_sources():
    row = row_of(["The", "cat", "sat", "at", "mat", "."], [(3, 4, ["on"]), (4, 4, ["the", "a"])])
    assert corrected(row.split()) == "The cat sat on the mat ."
    assert corrected(row_of(["a"], []).split()) == "a"
    assert corrected(row_of(["a", "|||", "b"], [(2, 3, ["c"])]).split()) == "a ||| c"
    assert corrected(row_of(["a", "b"], [(0, 1, [""]), (2, 2, ["c"])]).split()) == "b c"
    assert corrected(row_of(["a", "~"], [(0, 1, ["é ~"]), (2, 2, ["ß"])]).split()) == "é ~ ~ ß"


def lists(folder):
    rows = []
    for segment, hypotheses in enumerate(
        zip(SYSTEM2.splitlines(), SYSTEM.splitlines(), strict=True)
    ):
        source = ["The cat sat at mat .", "The dog .", "Giant otters is an apex predator ."]
        texts = dict.fromkeys([source[segment], *hypotheses])
        rows += [
            f"{segment} ||| {text} ||| F0= {rank} F1= {rank * rank % 3} ||| 0\n"
            for rank, text in enumerate(texts)
        ]
    (folder / "list").write_text("".join(rows))


def test_lists_are_tuned_on_it_from_the_command_line(folder):
    lists(folder)

    def run(*words):
        result = CliRunner().invoke(main, list(map(str, words)))
        assert result.exit_code == 0, result.stderr
        return result.stdout

    search = ("--nbest", "list", "--optimizer", "mert", "--restarts", 1, "--threads", 1)
    for gold in (("--metric", "m2", "--ref", "gold.m2"), ("--metric", "m2:gold.m2")):
        stdout = run("optimize", *gold, *search, "--out", "w.json")
        assert "-> 80.00\nstart weights 80.00, oracle 80.00; 6 hypotheses" in stdout
    output = run("rerank", "--nbest", "list", "--weights", "w.json", "--out", "out")
    assert Path("out").read_text() == SYSTEM, output
    found = run("score", "--metric", "m2:gold.m2", "--hyp", "out")
    assert found.startswith("metric")
    assert " 80.00" in found
    call = ("crossval", "--metric", "m2:gold.m2", "--nbest", "list", "--splits", 1)
    run(*call, "--optimizer", "mert:searches_per_feature=10")
    tuned = ("rerank-tune", *search, "--replicas", 2, "--test-nbest", "list")
    for name, gold in (
        ("a", ("--metric", "m2:gold.m2", "--test-ref", "gold.m2")),
        ("b", ("--metric", "m2", "--ref", "gold.m2", "--test-ref", "gold.m2")),
    ):
        run(*tuned, *gold, "--out-dir", name, "--json", f"{name}.json")
        scores = json.loads(Path(f"{name}.json").read_text())["comparison"]["scores"]
        assert {one["system"]: one["score"] for one in scores}["averaged"] == pytest.approx(0.8)
    refused = CliRunner().invoke(main, ["score", "--metric", "m2", "--hyp", "out"])
    assert refused.exit_code == 2
    assert "Missing option '--ref'" in refused.stderr
