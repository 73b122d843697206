"""What every optimizer promises; the registry finds them."""

from dataclasses import asdict, dataclass, replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from portmert.tuner import families
from portmert.tuner.base.context import using
from portmert.tuner.base.errors import ConfigError
from portmert.tuner.components import registry
from portmert.tuner.search.constraints import Bounds
from portmert.tuner.search.line_search import LineSearch
from portmert.tuner.search.optimizers._climb import Climber
from portmert.tuner.search.problem import Prior, TuningProblem
from portmert.tuner.search.stat_table import StatTable
from tests.tuner.search.test_line_search import Misses, Share

OPTIMIZERS = families.own_names("optimizer")
SMALL = {
    "bagged": {"folds": 3, "epochs": 5, "iterations": 3},
    "mert": {"searches_per_feature": 40},
    "kbmira": {"epochs": 30},
}


def build(name, **options):
    return registry.optimizer(name, {"restarts": 3, **SMALL.get(name, {}), **options})


def exact(name):
    return issubclass(families.component("optimizer", name), Climber)


def random_problem(seed=1, metric=None, features=4):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(2, 30, size=12))])
    matrix = rng.normal(size=(features, offsets[-1])) * rng.uniform(0.1, 9, size=(features, 1))
    stats = np.column_stack([rng.integers(0, 10, size=offsets[-1]), np.full(offsets[-1], 10)])
    return TuningProblem(matrix, offsets, StatTable(stats.astype(float)), metric or Share())


def learnable_problem(name, metric=None):
    """A random problem for those that climb; for those that generalise, one with a rule in it.

    Who ranks pairs or follows slopes of a smooth loss need not find the peaks of pure noise.
    """
    problem = random_problem(metric=metric)
    if exact(name):
        return problem
    rule = np.array([-0.5, 1.0, 1.0, -0.5]) @ (problem.features / problem.spread[:, np.newaxis])
    noise = np.random.default_rng(5).normal(size=problem.size)
    hits = np.clip(np.round(5 + 2 * rule + noise), 0, 10)
    hits = 10 - hits if metric is not None else hits
    stats = np.column_stack([hits, np.full(problem.size, 10.0)])
    return TuningProblem(problem.features, problem.offsets, StatTable(stats), problem.metric)


START = [np.array([1.0, -1.0, 0.5, 0.2])]


def test_the_optimizers_of_the_project_are_found():
    exact_ones = {"coordinate", "mert", "powell", "random-directions"}
    assert exact_ones <= {name for name in OPTIMIZERS if exact(name)}
    assert {"pro", "kbmira", "min-risk"} <= {name for name in OPTIMIZERS if not exact(name)}


LOWEST = {
    "bagged": {"restarts": 1, "folds": 2, "epochs": 1, "iterations": 0, "longest": 2},
    "coordinate": {"restarts": 1, "tolerance": 0, "smooth": 0},
    "kbmira": {"restarts": 1, "epochs": 1},
    "mert": {"restarts": 1, "searches_per_feature": 1, "temperature": 0},
    "min-risk": {"restarts": 1, "iterations": 1, "l2": 0},
    "pro": {
        "restarts": 1, "samples": 1, "pairs": 1, "rounds": 1, "least": 0, "background": 0,
    },
    "random-directions": {"restarts": 1, "patience": 1},
}  # fmt: skip
ABOVE_0 = {
    "bagged": ["c", "spread"],
    "kbmira": ["c"],
    "mert": ["perturbation", "spread"],
    "min-risk": ["scales"],
    "pro": ["most", "l2", "interpolation"],
}


