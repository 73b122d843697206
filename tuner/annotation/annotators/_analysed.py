"""Holds what a file says of one sentence: its tokens, tags, roles, discourse representation."""

from __future__ import annotations

import re
from dataclasses import dataclass

from portmert.tuner.annotation.annotators._base import Structure

_NUMBER = re.compile(r"[0-9]{1,9}")


def whole_number(text: str) -> int | None:
    """Return the number that a text is, None if it is none from 0 to 999999999."""
    return int(text) if _NUMBER.fullmatch(text) else None


def is_one_word(text: str) -> bool:
    """Return whether a text is one word: as in texts, only ASCII white space parts words."""
    data = text.encode()
    return data.split() == [data]


@dataclass(frozen=True)
class Analysed:
    """Holds what a file says of one sentence; what it does not say is empty or None.

    Parameters
    ----------
    where
        File and line.
    """

    where: str
    tokens: tuple[str, ...]
    tags: tuple[str, ...] = ()
    roles: Structure | None = None
    drs: Structure | None = None

    def joined(self, other: Analysed) -> Analysed:
        """Return what both say of the same sentence, this one first."""
        return Analysed(
            self.where,
            self.tokens,
            self.tags or other.tags,
            self.roles or other.roles,
            self.drs or other.drs,
        )
