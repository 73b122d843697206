"""How far a step goes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.metrics.bleu import Bleu
from portmert.tuner.api.lists import Lists
from portmert.tuner.search import steps
from portmert.tuner.search.averaging import weight_change
from portmert.tuner.search.constraints import Constraints
from portmert.tuner.search.stat_table import StatTable
from portmert.tuner.search.unseen import error_without_folds
from portmert.tuner.weights.feature_weights import FeatureWeights, absolute_size


def test_steps_lead_to_the_mean_of_what_was_found_unless_they_are_far():
    weights = FeatureWeights({"A": (1.0,), "B": (1.0,)})
    found = [FeatureWeights({"A": (1.0,), "B": (b,)}) for b in (1.2, 0.8, 0.9)]
    for number, one in enumerate(found, 1):
        taken = steps.Steps(tuple(1 / n for n in range(1, number)))
        weights = weights.towards(one, taken.next_share(weights, one))
    assert weights.values["B"] == (pytest.approx((1.2 + 0.8 + 0.9) / 3),)
    ((a,), (b,)) = weights.values.values()
    far = FeatureWeights({"A": (a,), "B": (-b,)})
    assert 2 * b / (a + b) > steps.FARTHEST
    none = steps.Steps()
    near = weights.towards(far, none.next_share(weights, far))
    assert near.values == {"A": (a,), "B": (pytest.approx(b - steps.FARTHEST * (a + b)),)}
    assert steps.Steps((1, 1 / 2, 1 / 3)).next_share(weights, weights) == 1 / 4
    assert none.next_share(weights, far, 2) == 2 * none.next_share(weights, far)


def test_the_mean_begins_anew_behind_a_whole_step():
    assert steps.Steps().numbers == [1]
    assert steps.Steps((1.0, 1 / 2)).numbers == [1, 2, 3]
    assert steps.Steps((0.4, 1.0)).numbers == [1, 2, 2]
    assert steps.Steps((1.0, 1 / 2, 1.0, 1 / 2)).numbers == [1, 2, 3, 2, 3]


def test_behind_a_step_that_was_too_short_the_next_may_be_longer():
    """The output was better than the lists promised."""
    short = steps.Steps((0.4, 0.2, 0.3), (True, True, False))
    assert short.numbers == [1, 2, 2, 3]
    assert short.farthest == steps.FARTHEST
    assert short.first(2).farthest == pytest.approx(2.25 * steps.FARTHEST)
    assert steps.Steps((0.4, 0.5), (False, True)).farthest == 1.5 * steps.FARTHEST
    uncut = steps.Steps((1.0, 1 / 2, 1 / 3), (True, True, True))
    assert uncut.numbers == [1, 2, 3, 4]  # none was cut short
    assert [short.is_cut(number) for number in range(5)] == [False, True, True, True, False]
    assert short.is_behind  # it still holds some of the weights before
    before, far = FeatureWeights({"A": (1.0,)}), FeatureWeights({"A": (-1.0,)})
    assert short.first(2).next_share(before, far) == pytest.approx(2.25 / 2 * steps.FARTHEST)
    assert short.first(1).next_share(before, far) == pytest.approx(1.5 / 2 * steps.FARTHEST)


SHARES = st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8)


@given(SHARES, st.integers(0, 3))
def test_what_was_before_a_whole_step_does_not_count(shares, earlier):
    behind = steps.Steps((*([0.3] * earlier), 1.0, *shares))
    assert behind.numbers[-1] == steps.Steps((1.0, *shares)).numbers[-1]
    assert behind.is_behind == steps.Steps((1.0, *shares)).is_behind


def test_features_that_choose_nothing_have_no_size():
    names = (("A", 2), ("C", 1), ("F", 1))
    features = np.array([[1, 0, 7, 1], [2, 0, 7, 3], [0, 5, 9, 1], [0, 6, 9, 2.0]])
    constant = steps.constant_places(features, np.array([0, 2, 4]), names)
    assert constant == {"A": (False, False), "C": (True,), "F": (False,)}
    fixed = steps.fixed_places(names, Constraints(fixed=("A_1", "F")))
    assert fixed == {"A": (False, True), "C": (False,), "F": (True,)}
    before = FeatureWeights({"A": (1.0, 4.0), "C": (1e5,), "F": (8.0,), "s_x": (1.0,)})
    part = steps.counted_part(before, constant, fixed)
    assert part.values == {"A": (1.0, 0.0), "C": (0.0,), "F": (0.0,), "s_x": (1.0,)}
    after = FeatureWeights({**before.values, "A": (-1.0, 4.0)})
    assert weight_change(before, after) < 1e-4  # as if nothing had moved
    assert weight_change(part, steps.counted_part(after, constant, fixed)) == 1.0


def test_weights_are_such_as_single_precision_can_calculate_with():
    constant = {"A": (False, False), "C": (True,), "D": (True,)}
    fixed = {"A": (False, False), "C": (False,), "D": (True,)}
    weights = FeatureWeights({"A": (0.5, -0.25), "C": (-1e5,), "D": (1e5,)})
    changed = steps.decodable(weights, constant, fixed, may_scale=True)
    assert changed.values == {"A": (0.5, -0.25), "C": (-0.75,), "D": (1e5,)}
    assert steps.decodable(changed, constant, fixed, may_scale=True) == changed
    tiny = FeatureWeights({"A": (3e-39, -1e-39), "C": (1e-39,), "D": (0.0,)})
    scaled = steps.decodable(tiny, constant, fixed, may_scale=True)
    assert scaled.values["A"] == (pytest.approx(0.75), pytest.approx(-0.25))
    assert scaled.values["C"] == (pytest.approx(0.25),)
    assert steps.decodable(tiny, constant, fixed, may_scale=False) == tiny


def test_weights_are_equal_but_where_they_are_fixed():
    fixed = {"A": (False, False, True), "C": (False,)}
    weights = FeatureWeights({"A": (-3.0, 1.0, 5.0), "C": (2.0,), "s_x": (2.0,)})
    equal = steps.equal_weights_but(weights, fixed)
    assert equal.values == {"A": (2.0, 2.0, 5.0), "C": (2.0,), "s_x": (2.0,)}
    zero = steps.equal_weights_but(FeatureWeights({"A": (0.0, 0.0)}), {"A": (False, False)})
    assert zero.values == {"A": (0.5, 0.5)}


NUMBERS = st.floats(-1e9, 1e9, allow_subnormal=False)  # which cannot be scaled exactly


@given(st.lists(NUMBERS, min_size=3, max_size=3), NUMBERS)
def test_decodable_weights_order_hypotheses_as_before(numbers, idle):
    constant, fixed = {"C": (True,)}, {"C": (False,)}
    weights = FeatureWeights({"A": tuple(numbers), "C": (idle,)})
    changed = steps.decodable(weights, constant, fixed, may_scale=True)
    size = absolute_size(steps.counted_part(weights, constant)) or 1.0
    ratio = absolute_size(steps.counted_part(changed, constant)) / size
    assert changed.values["A"] == pytest.approx(tuple(n * ratio for n in numbers), rel=1e-12)
    assert ratio > 0 or not any(numbers)


def is_by_chance(good, bad, weights):
    """Say whether weights choose by chance: BLEU statistics of two hypotheses per segment."""
    lists = Lists.from_arrays([[[1, 0], [0, 1]]] * len(good), feature_names=["A", "B"])
    rows = np.array([row for pair in zip(good, bad, strict=True) for row in pair], dtype=float)
    chosen = FeatureWeights({"A": (weights[0],), "B": (weights[1],)})
    return steps.is_by_chance(lists.nbest, StatTable(rows), Bleu(), chosen, seed=1)


def test_the_whole_step_is_taken_from_weights_that_choose_by_chance():
    right, wrong = [4, 4, 3, 3, 2, 2, 1, 1, 4], [2, 4, 0, 3, 0, 2, 0, 1, 4]
    assert not is_by_chance([right] * 20, [wrong] * 20, (1.0, 0.0))
    assert is_by_chance([right] * 20, [wrong] * 20, (0.0, 1.0))  # always the worse
    assert is_by_chance([right] * 20, [right] * 20, (1.0, 0.0))  # nothing to choose
    assert is_by_chance([right, wrong] * 10, [wrong, right] * 10, (1.0, 0.0))  # half is right
    # 15 of 20: by hand, the gain over a half is a binomial's 2.2 standard errors
    assert not is_by_chance([right] * 15 + [wrong] * 5, [wrong] * 15 + [right] * 5, (1.0, 0.0))


@given(st.lists(st.integers(1, 40), min_size=2, max_size=6))
def test_what_stands_for_chance_is_spread_over_the_lists(sizes):
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    drawn = steps.evenly_spaced(offsets)
    assert drawn.shape == (steps.DRAWN, len(sizes))
    assert (drawn >= offsets[:-1]).all()
    assert (drawn < offsets[1:]).all()
    for column, size in enumerate(sizes):
        counts = np.bincount(drawn[:, column] - offsets[column], minlength=size)
        assert np.ptp(counts) <= 1


def test_the_error_of_folds_by_hand():
    # values without a fold 1, 2, 3: deviations -1, 0, 1; (3 - 1) / 3 * 2
    assert error_without_folds(np.array([1.0, 2.0, 3.0])) == pytest.approx((4 / 3) ** 0.5)
    assert error_without_folds(np.array([5.0])) == 0
    # of a mean: 4 segments, one a fold: the usual error of a mean
    values = np.array([1.0, 2.0, 4.0, 9.0])
    without = (values.sum() - values) / 3
    assert error_without_folds(without) == pytest.approx(values.std(ddof=1) / 2)
