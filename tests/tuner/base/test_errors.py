"""How messages count."""

import pytest

from portmert.tuner.base.errors import counted


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [
        (1, "line", "1 line"),
        (0, "line", "0 lines"),
        (2, "hypothesis", "2 hypotheses"),
        (3, "new hypothesis", "3 new hypotheses"),
        (1, "search", "1 search"),
        (12, "search", "12 searches"),
    ],
)
def test_one_thing_is_not_several(count, noun, text):
    assert counted(count, noun) == text
