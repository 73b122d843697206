"""Holds what a file says of one sentence: its tokens, tags, roles, discourse representation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuner.annotation.annotators._base import Structure


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
