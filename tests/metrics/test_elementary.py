"""Exponentials, logarithms, powers, sums and inner products: the same everywhere, in any shape."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from portmert.metrics import _elementary


@pytest.fixture(autouse=True, params=[True, False], ids=["numba", "plain"])
def _numba(request, monkeypatch):
    """With numba, and as if it were not loaded."""
    monkeypatch.setattr(_elementary, "is_loaded", lambda: request.param)


SHAPES = array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


def each(function, values):
    return np.array([function(value) for value in values.ravel()]).reshape(values.shape)


@given(arrays(float, SHAPES, elements=st.floats(-700, 700)))
def test_exponentials_are_those_of_python(values):
    before = values.copy()
    assert np.array_equal(_elementary.exp(values), each(math.exp, values))
    assert np.array_equal(_elementary.exp(values.T), each(math.exp, values).T)
    assert np.array_equal(values, before)


@given(arrays(float, SHAPES, elements=st.floats(1e-300, 1e300)))
def test_logarithms_are_those_of_python(values):
    assert np.array_equal(_elementary.log(values), each(math.log, values))


@given(arrays(float, SHAPES, elements=st.floats(0, 1e10)), st.sampled_from([0.0, 0.25, 0.3, 1.7]))
def test_powers_are_those_of_python(values, exponent):
    found = _elementary.power(values, exponent)
    assert np.array_equal(found, each(lambda value: value**exponent, values))


def test_numbers_outside_have_limits():
    assert _elementary.exp(np.array([1000.0, -np.inf, -1000.0])).tolist() == [np.inf, 0.0, 0.0]
    assert math.isnan(_elementary.exp(np.nan))
    assert _elementary.power(np.array([2, 3]), 2.0).tolist() == [4.0, 9.0]


def test_products_are_added_from_the_first_to_the_last():
    # (2^53 + 1) - 2^53 is 0 from the left, for 2^53 + 1 is rounded to 2^53; another order gives 1.
    values = np.array([2.0**53, 1.0, -(2.0**53)])
    assert _elementary.inner(values, np.ones(3)) == 0.0
    assert _elementary.inner(values[[0, 2, 1]], np.ones(3)) == 1.0
    assert _elementary.inner(values[::2], np.ones(2)) == 0.0
    assert _elementary.norm(np.array([3.0, -4.0])) == pytest.approx(5.0)
    assert _elementary.norm(np.empty(0)) == 0.0


@pytest.mark.parametrize("length", [0, 1, 8192, 8193, 30_000])
@pytest.mark.parametrize("rows", [(), (3,)])
def test_long_rows_are_added_part_by_part_in_every_version_of_numpy(length, rows):
    values = np.random.default_rng(1).normal(size=(*rows, length))
    expected = np.zeros(rows)
    for first in range(0, length, 8192):
        expected = expected + np.add.reduce(values[..., first : first + 8192], axis=-1)
    assert np.array_equal(_elementary.summed(values), expected)