def test_options_have_a_lowest_value():
    for name in OPTIMIZERS:
        assert registry.optimizer(name, asdict(registry.optimizer(name))).restarts > 0
    for name, lowest in LOWEST.items():
        for option, value in lowest.items():
            assert getattr(registry.optimizer(name, {option: value}), option) == value
            with pytest.raises(ConfigError, match=option):
                registry.optimizer(name, {option: value - 1})
    for name, options in ABOVE_0.items():
        for option in options:
            with pytest.raises(ConfigError, match=option):
                registry.optimizer(name, {option: [0] if option == "scales" else 0})


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_value_is_found_again_from_scratch(name, monkeypatch):
    problem, lines = random_problem(), []
    for method in ("best_point", "surface"):
        search = getattr(LineSearch, method)

        def spy(*given, search=search):
            lines.append(given)
            return search(*given)

        monkeypatch.setattr(LineSearch, method, spy)
    outcome = build(name).optimize(problem, START, seed=3)
    assert outcome.objective == pytest.approx(problem.score(outcome.weights), abs=1e-12)
    assert outcome.objective in outcome.restarts
    assert len(outcome.restarts) == 3
    if outcome.unseen is None:  # else the highest estimate wins: see the next test
        assert outcome.objective == max(outcome.restarts)
    assert outcome.line_searches == len(lines)
    assert (outcome.line_searches > 0) == (name not in ("kbmira", "min-risk"))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_restart_of_the_highest_worth_wins(name, monkeypatch):
    optimizer, ends = build(name), []
    search = type(optimizer).search

    def spy(*arguments):
        ends.append(search(*arguments))
        return ends[-1]

    monkeypatch.setattr(type(optimizer), "search", spy)
    outcome = optimizer.optimize(random_problem(), START, seed=3)
    compared = [end.objective if end.unseen is None else end.unseen.oriented_score for end in ends]
    assert outcome.weights.tobytes() == ends[int(np.argmax(compared))].weights.tobytes()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_result_is_better_than_the_start(name):
    problem = learnable_problem(name)
    outcome = build(name).optimize(problem, START)
    assert outcome.objective > problem.score(START[0]) + 0.05
    assert np.isfinite(outcome.weights).all()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_error_rates_are_minimised(name):
    problem = learnable_problem(name, metric=Misses())
    outcome = build(name).optimize(problem, START)
    assert problem.score(outcome.weights) < problem.score(START[0]) - 0.05
    assert outcome.objective == pytest.approx(-problem.score(outcome.weights), abs=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_threads_do_not_change_a_byte(name):
    problem = random_problem()
    outcomes = []
    for threads in (1, 3):
        with using(threads=threads):
            outcomes.append(build(name).optimize(problem, START, seed=7))
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
    assert outcome.objective == pytest.approx(problem.score(outcome.weights), abs=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_end_is_never_worse_than_the_start(name):
    for seed in range(6):
        problem = random_problem(seed)
        outcome = build(name, restarts=1).optimize(problem, START, seed=seed)
        assert outcome.objective >= problem.score(START[0]), seed


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_strong_prior_keeps_the_direction_of_the_start(name):
    problem = random_problem()
    held = replace(problem, prior=Prior(1e6, START[0], problem.spread))
    outcome = build(name, restarts=1).optimize(held, START)
    scaled, start = outcome.weights * problem.spread, START[0] * problem.spread
    cosine = scaled @ start / np.linalg.norm(scaled) / np.linalg.norm(start)
    assert cosine > 1 - 1e-6
    assert outcome.objective == pytest.approx(
        problem.score(outcome.weights) - held.prior.penalty(outcome.weights), abs=1e-9
    )


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_what_is_not_searched_keeps_its_weight(name):
    problem = random_problem()
    rest = problem.features[0] * 3.0
    held = TuningProblem(
        problem.features[1:], problem.offsets, problem.stats, problem.metric, rest
    )
    outcome = build(name).optimize(held, [START[0][1:]])
    whole = np.concatenate([[3.0], outcome.weights])
    assert outcome.objective == pytest.approx(problem.score(whole), abs=1e-12)
    assert outcome.objective >= problem.score(np.concatenate([[3.0], START[0][1:]]))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_weights_of_sparse_features_are_found_by_those_that_declare_it(name):
    problem = random_problem()
    rng = np.random.default_rng(4)
    marks = csr_array((rng.random((problem.size, 2)) < 0.3).astype(float))
    hits = 3.0 + 4.0 * (marks.toarray()[:, 0] - marks.toarray()[:, 1])
    stats = StatTable(np.column_stack([hits, np.full(problem.size, 10.0)]))
    marked = replace(problem, stats=stats, sparse=marks)
    if not families.component("optimizer", name).sparse:
        assert exact(name)
        return
    start = np.concatenate([START[0], [0.0, 0.0]])
    outcome = build(name).optimize(marked, [start], seed=1)
    assert outcome.objective == pytest.approx(marked.score(outcome.weights), abs=1e-12)
    assert outcome.objective > marked.score(start) + 0.1
    assert outcome.weights[4] > 0 > outcome.weights[5]


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
    assert outcome.objective == 0.0
    assert outcome.weights.tobytes() == START[0].tobytes()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_one_feature_and_one_hypothesis_are_enough(name):
    problem = TuningProblem(
        np.array([[2.0]]), np.array([0, 1]), StatTable(np.array([[1.0, 2.0]])), Share()
    )
    outcome = build(name, restarts=1).optimize(problem, [np.array([3.0])])
    assert outcome.objective == 0.5
    assert outcome.weights.tolist() == [3.0]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_lazy_statistics_change_nothing(name):
    problem = random_problem()
    rows = problem.stats.rows
    lazy = TuningProblem(
        problem.features,
        problem.offsets,
        StatTable(np.full(rows.shape, -1.0), lambda wanted: rows[wanted]),
        Share(),
    )
    with using(threads=2):
        outcomes = [build(name).optimize(p, START, seed=2) for p in (problem, lazy)]
    assert outcomes[0].weights.tobytes() == outcomes[1].weights.tobytes()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_type_of_statistics_changes_no_byte(name):
    problem = random_problem()
    assert problem.stats.rows.dtype == np.uint8
    wide = StatTable(problem.stats.rows)
    wide.rows = wide.rows.astype(np.float64)
    with using(threads=2):
        outcomes = [
            build(name).optimize(replace(problem, stats=table), START, seed=2)
            for table in (problem.stats, wide)
        ]
    assert outcomes[0].weights.tobytes() == outcomes[1].weights.tobytes()
    assert outcomes[0].restarts == outcomes[1].restarts


class SomeNaN(Share):
    """Hits over items, but 0 / 0 where there is no hit."""

    def score(self, stats):
        return np.where(stats[..., 0] == 0, np.nan, super().score(stats))


class AllNaN(Share):
    """Never a number."""

    def score(self, stats):
        return np.full(stats.shape[:-1], np.nan)


@pytest.mark.parametrize("prior", [0.0, 0.1])
@pytest.mark.parametrize("higher_is_better", [True, False])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_scores_that_are_no_numbers_are_the_worst(name, higher_is_better, prior):
    class Some(SomeNaN):
        pass

    Some.higher_is_better = higher_is_better
    for seed in range(3):
        problem = learnable_problem(name, metric=Some())
        rng = np.random.default_rng(seed)
        hits = problem.stats.rows.copy()
        hits[rng.random(len(hits)) < 0.5, 0] = 0
        few = problem.offsets[:4]  # of three segments all may have no hit: then the sum is NaN
        problem = TuningProblem(
            problem.features[:, : few[-1]].copy(), few, StatTable(hits[: few[-1]]), Some()
        )
        # A start whose winners have no hit.
        start = next(
            weights
            for weights in rng.normal(size=(10_000, 4))
            if not np.isfinite(problem.score(weights))
        )
        pulled = replace(problem, prior=Prior(prior, start, problem.spread) if prior else None)
        outcome = build(name, restarts=1).optimize(pulled, [start], seed=seed)
        assert np.isfinite(outcome.weights).all()
        assert problem.stats.no_score[0] == 0
        if exact(name) and not prior:
            assert np.isfinite(problem.score(outcome.weights))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_metric_without_any_number_ends_at_the_start(name):
    problem = random_problem(metric=AllNaN())
    outcome = build(name, restarts=1).optimize(problem, START)
    assert outcome.weights.tobytes() == START[0].tobytes()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_neither_the_unit_of_scores_nor_a_constant_counts(name):
    @dataclass(frozen=True)
    class Other(Share):
        unit: float = 1.0
        constant: float = 0.0

        def score(self, stats):
            return super().score(stats) * self.unit + self.constant

    problem = learnable_problem(name, metric=Share())
    expected = problem.score(build(name).optimize(problem, START, seed=3).weights)
    assert expected > problem.score(START[0])
    # Below 1e-300 differences of scores lose digits: they are among the smallest numbers.
    units = [Other(unit) for unit in (2.0**-43, 1e-30, 1e-300, 1e250)]
    constants = [Other(1.0, constant) for constant in (-1e6, 1e9)]
    for metric in (*units, *constants):
        other = learnable_problem(name, metric=metric)
        found = build(name).optimize(other, START, seed=3)
        assert problem.score(found.weights) == pytest.approx(expected, abs=0.01), metric
        objectives = [found.objective, other.metric.oriented(other.score(found.weights))]
        assert objectives[0] == pytest.approx(objectives[1], rel=1e-9)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_prior_is_in_units_of_the_metric(name):
    @dataclass(frozen=True)
    class Small(Share):
        def score(self, stats):
            return super().score(stats) * 2.0**-43

    toward, ends = np.array([0.1, 1.0, -0.2, 0.5]), []
    for metric, strength in ((Share(), 0.25), (Small(), 0.25 * 2.0**-43)):
        problem = learnable_problem(name, metric=metric)
        pulled = replace(problem, prior=Prior(strength, toward, problem.spread))
        ends.append(build(name).optimize(pulled, START, seed=3))
    assert ends[1].objective * 2.0**43 == pytest.approx(ends[0].objective, abs=0.01)
    turned = [end.weights * problem.spread for end in ends]
    cosine = turned[0] @ turned[1] / np.prod([np.linalg.norm(one) for one in turned])
    assert cosine > 0.99


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_progress_counts_restarts(name):
    seen = []
    with using(progress=lambda _, *at: seen.append(at)):
        build(name).optimize(random_problem(), START)
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
