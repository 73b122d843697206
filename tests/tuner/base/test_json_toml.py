"""JSON and TOML: hostile ones are refused, what is written is read back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.tuner.base.json_toml import parse_json, parse_toml, to_json

NAMES = st.text(st.characters(codec="utf-8"), max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1, "b": 2, "a": 3}', "the key 'a' stands twice in one object"),
        ('["\\ud83d"]', r"\\ud83d is half of a surrogate pair"),
        ("[NaN]", "NaN is no number of JSON"),
        ("[-Infinity]", "-Infinity is no number of JSON"),
        pytest.param("[" * 10**5, "brackets are nested too deep", id="deep"),
        pytest.param("1" * 5000, "a number has thousands of digits", id="digits"),
        (b"\xff", "can't decode byte 0xff"),
    ],
)
def test_json_that_means_nothing_certain_is_refused(text, said):
    with pytest.raises(ValueError, match=said):
        parse_json(text)


def test_whole_surrogate_pairs_are_read():
    assert parse_json('["\\ud83d\\ude00", "\\\\ud83d"]') == ["\U0001f600", "\\ud83d"]


@given(VALUES)
def test_what_is_written_is_read_back(value):
    text = to_json(value)
    assert parse_json(text) == json.loads(text)
    assert "Infinity" not in text or isinstance(value, str | list | dict)


def test_what_is_not_finite_is_written_as_unknown():
    assert to_json({"a": [float("nan"), float("-inf"), 1.5]}, indent=None) == (
        '{"a": [null, null, 1.5]}'
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("a = " + "[" * 1200 + "]" * 1200, "nested too deep", id="brackets"),
        pytest.param("a" + ".a" * 100_000 + " = 1", "a key of more than 100 parts", id="dots"),
        pytest.param("x = {" + "'a' . " * 200 + "b = 1}", "more than 100 parts", id="inline"),
        pytest.param("a = " + "1" * 5000, "a number has thousands of digits", id="digits"),
        ("[t]\na = 1000000000000000000000", "t.a is 1000000000000000000000, expected a number"),
        ("a = [1, inf]", "a is inf, expected a finite number"),
        ("a = 1e99", "a is 1e[+]99, expected a finite number"),
        ('[t]\na = ["x\\u0000y"]', "t.a has a NUL character"),
    ],
)
def test_toml_that_would_harm_is_refused(text, said):
    with pytest.raises(ValueError, match=said):
        parse_toml(text)


def test_toml_of_many_dots_in_text_is_read():
    text = "a.b . 'c' = '''" + "x, y. " * 500 + "\n" + "." * 500 + "'''"
    assert parse_toml(text) == {"a": {"b": {"c": "x, y. " * 500 + "\n" + "." * 500}}}
