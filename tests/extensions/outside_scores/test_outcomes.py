"""Scores computed elsewhere: every form of file, repeats, and what is computed of them."""

import itertools
import json
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import portmert
from portmert.extensions.outside_scores.outcomes import (
    OutcomeMetric,
    SegmentScores,
    best_of,
    outcome_metrics,
    read_outcomes,
)
from portmert.tuner.base.errors import ConfigError, InputError
from portmert.tuner.base.warn import collected_warnings, warnings_so_far


def sample(number, value, filter_name="none"):
    """A line as lm-evaluation-harness writes it with --log_samples."""
    return {
        "doc_id": number, "doc": {"question": "?", "topic": f"t{number // 2}"}, "target": "4",
        "arguments": {}, "resps": [["4"]], "filtered_resps": ["4"], "filter": filter_name,
        "metrics": ["exact_match"], "doc_hash": "a", "prompt_hash": "b", "target_hash": "c",
        "exact_match": value,
    }  # fmt: skip


def log(values, status="success"):
    """A log of inspect_ai as JSON: values by sample, a value for each epoch."""
    samples = [
        {"id": f"q{n}", "epoch": epoch, "input": "?", "target": "4", "metadata": {"topic": "t"},
         "scores": {"match": {"value": value, "answer": "4", "explanation": ""}}}
        for n, of_sample in enumerate(values)
        for epoch, value in enumerate(of_sample, 1)
    ]  # fmt: skip
    return {"version": 2, "status": status, "eval": {}, "samples": samples}


LINES = "".join(f"{json.dumps(sample(n, value))}\n" for n, value in enumerate((1.0, 0.0, 1.0)))


@pytest.mark.parametrize(
    ("name", "text", "key", "ids"),
    [
        ("a.jsonl", LINES, "exact_match", ("0", "1", "2")),
        ("a.json", json.dumps(log(["C", "I", "C"]), indent=2), "match", ("q0", "q1", "q2")),
        ("a.tsv", "id\tacc\nx\t1\ny\t0\nz\t1\n", "acc", ("x", "y", "z")),
        ("a.csv", 'id,said,acc\nx,"a, b",True\ny,"",False\nz,"c",True\n', "acc", ("x", "y", "z")),
        ("a.txt", "1\n0\n1\n", "", None),
        ("a.seg.score", "s\t1\ns\t0\ns\t1\n", "", None),
        ("a.json", json.dumps({"hyp": [{"mt": "m", "C": x} for x in (1, 0, 1)]}), "C", None),
        ("a.json", json.dumps([{"id": n, "acc": x} for n, x in enumerate((True, False, True))]),
         "acc", ("0", "1", "2")),
    ],
)  # fmt: skip
def test_every_form_has_the_same_scores(name, text, key, ids, tmp_path):
    (tmp_path / name).write_text(text, encoding="utf-8")
    (found,) = read_outcomes(f"{tmp_path / name}{f'#{key}' if key else ''}").values()
    assert found.values.tolist() == [1.0, 0.0, 1.0]
    assert found.ids == ids
    assert found.repeats.tolist() == [1, 1, 1]


def test_epochs_are_repeats(tmp_path):
    (tmp_path / "log.json").write_text(json.dumps(log([["C", "I"], ["P", "N"]])))
    (found,) = read_outcomes(tmp_path / "log.json#match").values()
    assert found.repeats.tolist() == [2, 2]
    assert OutcomeMetric("match").of_outcomes(found).tolist() == [[0.5, 1.0], [0.25, 1.0]]


def test_an_unfinished_log_is_told(tmp_path):
    (tmp_path / "log.json").write_text(json.dumps(log(["C", "I"], status="error"), indent=1))
    with collected_warnings():
        read_outcomes(tmp_path / "log.json#match")
        assert "the status of the log is 'error'" in warnings_so_far()[0]


def test_a_file_of_several_systems(tmp_path):
    table = tmp_path / "all.tsv"
    table.write_text("system\tid\tacc\na\tx\t1\nb\tx\t0\na\ty\t0\nb\ty\t0\n", encoding="utf-8")
    found = read_outcomes(f"{table}#acc")
    assert {name: x.values.tolist() for name, x in found.items()} == {"a": [1, 0], "b": [0, 0]}
    (one,) = read_outcomes(f"{table}#acc[system=b]").values()
    assert one.values.tolist() == [0, 0]
    with pytest.raises(InputError, match=r"no record has 'system' c \(there: a, b\)"):
        read_outcomes(f"{table}#acc[system=c]")


def test_arrays_series_and_frames():
    assert read_outcomes(np.array([1, 0]))[""].values.tolist() == [1, 0]
    assert read_outcomes([[1, 0], [0, 0]])[""].repeats.tolist() == [2, 2]
    frame = [{"id": "x", "acc": 1}, {"id": "y", "acc": 0}, {"id": "x", "acc": 0}]
    found = read_outcomes((frame, "acc"))[""]
    assert (found.ids, found.repeats.tolist()) == (("x", "y"), [2, 1])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", ""])
def test_frames_of_every_library_have_the_same_scores(library):
    frame = {"id": ["x", "y", "x"], "speaker": list("sts"), "n": [1, 2, 4]}
    frame["acc"] = [True, False, None]
    if library:
        make = "table" if library == "pyarrow" else "DataFrame"
        frame = getattr(pytest.importorskip(library), make)(frame)
    scores = read_outcomes((frame, "n"))[""]
    assert (scores.ids, scores.values.tolist()) == (("x", "y"), [1.0, 2.0, 4.0])
    assert scores.columns == {"speaker": ("s", "t", "s")}
    graded = read_outcomes((frame, "acc"))[""]
    np.testing.assert_array_equal(graded.values, [1, 0, np.nan])
    assert (graded.is_graded, list(graded.lacking)) == (True, [2])


