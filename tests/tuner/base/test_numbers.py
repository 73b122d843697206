"""Numbers: what is one, and which are too large to calculate with."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.tuner.base.numbers import LARGEST, bounded, parse_number, shown_p


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


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (1, "1.0000"),
        (0.01234, "0.0123"),
        (0.00006, "0.0001"),
        (0.00004, "<0.0001"),
        (0, "<0.0001"),
    ],
)
def test_a_p_is_never_printed_as_nothing(p, text):
    assert shown_p(p) == text
