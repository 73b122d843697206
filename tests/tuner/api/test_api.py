"""The Python API takes texts, lists and arrays as callers have them, and says what is wrong."""

import json

import numpy as np
import pytest

import portmert
from tests.support.cli import run

LISTS = """\
0 ||| a b c d ||| LM= -1 TM= -2 ||| -3
0 ||| a b x d ||| LM= -3 TM= -1 ||| -4
1 ||| e x g h ||| LM= -1 TM= -3 ||| -4
1 ||| e f g h ||| LM= -2 TM= -1 ||| -3
"""
REFS = ["a b c d", "e f g h"]


@pytest.fixture
def lists(tmp_path):
    path = tmp_path / "lists"
    path.write_text(LISTS)
    return path


@pytest.fixture
def ref(tmp_path):
    path = tmp_path / "ref"
    path.write_text("\n".join(REFS) + "\n")
    return path


def test_all_names_are_there():
    for name in portmert.__all__:
        assert getattr(portmert, name) is not None
    assert set(portmert.__all__) <= set(dir(portmert))
    with pytest.raises(AttributeError, match="attribute bleu"):
        _ = portmert.bleu


def test_lines_and_files_score_alike(ref):
    from_file = portmert.score(ref, ref, metric="bleu")
    from_lines = portmert.score(REFS, [REFS], metric="bleu")
    assert from_file.score == from_lines.score == 1.0
    assert from_file.signature == from_lines.signature


def test_faults_in_lines_name_the_text():
    with pytest.raises(portmert.PortmertError, match="the hypotheses: 1 line, but references 1"):
        portmert.score(["a"], [["a", "b"]])
    with pytest.raises(portmert.PortmertError, match="references 1:1: expected a line of text"):
        portmert.score(["a"], [["a\nb"]])


def test_links_are_taken_as_lines():
    # The words are swapped against the reference: no pair of words stays in order.
    found = portmert.score(
        ["b a"],
        [["a b"]],
        metric="rho",
        source=["x y"],
        hyp_links=["0-1 1-0"],
        ref_links=[["0-0 1-1"]],
    )
    assert found.score == 0.0


def read(paths, **options):
    return portmert.Lists.read(paths, **options)


def test_lists_read_before_and_paths_give_the_same_weights(lists, ref):
    given = {"optimizer": "mert", "threads": 1}
    of_files = portmert.optimize(read(lists, refs=ref), "bleu", **given)
    of_lines = portmert.optimize(read([lists], refs=[REFS]), "bleu", **given)
    assert of_lines.weights == of_files.weights
    # TM must weigh more than LM does for the second segment, but not for the first.
    assert of_files.score == pytest.approx(1.0)
    assert repr(read(lists, refs=ref)) == (
        "Lists(segments=2, hypotheses=4, features=LM TM, references=1)"
    )


def test_the_command_writes_what_the_function_returns(lists, ref, tmp_path):
    out = tmp_path / "weights.json"
    options = ["--metric", "ter", "--nbest", lists, "--ref", ref, "--out", out]
    run("optimize", *options)
    found = portmert.optimize(read([lists], refs=[ref]), "ter")
    assert out.read_text() == found.to_json()
    assert json.loads(out.read_text())["score"] == found.score
    printed = run("rerank", "--nbest", lists, "--weights", out).stdout
    assert printed.splitlines() == list(portmert.rerank(lists, found).lines)
    assert list(portmert.rerank(lists, out).rows) == [0, 3]


def test_arrays_with_statistics_are_searched_as_lists(lists, ref):
    nbest = read(lists).nbest
    metric = portmert.metric("ter")
    # TER counts edits and reference words: one substitution each in the second and third.
    stats = np.zeros((4, len(metric.stat_names)))
    stats[:, metric.stat_names.index("ref_len")] = 4
    stats[[1, 2], metric.stat_names.index("edits")] = 1
    names = [name for name, _ in nbest.feature_names]
    arrays = portmert.Lists.from_arrays(
        nbest.features, nbest.offsets, stats=stats, feature_names=names
    )
    found = portmert.optimize(arrays, metric, optimizer="mert")
    of_lists = portmert.optimize(read(lists, refs=ref), "ter", optimizer="mert")
    assert found.score == of_lists.score == 0.0
    best = [int(np.argmax((nbest.features @ found.vector)[a:b])) for a, b in ((0, 2), (2, 4))]
    assert best == [0, 1]
    assert list(portmert.rerank(arrays, found).rows) == [0, 3]


