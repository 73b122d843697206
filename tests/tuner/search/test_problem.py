"""The tuning problem and its statistics."""

import threading

import numpy as np
import pytest

from portmert.tuner.search.problem import TuningProblem, within_segment_spread
from portmert.tuner.search.stat_table import StatTable
from tests.tuner.search.test_line_search import TWO, Share, problem_of


def test_spread_by_hand():
    # Deviations of +-1 in the first segment, +-3 in the second: sqrt((1+1+9+9)/4).
    features = np.array([[1.0, 3.0, 0.0, 6.0], [5.0, 5.0, 8.0, 8.0]])
    offsets = np.array([0, 2, 4])
    assert within_segment_spread(features, offsets).tolist() == [5**0.5, 1.0]
    assert within_segment_spread(features, offsets, if_constant=0.0)[1] == 0.0


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("at_once", [1, 20_000, 1 << 17])
def test_spread_has_the_bytes_of_one_feature_after_the_other(order, at_once, monkeypatch):
    monkeypatch.setattr("portmert.tuner.search.problem.SPREAD_AT_ONCE", at_once)
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, 900, 20)  # numpy adds more than 8192 numbers in its version's order
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    features = np.array(rng.normal(size=(9, offsets[-1])) * 1e3 ** rng.integers(-2, 3, (9, 1)))
    features[4] = 0.1
    assert offsets[-1] > 8192
    expected = []
    for column in features:
        means = np.add.reduceat(column, offsets[:-1]) / lengths
        squares = np.square(column - np.repeat(means, lengths))
        square = sum(squares[k : k + 8192].sum() for k in range(0, len(squares), 8192))
        deviation = np.sqrt(square / len(column))
        expected.append(deviation if deviation > 1e-12 * np.abs(means).max() else 7.0)
    found = within_segment_spread(np.asarray(features, order=order), offsets, if_constant=7.0)
    assert found.tolist() == expected
    assert expected.count(7.0) == 1


def test_spread_of_a_constant_is_no_rounding_error():
    features = np.full((1, 7), 0.1)
    assert within_segment_spread(features, np.array([0, 7]), if_constant=0.0)[0] == 0.0


def test_score_by_hand():
    problem = problem_of(**TWO, stats=[[0, 1], [1, 1], [1, 3], [0, 1]])
    assert problem.winners(np.array([1.0, 2.0])).tolist() == [1, 2]
    assert problem.score(np.array([1.0, 2.0])) == 2 / 4


def test_of_sums_without_a_score_the_least_are_remembered():
    class Nowhere(Share):
        def score(self, stats):
            return np.full(stats.shape[:-1], np.nan)

    problem = problem_of(**TWO, stats=np.ones((4, 2)), metric=Nowhere())
    problem.oriented_scores(np.array([[1.0, 0.0], [0.0, 7.0], [0.0, 5.0]]))
    assert problem.stats.no_score == (0.0, 5.0)


def test_fixed_part_of_the_model_score_counts():
    problem = problem_of(**TWO, stats=[[0, 1], [1, 1], [1, 3], [0, 1]])
    fixed = TuningProblem(
        problem.features, problem.offsets, problem.stats, Share(), np.array([0.0, 5, 0, 0])
    )
    assert fixed.winners(np.array([1.0, 0.0])).tolist() == [1, 2]


def test_narrowed_problem_scores_the_same_inside():
    rng = np.random.default_rng(8)
    offsets = np.arange(0, 501, 50)
    stats = np.column_stack([rng.integers(0, 9, size=500), np.full(500, 9)]).astype(float)
    problem = TuningProblem(rng.normal(size=(3, 500)), offsets, StatTable(stats), Share())
    weights = rng.normal(size=3)
    near = problem.within(weights, 0.3)
    assert near.size < 300
    nearer = near.within(weights, 0.1)
    assert nearer.size < near.size
    for change in rng.normal(size=(40, 3)):
        inside = weights + 0.099 * change / np.linalg.norm(change) / problem.spread
        assert nearer.score(inside) == near.score(inside) == problem.score(inside)


def test_statistics_are_computed_once_even_by_two_threads():
    asked = []

    def compute(rows):
        asked.extend(rows.tolist())
        return np.ones((len(rows), 1))

    table = StatTable(np.zeros((100, 1)), compute)
    threads = [
        threading.Thread(target=table.need, args=(np.arange(start, 100),)) for start in (0, 20, 40)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(asked) == list(range(100))
    assert table.known == 100
    assert table.rows.sum() == 100


def test_statistics_given_are_known():
    table = StatTable(np.arange(4.0).reshape(2, 2))
    table.need(np.array([0, 1, 1]))
    assert table.known == 2
    assert table.rows == pytest.approx(np.arange(4.0).reshape(2, 2))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (255.0, np.uint8),
        (256.0, np.uint16),
        (65536.0, np.uint32),
        (2.0**32, np.float64),
        (0.5, np.float64),
        (-1.0, np.float64),
        (-0.0, np.float64),
        (np.inf, np.float64),
    ],
)
def test_statistics_have_the_narrowest_type_that_is_exact(value, kind):
    rows = np.zeros((40_000, 2))
    rows[-1, 1] = value
    table = StatTable(rows)
    assert table.rows.dtype == kind
    assert table.take(np.arange(len(rows))).tobytes() == rows.tobytes()
    assert StatTable(table.rows).rows.dtype == kind


def test_a_table_knows_what_it_was_asked_for():
    rows = np.arange(8.0).reshape(4, 2)
    table = StatTable(np.zeros((4, 2)), lambda wanted: rows[wanted])
    assert table.is_lazy
    assert table.is_known.tolist() == [False] * 4
    assert table.total(np.array([3, 1, 3])).tolist() == [14.0, 17.0]
    assert table.is_known.tolist() == [False, True, False, True]
    whole = StatTable(rows)
    assert not whole.is_lazy
    assert whole.is_known.all()
    assert whole.total(np.array([0, 2])).tolist() == [4.0, 6.0]
