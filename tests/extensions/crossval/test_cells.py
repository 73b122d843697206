"""Cross-validation by hand: splits, features left out, means and their errors."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.extensions.crossval.cells import Choice, CrossPlan, Row, leave_out, measure
from portmert.extensions.crossval.operation import _choices, crossval
from portmert.extensions.crossval.report import as_json, document_of, headlines
from portmert.tuner.api.known_statistics import counted_by
from portmert.tuner.api.lists import Lists
from portmert.tuner.base.context import using
from portmert.tuner.base.errors import ConfigError, InputError, StateError
from portmert.tuner.components import registry
from portmert.tuner.evaluation.document import Chart
from portmert.tuner.evaluation.significance import corrected_p
from portmert.tuner.nbest.model import SparseFeatures, model_scores
from portmert.tuner.weights.feature_weights import FeatureWeights

MERT = registry.optimizer("mert:searches_per_feature=20,restarts=1")
BLEU = registry.metric("bleu")


def plan_of(segments=6, **given):
    """Return lists of two hypotheses a segment: A prefers the first, B the second and better."""
    features = np.tile([[2.0, 1.0], [1.0, 2.0]], (segments, 1, 1))
    scores = np.tile([0.25, 0.75], (segments, 1))
    lists = Lists.from_arrays(features, scores=scores, feature_names=["A", "B"])
    metric, stats = counted_by(lists.nbest, None)
    return CrossPlan(lists.nbest, {"mean": metric}, {"mean": stats}, **given)


@given(st.integers(2, 60), st.integers(0, 2**32), st.integers(0, 20), st.data())
def test_no_segment_is_learnt_from_and_judged(segments, seed, split, data):
    plan = plan_of(segments, seed=seed)
    seen, unseen = plan.parts(split)
    assert sorted([*seen, *unseen]) == list(range(segments))
    assert len(seen) == segments // 2
    assert (np.diff(seen) > 0).all()
    fewer, same = replace(plan, size=data.draw(st.integers(1, segments // 2))).parts(split)
    assert set(fewer) <= set(seen)
    assert same.tolist() == unseen.tolist()


def test_splits_follow_the_seed():
    parts = {tuple(plan_of(30, seed=seed).parts(split)[0]) for seed in (1, 2) for split in (0, 1)}
    assert len(parts) == 4
    assert plan_of(30).parts(1)[0].tolist() == plan_of(30, splits=9).parts(1)[0].tolist()


def test_too_few_segments_are_refused():
    with pytest.raises(InputError, match="halves the segments; the lists have only one"):
        plan_of(1)
    with pytest.raises(InputError, match="4 segments to learn from, but half of the 6 segments"):
        plan_of(6, size=4)


def test_what_is_left_out_moves_nothing():
    nbest = plan_of().nbest
    before = nbest.features.copy()
    without = leave_out(nbest, ["A"])
    scores = [
        model_scores(without, FeatureWeights({"A": (a,), "B": (1.0,)})).tolist() for a in (-9, 9)
    ]
    assert scores[0] == scores[1] == [1.0, 2.0] * 6
    assert (nbest.features == before).all()
    assert leave_out(nbest, []) is nbest


def test_values_and_sparse_features_are_left_out_by_name():
    nbest = replace(
        plan_of(1 + 1).nbest,
        feature_names=(("T", 2),),
        sparse=SparseFeatures(
            ("x_1", "y_1"),
            np.array([0, 2, 3, 3, 3]),
            np.array([0, 1, 0], dtype=np.int32),
            np.array([1.0, 2.0, 3.0]),
        ),
    )
    without = leave_out(nbest, ["T_1", "x_1"])
    assert without.features[0].tolist() == [2.0, 0.0]
    assert without.sparse.values.tolist() == [0.0, 2.0, 0.0]
    with pytest.raises(ConfigError, match="--without U: the lists have no such feature; known: T"):
        leave_out(nbest, ["U"])


def test_every_metric_is_tuned_on_with_every_optimizer_prior_and_set_of_features():
    found = _choices(["x", "y"], ["mert", "kbmira"], ["A"], [0.0, 0.5])
    assert len(found) == 16
    first = found[0]
    assert (first.tuned_on, first.by, first.without, first.prior) == ("x", "mert", (), 0)
    assert len({(c.tuned_on, c.by, c.without, c.prior) for c in found}) == 16


def test_p_by_hand():
    # Mean 2, variance 1; corrected (1/3 + 1) * 1, t = sqrt(3); for two degrees of freedom the
    # tail is 1/2 - t / (2 sqrt(2 + t^2)).
    tail = 0.5 - 3**0.5 / (2 * 5**0.5)
    assert corrected_p(np.array([1.0, 2.0, 3.0]), 1.0) == pytest.approx(2 * tail)
    assert corrected_p(np.array([-1.0, -2.0, -3.0]), 1.0) == pytest.approx(2 * tail)
    assert corrected_p(np.array([0.0, 0.0]), 1.0) == 1.0
    assert corrected_p(np.array([3.0]), 1.0) is None


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=20), st.sampled_from([0.5, 1.0, 5.0]))
def test_shared_segments_make_less_sure(gains, ratio):
    values = np.array(gains, dtype=np.float64)
    if np.ptp(values) == 0 != values[0]:  # nothing varies: no test
        assert corrected_p(values, ratio) is None
    else:
        assert corrected_p(values, ratio) >= corrected_p(values, 0.0) - 1e-12


def row(name, unseen):
    unseen = np.array(unseen, dtype=np.float64)
    choice = None if name == "first" else Choice("ter", name, MERT)
    return Row(name, choice, {"ter": np.stack([unseen - 0.1, unseen])})


def shown(plan, *rows):
    return as_json(replace(plan, metrics={"ter": registry.metric("ter")}), rows, {"ter": "ter|v"})


def test_means_errors_and_signs_by_hand():
    plan = plan_of(splits=2, seeds=2)
    rows = [
        row("m", [[0.5, 0.5], [0.6, 0.6]]),
        row("n", [[0.4, 0.2], [0.6, 0.4]]),  # 0.2 lower and 0.1 lower
        row("first", [[0.7, 0.7], [0.7, 0.7]]),
    ]
    document = shown(plan, *rows)
    one, other, none = (choice["judged"]["ter"] for choice in document["choices"])
    assert one["gain"] is one["error"] is one["p"] is None
    assert other["unseen"] == pytest.approx(0.4)
    assert other["seen"] == pytest.approx(0.3)
    assert other["gain"] == pytest.approx(0.15)  # of TER less is better
    assert other["error"] == pytest.approx(0.05)  # 0.1 / sqrt(2) / sqrt(2)
    assert none["gain"] == pytest.approx(-0.15)
    assert [choice["name"] for choice in document["choices"]] == ["m", "n", "first"]
    p = corrected_p(np.array([0.2, 0.1]), 1.0)  # half of the segments are judged
    assert other["p"] == pytest.approx(p)
    assert other["p_holm"] == pytest.approx(2 * p)  # the smaller of two
    assert none["p_holm"] == pytest.approx(max(2 * p, none["p"]))
    smaller = shown(replace(plan, size=1), *rows)
    assert smaller["choices"][1]["judged"]["ter"]["p"] == pytest.approx(p)  # these are still
    (line,) = headlines(document)
    assert line == (
        f"ter ↓: no difference shown: lowest on unseen segments is n, 40.00, \N{MINUS SIGN}15.00 "
        f"± 5.00 against m (p {2 * p:.2f}, corrected for 2 comparisons)"
    )
    (table,) = document_of(document).tables()
    assert table.headers == ["", "seen", "unseen", "better", "p"]
    assert table.rows[1][:4] == ["n", "30.00", "40.00", "+15.00 ± 5.00"]
    assert table.rows[2][3] == "\N{MINUS SIGN}15.00 ± 5.00"


@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        ([[0.7, 0.8]] * 2, "m beats first, 50.00, \N{MINUS SIGN}25.00 against first (p "),
        ([[0.5, 0.6], [0.5, 0.4]], "no difference shown: m has 50.00, 0.00"),
    ],
)
def test_a_row_is_not_best_where_another_is_better(first, sentence):
    rows = [row("m", [[0.5, 0.5]] * 2), row("first", first), row("first", [[0.2, 0.3]] * 2)]
    rows[2] = replace(rows[2], name="only A")
    document = shown(plan_of(splits=2, seeds=2), *rows)
    for choice in document["choices"]:  # whether the gain is luck is not the matter here
        choice["judged"]["ter"]["p_holm"] = 0.001 if "beats" in sentence else 0.5
    (line,) = headlines(document)
    assert line.startswith(f"ter ↓: {sentence}")
    assert line.endswith("; lowest on unseen segments is only A, 25.00")
    assert "best" not in line


def test_tuning_that_gains_nothing_is_said():
    plan = replace(plan_of(splits=2), metrics={"ter": BLEU})
    rows = [row("m", [[0.5], [0.5]]), row("first", [[0.5], [0.5]])]
    (line,) = headlines(as_json(plan, rows, {"ter": "bleu|v"}))
    assert line == (
        "ter: no difference shown: highest on unseen segments is m, 50.00, 0.00 against "
        "first (p 1.00)"
    )


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        ((np.nan, 0.5, 0.6), "n is best on unseen segments, 50.00; a score of m is not a finite"),
        ((0.5, np.nan, np.inf), "m is best on unseen segments, 50.00; a score of first is not a"),
        ((np.nan, np.inf, -np.inf), "no score on unseen segments is a finite number"),
    ],
)
def test_scores_that_are_not_finite_are_dashes(scores, sentence):
    names = ("m", "n", "first")
    rows = [row(name, [[score]] * 2) for name, score in zip(names, scores, strict=True)]
    document = shown(plan_of(splits=2), *rows)
    (line,) = headlines(document)
    assert line.startswith(f"ter ↓: {sentence}")
    (table,) = document_of(document).tables()
    assert table.headers[:3] == ["", "seen", "unseen"]
    for line, score in zip(table.rows, scores, strict=True):
        assert line[2] == (f"{100 * score:.2f}" if np.isfinite(score) else "\N{EN DASH}")
    (gains,) = (x for x in document_of(document).blocks if isinstance(x, Chart))
    assert gains.choices[0].series[0].values == [None, None]


CHOICE = Choice("mean", "m", MERT)


@pytest.mark.parametrize("threads", [1, 3])
def test_all_segments_alike_are_learnt_and_judged_the_same(threads, tmp_path):
    plan = plan_of(splits=2, seeds=2, start=FeatureWeights({"A": (1.0,), "B": (0.1,)}))
    with using(threads=threads):
        choices = [CHOICE, replace(CHOICE, without=("B",))]
        tuned, without, *plain = measure(plan, choices, folder=tmp_path, data="d")
    assert (tuned.scores["mean"] == 0.75).all()
    assert (without.scores["mean"] == 0.75).all()  # A with a weight below 0
    # A alone is better at its lowest value, B at its highest.
    found = {one.name: one.scores["mean"][1].mean() for one in plain}
    assert found == {"first": 0.25, "only A": 0.75, "only B": 0.75, "start weights": 0.25}
    assert len(list((tmp_path / "cells").glob("*.json"))) == 8


@pytest.mark.parametrize(("old", "new"), [('"A"', '"C"'), ("0.", "0.1")], ids=["name", "number"])
def test_a_cell_with_edited_weights_is_refused(tmp_path, old, new):
    plan = plan_of(splits=1, start=FeatureWeights({"A": (1.0,), "B": (0.5,)}))
    again = {"folder": tmp_path, "data": "d"}
    measure(plan, [CHOICE], **again)
    (cell,) = (tmp_path / "cells").glob("*.json")
    before, weights, after = cell.read_text().partition('"weights"')
    edited = after.replace(old, new, 1)
    assert edited != after
    cell.write_text(before + weights + edited)
    with pytest.raises(StateError, match=rf"{cell.name}: not what portmert writes; delete it"):
        measure(plan, [CHOICE], **again)


@pytest.mark.parametrize(
    "content", ["", "A= 1\nB= 2\n", "[1]", "{}", '{"weights": {"A": [1], "B": [2]}}']
)
def test_a_file_that_is_no_cell_is_named(tmp_path, content):
    plan = plan_of(splits=1)
    again = {"folder": tmp_path, "data": "d"}
    measure(plan, [CHOICE], **again)
    (cell,) = (tmp_path / "cells").glob("*.json")
    cell.write_text(content)
    with pytest.raises(StateError, match=rf"{cell.name}: not what portmert writes; delete it"):
        measure(plan, [CHOICE], **again)


def test_what_a_cell_depends_on_is_in_its_name(tmp_path):
    plan = plan_of(splits=1, start=FeatureWeights({"A": (1.0,), "B": (0.5,)}))

    def made(plan, choice=CHOICE, data="d"):
        before = set(tmp_path.rglob("*.json"))
        measure(plan, [choice], folder=tmp_path, data=data)
        return len(set(tmp_path.rglob("*.json")) - before)

    assert made(plan) == 1
    assert made(plan) == 0
    assert made(replace(plan, splits=2, seeds=2)) == 3
    assert made(replace(plan, size=1)) == 1
    assert made(replace(plan, seed=2)) == 1
    assert made(replace(plan, start=FeatureWeights({"A": (1.0,), "B": (2.0,)}))) == 1
    assert made(plan, replace(CHOICE, optimizer=registry.optimizer("mert"))) == 1
    assert made(plan, replace(CHOICE, by="called otherwise", prior=0.1)) == 1
    assert made(plan, replace(CHOICE, by="called otherwise")) == 0
    assert made(plan, data="e") == 1


def test_a_search_on_other_numbers_is_another_one(tmp_path):
    for better in (0.75, 0.75, 0.5):
        lists = Lists.from_arrays([[[2.0, 1.0], [1.0, 2.0]]] * 6, scores=[[0.25, better]] * 6)
        crossval(lists, optimizer=MERT, splits=1, out_dir=tmp_path)
    assert len(list((tmp_path / "cells").iterdir())) == 2


def test_a_crossval_that_goes_on_warns_as_at_first(tmp_path):
    lists = Lists.from_arrays([[[2.0, 1.0], [1.0, 2.0]]] * 6, scores=[[0.5, 0.5]] * 6)
    found = [crossval(lists, optimizer=MERT, splits=1, out_dir=tmp_path) for _ in range(2)]
    first, again = (report.warnings for report in found)
    assert any(line.startswith("first split: the lists hold nothing better") for line in first)
    assert again == first


def test_an_optimizer_that_is_an_object_is_called_as_on_the_command_line():
    lists = Lists.from_arrays([[[2.0, 1.0], [1.0, 2.0]]] * 6, scores=[[0.25, 0.75]] * 6)
    found = crossval(lists, optimizer=[MERT, registry.optimizer("coordinate")], splits=1)
    names = [one["name"] for one in found.document["choices"][:2]]
    assert names == ["mert:restarts=1,searches_per_feature=20", "coordinate"]