def test_ragged_arrays_with_scores():
    # Segment 0 has two hypotheses, segment 1 one: the mean is (0.5 + 0.3) / 2 at best.
    arrays = portmert.Lists.from_arrays(
        np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), [0, 2, 3], scores=[0.1, 0.5, 0.3]
    )
    found = portmert.optimize(arrays, weights={"f0": 0.9, "f1": 0.1}, optimizer="mert")
    assert (found.start_score, found.score) == (pytest.approx(0.2), pytest.approx(0.4))
    assert found.weights.values["f1"] > found.weights.values["f0"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scores": [[1.0]]}, r"scores of shape \(1, 1\); the features want \(1, 2\)"),
        ({"scores": [[1.0], [2.0]]}, r"want \(1, 2\), one score for each .*; it is transposed"),
        ({"scores": [1.0, 2.0]}, r"want \(1, 2\), one score .*; it is flattened"),
        ({"stats": [[1.0, 1.0], [1.0, 1.0]]}, r"stats of shape \(2,\).*; it is flattened"),
        ({"scores": [[1.0, np.nan]]}, "scores must be finite"),
        ({"scores": [[1.0, 2.0]], "stats": [[[1.0], [1.0]]]}, "give scores or stats, not both"),
        ({"scores": [1.0, 2.0], "offsets": [0, 1]}, r"expected \(H, F\) with offsets"),
        ({"feature_names": ["a", "a"]}, "1 different names for 2 features"),
    ],
)
def test_arrays_that_do_not_fit(given, message):
    with pytest.raises(ValueError, match=message):
        portmert.Lists.from_arrays(np.zeros((1, 2, 2)), **given)


@pytest.mark.parametrize(
    ("given", "metric", "message"),
    [
        ({"stats": [[[1.0], [1.0]]]}, None, "stats need the metric"),
        ({"stats": [[[1.0], [1.0]]]}, "ter", "stats: 1 statistic, metric ter has 2: "),
        (
            {"scores": [[1.0, 2.0]]},
            "ter",
            "none; give one of their outcomes: mean",
        ),
        ({}, None, "give a metric; or scores"),
    ],
)
def test_arrays_and_their_metric(given, metric, message):
    lists = portmert.Lists.from_arrays(np.zeros((1, 2, 2)), **given)
    with pytest.raises((ValueError, portmert.PortmertError), match=message):
        portmert.optimize(lists, metric)


def test_offsets_cover_the_hypotheses():
    for offsets in ([0, 1], [0, 2, 1, 3], [0, 0, 3], [1, 3]):
        with pytest.raises(ValueError, match="offsets must rise from 0 to the 3 hypotheses"):
            portmert.Lists.from_arrays(np.zeros((3, 1)), offsets, scores=[1, 2, 3])
    with pytest.raises(ValueError, match=r"of shape \(5, 3, 0\); a hypothesis has no feature"):
        portmert.Lists.from_arrays(np.zeros((5, 3, 0)), scores=np.zeros((5, 3)))


def test_what_is_no_list_is_one_line():
    for call in (portmert.rerank, portmert.optimize, portmert.crossval):
        with pytest.raises(ValueError, match="arrays become lists by portmert"):
            call(np.zeros((3, 1)), "bleu")


def test_weights_of_numpy_and_weights_without_names(lists):
    for number in (np.float32(1), np.int64(1), np.array([1.0])):
        best = portmert.rerank(lists, {"LM": number, "TM": 0})
        assert list(best.rows) == [0, 2]
    with pytest.raises(ValueError, match="weights are given by name, as"):
        portmert.rerank(lists, [1, 1])
    with pytest.raises(ValueError, match=r"weight of TM: None: .* not 'NoneType'"):
        portmert.rerank(lists, {"LM": 1, "TM": None})
    with pytest.raises(ValueError, match=r"weight of TM: 1j: .* not 'complex'"):
        portmert.rerank(lists, {"LM": 1, "TM": 1j})
    with pytest.raises(portmert.PortmertError, match="as 0: missing_features zero"):
        portmert.rerank(lists, {"LM": 1, "XX": 1})


