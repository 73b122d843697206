"""Line searches against exhaustive rescoring, by hand, and their certificate."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.metrics._base import Metric
from portmert.metrics.bleu import Bleu
from portmert.tuner.search.line_search import Ball, LineSearch, smoothed
from portmert.tuner.search.problem import TuningProblem
from portmert.tuner.search.stat_table import StatTable
from tests.oracles import search as slow
from tests.support.examples import examples


@dataclass(frozen=True)
class Share(Metric):
    """First statistic over second: the simplest score that is not linear."""

    source = "a test"
    stat_names = ("hits", "items")

    def stats(self, batch):
        raise NotImplementedError

    def score(self, stats):
        return stats[..., 0] / np.maximum(stats[..., 1], 1)

    def parts(self, stats):
        raise NotImplementedError


@dataclass(frozen=True)
class Misses(Share):
    """One minus the share: an error rate."""

    higher_is_better = False


def problem_of(features, offsets, stats, metric=None):
    return TuningProblem(
        np.ascontiguousarray(np.array(features, dtype=float).T),
        np.array(offsets),
        StatTable(np.array(stats, dtype=float)),
        metric or Share(),
    )


def free(problem, **options):
    size = len(problem.features)
    return LineSearch(problem, np.full(size, -np.inf), np.full(size, np.inf), **options)


# Two segments of two hypotheses, two features. At weights (1, 0) the first hypotheses win; along
# the second feature the second one of segment 0 wins from step 1 on, that of segment 1 from 3 on.
TWO = {"features": [[2, 0], [1, 1], [3, 0], [0, 1]], "offsets": [0, 2, 4]}


def best_point(problem, weights, columns, direction, **options):
    weights = np.array(weights, dtype=float)
    return free(problem, **options).best_point(
        weights, problem.model_scores(weights), np.array(columns), np.array(direction, dtype=float)
    )


def test_search_goes_to_the_middle_of_the_best_interval():
    problem = problem_of(**TWO, stats=[[0, 1], [1, 1], [1, 1], [0, 1]])
    point = best_point(problem, [1, 0], [1], [1])
    assert (point.step, point.objective) == (2.0, 1.0)


def test_search_of_a_tie_takes_the_interval_nearest_to_where_it_stands():
    # Score 1/2 left of 1 and right of 3, 0 between.
    problem = problem_of(**TWO, stats=[[1, 1], [0, 1], [0, 1], [1, 1]])
    point = best_point(problem, [1, 0], [1], [1])
    assert point.objective == 0.5
    assert point.step < 1.0
    assert best_point(problem, [1, 2.5], [1], [1]).step > 0.5


def test_search_enters_an_outer_interval_by_a_bounded_step():
    problem = problem_of(**TWO, stats=[[0, 1], [1, 1], [0, 1], [1, 1]])
    point = best_point(problem, [1, 0], [1], [1])
    assert point.objective == 1.0
    assert 3.0 < point.step < 4.0


def test_search_minimises_an_error_rate():
    problem = problem_of(**TWO, stats=[[1, 1], [0, 1], [0, 1], [1, 1]], metric=Misses())
    point = best_point(problem, [1, 0], [1], [1])
    assert (point.step, point.objective) == (2.0, 0.0)
    assert problem.score(np.array([1, point.step])) == 0.0


def test_weights_of_0_have_the_length_1():
    # The second hypothesis is better and wins from step 0 on, which is also the last breakpoint:
    # a tenth of the length beyond it. The spread of the feature is 1 / 2.
    problem = problem_of([[0.0], [1.0]], [0, 2], [[0, 1], [1, 1]])
    point = best_point(problem, [0], [0], [1])
    assert (point.step / 2, point.objective) == (0.1, 1.0)


def test_search_keeps_within_bounds():
    problem = problem_of(**TWO, stats=[[0, 1], [1, 1], [1, 1], [0, 1]])
    line = LineSearch(problem, np.array([-np.inf, -1.0]), np.array([np.inf, 1.5]))
    weights = np.array([1.0, 0.0])
    point = line.best_point(weights, problem.model_scores(weights), np.array([1]), np.ones(1))
    assert point.objective == 1.0
    assert 1.0 < point.step < 1.5


def test_search_without_room_finds_nothing():
    problem = problem_of(**TWO, stats=[[0, 1], [1, 1], [1, 1], [0, 1]])
    line = LineSearch(problem, np.array([0.0, 0.0]), np.array([2.0, 2.0]))
    weights = np.array([0.0, 2.0])
    direction = np.array([1.0, 1.0])
    assert line.best_point(weights, problem.model_scores(weights), np.arange(2), direction) is None


@pytest.mark.parametrize("direction", [[0.0], [np.nan], [np.inf]])
def test_search_refuses_a_direction_that_is_none(direction):
    problem = problem_of(**TWO, stats=[[0, 1], [1, 1], [1, 1], [0, 1]])
    with pytest.raises(ValueError, match="finite and not zero"):
        best_point(problem, [1, 0], [1], direction)


def test_search_where_nothing_changes_stays():
    problem = problem_of([[1, 1], [1, 1]], [0, 2], [[1, 1], [0, 1]])
    point = best_point(problem, [1, 0], [1], [1])
    assert (point.step, point.objective) == (0.0, 1.0)


@st.composite
def problems(draw):
    segments = draw(st.integers(1, 4))
    features = draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(1, 5), min_size=segments, max_size=segments))
    count = sum(sizes)
    values = st.integers(-3, 3)
    matrix = draw(
        st.lists(
            st.lists(values, min_size=features, max_size=features), min_size=count, max_size=count
        )
    )
    stats = draw(
        st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=count, max_size=count)
    )
    weights = draw(st.lists(values.filter(bool), min_size=features, max_size=features))
    direction = draw(st.lists(values, min_size=features, max_size=features).filter(any))
    offsets = [0, *np.cumsum(sizes).tolist()]
    return matrix, offsets, stats, weights, direction


@examples(300)
@given(problems())
def test_search_finds_what_exhaustive_rescoring_finds(drawn):
    matrix, offsets, stats, weights, direction = drawn
    problem = problem_of(matrix, offsets, stats)
    columns = np.flatnonzero(direction)
    point = best_point(problem, weights, columns, np.array(direction)[columns])
    table = np.array(stats, dtype=float)
    surface = slow.line_surface(
        matrix, offsets, weights, direction, table, lambda x: x[0] / x[1], -100, 100
    )
    assert point.objective == pytest.approx(max(score for _, _, score in surface), abs=1e-12)
    # The certificate: rescored from scratch at the step returned, exactly.
    there = [
        Fraction(w) + Fraction(point.step) * d for w, d in zip(weights, direction, strict=True)
    ]
    total = sum(table[h] for h in slow.winners(matrix, offsets, there))
    assert point.objective == pytest.approx(total[0] / total[1], abs=1e-12)


@examples(200)
@given(problems())
def test_search_within_a_ball_is_the_same_with_and_without_what_cannot_win(drawn):
    matrix, offsets, stats, weights, direction = drawn
    problem = problem_of(matrix, offsets, stats)
    weights = np.array(weights, dtype=float)
    near = problem.within(weights, 0.7)
    columns = np.flatnonzero(direction)
    change = np.array(direction, dtype=float)[columns]
    points = [
        free(p).best_point(weights, p.model_scores(weights), columns, change, Ball(weights, 0.7))
        for p in (problem, near)
    ]
    assert points[0].objective == pytest.approx(points[1].objective, abs=1e-12)
    assert points[0].step == pytest.approx(points[1].step, abs=1e-9)


def test_lazy_statistics_give_the_same_point_and_are_asked_for_winners_only():
    rng = np.random.default_rng(5)
    offsets = np.arange(0, 2001, 100)
    features = rng.normal(size=(6, 2000))
    stats = np.column_stack([rng.integers(0, 9, size=2000), np.full(2000, 9)]).astype(float)
    asked = []

    def compute(rows):
        asked.append(rows)
        return stats[rows]

    eager = TuningProblem(features, offsets, StatTable(stats), Share())
    lazy = TuningProblem(features, offsets, StatTable(np.zeros_like(stats), compute), Share())
    weights, direction = rng.normal(size=6), rng.normal(size=6)
    points = [
        free(p).best_point(weights, p.model_scores(weights), np.arange(6), direction)
        for p in (eager, lazy)
    ]
    assert points[0] == points[1]
    rows = np.concatenate(asked)
    assert len(np.unique(rows)) == len(rows) == lazy.stats.known < 500


def test_surface_is_the_step_function():
    problem = problem_of(**TWO, stats=[[0, 1], [1, 1], [1, 1], [0, 1]])
    steps, values = free(problem).surface(np.array([1.0, 0.0]), np.array([1]), np.ones(1))
    assert steps[1:-1].tolist() == [1.0, 3.0]
    assert values.tolist() == [0.5, 1.0, 0.5]


def test_bleu_surface_sums_from_scratch_in_each_interval():
    rng = np.random.default_rng(7)
    offsets = np.arange(0, 301, 30)
    totals = rng.integers(4, 9, size=(300, 4)).cumsum(axis=1)[:, ::-1]
    matches = rng.integers(1, totals + 1)
    stats = np.empty((300, 9))
    stats[:, 0:8:2], stats[:, 1:8:2], stats[:, 8] = matches, totals, 20
    problem = TuningProblem(rng.normal(size=(3, 300)), offsets, StatTable(stats), Bleu())
    weights, direction = rng.normal(size=3), rng.normal(size=3)
    steps, values = free(problem).surface(weights, np.arange(3), direction)
    middles = (steps[:-1] + steps[1:]) / 2
    expected = [problem.score(weights + step * direction) for step in middles]
    assert values == pytest.approx(expected, abs=1e-12)


def test_averaging_by_hand():
    # 0 on (-10, 0), 1 on (0, 1), 0 on (1, 10): a peak of width 1 in a window of width 2.
    steps, values = np.array([-10.0, 0.0, 1.0, 10.0]), np.array([0.0, 1.0, 0.0])
    assert smoothed(steps, values, 1.0)[1] == pytest.approx(0.5)
    assert smoothed(steps, values, 0.25)[1] == pytest.approx(1.0)
    # Windows of width 20 around -5, 0.5 and 5.5 reach beyond both ends, where 2 and 4 go on.
    areas = [15 * 2 + 1 + 4 * 4, 9.5 * 2 + 1 + 9.5 * 4, 4.5 * 2 + 1 + 14.5 * 4]
    found = smoothed(steps, np.array([2.0, 1.0, 4.0]), 10.0)
    assert found == pytest.approx([area / 20 for area in areas])


def test_smoothing_prefers_a_wide_interval_to_a_narrow_peak():
    # Along the second feature: score 1 from 1 to 1.01 only, 0.9 from 5 on.
    offsets = [0, 3, 4]
    features = [[10, 0], [9, 1], [8.99, 1.0099], [0, 0]]
    stats = [[0, 10], [10, 10], [9, 10], [0, 0]]
    problem = problem_of(features, offsets, stats)
    sharp = best_point(problem, [1, 0], [1], [1])
    smooth = best_point(problem, [1, 0], [1], [1], smooth=0.5)
    assert sharp.objective == 1.0
    assert problem.score(np.array([1.0, smooth.step])) == 0.9
