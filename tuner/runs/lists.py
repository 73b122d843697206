"""Merges the n-best lists of a run's iterations, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tuner.nbest.merge import merge

if TYPE_CHECKING:
    from collections.abc import Callable

    from tuner.nbest.model import NBest


class Lists(NamedTuple):
    """Holds the lists of iterations 1..n: merged, and the last one by itself."""

    merged: NBest
    last: NBest


class ListMerger:
    """Merges lists in their order, so that a resumed run numbers words as an unbroken one.

    Parameters
    ----------
    read : callable
        From the number of an iteration, counted from 1, to its list.
    """

    def __init__(self, read: Callable[[int], NBest]) -> None:
        self._read = read
        self._lists: Lists | None = None
        self._count = 0

    def up_to(self, number: int) -> Lists:
        """Return the lists of iterations 1..number; no number is below that of an earlier call."""
        while self._lists is None or self._count < number:
            self._count += 1
            last = self._read(self._count)
            merged = last if self._lists is None else merge([self._lists.merged, last])
            self._lists = Lists(merged, last)
        return self._lists
