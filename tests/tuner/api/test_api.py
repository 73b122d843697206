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
QUIET = {"notice": lambda _: None}


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
    with pytest.raises(AttributeError, match="no attribute 'bleu'"):
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


def test_lists_read_before_and_paths_give_the_same_weights(lists, ref):
    given = {"metric": "bleu:smooth=add1", "optimizer": "mert", "threads": 1, **QUIET}
    paths = portmert.optimize(lists, [ref], **given)
    read = portmert.optimize(portmert.read_nbest(lists, **QUIET), [REFS], **given)
    assert read.weights == paths.weights
    # TM must weigh more than LM does for the second segment, but not for the first.
    assert paths.score == pytest.approx(1.0)


def test_the_command_writes_what_the_function_returns(lists, ref, tmp_path):
    out = tmp_path / "weights.json"
    options = ["--metric", "ter", "--nbest", lists, "--ref", ref, "--out", out]
    run("optimize", *options)
    found = portmert.optimize([lists], [ref], metric="ter", **QUIET)
    assert out.read_text() == found.to_json()
    assert json.loads(out.read_text())["score"] == found.score
    printed = run("rerank", "--nbest", lists, "--weights", out).stdout
    assert printed.splitlines() == list(portmert.rerank(lists, found, **QUIET).lines)
    assert list(portmert.rerank(lists, out, **QUIET).rows) == [0, 3]


def test_arrays_with_statistics_are_searched_as_lists(lists, ref):
    nbest = portmert.read_nbest(lists, **QUIET)
    metric = portmert.metric("ter")
    # TER counts edits and reference words: one substitution each in the second and third.
    stats = np.zeros((4, len(metric.stat_names)))
    stats[:, metric.stat_names.index("ref_len")] = 4
    stats[[1, 2], metric.stat_names.index("edits")] = 1
    names = [name for name, _ in nbest.feature_names]
    found = portmert.optimize(
        nbest.features,
        stats=stats,
        metric=metric,
        offsets=nbest.offsets,
        feature_names=names,
        optimizer="mert",
    )
    assert (
        found.score
        == portmert.optimize(nbest, ref, metric="ter", optimizer="mert", **QUIET).score
        == 0.0
    )
    best = [int(np.argmax((nbest.features @ found.vector)[a:b])) for a, b in ((0, 2), (2, 4))]
    assert best == [0, 1]


def test_ragged_arrays_with_scores():
    # Segment 0 has two hypotheses, segment 1 one: the mean is (0.5 + 0.3) / 2 at best.
    found = portmert.optimize(
        np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
        scores=[0.1, 0.5, 0.3],
        offsets=[0, 2, 3],
        weights={"f0": 0.9, "f1": 0.1},
        optimizer="mert",
    )
    assert (found.start_score, found.score) == (pytest.approx(0.2), pytest.approx(0.4))
    assert found.weights.values["f1"] > found.weights.values["f0"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scores": [1.0]}, "1 score for 2 hypotheses"),
        ({"scores": [1.0, np.nan]}, "scores must be finite"),
        ({"stats": [[1.0], [1.0]]}, "stats need the metric"),
        ({"stats": [[1.0], [1.0]], "metric": "ter"}, "with 1 number each; expected 2 with"),
        ({"scores": [1.0, 2.0], "metric": "ter"}, "give scores, or stats and their metric"),
        ({"scores": [1.0, 2.0], "offsets": [0, 1]}, r"expected \(H, F\) with offsets"),
        ({"scores": [1.0, 2.0], "feature_names": ["a", "a"]}, "1 different names for 2 features"),
        ({}, "give lists and a metric, or arrays with scores or stats"),
    ],
)
def test_arrays_that_do_not_fit(given, message):
    with pytest.raises(ValueError, match=message):
        portmert.optimize(np.zeros((1, 2, 2)), **given)


def test_offsets_cover_the_hypotheses():
    for offsets in ([0, 1], [0, 2, 1, 3], [0, 0, 3], [1, 3]):
        with pytest.raises(ValueError, match="offsets must rise from 0 to the 3 hypotheses"):
            portmert.optimize(np.zeros((3, 1)), scores=[1, 2, 3], offsets=offsets)


def test_constraints_as_on_the_command_line(lists, ref):
    found = portmert.optimize(
        lists,
        ref,
        metric="ter",
        constraints={"fixed": ["LM"]},
        weights={"LM": 1, "TM": 0},
        **QUIET,
    )
    assert found.weights.values["LM"] == (1.0,)


def test_a_metric_that_needs_references_says_so(lists):
    with pytest.raises(portmert.PortmertError, match="ter compares with references"):
        portmert.optimize(lists, metric="ter", **QUIET)


def test_notices_go_to_the_log(lists, caplog):
    portmert.read_nbest(lists)
    assert "Moses n-best, 2 features" in caplog.text


def test_compare_takes_names_and_files(ref, tmp_path):
    (tmp_path / "a").write_text("a b x d\ne f g h\n")
    found = portmert.compare(
        {"one": tmp_path / "a", "two": [ref, ref]},
        ref,
        metric="ter",
        resampling=portmert.Resampling(samples=50),
        timing=False,
        **QUIET,
    )
    # One edit of eight words, and none.
    scores = {one["system"]: one["score"] for one in found.as_json()["scores"]}
    assert scores == {"one": 0.125, "two": 0.0}
    assert "two" in str(found)
