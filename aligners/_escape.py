"""Escapes tokens that mean something to an outside aligner."""

from __future__ import annotations

from urllib.parse import quote

SPECIAL = frozenset(
    {
        *("NULL", "UNK", "({", "})"),  # MGIZA++: the empty word, and fields of its A3 files
        *("$", "1$", "2$", "3$", "4$"),  # mkcls: ends of sentences
        "mkcls-mapped-dollar-symbol-$",
        *("|||", "<eps>", "<bad0>"),  # fast_align: between the sides, its empty word, no word
        "<NULL>",  # eflomal: the empty word in its priors
    }
)
ESCAPE = "@escaped:"


def escape(token: str) -> str:
    """Return a token without meaning to any program; different tokens stay different.

    White space of other scripts and control characters go too: each program has its own idea of
    where a token ends.
    """
    if token in SPECIAL or token.startswith(ESCAPE) or not token.isprintable():
        return ESCAPE + quote(token, safe="")
    return token
