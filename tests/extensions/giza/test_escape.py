from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.extensions.giza.giza import ESCAPE, SPECIAL, escape

TOKENS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@pytest.mark.parametrize("token", sorted(SPECIAL))
def test_special_tokens_lose_their_meaning(token):
    assert escape(token) not in SPECIAL


@given(TOKENS | st.sampled_from(sorted(SPECIAL)) | TOKENS.map(lambda text: ESCAPE + text))
def test_an_escaped_token_is_one_printable_word(token):
    escaped = escape(token)
    assert escaped.isprintable()
    assert " " not in escaped or " " in token
    if escaped != token:
        assert escaped.startswith(ESCAPE)
        assert escaped.isascii()


@given(TOKENS, TOKENS)
def test_different_tokens_stay_different(left, right):
    assert (escape(left) == escape(right)) == (left == right)


def test_ordinary_tokens_stay_as_they_are():
    for token in ("Haus", "#", "%20", "日本", "@-@", "{", "(", "|"):
        assert escape(token) == token
