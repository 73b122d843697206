"""Weights for segments that were held out: by hand, and on problems with a known truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.learning import preferred, preferred_by_others
from tests.tuner.search.test_line_search import Share
from tuner.search.constraints import Bounds
from tuner.search.optimizers._mira import Mira
from tuner.search.optimizers.kbmira import Kbmira
from tuner.search.optimizers.shrunk import (
    RESAMPLES,
    Shrunk,
    _choose,
    _mixture,
    _scaled,
    _unscaled,
)
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
    assert kept >= 3


def test_a_good_start_is_left_less_than_without_held_out_segments():
    other = noisy_problem(0, segments=4000)
    losses = []
    for seed in range(1, 11):
        problem = noisy_problem(seed, segments=20, noise=4.0)
        found = [
            optimizer.optimize(problem, [TRUTH], seed=seed) for optimizer in (Shrunk(), Kbmira())
        ]
        losses.append([other.score(TRUTH) - other.score(one.weights) for one in found])
    shrunk, kbmira = np.mean(losses, axis=0)
    assert shrunk < 0.75 * kbmira


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
    learn = Mira.learn

    def spy(mira, segments):
        learnt.append((mira, segments.tolist()))
        learn(mira, segments)

    monkeypatch.setattr(Mira, "learn", spy)
    Shrunk(folds=4).optimize(problem, [START])
    runs = list(dict.fromkeys(mira for mira, _ in learnt))
    seen = [{s for mira, part in learnt if mira is run for s in part} for run in runs]
    assert len(runs) == 4
    assert sorted(s for part in seen for s in set(range(13)) - part) == list(range(13))


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


def test_long_lists_are_thinned_evenly_and_differently_for_each_fold():
    problem = noisy_problem(1, segments=2, per_segment=7)
    optimizer = Shrunk(longest=3, folds=2)
    thin = optimizer._thinned(problem, 0)
    # Three of seven, in steps of 7/3; the second time half a step later.
    assert thin.offsets.tolist() == [0, 3, 6]
    assert thin.rows.tolist() == [0, 2, 4, 7, 9, 11]
    assert thin.features.tolist() == problem.features[:, thin.rows].tolist()
    assert optimizer._thinned(problem, 1).rows.tolist() == [1, 3, 5, 8, 10, 12]
    assert Shrunk(longest=7)._thinned(problem, 3) is problem


def test_mixtures_are_of_weights_of_equal_effect():
    # Weight 1 spreads scores of -1 and 1 by 1; with 3 and a fixed part of 0, by 3.
    problem = TuningProblem(
        np.array([[-1.0, 1.0]]),
        np.array([0, 2]),
        StatTable(np.ones((2, 2))),
        Share(),
        fixed=np.array([0.0, 0.0]),
    )
    one, scores = _scaled(problem, np.array([1.0]))
    three, other_scores = _scaled(problem, np.array([3.0]))
    assert scores.tolist() == other_scores.tolist() == [-1, 1]
    # Weight 1 each, and 1 and 1/3 of the fixed part.
    assert one.tolist() == [1, 1]
    assert three.tolist() == pytest.approx([1, 1 / 3])
    both = np.stack([three, one])
    assert _unscaled(_mixture(one, both, 0.5, 0.0)) == pytest.approx([1 / (2 / 3)])
    assert _unscaled(_mixture(one, both, 0.0, 0.0)) == pytest.approx([1])
    assert _unscaled(_mixture(three, both, 1.0, 0.5)) == pytest.approx([1 / (2 / 3)])
    assert _unscaled(_mixture(three, both, 1.0, 1.0)) == pytest.approx([1])


def shares_of_hits(*hits):
    """One segment in 400 with each number of hits of 10; choices of which the rows are made."""
    stats = np.column_stack([np.arange(11.0), np.full(11, 10.0)])
    problem = TuningProblem(np.zeros((1, 11)), np.array([0, 11]), StatTable(stats), Share())
    return problem, np.array(hits)


HALVES = np.array([0, 1] * 200)
"""The fold of each segment."""


def test_the_error_is_that_of_a_mean():
    # Shares of 0 and 1, half and half, of 400 segments: the deviation of the mean is 0.5 / 20.
    problem, chosen = shares_of_hits([0, 10] * 200)
    row, start, unseen = _choose(problem, chosen, np.zeros(1), HALVES, 3)
    assert row == 0
    assert start == unseen
    assert start.value == 0.5
    assert start.error == pytest.approx(0.025, rel=0.15)


def test_the_first_that_is_hardly_worse_than_the_best_is_taken():
    better, best = [5, 6] * 200, [5, 7] * 200
    # Against the best 0.2 higher and lower in turn, but once: 0.00025 lower, and the error
    # of the difference is 0.2 / 20. The first is 0.05 lower, with an error of 0.05 / 20.
    hardly, clearly = [7, 5] * 199 + [6, 5] * 1, [4, 7] * 200
    problem, chosen = shares_of_hits([5, 5] * 200, clearly, hardly, best, better)

    def choice(*penalties):
        return _choose(problem, chosen, np.array(penalties), HALVES, 1)[0]

    assert choice(0, 0, 0, 0, 0) == 2
    # A penalty counts; and where nothing is better than the start, it stays.
    assert choice(0, 0, 0.2, 0, 0) == 3
    assert choice(0, 1, 1, 1, 1) == 0
    assert _choose(problem, chosen[[0, 0, 0]], np.zeros(3), HALVES, 1)[0] == 0


def test_no_fold_chooses_what_it_is_judged_by():
    # Of all segments the first has 0.65, the second 0.05 less with an error of 0.45 / 20, the
    # start 0.5. By the second fold alone the second row is best, of which the first fold has 4
    # of 10; by the first fold alone the first row, of which the second fold has 4 too.
    problem, chosen = shares_of_hits([5, 5] * 200, [9, 4] * 200, [4, 8] * 200)
    row, start, unseen = _choose(problem, chosen, np.zeros(3), HALVES, 1)
    assert row == 1
    assert start.value == 0.5
    assert unseen.value == 0.4
    assert unseen.rows.tolist() == [4] * 400
    assert unseen.error == 0
    # Dealt the other way round, both folds choose as all do.
    row, _, unseen = _choose(problem, chosen, np.zeros(3), np.repeat([0, 1], 200), 1)
    assert row == 1
    assert unseen.rows.tolist() == [9, 4] * 200


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_choices_are_those_of_the_slow_twin(seed, segments):
    rng = np.random.default_rng(seed)
    problem, chosen = shares_of_hits(*rng.integers(0, 11, (4, segments)))
    # Some rows choose the same for most segments.
    chosen[2:, : segments // 2] = chosen[1, : segments // 2]
    penalties = rng.choice([0.0, 0.05], 4)
    fold_of = rng.permutation(segments) % 3
    drawn = np.random.default_rng(7).multinomial(
        segments, np.full(segments, 1 / segments), size=RESAMPLES
    )
    samples = [np.repeat(np.arange(segments), counts).tolist() for counts in drawn]
    stats = problem.stats.rows[chosen]

    def score(sums):
        return sums[0] / sums[1] if sums[1] else 0.0

    row, _, unseen = _choose(problem, chosen, penalties, fold_of, 7)
    assert row == preferred(score, stats, penalties, list(range(segments)), samples)
    taken = preferred_by_others(score, stats, penalties, fold_of, samples) if row else 0
    assert unseen.rows.tolist() == chosen[taken, np.arange(segments)].tolist()
