from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.aligners._base import format_links, link_lines, parse_links, tokens
from portmert.tuner.base.errors import InputError, PortmertError
from tests.support.examples import examples


def test_parse_links_sorts_and_drops_repeats():
    assert parse_links("2-0 0-1  0-1 10-3") == [(0, 1), (2, 0), (10, 3)]


def test_parse_links_of_an_empty_line_are_none():
    assert parse_links(" ") == []


@pytest.mark.parametrize("entry", ["0", "0-", "-1", "0:1", "a-b", "1-2-3", "\u00b2-0", "0--1"])
def test_parse_links_names_the_entry_it_cannot_read(entry):
    with pytest.raises(PortmertError) as error:
        parse_links(f"0-0 {entry}", origin="dev.links:7")
    assert str(error.value) == (
        f"dev.links:7: found '{entry}', expected source-target positions such as 0-0"
    )


@examples(200)
@given(st.sets(st.tuples(st.integers(0, 300), st.integers(0, 300))))
def test_format_then_parse_is_identity(links):
    assert parse_links(format_links(sorted(links))) == sorted(links)


def test_tokens_splits_at_ascii_white_space_only():
    assert tokens(" a\u00a0b\tc\u3000d \x0b e ") == ["a\u00a0b", "c\u3000d", "e"]


A3 = """# Sentence pair (1) source length 2 target length 3 alignment score : 3.63487e-24
le chat x
NULL ({ 3 }) the ({ 1 }) cat ({ 2 })
# Sentence pair (2) source length 4 target length 3 alignment score : 1e-09
j' ai faim
NULL ({ }) i ({ 1 }) am ({ }) so ({ }) hungry ({ 2 3 })
"""


def test_files_of_giza_and_symal_are_lines_of_links():
    assert link_lines(A3.splitlines(), origin="x") == ["0-0 1-1", "0-0 3-1 3-2"]
    symal = ["a b {##} c d {##} 0-0 1-1", "0-0", ""]
    assert link_lines(symal, origin="x") == ["0-0 1-1", "0-0", ""]
    cut = A3.splitlines()[:-1]
    with pytest.raises(InputError, match=r"^x:4: expected pair 2 of GIZA\+\+"):
        link_lines(cut, origin="x")
    with pytest.raises(InputError, match=r"^x:4: expected pair 2 of GIZA\+\+"):
        link_lines(A3.replace("(2) source", "(3) source").splitlines(), origin="x")
