"""The likelihood of the right hypotheses: a slow twin, and where it is one of the searches.

Outcomes are simulated: in each segment the truth is drawn from a softmax of some features.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from portmert.tuner.components import registry
from portmert.tuner.components.external import Scores
from portmert.tuner.search.constraints import Bounds
from portmert.tuner.search.optimizers._likelihood import (
    SHARPNESS,
    STRENGTHS,
    Likelihood,
    are_outcomes,
)
from portmert.tuner.search.optimizers._linear import Linear
from portmert.tuner.search.optimizers.bagged import Bagged
from portmert.tuner.search.problem import TuningProblem
from portmert.tuner.search.stat_table import StatTable
from tests.tuner.search.test_line_search import Share

TRUTH = np.array([1.0, 0.5, -0.5, 0.0, 0.0, 0.0])
MEAN = Scores((Path("none"),))


def outcomes(seed, *, segments=60, per_segment=8, scale=None, graded=False, truth=TRUTH):
    """One right hypothesis a segment, or scores that fall with the distance from it."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(len(truth), segments * per_segment))
    utility = truth @ features + rng.gumbel(size=segments * per_segment)
    table = utility.reshape(segments, per_segment)
    scores = table if graded else table == table.max(axis=1, keepdims=True)
    stats = np.column_stack([scores.ravel().astype(float), np.ones(scores.size)])
    if scale is not None:
        features *= scale[:, np.newaxis]
    offsets = np.arange(0, scores.size + 1, per_segment)
    return TuningProblem(features, offsets, StatTable(stats), MEAN)


def stats_of(problem):
    return problem.stats.take(np.arange(problem.size))


def likelihood_of(problem):
    width = problem.width
    return Likelihood(Linear(problem, np.ones(width), Bounds.none(width)), stats_of(problem)[:, 0])


def slow(problem, numbers, l2, counts):
    """The loss, one hypothesis after the other, from the definition."""
    scores = stats_of(problem)[:, 0]
    columns = problem.features / problem.spread[:, np.newaxis]
    parts = np.split(np.arange(problem.size), problem.offsets[1:-1])
    spread = math.sqrt(
        sum(sum((scores[h] - scores[part].mean()) ** 2 for h in part) for part in parts)
        / problem.size
    )
    total = 0.0
    for part, count in zip(parts, counts, strict=True):
        chosen = [math.exp(float(columns[:, h] @ numbers)) for h in part]
        right = [math.exp(SHARPNESS * (scores[h] - scores[part].max()) / spread) for h in part]
        both = sum(p * q for p, q in zip(chosen, right, strict=True))
        total -= count * math.log(both / sum(chosen))
    return total / sum(counts) + 0.5 * l2 * float(numbers @ numbers)


@pytest.mark.parametrize("graded", [False, True])
def test_the_loss_is_that_of_a_slow_twin(graded):
    problem = outcomes(3, segments=7, per_segment=4, graded=graded)
    found = likelihood_of(problem)
    counts = np.array([1, 1, 0, 1, 0, 1, 1])
    found._taught(np.flatnonzero(counts), 0.0, np.zeros(6))
    rng = np.random.default_rng(0)
    for l2 in (0.0, 0.3):
        found._l2 = l2
        for numbers in (np.zeros(6), rng.normal(size=6), 5 * rng.normal(size=6)):
            value, gradient = found.loss(numbers)
            assert value == pytest.approx(slow(problem, numbers, l2, counts), rel=1e-9)
            for n, step in enumerate(1e-6 * np.eye(6)):
                slope = (found.loss(numbers + step)[0] - found.loss(numbers - step)[0]) / 2e-6
                assert gradient[n] == pytest.approx(slope, abs=1e-6)


def test_sparse_features_have_slopes():
    dense = outcomes(1, segments=20)
    sparse = csr_array((np.random.default_rng(0).random((dense.size, 2)) < 0.4).astype(float))
    problem = TuningProblem(
        dense.features, dense.offsets, dense.stats, MEAN, np.arange(dense.size) / 9, sparse=sparse
    )
    found = likelihood_of(problem)
    found._taught(np.arange(20), 0.0, np.zeros(9))
    numbers = np.random.default_rng(1).normal(size=9)  # 6, what is not searched, 2
    gradient = found.loss(numbers)[1]
    for n, step in enumerate(1e-6 * np.eye(9)):
        slope = (found.loss(numbers + step)[0] - found.loss(numbers - step)[0]) / 2e-6
        assert gradient[n] == pytest.approx(slope, abs=1e-6)


