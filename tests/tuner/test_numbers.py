"""Numbers: what is one, and which are too large to calculate with."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.numbers import LARGEST, bounded, parse_number


@pytest.mark.parametrize("text", ["", "1_000", "\u0663", "0x10", "1e", "--1", " 1", "one"])
def test_what_is_no_number(text):
    assert parse_number(text) is None


@given(st.floats(-LARGEST, LARGEST))
def test_every_number_within_the_bound_is_read(value):
    assert parse_number(repr(value)) == value


@given(st.floats(LARGEST, exclude_min=True))
def test_numbers_beyond_the_bound_count_as_infinite(value):
    assert parse_number(repr(value)) == math.inf
    assert parse_number(repr(-value)) == -math.inf
    assert bounded(10**5000) == math.inf
