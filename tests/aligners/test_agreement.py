from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.aligners._agreement import Gold, agreement, parse_gold
from portmert.tuner.base.errors import PortmertError
from tests.oracles import aligners as oracle


def gold(line):
    return parse_gold(line, origin="gold:1")


def test_the_example_of_the_definition():
    # A = {0-0, 1-1, 2-2}, S = {0-0, 1-1}, P = S + {2-1}: AER 1 - (2 + 2) / (3 + 2).
    found = agreement([[(0, 0), (1, 1), (2, 2)]], [gold("0-0 1-1 2?1")])
    assert found.error_rate == pytest.approx(0.2)
    assert found.precision == pytest.approx(2 / 3)
    assert found.recall == 1


def test_possible_links_cost_nothing_and_earn_no_recall():
    marks = [gold("0-0 1?1"), gold("2p3 4-4")]
    few = agreement([[(0, 0)], [(4, 4)]], marks)
    more = agreement([[(0, 0), (1, 1)], [(2, 3), (4, 4)]], marks)
    assert few.error_rate == more.error_rate == 0
    assert few.recall == more.recall == few.precision == more.precision == 1


def test_marks_of_possible_links():
    assert gold("3-4 1?2 5p6 1?2") == Gold(
        frozenset({(3, 4)}), frozenset({(3, 4), (1, 2), (5, 6)})
    )
    # Marked both ways it is sure.
    assert gold("1?2 1-2").sure == {(1, 2)}


@pytest.mark.parametrize("entry", ["0", "0-", "a-b", "0-0?", "-1-0", "0+0", "\u0661-1"])
def test_other_entries_are_refused(entry):
    message = re.escape(f"gold:1: found '{entry}', expected 0-0 (a sure link), 0?0 or 0p0")
    with pytest.raises(PortmertError, match=message):
        gold(f"0-0 {entry}")


@pytest.mark.parametrize(
    ("links", "marks", "precision", "recall", "rate"),
    [
        ([], "", None, None, None),
        ([], "1?1", None, None, None),
        ([], "0-0", None, 0, 1),
        ([(0, 0)], "", 0, None, 1),
        ([(1, 1)], "1?1", 1, None, 0),
    ],
)
def test_a_quotient_of_no_links_has_no_value(links, marks, precision, recall, rate):
    found = agreement([links, []], [gold(marks), gold("")])
    assert (found.precision, found.recall, found.error_rate) == (precision, recall, rate)


def test_different_numbers_of_pairs_are_a_wrong_call():
    with pytest.raises(ValueError, match="1 line of links, 2 of gold links"):
        agreement([[]], [gold(""), gold("")])


LINK = st.tuples(st.integers(0, 3), st.integers(0, 3))


@given(st.lists(st.tuples(*[st.sets(LINK, max_size=6)] * 3), max_size=4))
def test_error_rate_is_its_slow_twin(rows):
    links = [row[0] for row in rows]
    sure, possible = [row[1] for row in rows], [row[1] | row[2] for row in rows]
    marks = [Gold(frozenset(s), frozenset(p)) for s, p in zip(sure, possible, strict=True)]
    found = agreement([sorted(row) for row in links], marks)
    rate = oracle.error_rate(links, sure, possible)
    assert found.error_rate == (None if rate is None else pytest.approx(rate))
    assert found.precision is None if not any(links) else 0 <= found.precision <= 1
    assert found.recall is None if not any(sure) else 0 <= found.recall <= 1
