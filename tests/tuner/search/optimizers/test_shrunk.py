"""Weights for segments that were held out: by hand, and on problems with a known truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.risk import expected_statistics
from tests.tuner.search.test_line_search import Share
from tuner.search.constraints import Bounds
from tuner.search.optimizers import _kernels
from tuner.search.optimizers.shrunk import Shrunk, _estimate, _shortened
from tuner.search.problem import StatTable, TuningProblem

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
    found = Shrunk().optimize(whole, [START]).weights
    assert other.score(found) > other.score(START) + 0.1
    assert other.score(found) > other.score(TRUTH) - 0.02


def test_the_estimate_is_that_of_other_segments_within_its_error():
    other = noisy_problem(0, segments=4000)
    off, errors = [], []
    for seed in range(1, 21):
        found = Shrunk().optimize(noisy_problem(seed), [START], seed=seed)
        off.append(found.unseen.value - other.score(found.weights))
        errors.append(found.unseen.error)
    mean_error = np.std(off, ddof=1) / len(off) ** 0.5
    assert abs(np.mean(off)) < 3 * mean_error
    # The errors that are told are of the size of those that were made.
    assert 0.5 * np.std(off) < np.mean(errors) < 2 * np.std(off)


def test_the_seen_score_promises_more_than_the_estimate():
    problems = [noisy_problem(seed, segments=15, noise=4.0) for seed in range(10)]
    found = [Shrunk().optimize(problem, [START]) for problem in problems]
    assert np.mean([f.value - f.unseen.value for f in found]) > 0.01


def test_the_start_is_kept_where_there_is_nothing_to_learn():
    # Hits are noise: whatever is learnt is worth nothing on the segments held out.
    kept = 0
    for seed in range(20):
        problem = noisy_problem(seed, truth=np.zeros(4), segments=30)
        found = Shrunk().optimize(problem, [START], seed=seed)
        if found.weights.tobytes() == START.tobytes():
            kept += 1
            assert found.unseen.value == found.value == problem.score(START)
    assert kept >= 5


def test_a_good_start_is_hardly_left():
    other = noisy_problem(0, segments=4000)
    losses = []
    for seed in range(1, 11):
        found = Shrunk().optimize(noisy_problem(seed, segments=20, noise=4.0), [TRUTH], seed=seed)
        losses.append(other.score(TRUTH) - other.score(found.weights))
    assert np.mean(losses) < 0.01


def test_seeds_deal_the_folds_and_hardly_matter():
    other = noisy_problem(0, segments=2000)
    problem = noisy_problem(3)
    scores = [
        other.score(Shrunk().optimize(problem, [START], seed=seed).weights) for seed in range(8)
    ]
    assert np.std(scores) < 0.01


def test_every_segment_is_held_out_once_and_never_learnt_from_then(monkeypatch):
    problem = noisy_problem(1, segments=13)
    learnt = []
    expect = _kernels.expect

    def spy(*arguments):
        learnt.append(tuple(arguments[4]))
        return expect(*arguments)

    monkeypatch.setattr(_kernels, "expect", spy)
    Shrunk(folds=4).optimize(problem, [START])
    sets = list(dict.fromkeys(learnt))
    assert sets[-1] == (1.0,) * 13  # in the end all
    assert np.sum([1 - np.array(counts) for counts in sets[:-1]], axis=0).tolist() == [1.0] * 13
    assert len(sets) == 5


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_weights_are_finite_and_inside_the_bounds(seed, segments):
    rng = np.random.default_rng(seed)
    problem = noisy_problem(seed, segments=segments, per_segment=int(rng.integers(1, 6)))
    lower = np.where(rng.random(4) < 0.5, rng.uniform(-1, 0, 4), -np.inf)
    upper = np.where(rng.random(4) < 0.5, rng.uniform(0.1, 1, 4), np.inf)
    bounds = Bounds(lower, upper)
    found = Shrunk().optimize(problem, [START], bounds=bounds, seed=seed % 97)
    assert np.isfinite(found.weights).all()
    assert (found.weights >= lower).all()
    assert (found.weights <= upper).all()
    assert found.value >= problem.score(bounds.clip(START))
    assert found.unseen.error >= 0


def test_one_segment_keeps_the_start():
    problem = noisy_problem(1, segments=1)
    assert Shrunk().optimize(problem, [START]).weights.tobytes() == START.tobytes()


def test_of_several_starts_the_one_of_the_best_estimate_is_taken():
    problem = noisy_problem(4)
    apart = [Shrunk().optimize(problem, [start], seed=1) for start in (START, TRUTH)]
    both = Shrunk().optimize(problem, [START, TRUTH], seed=1)
    assert both.unseen.value >= min(one.unseen.value for one in apart)
    assert len(both.restarts) == 2


def test_statistics_on_demand_are_asked_of_some_hypotheses_only():
    problem = noisy_problem(1, segments=20, per_segment=200)
    rows = problem.stats.rows
    lazy = StatTable(np.full_like(rows, np.nan), lambda wanted: rows[wanted])
    asked = TuningProblem(problem.features, problem.offsets, lazy, problem.metric)
    found = Shrunk(longest=20).optimize(asked, [START])
    assert problem.score(found.weights) > problem.score(START)
    assert lazy.known < 0.2 * len(rows)


def test_long_lists_are_thinned_evenly():
    problem = noisy_problem(1, segments=2, per_segment=7)
    thin = _shortened(problem, 3)
    assert thin.offsets.tolist() == [0, 3, 6]
    assert thin.rows.tolist() == [0, 2, 4, 7, 9, 11]
    assert thin.features.tolist() == problem.features[:, thin.rows].tolist()
    assert _shortened(problem, 7) is problem


def test_the_error_is_that_of_a_mean():
    # Shares of 0 and 1, half and half, of 400 segments: the deviation of the mean is 0.5 / 20.
    stats = np.tile([[0.0, 1.0], [1.0, 1.0]], (200, 1))
    offsets = np.arange(401)
    problem = TuningProblem(np.zeros((1, 400)), offsets, StatTable(stats), Share())
    found = _estimate(problem, np.arange(400), 3)
    assert found.value == 0.5
    assert found.error == pytest.approx(0.025, rel=0.15)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_kernel_expects_what_its_twin_does(seed):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 6, size=5))])
    size = int(offsets[-1])
    matrix, stats = rng.normal(size=(size, 3)), rng.normal(size=(size, 2))
    numbers, extra = 3 * rng.normal(size=3), rng.normal(size=size)
    counts = rng.integers(0, 3, size=5).astype(float)
    shares, expected = np.empty(size), np.empty(2)
    entropy = _kernels.expect(matrix, numbers, extra, offsets, counts, stats, shares, expected)
    twin = expected_statistics(matrix @ numbers + extra, offsets, counts, stats)
    assert shares == pytest.approx(twin[0], abs=1e-8)
    assert expected == pytest.approx(twin[1], abs=1e-7)
    assert entropy == pytest.approx(twin[2], abs=1e-6)