def test_segments_without_a_difference_say_nothing():
    problem = outcomes(1, segments=20)
    rows = stats_of(problem)
    rows[: 8 * 10, 0] = 1.0
    found = likelihood_of(TuningProblem(problem.features, problem.offsets, StatTable(rows), MEAN))
    taught = [found._taught(some, 0.1, np.zeros(6)) for some in (np.arange(20), np.arange(10, 20))]
    assert taught[0].tobytes() == taught[1].tobytes()
    assert not found._taught(np.arange(10), 0.1, np.zeros(6)).any()


def test_segments_that_do_not_teach_have_no_say():
    problem = outcomes(5, segments=40)
    rows = stats_of(problem)
    rows[80:160] = rows[80:160][::-1]
    other = TuningProblem(problem.features, problem.offsets, StatTable(rows), MEAN)
    taught = np.delete(np.arange(40), np.arange(10, 20))
    found = [likelihood_of(one).learn(taught, part=0) for one in (problem, other)]
    assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.parametrize("many", [10, 3000])
@pytest.mark.parametrize("part", [0, 1, 2])
def test_the_strength_is_that_under_which_the_third_is_most_likely(part, many, monkeypatch):
    monkeypatch.setattr("portmert.tuner.search.optimizers._likelihood.MANY", many)
    problem = outcomes(9, segments=30, truth=TRUTH / 2)
    found, every = likelihood_of(problem), np.arange(30)
    judges = every % 3 == part
    losses = []
    for strength in STRENGTHS:
        numbers = found._taught(every[~judges], strength, np.zeros(6))
        losses.append(slow(problem, numbers, 0.0, judges))
    best = STRENGTHS[int(np.argmin(losses))]
    expected = found.linear.weights(found._taught(every, best, np.zeros(6)))
    np.testing.assert_allclose(found.learn(every, part=part), expected, atol=1e-4)


def test_judges_need_no_common_scale():
    scale = np.array([1e3, 1e-3, 1.0, 7.0, 1e-2, 100.0])
    plain = likelihood_of(outcomes(1)).learn(np.arange(60), part=1)
    scaled = likelihood_of(outcomes(1, scale=scale)).learn(np.arange(60), part=1)
    plain, back = (found / np.abs(found).sum() for found in (plain, scaled * scale))
    np.testing.assert_allclose(plain, back, atol=1e-3)


def test_the_default_learns_with_it_from_outcomes():
    truth = np.random.default_rng(7).normal(size=20) / 2
    other = outcomes(0, segments=2000, truth=truth)
    gains = []
    for seed in range(1, 9):
        problem = outcomes(seed, segments=100, truth=truth)
        with_it, without = (
            other.score(by.optimize(problem, [np.ones(20)], seed=seed).weights)
            for by in (Bagged(), Bagged(likelihood=False))
        )
        gains.append(with_it - without)
    mean, error = np.mean(gains), np.std(gains, ddof=1) / math.sqrt(len(gains))
    assert mean > 2 * error, (mean, error)


def test_the_default_of_outcomes_is_with_it():
    problem, start = outcomes(3), [np.ones(6)]
    default, with_it, without = (
        by.optimize(problem, start, seed=3).weights.tolist()
        for by in (Bagged(), Bagged(likelihood=True), Bagged(likelihood=False))
    )
    assert default == with_it != without


def test_metrics_that_are_no_mean_of_outcomes_keep_their_weights():
    problem = outcomes(1, graded=True)
    hits = 6.0 * (stats_of(problem)[:, 0] > 1.0)
    rng = np.random.default_rng(0)
    for lengths, same in (
        (rng.integers(6, 9, problem.size), True),
        (np.full(problem.size, 6), False),
    ):
        stats = StatTable(np.column_stack([hits, lengths]).astype(float))
        other = TuningProblem(problem.features, problem.offsets, stats, Share())
        assert are_outcomes(other) != same
        with_it, without = (
            by.optimize(other, [np.ones(6)], seed=1).weights
            for by in (Bagged(), Bagged(likelihood=False))
        )
        assert (with_it.tobytes() == without.tobytes()) == same


def test_bleu_is_no_mean_and_outcomes_are_one():
    problem = outcomes(2, segments=9)
    assert are_outcomes(problem)
    graded = outcomes(2, segments=9, graded=True)
    assert not are_outcomes(graded)
    bleu = registry.metric("bleu")
    counts = np.random.default_rng(0).integers(1, 9, (problem.size, len(bleu.stat_names)))
    other = TuningProblem(problem.features, problem.offsets, StatTable(counts), bleu)
    assert not are_outcomes(other)
    one = problem.take(np.arange(8), np.array([0, 8]))
    assert not are_outcomes(one)
