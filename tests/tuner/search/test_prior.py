"""The pull towards given weights, by hand and along lines."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from portmert.tuner.search.line_search import LineSearch
from portmert.tuner.search.optimizers import coordinate
from portmert.tuner.search.problem import Prior, TuningProblem
from portmert.tuner.search.stat_table import StatTable
from tests.support.examples import examples
from tests.tuner.search.test_line_search import Share

PRIOR = Prior(0.5, np.array([3.0, 4.0]), np.ones(2))


@pytest.mark.parametrize(
    ("weights", "penalty"),
    [
        ([3.0, 4.0], 0.0),
        ([0.3, 0.4], 0.0),  # the scale does not count
        ([-4.0, 3.0], 1.0),  # at right angles |u - u0|^2 is 2
        ([-3.0, -4.0], 2.0),
        ([0.0, 0.0], 1.0),
        ([1.0, 0.0], 0.5 * ((1 - 0.6) ** 2 + 0.8**2)),
    ],
)
def test_penalty_by_hand(weights, penalty):
    assert PRIOR.penalty(np.array(weights)) == pytest.approx(penalty)


def test_the_spread_makes_weights_comparable():
    # 1 at spread 6 counts as 3 at spread 2.
    prior = Prior(1.0, np.array([1.0, 1.0]), np.array([6.0, 2.0]))
    assert prior.penalty(np.array([1.0, 1.0])) == pytest.approx(0.0)
    assert prior.penalty(np.array([2.0, 6.0])) == pytest.approx(
        (0.5**0.5 - 0.9**0.5) ** 2 + (0.5**0.5 - 0.1**0.5) ** 2
    )


def test_nothing_is_pulled_to_weights_of_0():
    prior = Prior(1.0, np.zeros(2), np.ones(2))
    assert prior.penalty(np.array([1.0, 2.0])) == 0
    assert not prior.gradient(np.array([1.0, 2.0])).any()
    penalties, nearest = prior.along(
        np.ones(2), np.arange(2), np.array([1.0, -1.0]), np.array([0.0, 1.0])
    )
    assert penalties.tolist() == [0, 0]
    assert np.isnan(nearest)


vectors = st.lists(st.integers(-4, 4).map(float), min_size=3, max_size=3).filter(any).map(np.array)


@examples(200)
@given(vectors, vectors, vectors, st.lists(st.floats(-9, 9), min_size=1, max_size=5))
def test_along_a_line_it_is_the_penalty_of_each_step(toward, weights, direction, steps):
    prior = Prior(0.7, toward, np.array([1.0, 0.5, 3.0]))
    penalties, nearest = prior.along(weights, np.arange(3), direction, np.array(steps))
    for step, penalty in zip(steps, penalties, strict=True):
        there = weights + step * direction
        if np.linalg.norm(there) > 1e-3:
            assert penalty == pytest.approx(prior.penalty(there), abs=1e-9)
    if np.isfinite(nearest) and np.linalg.norm(weights + nearest * direction) > 1e-3:
        lowest = prior.penalty(weights + nearest * direction)
        for step in np.linspace(-20, 20, 81):
            assert lowest <= prior.penalty(weights + step * direction) + 1e-9


@examples(200)
@given(vectors, vectors)
def test_gradient_is_the_slope_of_the_penalty(toward, weights):
    spread = np.array([1.0, 0.5, 3.0])
    prior = Prior(0.7, toward, spread)
    for i in range(3):
        step = np.zeros(3)
        step[i] = 1e-5 / spread[i]
        slope = (prior.penalty(weights + step) - prior.penalty(weights - step)) / 2e-5
        assert prior.gradient(weights)[i] == pytest.approx(slope, abs=1e-5)


def random_problem(seed, strength):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 6, size=4))])
    features = rng.integers(-3, 4, size=(3, offsets[-1])).astype(float)
    stats = np.column_stack([rng.integers(0, 5, offsets[-1]), np.full(offsets[-1], 5)])
    weights, direction = rng.normal(size=3), rng.normal(size=3)
    bare = TuningProblem(features, offsets, StatTable(stats.astype(float)), Share())
    prior = Prior(strength, rng.normal(size=3), bare.spread)
    pulled = TuningProblem(features, offsets, bare.stats, Share(), prior=prior)
    return bare, pulled, weights, direction


@examples(200)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 0.1, 2.0]))
def test_a_line_search_weighs_the_prior_in_each_interval(seed, strength):
    bare, pulled, weights, direction = random_problem(seed, strength)
    ends = np.full(3, np.inf)
    columns = np.arange(3)
    search = LineSearch(pulled, -ends, ends)
    point = search.best_point(weights, pulled.model_scores(weights), columns, direction)
    there = weights + point.step * direction
    steps, values = LineSearch(bare, -ends, ends).surface(weights, columns, direction)
    assume(np.abs(steps - point.step).min() > 1e-9)  # an interval narrower than rounding
    # The certificate, and no middle of an interval is better.
    assert point.objective == pytest.approx(pulled.objective(there), abs=1e-9)
    for left, right, value in zip(steps[1:-2], steps[2:-1], values[1:-1], strict=True):
        if right - left <= 1e-12 * max(1.0, abs(left)):  # a point, but for rounding
            continue
        penalty = pulled.prior.penalty(weights + (left + right) / 2 * direction)
        assert point.objective >= value - penalty - 1e-9


def test_without_any_gain_the_weights_go_where_they_are_pulled():
    # One segment of two equal hypotheses: nothing but the prior speaks.
    prior = Prior(0.1, np.array([1.0, 1.0]), np.ones(2))
    problem = TuningProblem(
        np.array([[1.0, 0.0], [0.0, 1.0]]),
        np.array([0, 2]),
        StatTable(np.array([[1.0, 2.0], [1.0, 2.0]])),
        Share(),
        spread=np.ones(2),
        prior=prior,
    )
    search = LineSearch(problem, np.full(2, -np.inf), np.full(2, np.inf))
    weights = np.array([1.0, 0.4])
    point = search.best_point(weights, problem.model_scores(weights), np.array([1]), np.ones(1))
    assert point.step == pytest.approx(0.5, abs=0.6)
    assert problem.objective(weights + point.step * np.array([0.0, 1.0])) > problem.objective(
        weights
    )


def test_single_features_end_soon_beside_an_edge(monkeypatch):
    features = np.array(
        [[0.0, 2, 0, 2, -3, 0], [-1, -3, 1, 0, -3, -1], [3, -3, 2, 3, -3, -3]]
    )  # fmt: skip
    stats = np.array([[1.0, 1], [0, 1], [0, 1], [1, 1], [1, 1], [1, 1]])
    prior = Prior(1.0, np.ones(3), np.ones(3))
    problem = TuningProblem(features, np.array([0, 3, 6]), StatTable(stats), Share(), prior=prior)
    found = []
    for enough in (0.0, coordinate.ENOUGH):
        monkeypatch.setattr(coordinate, "ENOUGH", enough)
        search = coordinate.Coordinate(restarts=10)
        found.append(search.optimize(problem, [np.ones(3)], seed=16))
    long, short = found
    assert long.line_searches > 10_000
    assert short.line_searches < 1000
    assert problem.objective(short.weights) == pytest.approx(
        problem.objective(long.weights), abs=1e-3
    )