def test_a_segment_in_two_groups_is_refused():
    rows = [{"id": "x", "docid": docid, "acc": 1} for docid in ("d", "e")]
    with pytest.raises(InputError, match="segment 'x' is in two groups, 'd' and 'e'"):
        portmert.compare({"a": (rows, "acc")})


class Series:
    """What is used of a series of pandas."""

    def __init__(self, values, index, name):
        self.values, self.index, self.name = values, np.array(index), name

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype)


def test_the_index_of_a_series_has_the_ids():
    found = read_outcomes(Series([1, 0, 1], ["x", "y", "x"], "acc"))[""]
    assert (found.ids, found.repeats.tolist(), found.key) == (("x", "y"), [2, 1], "acc")


@pytest.mark.parametrize(
    ("name", "text", "key", "message"),
    [
        ("a.tsv", "id\tacc\nx\tgood\n", "acc",
         "a.tsv:2: 'acc' is good, expected a number .*to compare texts, give --ref"),
        ("a.jsonl", '{"id": 1, "acc": {"a": 1}}\n', "acc", "a.jsonl:1: 'acc' is {'a': 1}, expect"),
        ("a.jsonl", "".join(f"{json.dumps(sample(0, 1.0, x))}\n" for x in ("strict", "lax")),
         "exact_match", r"'filter' \(strict, lax\); choose one: #exact_match\[filter=strict\]"),
        ("a.seg.score", "s 1\n", "", "a.seg.score:1: 's 1', expected a system, a tab and a score"),
        ("a.sys.score", "s\t1\n", "", "one score for each system, which no test can compare"),
        ("a.json", '{"a": 1,', "acc", "a.json:1: not JSON"),
        ("a.json", '{\n"eval": {}, "plan": {}, "results": {}}', "acc", "inspect_ai without its"),
        ("a.csv", "\nid,acc\nx,1\n", "acc", "a.csv:1: a blank line; expected the names of the c"),
        ("a.tsv", "\nid\tacc\nx\t1\n", "acc", "a.tsv:1: a blank line; expected the names of the"),
    ],
)  # fmt: skip
def test_what_is_no_score_is_refused(name, text, key, message, tmp_path):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_outcomes(f"{tmp_path / name}{f'#{key}' if key else ''}")


def made_up(repeats, **columns):
    """SegmentScores of segments with these repeats."""
    segments = np.repeat(np.arange(len(repeats)), list(map(len, repeats)))
    values = np.array(list(itertools.chain(*repeats)), dtype=float)
    return SegmentScores("made up", "acc", None, segments, values, {}, columns)


@given(st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=6), min_size=1, max_size=4))
def test_the_best_of_k_is_the_mean_over_all_draws(repeats):
    for k, higher in itertools.product((1, 2, 3), (True, False)):
        pick = max if higher else min
        slow = [np.mean([pick(draw) for draw in itertools.combinations(x, k)]) for x in repeats]
        assert best_of(made_up(repeats), k, higher=higher) == pytest.approx(slow)


def test_pass_at_k_is_that_of_the_paper():
    # Of 5 repeats 2 are right: 1 - C(3, 2) / C(5, 2) = 0.7.
    stats = OutcomeMetric("acc", "pass@2").of_outcomes(made_up([[1, 0, 0, 1, 0]]))
    assert stats[0, 0] == pytest.approx(1 - comb(3, 2) / comb(5, 2))
    with pytest.raises(InputError, match="pass@2 needs outcomes of 0 and 1 only"):
        OutcomeMetric("acc", "pass@2").of_outcomes(made_up([[0.5, 1]]))
    with pytest.raises(
        InputError, match="pass@3 needs 3 repeats of each segment; segment 2 has 1"
    ):
        OutcomeMetric("acc", "pass@3").of_outcomes(made_up([[1, 1, 1], [1]]))


def test_the_majority_counts_answers_and_takes_the_first_of_equal_ones():
    votes = made_up([[0, 1, 1], [1, 0, 0]], said=("a", "b", "b", "x", "y", "z"))
    metric = OutcomeMetric("acc", "maj@3")
    assert metric.of_outcomes(votes, "said")[:, 0].tolist() == [1.0, 1.0]
    assert OutcomeMetric("acc", "maj@1").of_outcomes(votes, "said")[:, 0].tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("key", "better"),
    [("exact_match", "higher"), ("acc,none", "higher"), ("WER", "lower"), ("nll", "lower"),
     ("score", None), ("wer_acc", None)],
)  # fmt: skip
def test_the_direction_is_known_or_asked_for(key, better):
    output = SegmentScores("made up", key, None, np.arange(2), np.array([0.5, 1]), {}, {})
    if better is None:
        with pytest.raises(ConfigError, match=f"is a higher or a lower '{key}' better?"):
            outcome_metrics(["mean"], [output], "", "")
    else:
        (metric,) = outcome_metrics(["mean"], [output], "", "")
        assert metric.better == better
    assert outcome_metrics(["mean"], [output], "lower", "")[0].higher_is_better is False


@pytest.mark.parametrize(
    ("kind", "message"),
    [("bleu", "scores have no texts; expected mean, pass@K"), ("maj@3", "give --answers KEY"),
     ("pass@0", "expected mean")],
)  # fmt: skip
def test_metrics_of_texts_are_refused(kind, message):
    with pytest.raises(ConfigError, match=message):
        outcome_metrics([kind], [made_up([[1, 0]])], "higher", "")


def test_a_log_of_inspect_in_its_own_form_is_told_how_to_read():
    with pytest.raises(InputError, match=r"inspect log dump a\.eval > log\.json"):
        read_outcomes("a.eval#match")
