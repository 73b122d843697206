"""Cross-validation by hand: halves, features left out, what is chosen, and what is kept."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.extensions.crossval.operation import (
    Choice,
    CrossPlan,
    _choices,
    crossval,
    leave_out,
    tuned,
)
from portmert.tuner.api.lists import Lists
from portmert.tuner.base.context import using
from portmert.tuner.base.errors import ConfigError, InputError
from portmert.tuner.components import registry
from portmert.tuner.components.external import Outcome
from portmert.tuner.nbest.model import SparseFeatures, model_scores
from portmert.tuner.search.stat_table import StatTable
from portmert.tuner.search.weight_search import Setup
from portmert.tuner.texts.groups import Groups
from portmert.tuner.weights.feature_weights import FeatureWeights

MERT = registry.optimizer("mert:searches_per_feature=20,restarts=1")
SETUP = Setup(MERT, seed=1)


def lists_of(segments=6, scores=(0.25, 0.75)):
    """Return lists of two hypotheses a segment: A prefers the first, B the second and better."""
    features = np.tile([[2.0, 1.0], [1.0, 2.0]], (segments, 1, 1))
    by_segment = np.tile(scores, (segments, 1))
    return Lists.from_arrays(features, scores=by_segment, feature_names=["A", "B"])


def plan_of(segments=6, setup=SETUP, **options):
    lists = lists_of(segments).nbest
    metric = Outcome("mean")
    stats = StatTable(np.column_stack([lists.outcomes["mean"], np.ones(2 * segments)]))
    return CrossPlan(lists, {"mean": metric}, {"mean": stats}, setup, **options)


@given(st.integers(2, 60), st.integers(0, 2**32), st.integers(0, 20), st.data())
def test_no_segment_is_learnt_from_and_judged(segments, seed, split, data):
    plan = plan_of(segments, replace(SETUP, seed=seed))
    seen, unseen = plan.parts(split, 0)
    assert sorted([*seen, *unseen]) == list(range(segments))
    assert len(seen) == segments // 2
    assert (np.diff(seen) > 0).all()
    assert [x.tolist() for x in plan.parts(split, 1)] == [unseen.tolist(), seen.tolist()]
    size = data.draw(st.integers(1, segments // 2))
    fewer, same = replace(plan, size=size).parts(split, 0)
    assert len(fewer) == size
    assert set(fewer) <= set(seen)
    assert same.tolist() == unseen.tolist()


@given(st.lists(st.integers(0, 5), min_size=2, max_size=30), st.integers(0, 9))
def test_a_group_is_in_one_half(labels, split):
    groups = Groups.of(map(str, labels), "here")
    if len(groups) < 2:
        with pytest.raises(InputError, match="halves the groups; the lists have only one"):
            plan_of(len(labels), groups=groups)
        return
    seen, unseen = plan_of(len(labels), groups=groups).parts(split, 0)
    assert sorted([*seen, *unseen]) == list(range(len(labels)))
    assert not {labels[k] for k in seen} & {labels[k] for k in unseen}
    assert len({labels[k] for k in seen}) == len(groups) // 2


def test_splits_follow_the_seed():
    plans = [plan_of(30, replace(SETUP, seed=seed)) for seed in (1, 2)]
    assert len({tuple(plan.parts(split, 0)[0]) for plan in plans for split in (0, 1)}) == 4


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
    choices = _choices(["x", "y"], ["mert", "kbmira"], ["A"], [0.0, 0.5])
    assert len(choices) == 16
    assert next(iter(choices)) == "mert on x, prior 0"
    assert [*choices][-1] == "kbmira on y, prior 0.5, without A"
    assert len({(c.tuned_on, c.optimizer, c.without, c.prior) for c in choices.values()}) == 16


@pytest.mark.parametrize("threads", [1, 3])
def test_all_segments_alike_are_learnt_and_judged_the_same(threads, tmp_path):
    start = FeatureWeights({"A": (1.0,), "B": (0.1,)})
    plan = plan_of(setup=replace(SETUP, starts=(start,)), splits=2, seeds=2)
    choices = {"all": Choice("mean", MERT), "A": Choice("mean", MERT, without=("B",))}
    with using(threads=threads):
        rows = tuned(plan, choices, tmp_path, "d")
    better = np.arange(6) * 2 + 1
    assert (rows["all"] == better).all()
    assert (rows["A"] == better).all()  # A with a weight below 0
    assert rows["A"].shape == (2, 4, 6)
    assert len(list((tmp_path / "cells").glob("*[0-9]*.json"))) == 16


def test_rows_without_a_search_have_signs_that_were_learnt():
    report = crossval(lists_of(), optimizer=MERT, splits=2, weights={"A": 1.0, "B": 0.1})
    scores = {row["system"]: row["score"] for row in report.document["scores"]}
    name = "mert:restarts=1,searches_per_feature=20"
    assert scores == {
        name: 0.75, "first": 0.25, "start": 0.25, "equal weights": 0.75, "best single": 0.75,
        "only A": 0.75, "only B": 0.75,
    }  # fmt: skip
    assert report.document["seen"]["mean"] == scores
    families = {row["system"]: row["family"] for row in report.document["scores"]}
    assert families.pop(name) is None
    assert {x for x in families if families[x] == "further"} == {"only A", "only B"}
    assert report.headlines[0].startswith("no difference shown between mert")


def test_a_cell_that_was_edited_is_searched_again(tmp_path):
    plan, choices = plan_of(splits=1), {"m": Choice("mean", MERT)}
    rows = tuned(plan, choices, tmp_path, "d")
    cell = min((tmp_path / "cells").glob("*[0-9]*.json"))
    before = cell.read_text()
    cell.write_text(before.replace('"A"', '"C"'))
    assert (tuned(plan, choices, tmp_path, "d")["m"] == rows["m"]).all()
    assert cell.read_text() == before


def test_what_a_cell_depends_on_is_in_its_name(tmp_path):
    start = replace(SETUP, starts=(FeatureWeights({"A": (1.0,), "B": (0.5,)}),))
    plan, first = plan_of(setup=start, splits=1), Choice("mean", MERT)

    def made(plan, choice=first, data="d"):
        before = set(tmp_path.rglob("*.json"))
        tuned(plan, {"called": choice}, tmp_path, data)
        return len({x for x in tmp_path.rglob("*.json") if re.search("[0-9]", x.name)} - before)

    assert made(plan) == 2
    assert made(plan) == 0
    assert made(replace(plan, splits=2, seeds=2)) == 6
    assert made(replace(plan, size=1)) == 2
    assert made(replace(plan, setup=replace(start, seed=2))) == 2
    assert made(replace(plan, setup=SETUP)) == 2
    assert made(plan, replace(first, optimizer=registry.optimizer("mert"))) == 2
    assert made(plan, replace(first, prior=0.1)) == 2
    assert made(plan, data="e") == 2


def test_a_search_on_other_numbers_is_another_one(tmp_path):
    for better in (0.75, 0.75, 0.5):
        lists = lists_of(scores=(0.25, better))
        crossval(lists, optimizer=MERT, splits=1, out_dir=tmp_path)
    assert len(list((tmp_path / "cells").glob("*[0-9]*.json"))) == 4


def test_a_crossval_that_goes_on_warns_as_at_first(tmp_path):
    lists = lists_of(scores=(0.5, 0.5))
    reports = [crossval(lists, optimizer=MERT, splits=1, out_dir=tmp_path) for _ in range(2)]
    first, again = (report.warnings for report in reports)
    assert any(line.startswith("first split: the lists hold nothing better") for line in first)
    assert again == first


def test_an_optimizer_that_is_an_object_is_called_as_on_the_command_line():
    report = crossval(lists_of(), optimizer=[MERT, registry.optimizer("coordinate")], splits=1)
    names = [system["name"] for system in report.document["systems"][:2]]
    assert names == ["mert:restarts=1,searches_per_feature=20", "coordinate"]
    assert report.document["notes"] == [
        "one search on each half: how much tuning varies is not tested"
    ]