RECORDS = [
    {"id": 1, "text": "if x:\n    y", "features": {"LM": -1.0}},
    {"id": 0, "text": "a  b\n", "features": {"LM": -2.0}},
    {"id": 1, "text": "else:\n\tz", "features": {"LM": -3.0}},
    {"id": 0, "text": "a c", "features": {"LM": -4.0}},
]


def test_records_keep_their_texts():
    for records in (RECORDS, [json.dumps(one) for one in RECORDS]):
        lists = portmert.Lists.from_records(records)
        assert portmert.rerank(lists, {"LM": 1.0}).given == ("a  b\n", "if x:\n    y")
        worst = portmert.rerank(lists.with_feature("n", np.arange(4)), {"LM": -1.0, "n": 0})
        assert worst.given == ("a c", "else:\n\tz")
        assert worst.lines == ("a c", "else: z")


class Frame:
    """A data frame as pandas has them, as far as it is asked."""

    def to_dict(self, form):
        assert form == "records"
        return [
            {"n": np.int64(one["id"]), "answer": one["text"], "LM": np.float32(row), "TM": 0.5}
            for row, one in enumerate(RECORDS)
        ]


def test_a_data_frame_names_its_columns():
    lists = portmert.Lists.from_records(Frame(), format="jsonl:id=n,text=answer,features=LM+TM")
    assert lists.nbest.feature_names == (("LM", 1), ("TM", 1))
    assert portmert.rerank(lists, {"LM": 1.0, "TM": 1.0}).given == ("a c", "else:\n\tz")
    with pytest.raises(portmert.PortmertError, match="the records: there is none"):
        portmert.Lists.from_records([])


def test_features_are_added_to_lists_that_are_read(lists, ref):
    read_before = read(lists, refs=ref)
    added = read_before.with_feature("length").with_feature("good", [1.0, 0.0, 0.0, 1.0])
    assert [name for name, _ in added.nbest.feature_names] == ["LM", "TM", "length", "good"]
    weights = {"LM": 0, "TM": 0, "length": 0, "good": 1}
    assert list(portmert.rerank(added, weights).rows) == [0, 3]
    assert [name for name, _ in read_before.nbest.feature_names] == ["LM", "TM"]
    with pytest.raises(ValueError, match=r"values of shape \(2,\); expected \(4,\) finite"):
        read_before.with_feature("x", [1.0, 2.0])
    with pytest.raises(ValueError, match="have a feature LM already"):
        read_before.with_feature("LM", np.ones(4))


def test_lines_of_a_reference_stand_in_a_list_of_their_own(lists):
    with pytest.raises(portmert.PortmertError, match=r"a b: No such file .*: references \[\[\.\."):
        portmert.score(["a b"], ["a b"])
    with pytest.raises(portmert.PortmertError, match=r"references \[\[\.\."):
        read(lists, refs=REFS)


def test_a_test_set_has_the_text_steps_of_the_lists_tuned_on(lists, ref, tmp_path):
    dev = read(lists, refs=ref, text="lowercase")
    other = read(lists, refs=ref, text="debpe")
    with pytest.raises(portmert.PortmertError, match="text is 'debpe', that of the lists tuned"):
        portmert.replicate(dev, "ter", replicas=1, out_dir=tmp_path / "run", test=other)


def test_constraints_as_on_the_command_line(lists, ref):
    found = portmert.optimize(
        read(lists, refs=ref),
        "ter",
        constraints={"fixed": ["LM"]},
        weights={"LM": 1, "TM": 0},
    )
    assert found.weights.values["LM"] == (1.0,)


def test_a_metric_that_needs_references_says_so(lists):
    with pytest.raises(portmert.PortmertError, match="ter compares with references"):
        portmert.optimize(lists, "ter")


def test_facts_go_to_the_log_as_info(lists, caplog, capfd):
    with caplog.at_level("INFO", "portmert"):
        portmert.Lists.read(lists)
    assert "Moses n-best, 2 features" in caplog.text
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert capfd.readouterr() == ("", "")


