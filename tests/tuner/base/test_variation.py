"""Deviations and intervals, and none where nothing varies."""

import numpy as np
import pytest

from portmert.tuner.base.variation import deviation, interval, is_constant

CONSTANT = ([], [3.0], [0.3, 0.3], [0.3, 0.1 + 0.2], [1e-17, 0.0], [1e9, 1e9 + 1e-6])


@pytest.mark.parametrize("values", CONSTANT)
def test_values_that_differ_by_rounding_have_no_deviation(values):
    assert is_constant(values)
    assert deviation(values) is None
    assert interval(np.array(values), 0.95) is None


def test_deviation_is_that_of_a_sample():
    assert not is_constant([1.0, 3.0])
    assert deviation([1.0, 3.0]) == pytest.approx(2**0.5)
    assert interval(np.array([np.nan, 1.0, 3.0]), 0.5) == (1.5, 2.5)


def test_an_interval_needs_half_of_the_samples():
    assert interval(np.array([np.nan, np.nan, 1.0, 3.0]), 0.5) == (1.5, 2.5)
    assert interval(np.array([np.nan, np.nan, np.nan, 1.0, 3.0]), 0.5) is None
