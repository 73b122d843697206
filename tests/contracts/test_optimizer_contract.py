"""What every optimizer promises; the registry finds them."""

import numpy as np
import pytest

from tests.tuner.test_line_search import Misses, Share
from tuner import registry
from tuner.constraints import Bounds
from tuner.problem import StatTable, TuningProblem

OPTIMIZERS = registry.names("optimizer")
SMALL = {"mert": {"effort": 40}}


def build(name, **options):
    return registry.optimizer(name, {"restarts": 3, **SMALL.get(name, {}), **options})


def random_problem(seed=1, metric=None, features=4):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(2, 30, size=12))])
    matrix = rng.normal(size=(features, offsets[-1])) * rng.uniform(0.1, 9, size=(features, 1))
    stats = np.column_stack([rng.integers(0, 10, size=offsets[-1]), np.full(offsets[-1], 10)])
    return TuningProblem(matrix, offsets, StatTable(stats.astype(float)), metric or Share())


START = [np.array([1.0, -1.0, 0.5, 0.2])]


def test_the_optimizers_of_the_project_are_found():
    assert {"coordinate", "mert", "powell", "random-directions"} <= set(OPTIMIZERS)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_value_is_found_again_from_scratch(name):
    problem = random_problem()
    outcome = build(name).optimize(problem, START, seed=3)
    assert outcome.value == pytest.approx(problem.score(outcome.weights), abs=1e-12)
    assert outcome.value == max(outcome.restarts)
    assert len(outcome.restarts) == 3
    assert outcome.line_searches > 0


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_result_is_better_than_the_start(name):
    problem = random_problem()
    outcome = build(name).optimize(problem, START)
    assert outcome.value > problem.score(START[0]) + 0.05
    assert np.isfinite(outcome.weights).all()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_error_rates_are_minimised(name):
    problem = random_problem(metric=Misses())
    outcome = build(name).optimize(problem, START)
    assert problem.score(outcome.weights) < problem.score(START[0]) - 0.05
    assert outcome.value == pytest.approx(-problem.score(outcome.weights), abs=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_threads_do_not_change_a_byte(name):
    problem = random_problem()
    outcomes = [build(name).optimize(problem, START, seed=7, threads=t) for t in (1, 3)]
    assert outcomes[0].weights.tobytes() == outcomes[1].weights.tobytes()
    assert outcomes[0].restarts == outcomes[1].restarts
    assert outcomes[0].line_searches == outcomes[1].line_searches


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_bounds_hold(name):
    problem = random_problem()
    bounds = Bounds(np.array([0.5, -np.inf, 0.0, 0.1]), np.array([2.0, -0.5, np.inf, 0.3]))
    outcome = build(name).optimize(problem, START, bounds=bounds)
    assert (outcome.weights >= bounds.lower).all()
    assert (outcome.weights <= bounds.upper).all()
    assert outcome.value == pytest.approx(problem.score(outcome.weights), abs=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_starts_are_not_modified_and_each_is_used(name):
    problem = random_problem()
    starts = [START[0].copy(), np.array([0.1, 2.0, 1.0, 1.0])]
    copies = [start.copy() for start in starts]
    outcome = build(name, restarts=1).optimize(problem, starts)
    assert len(outcome.restarts) == 2
    assert [s.tobytes() for s in starts] == [c.tobytes() for c in copies]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_score_that_never_changes_ends_at_the_start(name):
    problem = random_problem()
    flat = TuningProblem(
        problem.features, problem.offsets, StatTable(np.zeros((problem.size, 2))), Share()
    )
    outcome = build(name, restarts=1).optimize(flat, START)
    assert outcome.value == 0.0
    assert outcome.weights.tobytes() == START[0].tobytes()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_one_feature_and_one_hypothesis_are_enough(name):
    problem = TuningProblem(
        np.array([[2.0]]), np.array([0, 1]), StatTable(np.array([[1.0, 2.0]])), Share()
    )
    outcome = build(name, restarts=1).optimize(problem, [np.array([3.0])])
    assert outcome.value == 0.5
    assert outcome.weights.tolist() == [3.0]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_lazy_statistics_change_nothing(name):
    problem = random_problem()
    rows = problem.stats.rows
    lazy = TuningProblem(
        problem.features,
        problem.offsets,
        StatTable(np.full_like(rows, -1), lambda wanted: rows[wanted]),
        Share(),
    )
    outcomes = [build(name).optimize(p, START, seed=2, threads=2) for p in (problem, lazy)]
    assert outcomes[0].weights.tobytes() == outcomes[1].weights.tobytes()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_progress_counts_restarts(name):
    seen = []
    build(name).optimize(random_problem(), START, progress=lambda *at: seen.append(at))
    assert seen == [(1, 3), (2, 3), (3, 3)]