def test_compare_takes_names_and_files(ref, tmp_path):
    (tmp_path / "a").write_text("a b x d\ne f g h\n")
    found = portmert.compare(
        {"one": tmp_path / "a", "two": [ref, ref]},
        ref,
        metric="ter",
        resampling=portmert.Resampling(samples=50),
        timing=False,
    )
    # One edit of eight words, and none.
    scores = {one["system"]: one["score"] for one in found.as_json()["scores"]}
    assert scores == {"one": 0.125, "two": 0.0}
    assert "two" in str(found)


def test_an_unknown_option_is_refused(lists):
    with pytest.raises(TypeError, match="'optimiser'; did you mean 'optimizer'"):
        portmert.optimize(lists, "bleu", optimiser="mert")
    with pytest.raises(TypeError, match="unexpected option 'length_penalty'"):
        portmert.crossval(lists, "bleu", length_penalty=1)


def test_results_have_the_warnings_of_the_command(lists, ref, tmp_path):
    """Every result that Python returns, and the JSON that the command prints."""
    mert, out = {"optimizer": "mert:restarts=1"}, tmp_path / "w.json"
    given = portmert.Lists.read(lists, refs=[ref])
    found = portmert.optimize(given, "wer", **mert)
    shown = run("optimize", "--nbest", lists, "--ref", ref, "--metric", "wer", "--optimizer",
                "mert:restarts=1", "--out", out, "--json", "-")  # fmt: skip
    document = json.loads(shown.stdout)
    assert document["warnings"] == list(found.warnings) == found.as_json()["warnings"]
    assert any(line.startswith("2 segments to tune on") for line in found.warnings)
    several = portmert.replicate(given, "wer", replicas=2, out_dir=tmp_path / "run", **mert)
    assert list(several.warnings) == several.as_json()["warnings"]
    assert set(several.warnings) >= {line for line in found.warnings if "to tune on" in line}
    scored = portmert.score(["a cat@@ s"] * 20, [["a cats"] * 20])
    assert any("in subwords" in line for line in scored.warnings)


def test_reranked_json_stays_a_list_and_python_has_the_warnings(tmp_path):
    """The order of these lists is that of the scores divided by the length."""
    rows = [
        f"{n} ||| {'a ' * length}||| LM= {-score} ||| {-score}\n"
        for n in range(30)
        for score, length in ((3 + n / 99, 4), (1 + n / 99, 1))
    ]
    (tmp_path / "lists").write_text("".join(rows))
    found = portmert.rerank(tmp_path / "lists", {"LM": 1.0})
    assert any("--length-penalty" in line for line in found.warnings)
    (tmp_path / "w.json").write_text(json.dumps({"weights": {"LM": [1.0]}}))
    shown = run("rerank", "--nbest", tmp_path / "lists", "--weights", tmp_path / "w.json",
                "--json", "-")  # fmt: skip
    assert json.loads(shown.stdout) == found.as_json()
    assert "--length-penalty" in shown.stderr


def test_doubts_of_a_search_stay_with_replicas_that_go_on(lists, ref, tmp_path):
    given = portmert.Lists.read(lists, refs=[ref])
    options = {"optimizer": "mert:restarts=1", "constraints": {"bounds": {"LM": (2.0, 3.0)}}}
    folder = tmp_path / "run"
    portmert.replicate(given, "wer", replicas=2, out_dir=folder, **options)
    before = (folder / "result.json").read_bytes()
    assert b"outside of their bounds were moved" in before
    (folder / "result.json").unlink()
    portmert.replicate(given, "wer", replicas=2, out_dir=folder, **options)
    assert (folder / "result.json").read_bytes() == before


def test_replicas_of_plain_files_have_no_empty_column(tmp_path):
    for name, text in (("h", "a b c\nd e f\n"), ("r", "a b d\nd e f\n")):
        (tmp_path / name).write_text(text)
    one, other = ([tmp_path / name for name in names] for names in ("hr", "rh"))
    several = portmert.compare({"a": one, "b": other}, tmp_path / "r", metric="ter")
    table = next(table for table in several.tables if table.title == "Systems")
    assert table.headers[:2] == ["system", "replicas"]
    alone = portmert.compare({"a": one[0], "b": one[1]}, tmp_path / "r", metric="ter")
    assert "p: t-test of chance" in several.as_html()
    assert "p: t-test of chance" not in alone.as_html()
