"""Averages of weights, each scaled to the same size first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.extensions.averaging.operation import average
from portmert.tuner.api.lists import Lists
from portmert.tuner.base.errors import InputError
from portmert.tuner.nbest.model import best_hypotheses
from portmert.tuner.search.averaging import (
    absolute_size,
    averaged,
    spread_size,
    stacked,
    weight_change,
    weight_spreads,
)
from portmert.tuner.weights.feature_weights import FeatureWeights


def lists(features):
    return Lists.from_arrays(features, feature_names=["A", "B"]).nbest


LISTS = lists([[[0, 0], [2, 0]], [[5, 1], [5, 3]]])


def test_stacked_weights_are_of_size_1_and_meet_by_name():
    given = [FeatureWeights({"A": (1.0,), "B": (-1.0,)}),
             FeatureWeights({"B": (3.0,), "s_x": (1.0,)})]  # fmt: skip
    names, rows = stacked(given)
    assert names == {"A": 1, "B": 1, "s_x": 1}
    assert rows.tolist() == [[0.5, -0.5, 0], [0, 0.75, 0.25]]
    assert stacked(given, [2.0, 1.0])[1].tolist() == [[0.5, -0.5, 0], [0, 3, 1]]
    assert stacked([FeatureWeights({"A": (0.0,)})])[1].tolist() == [[0.0]]


def test_spreads_of_weights_by_hand():
    given = [FeatureWeights({"A": (2.0,), "B": (1.0, -1.0)}),
             FeatureWeights({"A": (1.0,), "B": (0.0, 1.0)})]  # fmt: skip
    sd = 0.25 / 2**0.5  # of two values that are 0.25 apart
    assert weight_spreads(given) == {
        "A": {"mean": [0.5], "sd": [None]},
        "B": {"mean": [0.125, 0.125], "sd": pytest.approx([sd, 3 * sd])},
    }
    assert weight_spreads(given[:1])["B"] == {"mean": [0.25, -0.25], "sd": [None, None]}


def test_averaged_by_hand():
    # (1, 3) / 4 and (-2, 2) / 4: mean (-1/8, 5/8), times their mean size 4.
    first = FeatureWeights({"A": (1.0,), "B": (3.0,)})
    second = FeatureWeights({"B": (2.0,), "A": (-2.0,)})
    assert averaged([first, second]).values == {"A": (-0.5,), "B": (2.5,)}


def test_weight_change_ignores_scale_and_order():
    before = FeatureWeights({"A": (1.0, -2.0), "B": (1.0,)})
    assert weight_change(before, FeatureWeights({"B": (3.0,), "A": (3.0, -6.0)})) == 0
    # |w| sums to 4: (.25, -.5, .25) against (.5, -.5, 0)
    after = FeatureWeights({"A": (1.0, -1.0), "B": (0.0,)})
    assert weight_change(before, after) == pytest.approx(0.5)
    zero = FeatureWeights({"A": (0.0, 0.0), "B": (0.0,)})
    assert weight_change(zero, before) == pytest.approx(1)


def test_the_spread_of_model_scores_by_hand():
    # Scores 0, 2w and 5w + v, 5w + 3v: deviations w, w, v, v from the means of their segments.
    for w, v in ((1.0, 0.0), (0.5, 2.0)):
        weights = FeatureWeights({"A": (w,), "B": (v,)})
        expected = ((w**2 + v**2) / 2) ** 0.5
        assert spread_size(weights, LISTS, origin="W") == pytest.approx(expected)


def test_what_moves_nothing_has_no_size():
    zero = FeatureWeights({"A": (0.0,), "B": (0.0,)})
    assert spread_size(zero, LISTS, origin="W") == 0
    made = Lists.from_arrays([[[0, 0], [2, 0]]], feature_names=["A", "B"])
    with pytest.raises(InputError, match="1: under these weights all hypotheses of a segment"):
        average([zero], lists=made)
    with pytest.raises(InputError, match="W: no weight for feature B"):
        spread_size(FeatureWeights({"A": (1.0,)}), LISTS, origin="W")


NUMBERS = st.lists(
    st.tuples(st.integers(-9, 9), st.integers(-9, 9)).filter(any), min_size=2, max_size=5
)


@given(NUMBERS, st.lists(st.integers(1, 50), min_size=5, max_size=5), st.booleans())
def test_the_scale_of_what_is_averaged_does_not_matter(rows, factors, use_lists):
    def mean(scaled):
        weights = [FeatureWeights({"A": (a * f,), "B": (b * f,)}) for (a, b), f in scaled]
        sizes = None
        if use_lists:
            sizes = [spread_size(one, LISTS, origin="W") for one in weights]
        found = averaged(weights, sizes)
        vector = found.vector(found.names)
        return vector / (absolute_size(found) or 1.0)

    alike = mean([(row, 1) for row in rows])
    scaled = mean(list(zip(rows, factors, strict=False)))
    if np.abs(alike).sum() > 0 and np.abs(scaled).sum() > 0:  # they may cancel out
        assert scaled == pytest.approx(alike, abs=1e-6)


@given(NUMBERS.map(lambda rows: rows[:1] * 3), st.integers(0, 99))
def test_the_mean_of_one_chooses_as_it_does(rows, seed):
    nbest = lists(np.random.default_rng(seed).normal(size=(6, 4, 2)))
    weights = [FeatureWeights({"A": (float(a),), "B": (float(b),)}) for a, b in rows]
    sizes = [spread_size(one, nbest, origin="W") for one in weights]
    one, mean = (best_hypotheses(nbest, found) for found in (weights[0], averaged(weights, sizes)))
    assert one.tolist() == mean.tolist()
