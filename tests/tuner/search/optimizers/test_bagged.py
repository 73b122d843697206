"""Weights for segments that were held out: by hand, and on problems with a known truth."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic.dataclasses import dataclass
from scipy.sparse import csr_array

from portmert.tuner.base.context import current, using
from portmert.tuner.base.errors import PortmertError
from portmert.tuner.search.constraints import Bounds
from portmert.tuner.search.optimizers import _mira_kernels, bagged
from portmert.tuner.search.optimizers._likelihood import Likelihood
from portmert.tuner.search.optimizers.bagged import MOST_CLIMBED, Bagged, thinned
from portmert.tuner.search.optimizers.coordinate import Coordinate
from portmert.tuner.search.optimizers.kbmira import Kbmira, Mira
from portmert.tuner.search.optimizers.min_risk import Risk
from portmert.tuner.search.problem import TuningProblem
from portmert.tuner.search.stat_table import StatTable
from tests.tuner.search.test_line_search import Share

TRUTH = np.array([1.0, 0.5, -0.5, 0.0])
START = np.array([1.0, -0.5, 0.5, 0.2])


def noisy_problem(seed, *, segments=60, per_segment=20, noise=2.0, truth=TRUTH):
    """Hits of 10 that rise with truth . features, under noise."""
    rng = np.random.default_rng(seed)
    size = segments * per_segment
    features = rng.normal(size=(len(truth), size))
    hits = np.clip(np.round(5 + truth @ features + noise * rng.normal(size=size)), 0, 10)
    stats = np.column_stack([hits, np.full(size, 10.0)])
    offsets = np.arange(0, size + 1, per_segment)
    return TuningProblem(features, offsets, StatTable(stats), Share())


def test_what_is_learnt_holds_on_other_segments():
    whole = noisy_problem(1)
    other = noisy_problem(2, segments=2000)
    found = Bagged().optimize(whole, [START]).weights
    assert other.score(found) > other.score(START) + 0.1
    assert other.score(found) > other.score(TRUTH) - 0.02


@pytest.mark.parametrize("enough", [bagged.MANY, 20])
def test_the_estimate_is_that_of_other_segments_within_its_error(enough, monkeypatch):
    monkeypatch.setattr(bagged, "MANY", enough)
    other = noisy_problem(0, segments=4000)
    off, errors = [], []
    for seed in range(1, 21):
        found = Bagged().optimize(noisy_problem(seed), [START], seed=seed)
        off.append(found.unseen.oriented_score - other.score(found.weights))
        errors.append(found.unseen.error)
    mean_error = np.std(off, ddof=1) / len(off) ** 0.5
    assert abs(np.mean(off)) < 3 * mean_error
    # The errors that are told are of the size of those that were made.
    assert 0.5 * np.std(off) < np.mean(errors) < 2 * np.std(off)


def taught(segments, enough, monkeypatch):
    """Which folds each of ten searches learns from."""
    monkeypatch.setattr(bagged, "MANY", enough)
    problem = noisy_problem(1, segments=segments, per_segment=2)
    bounds = Bounds(np.full(4, -np.inf), np.full(4, np.inf))
    return bagged._Split(problem, START, bounds, np.arange(segments) % 10, 1).taught_by


@pytest.mark.parametrize(("segments", "folds"), [(30, 9), (33, 9), (34, 9), (40, 8), (300, 1)])
def test_searches_learn_from_no_more_folds_than_have_enough_segments(segments, folds, monkeypatch):
    learnt_from = taught(segments, 30, monkeypatch)
    assert {len(others) for others in learnt_from} == {folds}
    assert not any(fold in others for fold, others in enumerate(learnt_from))
    # Each fold teaches equally many searches.
    assert {sum(fold in others for others in learnt_from) for fold in range(10)} == {folds}


@pytest.mark.parametrize("per_segment", [20, 150])
def test_parts_of_many_segments_teach_together_what_all_of_them_teach(per_segment, monkeypatch):
    problem = noisy_problem(1, segments=300, per_segment=per_segment)
    other = noisy_problem(2, segments=2000)
    whole = Bagged().optimize(problem, [START])
    monkeypatch.setattr(bagged, "MANY", 60)
    parts = Bagged().optimize(problem, [START])
    assert parts.weights.tolist() != whole.weights.tolist()
    assert abs(other.score(parts.weights) - other.score(whole.weights)) < 0.01
    assert parts.unseen.error == pytest.approx(whole.unseen.error, rel=0.5)


def test_the_folds_are_those_that_the_search_holds_out():
    search = Bagged(folds=4, epochs=1, iterations=1)
    found = search.optimize(noisy_problem(1, segments=30), [START], seed=5)
    folds = search.folds_of(30, 5)
    assert folds.tolist() == found.unseen.folds.tolist()
    assert np.bincount(folds).tolist() == [8, 8, 7, 7]
    assert folds.tolist() != search.folds_of(30, 6).tolist()


@dataclass(frozen=True)
class Dealt(Bagged):
    """As that of another package, whose answers are checked."""

    def folds_of(self, segments, seed):
        return np.arange(segments) - seed


def test_folds_of_others_are_numbers_from_0():
    assert Dealt().folds_of(3, 0).tolist() == [0, 1, 2]
    with pytest.raises(PortmertError, match="fold -1, expected numbers from 0"):
        Dealt().folds_of(3, 1)


def test_the_seen_score_promises_more_than_the_estimate():
    problems = [noisy_problem(seed, segments=15, noise=4.0) for seed in range(10)]
    found = [Bagged().optimize(problem, [START]) for problem in problems]
    assert np.mean([f.objective - f.unseen.oriented_score for f in found]) > 0.01


def test_the_start_is_kept_where_there_is_nothing_to_learn():
    # Hits are noise: whatever is learnt is worth nothing on the segments held out.
    kept = 0
    for seed in range(20):
        problem = noisy_problem(seed, truth=np.zeros(4), segments=30)
        found = Bagged().optimize(problem, [START], seed=seed)
        if found.weights.tobytes() == START.tobytes():
            kept += 1
            assert found.objective == problem.score(START)
        if kept == 3:
            return
    pytest.fail(f"kept {kept} times of 20")


def test_a_good_start_is_left_less_than_without_held_out_segments():
    other = noisy_problem(0, segments=4000)
    losses = []
    for seed in range(1, 11):
        problem = noisy_problem(seed, segments=20, noise=4.0)
        found = [
            optimizer.optimize(problem, [TRUTH], seed=seed) for optimizer in (Bagged(), Kbmira())
        ]
        losses.append([other.score(TRUTH) - other.score(one.weights) for one in found])
    bagged, kbmira = np.mean(losses, axis=0)
    assert bagged < 0.75 * kbmira


def test_seeds_deal_the_folds_and_hardly_matter():
    other = noisy_problem(0, segments=2000)
    problem = noisy_problem(3)
    scores = [
        other.score(Bagged().optimize(problem, [START], seed=seed).weights) for seed in range(8)
    ]
    assert np.std(scores) < 0.01


def test_every_segment_is_held_out_once_and_never_learnt_from_then(monkeypatch):
    problem = noisy_problem(1, segments=13)
    learnt = []
    learn = Mira.learn

    def spy(mira, segments):
        learnt.append((mira, segments.tolist()))
        learn(mira, segments)

    monkeypatch.setattr(Mira, "learn", spy)
    Bagged(folds=4).optimize(problem, [START])
    runs = list(dict.fromkeys(mira for mira, _ in learnt))
    seen = [{s for mira, part in learnt if mira is run for s in part} for run in runs]
    assert len(runs) == 4
    assert sorted(s for part in seen for s in set(range(13)) - part) == list(range(13))


def test_one_segment_keeps_the_start():
    problem = noisy_problem(1, segments=1)
    assert Bagged().optimize(problem, [START]).weights.tobytes() == START.tobytes()


def test_of_several_starts_the_one_of_the_best_estimate_is_taken(monkeypatch):
    search, ends = Bagged.search, []

    def spy(*arguments):
        ends.append(search(*arguments))
        return ends[-1]

    monkeypatch.setattr(Bagged, "search", spy)
    for seed in range(4):
        problem = noisy_problem(seed, segments=20, noise=4.0)
        ends.clear()
        both = Bagged().optimize(problem, [START, TRUTH], seed=seed)
        lower, higher = sorted(ends, key=lambda end: end.unseen.oriented_score)
        assert lower.unseen.oriented_score < higher.unseen.oriented_score
        assert both.weights.tobytes() == higher.weights.tobytes()
        assert both.restarts == tuple(end.objective for end in ends)
        assert both.unseen in (lower.unseen, higher.unseen)  # not always the lucky one


def test_statistics_on_demand_are_asked_of_some_hypotheses_only():
    problem = noisy_problem(1, segments=20, per_segment=200)
    rows = problem.stats.rows
    lazy = StatTable(np.full(rows.shape, np.nan), lambda wanted: rows[wanted])
    asked = TuningProblem(problem.features, problem.offsets, lazy, problem.metric)
    found = Bagged(longest=20).optimize(asked, [START])
    assert problem.score(found.weights) > problem.score(START)
    assert lazy.known < 0.2 * len(rows)


@pytest.mark.parametrize(("starts", "threads", "each"), [(1, 4, 4), (2, 4, 2), (3, 2, 1)])
def test_threads_that_no_restart_needs_search_folds(starts, threads, each, monkeypatch):
    run, given = bagged.each, []

    def spy(work, count):
        given.append(current().threads)
        return run(work, count)

    monkeypatch.setattr(bagged, "each", spy)
    with using(threads=threads):
        Bagged(folds=3).optimize(noisy_problem(1, segments=6), [START] * starts)
    assert given == [each] * starts


@given(st.integers(0, 2**32 - 1))
def test_the_background_of_mira_is_that_of_numpy(seed):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 6, 8))])
    stats, background = rng.normal(size=(offsets[-1], 3)), rng.normal(size=3)
    segments = rng.permutation(8)[:5]
    rows = np.concatenate([np.arange(offsets[s], offsets[s + 1]) for s in segments])
    sums = _mira_kernels.with_background(stats, offsets, segments, background)
    assert sums.tobytes() == (background + stats[rows]).tobytes()
    hopes = rng.integers(-1, offsets[-1], 5)
    expected, size = background.copy(), 4.0
    for hope in hopes[hopes >= 0]:
        expected, size = (expected + stats[hope]) * 0.9, (size + 1.0) * 0.9
    assert _mira_kernels.remember(stats, hopes, 0.9, background, 4.0) == size
    assert background.tobytes() == expected.tobytes()


def test_long_lists_are_thinned_evenly_and_differently_for_each_part():
    problem = noisy_problem(1, segments=2, per_segment=7)
    thin = thinned(problem, 3, part=0, parts=2)
    # Three of seven, in steps of 7/3; the second time half a step later.
    assert thin.offsets.tolist() == [0, 3, 6]
    assert thin.rows.tolist() == [0, 2, 4, 7, 9, 11]
    assert thin.features.tolist() == problem.features[:, thin.rows].tolist()
    assert thinned(problem, 3, part=1, parts=2).rows.tolist() == [1, 3, 5, 8, 10, 12]
    assert thinned(problem, 7, part=1, parts=2) is problem


def test_the_scale_of_the_start_and_of_what_is_fixed_does_not_count():
    problem = noisy_problem(1, segments=20)
    once = Bagged().optimize(problem, [START])
    assert once.weights.tobytes() != START.tobytes()
    eightfold = Bagged().optimize(problem, [8 * START])
    assert eightfold.weights == pytest.approx(8 * once.weights)
    # The first feature is not searched and has weight 1, then 4 and all others too.
    ends = []
    for scale in (1, 4):
        held = TuningProblem(
            problem.features[1:],
            problem.offsets,
            problem.stats,
            problem.metric,
            scale * problem.features[0],
        )
        ends.append(Bagged().optimize(held, [scale * START[1:]]).weights)
    assert ends[1] == pytest.approx(4 * ends[0])


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_a_segment_teaches_nothing_while_its_fold_is_held_out(seed, monkeypatch):
    """Other statistics of it change only what is learnt while other folds are held out."""
    taught = []

    def spy(split, by_others, learnt):
        taught.append(learnt)
        return held_out(split, by_others, learnt)

    held_out = bagged._held_out
    monkeypatch.setattr(bagged, "_held_out", spy)
    problem = noisy_problem(seed, segments=40)
    folds = Bagged(folds=4).optimize(problem, [START]).unseen.folds
    for segment in range(0, 40, 16):
        rows = problem.stats.rows.copy()
        begin, end = problem.offsets[segment : segment + 2]
        rows[begin:end] = rows[begin:end][::-1]
        Bagged(folds=4).optimize(replace(problem, stats=StatTable(rows)), [START])
        changed = np.abs(taught[-1] - taught[0]).max(axis=(1, 2))
        own = np.arange(4) == folds[segment]
        assert changed[own] == pytest.approx(0.0, abs=1e-9)
        assert changed[~own].max() > 1e-3


@pytest.mark.parametrize(
    ("options", "more", "sparse", "learners"),
    [
        ({}, 0, 0, "mrc"),
        ({}, 0, 2, "mr"),
        ({}, MOST_CLIMBED, 0, "mr"),
        ({"iterations": 0}, 0, 0, "m"),
    ],
)
def test_some_problems_are_learnt_by_fewer_searches(options, more, sparse, learners, monkeypatch):
    problem = noisy_problem(1, segments=6)
    noise = np.random.default_rng(2).normal(size=(more, problem.size))
    problem = TuningProblem(
        np.vstack([problem.features, noise]), problem.offsets, problem.stats, problem.metric
    )
    if sparse:
        problem = replace(problem, sparse=csr_array(np.eye(problem.size, sparse)))
    called = set()
    for letter, kind, name in (
        ("m", Mira, "epoch"), ("r", Risk, "anneal"), ("c", Coordinate, "search"),
        ("l", Likelihood, "learn"),
    ):  # fmt: skip
        own = getattr(kind, name)

        def spy(*given, letter=letter, own=own, **options):
            called.add(letter)
            return own(*given, **options)

        monkeypatch.setattr(kind, name, spy)
    Bagged(folds=3, **options).optimize(problem, [np.append(START, np.zeros(more + sparse))])
    assert called == set(learners)
