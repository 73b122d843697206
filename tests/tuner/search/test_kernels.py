"""The search kernels against their twins, and by hand."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.tuner.search import _line_search_kernels as kernels
from tests.oracles import search as slow
from tests.support.examples import examples

WINDOW = (-1000.0, 1000.0)


def envelope(slopes, intercepts, window=WINDOW):
    size = len(slopes)
    winners, starts = np.empty(size, dtype=np.int64), np.empty(size)
    guarded = np.full((5, 2 * size + 9), -7)  # what stands beyond its place must stay
    work = tuple(row[: size + 1] for row in guarded)
    found = kernels.segment_envelope(
        np.array(slopes, dtype=float),
        np.array(intercepts, dtype=float),
        window,
        winners,
        starts,
        work,
    )
    assert (guarded[:, size + 1 :] == -7).all()
    return winners[:found].tolist(), starts[:found].tolist()


def test_envelope_of_three_lines_by_hand():
    # -x, 1 and x: -x is above 1 left of -1, x is above 1 right of 1.
    assert envelope([0, 1, -1], [1, 0, 0]) == ([2, 0, 1], [-1000.0, -1.0, 1.0])


def test_envelope_leaves_out_a_line_that_only_touches():
    # -x, 0 and x meet in one point, 0: the flat one never wins alone.
    assert envelope([0, 1, -1], [0, 0, 0]) == ([2, 1], [-1000.0, 0.0])


def test_envelope_takes_the_first_of_equal_lines():
    assert envelope([1, 1, 0, 0], [0, 0, 5, 5]) == ([2, 0], [-1000.0, 5.0])


def test_envelope_of_one_line():
    assert envelope([3], [4]) == ([0], [-1000.0])


def test_envelope_stops_at_the_window():
    # 5 against x: they cross at 5, outside of the window.
    assert envelope([0, 1], [5, 0], (-2.0, 2.0)) == ([0], [-2.0])


def test_envelope_survives_crossings_beyond_float64():
    winners, starts = envelope([0.0, 5e-324], [1e308, -1e308])
    assert winners == [0]
    assert starts == [-1000.0]


def test_envelope_of_lines_that_rounding_puts_above_two_crossings_stays_in_its_place():
    # Found by chance: of two bundles of lines that differ in their last bits.
    bits = float.fromhex
    a, b, c, d = map(
        bits,
        ("-0x1.8a9e60bb30d8cp+7", "-0x1.a6fe5f59e1fffp+7",
         "-0x1.8a9e60bb30d8dp+7", "-0x1.a6fe5f59e2000p+7"),
    )  # fmt: skip
    e, f, g, h = map(
        bits,
        ("-0x1.168876a09b4d3p+3", "-0x1.cdd7bf67a3e54p+3",
         "-0x1.cdd7bf67a3e52p+3", "-0x1.168876a09b4d4p+3"),
    )  # fmt: skip
    window = (bits("-0x1.d56d21868e1f4p+2"), bits("-0x1.78aac31e5b778p-3"))
    slopes, intercepts = np.array([a, b, b, c, c, d]), np.array([e, f, g, h, e, f])
    # In the middle of many, so that what is written too far is not lost among unused places.
    winners, starts = envelope(np.repeat(slopes, 9), np.repeat(intercepts, 9), window)
    for winner, start in zip(winners, starts, strict=True):
        values = np.repeat(slopes, 9) * start + np.repeat(intercepts, 9)
        assert values[winner] == pytest.approx(values.max(), rel=1e-12)


small = st.integers(-4, 4)
lines = st.lists(st.tuples(small, small), min_size=1, max_size=12)


@examples(500)
@given(lines, st.integers(-6, 0), st.integers(1, 6))
def test_envelope_equals_its_twin(pairs, low, high):
    slopes, intercepts = zip(*pairs, strict=True)
    expected = slow.upper_envelope(slopes, intercepts, low, high)
    winners, starts = envelope(slopes, intercepts, (float(low), float(high)))
    assert winners == [winner for winner, _ in expected]
    assert starts == pytest.approx([float(step) for _, step in expected], abs=1e-12)


@examples(300)
@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_envelope_wins_everywhere_on_random_lines(size, seed):
    # A certificate: at every interval's middle the winner named is the highest line.
    rng = np.random.default_rng(seed)
    slopes, intercepts = rng.normal(size=size), rng.normal(size=size)
    winners, starts = envelope(slopes, intercepts)
    ends = [*starts, 1000.0]
    for winner, left, right in zip(winners, ends, ends[1:], strict=False):
        middle = (left + right) / 2
        assert (slopes * middle + intercepts).max() == pytest.approx(
            slopes[winner] * middle + intercepts[winner], rel=1e-12
        )
    assert starts == sorted(starts)


def random_features(rng, segments, features):
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 30, size=segments))])
    return np.ascontiguousarray(rng.normal(size=(features, offsets[-1]))), offsets


@examples(200)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.floats(0.01, 3.0))
def test_reachable_keeps_all_that_can_win_in_the_ball(seed, features, radius):
    rng = np.random.default_rng(seed)
    matrix, offsets = random_features(rng, 4, features)
    spread = rng.uniform(0.1, 10, size=features)
    weights = rng.normal(size=features)
    scores = weights @ matrix
    deviation = kernels.deviations(matrix, offsets, spread)
    kept = kernels.reachable(matrix, offsets, scores, spread, deviation, radius)
    assert (np.diff(kept) > 0).all()
    for _ in range(50):
        change = rng.normal(size=features)
        change *= radius * rng.uniform() ** (1 / features) / np.linalg.norm(change)
        there = (weights + change / spread) @ matrix
        assert np.isin(kernels.first_maxima(there, offsets), kept).all()


def test_reachable_keeps_just_what_can_win_in_one_dimension():
    # Scores 0, -1, -3 with feature values 0, 1, 1: the second needs a change of 1, the third of 3.
    matrix, offsets = np.array([[0.0, 1.0, 1.0]]), np.array([0, 3])
    scores, spread = np.array([0.0, -1.0, -3.0]), np.ones(1)
    deviation = kernels.deviations(matrix, offsets, spread)
    for radius, expected in ((0.5, [0]), (1.0, [0, 1]), (2.9, [0, 1]), (3.0, [0, 1, 2])):
        kept = kernels.reachable(matrix, offsets, scores, spread, deviation, radius)
        assert kept.tolist() == expected


@examples(200)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.booleans())
def test_weighted_sums_are_weights_times_features(seed, features, fixed):
    rng = np.random.default_rng(seed)
    matrix, _ = random_features(rng, 3, features)
    weights = rng.normal(size=features)
    rest = rng.normal(size=matrix.shape[1]) if fixed else np.empty(0)
    out = np.empty(matrix.shape[1])
    kernels.weighted_sums(matrix, np.arange(features), weights, rest, out)
    # In columns' order, to the last bit: what `rerank` computes too.
    expected = rest.copy() if fixed else np.zeros(matrix.shape[1])
    for column, weight in zip(matrix, weights, strict=True):
        expected = expected + weight * column
    assert out.tobytes() == expected.tobytes()


def test_first_maxima_takes_the_first_of_equals():
    scores, offsets = np.array([1.0, 2.0, 2.0, 5.0, 5.0]), np.array([0, 3, 5])
    assert kernels.first_maxima(scores, offsets).tolist() == [1, 3]


def test_cumulate_by_hand():
    # Two segments; winners 0, 1 of the first (changing at step 2), 2, 3 of the second (at 1).
    stats = np.array([[1.0], [10.0], [100.0], [1000.0]])
    order = np.array([0, 2, 3, 1])
    sums = kernels.cumulate(stats, order, 2)
    assert sums.ravel().tolist() == [101.0, 1001.0, 1010.0]


@examples(200)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_envelopes_are_those_of_each_segment_by_itself(seed, features):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 9, size=4))])
    size = offsets[-1]
    matrix = rng.integers(-3, 4, size=(features, size)).astype(float)
    direction = rng.integers(-2, 3, size=features).astype(float)
    scores = rng.integers(-5, 6, size=size).astype(float)
    work = (np.empty(size), np.empty(size, dtype=np.int64), np.empty(size))
    count = kernels.envelopes(
        matrix, offsets, np.arange(features), direction, scores, (-50.0, 50.0), work
    )
    assert work[0] == pytest.approx(direction @ matrix)
    expected = []
    for start, stop in pairwise(offsets):
        slopes = (direction @ matrix[:, start:stop]).tolist()
        envelope = slow.upper_envelope(slopes, scores[start:stop].tolist(), -50, 50)
        expected += [(start + winner, float(step)) for winner, step in envelope]
    assert work[1][:count].tolist() == [winner for winner, _ in expected]
    assert work[2][:count] == pytest.approx([step for _, step in expected], abs=1e-12)


@examples(200)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_deviations_are_distances_from_the_mean(seed, features):
    rng = np.random.default_rng(seed)
    matrix, offsets = random_features(rng, 3, features)
    spread = rng.uniform(0.5, 2, size=features)
    expected = []
    for start, stop in pairwise(offsets):
        scaled = matrix[:, start:stop].T / spread
        expected += [np.linalg.norm(row - scaled.mean(axis=0)) for row in scaled]
    assert kernels.deviations(matrix, offsets, spread) == pytest.approx(expected)


def test_total_by_hand():
    stats = np.array([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]])
    assert kernels.total(stats[[0, 2, 2]]).tolist() == [201.0, 402.0]


def test_choose_by_hand_where_all_values_are_below_0():
    ends, values = np.array([-3.0, -1.0, 1.0, 4.0]), np.array([-2.0, -1.0, -3.0])
    assert kernels.best_interval(ends, values, 0.0, 1.0, 0.0) == (0.0, -1.0)


def test_an_interval_that_is_rounding_is_not_chosen():
    ends, values = np.array([-3.0, 0.0, 1e-16, 4.0]), np.array([1.0, 9.0, 2.0])
    assert kernels.best_interval(ends, values, 0.0, 1.0, 0.0) == (5e-17, 9.0)
    assert kernels.best_interval(ends, values, 0.0, 1.0, 1e-10) == (1e-16 + 1.0, 2.0)


def middles_of_the_best(ends, values, tie, outer):
    """All steps that `choose` may take, with how near they are."""
    wide = [i for i in range(len(values)) if ends[i + 1] > ends[i]]
    best = max(values[i] for i in wide)
    for i in wide:
        if values[i] < best - tie:
            continue
        low = ends[i] if i or len(values) == 1 else max(ends[0], ends[1] - 2 * outer)
        high = ends[i + 1] if i < len(values) - 1 or i == 0 else min(ends[-1], ends[i] + 2 * outer)
        yield 0.0 if len(values) == 1 else (low + high) / 2


@examples(300)
@given(
    st.lists(st.integers(-9, 9), min_size=2, max_size=8)
    .map(sorted)
    .filter(lambda e: e[0] < e[-1]),
    st.lists(st.integers(0, 3), min_size=7, max_size=7),
    st.sampled_from([0.25, 1.0, 100.0]),
)
def test_choose_takes_the_nearest_of_the_best(ends, values, outer):
    values = values[: len(ends) - 1]
    step, value = kernels.best_interval(
        np.array(ends, dtype=float), np.array(values, dtype=float), 1e-12, outer, 0.0
    )
    steps = list(middles_of_the_best(ends, values, 1e-12, outer))
    assert step == min(steps, key=abs)
    assert value == max(v for v, a, b in zip(values, ends, ends[1:], strict=False) if b > a)
