"""Weights for segments that were held out: by hand, and on problems with a known truth."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from portmert.tuner.search.constraints import Bounds
from portmert.tuner.search.optimizers import bagged
from portmert.tuner.search.optimizers._mira import Mira
from portmert.tuner.search.optimizers.bagged import (
    SHARES,
    Bagged,
    _blends,
    _choose,
    _mixture,
    _parts,
    _samples,
    _scaled,
    _unscaled,
    _worth,
)
from portmert.tuner.search.optimizers.kbmira import Kbmira
from portmert.tuner.search.problem import StatTable, TuningProblem
from tests.oracles.learning import believed
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


def test_the_estimate_is_that_of_other_segments_within_its_error():
    other = noisy_problem(0, segments=4000)
    off, errors = [], []
    for seed in range(1, 21):
        found = Bagged().optimize(noisy_problem(seed), [START], seed=seed)
        off.append(found.unseen.value - other.score(found.weights))
        errors.append(found.unseen.error)
    mean_error = np.std(off, ddof=1) / len(off) ** 0.5
    assert abs(np.mean(off)) < 3 * mean_error
    # The errors that are told are of the size of those that were made.
    assert 0.5 * np.std(off) < np.mean(errors) < 2 * np.std(off)


def test_the_seen_score_promises_more_than_the_estimate():
    problems = [noisy_problem(seed, segments=15, noise=4.0) for seed in range(10)]
    found = [Bagged().optimize(problem, [START]) for problem in problems]
    assert np.mean([f.value - f.unseen.value for f in found]) > 0.01


def test_the_start_is_kept_where_there_is_nothing_to_learn():
    # Hits are noise: whatever is learnt is worth nothing on the segments held out.
    kept = 0
    for seed in range(20):
        problem = noisy_problem(seed, truth=np.zeros(4), segments=30)
        found = Bagged().optimize(problem, [START], seed=seed)
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


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_weights_are_finite_and_inside_the_bounds(seed, segments):
    rng = np.random.default_rng(seed)
    problem = noisy_problem(seed, segments=segments, per_segment=int(rng.integers(1, 6)))
    lower = np.where(rng.random(4) < 0.5, rng.uniform(-1, 0, 4), -np.inf)
    upper = np.where(rng.random(4) < 0.5, rng.uniform(0.1, 1, 4), np.inf)
    bounds = Bounds(lower, upper)
    found = Bagged().optimize(problem, [START], bounds=bounds, seed=seed % 97)
    assert np.isfinite(found.weights).all()
    assert (found.weights >= lower).all()
    assert (found.weights <= upper).all()
    assert found.value >= problem.score(bounds.clip(START))
    assert found.unseen.error >= 0


def test_one_segment_keeps_the_start():
    problem = noisy_problem(1, segments=1)
    assert Bagged().optimize(problem, [START]).weights.tobytes() == START.tobytes()


def test_of_several_starts_the_one_of_the_best_estimate_is_taken():
    problem = noisy_problem(4)
    apart = [Bagged().optimize(problem, [start], seed=1) for start in (START, TRUTH)]
    both = Bagged().optimize(problem, [START, TRUTH], seed=1)
    assert both.unseen.value >= min(one.unseen.value for one in apart)
    assert len(both.restarts) == 2


def test_statistics_on_demand_are_asked_of_some_hypotheses_only():
    problem = noisy_problem(1, segments=20, per_segment=200)
    rows = problem.stats.rows
    lazy = StatTable(np.full_like(rows, np.nan), lambda wanted: rows[wanted])
    asked = TuningProblem(problem.features, problem.offsets, lazy, problem.metric)
    found = Bagged(longest=20).optimize(asked, [START])
    assert problem.score(found.weights) > problem.score(START)
    assert lazy.known < 0.2 * len(rows)


def test_long_lists_are_thinned_evenly_and_differently_for_each_fold():
    problem = noisy_problem(1, segments=2, per_segment=7)
    optimizer = Bagged(folds=2)
    thin = optimizer._thinned(problem, 0, 3)
    # Three of seven, in steps of 7/3; the second time half a step later.
    assert thin.offsets.tolist() == [0, 3, 6]
    assert thin.rows.tolist() == [0, 2, 4, 7, 9, 11]
    assert thin.features.tolist() == problem.features[:, thin.rows].tolist()
    assert optimizer._thinned(problem, 1, 3).rows.tolist() == [1, 3, 5, 8, 10, 12]
    assert optimizer._thinned(problem, 3, 7) is problem


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

    def mixed(start, *parts):
        return _unscaled(_mixture(np.array(parts), start, both))

    assert mixed(one, 0.5, 0.0) == pytest.approx([1 / (2 / 3)])
    assert mixed(one, 0.0, 0.0) == pytest.approx([1])
    assert mixed(three, 0.5, 0.5) == pytest.approx([1 / (2 / 3)])
    assert mixed(three, 0.0, 1.0) == pytest.approx([1])


def test_blends_are_of_one_two_or_all_searches():
    assert _blends(1).tolist() == [[1]]
    assert _blends(2).tolist() == [[0, 1], [1, 0], [0.5, 0.5]]
    three = _blends(3)
    assert len(three) == 7
    assert three.sum(axis=1) == pytest.approx(np.ones(7))
    assert three[-1] == pytest.approx([1 / 3, 1 / 3, 1 / 3])


def shares_of_hits(*hits):
    """One segment in 400 with each number of hits of 10; choices of which the rows are made."""
    stats = np.column_stack([np.arange(11.0), np.full(11, 10.0)])
    problem = TuningProblem(np.zeros((1, 11)), np.array([0, 11]), StatTable(stats), Share())
    return problem, np.array(hits)


def test_the_error_is_that_of_a_mean():
    # Shares of 0 and 1, half and half, of 400 segments: the deviation of the mean is 0.5 / 20.
    problem, (chosen,) = shares_of_hits([0, 10] * 200)
    unseen = _worth(problem, chosen, _samples(400, 3))
    assert unseen.value == 0.5
    assert unseen.error == pytest.approx(0.025, rel=0.15)
    assert unseen.rows.tolist() == [0, 10] * 200


# The start, two searches at shares 1, 3/4, 1/2, 1/4: the text, then two samples of it.
WORTHS = np.array(
    [
        [0.50, 0.60, 0.58, 0.70, 0.5, 0.71, 0.9, 0.40, 0.5],
        [0.50, 0.63, 0.61, 0.71, 0.5, 0.70, 0.9, 0.40, 0.5],
        [0.50, 0.57, 0.51, 0.69, 0.5, 0.72, 0.9, 0.40, 0.5],
    ]
)


def test_searches_count_by_errors_below_the_best_one():
    # The differences at share 1 are 0.02 and 0.06 in the samples: an error of 0.04 / sqrt(2).
    # Of the better one's shares 1/2 is best; 3/4 is 0.01 lower with an error of 0.04 / sqrt(2),
    # 1 is 0.11 lower with an error of 0.08 / sqrt(2).
    belief = np.exp(-0.02 / (0.04 / 2**0.5))
    found = _parts(WORTHS, np.zeros(9), np.eye(2))
    assert found == pytest.approx(0.75 * np.array([1, belief]) / (1 + belief))
    # The same with blends that are not searches themselves.
    halves = np.array([[1.0, 0.0], [0.5, 0.5]])
    found = _parts(WORTHS, np.zeros(9), halves)
    assert found == pytest.approx(0.75 * np.array([1 + belief / 2, belief / 2]) / (1 + belief))


def test_a_penalty_counts_and_the_start_stays_where_nothing_is_better():
    penalties = np.zeros(9)
    penalties[3] = 0.2  # of the first search at 3/4
    assert _parts(WORTHS, penalties, np.eye(2)).sum() == pytest.approx(0.5)
    penalties[1:] = 0.3
    assert _parts(WORTHS, penalties, np.eye(2)).tolist() == [0, 0]
    assert _parts(np.full((3, 9), 0.5), np.zeros(9), np.eye(2)).tolist() == [0, 0]


def test_no_fold_chooses_what_it_is_judged_by():
    # By the second fold alone the second search is best, of which the first fold has 4 of 10; by
    # the first fold alone the first search, of which the second fold has 4 too.
    first, second = [9, 4] * 200, [4, 8] * 200
    problem, chosen = shares_of_hits([5, 5] * 200, *[first, second] * 4)
    folds, counts = np.array([0, 1] * 200), _samples(400, 1)
    whole, others = _choose(problem, chosen, np.zeros(9), np.eye(2), folds, counts)
    assert [one.tolist() for one in others] == [[0, 1], [1, 0]]
    # Of all the first has 0.65, the second 0.05 less with an error of 0.45 / 20.
    assert whole == pytest.approx(
        [1, np.exp(-0.05 * 20 / 0.45)] / (1 + np.exp(-0.05 * 20 / 0.45)), abs=0.05
    )


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(1, 3))
def test_choices_are_those_of_the_slow_twin(seed, segments, searches):
    rng = np.random.default_rng(seed)
    blends = _blends(searches)
    problem, chosen = shares_of_hits(*rng.integers(0, 11, (1 + 4 * len(blends), segments)))
    # Some rows choose the same for most segments.
    chosen[2:, : segments // 2] = chosen[1, : segments // 2]
    penalties = rng.choice([0.0, 0.05], len(chosen))
    fold_of = rng.permutation(segments) % 3
    counts = _samples(segments, seed)
    samples = [np.repeat(np.arange(segments), of.astype(int)).tolist() for of in counts[1:]]

    def by(segments):
        return believed(
            lambda sums: sums[0] / max(sums[1], 1),
            problem.stats.rows[chosen],
            penalties,
            blends=blends,
            shares=SHARES,
            segments=sorted(segments),
            samples=[
                [segment for segment in one if segment in segments] or sorted(segments)
                for one in samples
            ],
        )

    whole, others = _choose(problem, chosen, penalties, blends, fold_of, counts)
    everything = set(range(segments))
    assert whole == pytest.approx(by(everything))
    for fold, found in enumerate(others):
        kept = everything - set(np.flatnonzero(fold_of == fold).tolist())
        assert found == pytest.approx(by(kept))


def test_the_estimate_is_of_what_the_other_folds_chose(monkeypatch):
    problem = noisy_problem(5, segments=13, noise=4.0)
    runs, choices = [], []
    learnt, choose = Bagged._learnt, bagged._choose

    def spy(*arguments):
        runs.append((list(learnt(*arguments)), arguments[4]))
        return runs[-1][0]

    def spy_on_choice(*arguments):
        choices.append(choose(*arguments))
        return choices[-1]

    monkeypatch.setattr(Bagged, "_learnt", spy)
    monkeypatch.setattr(bagged, "_choose", spy_on_choice)
    found = Bagged(folds=4).optimize(problem, [START])
    (learnt_by_fold, fold_of), (whole, others) = runs[0], choices[0]
    numbers = [
        np.stack([_scaled(problem, weights)[0] for weights in runs]) for runs in learnt_by_fold
    ]
    start, _ = _scaled(problem, START)
    for segment, fold in enumerate(fold_of):
        weights = _unscaled(_mixture(others[fold], start, numbers[fold]))
        assert found.unseen.rows[segment] == problem.winners(weights)[segment]
    assert found.weights == pytest.approx(
        _unscaled(_mixture(whole, start, np.mean(numbers, axis=0)))
    )


@pytest.mark.parametrize(
    ("options", "sparse", "searches"), [({}, 0, 3), ({}, 2, 2), ({"iterations": 0}, 0, 1)]
)
def test_some_problems_are_learnt_by_fewer_searches(options, sparse, searches):
    problem = noisy_problem(1, segments=6)
    if sparse:
        problem = replace(problem, sparse=csr_array(np.eye(problem.size, sparse)))
    start = np.append(START, np.zeros(sparse))
    folds, rng = np.arange(6) % 3, np.random.default_rng(1)
    runs = list(Bagged(**options)._learnt(problem, start, Bounds.none(4 + sparse), folds, rng))
    assert [[one.shape for one in run] for run in runs] == [[(4 + sparse,)] * searches] * 3
