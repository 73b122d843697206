"""Numbers segments that lists call by names: utterances, keys, ids of requests."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from portmert.tuner.ground.errors import InputError, counted

_COMPARED = 10_000
"""Ids among which the nearest is looked for."""


@dataclass
class SegmentNames:
    """Numbers names in the order in which they come.

    Parameters
    ----------
    known : mapping or None
        The ids of the references, which no other may be; None: the references have none.
    where : str
        What messages call the references.
    used : bool or None
        Whether ids are names; None before the first, which decides where nothing is known.
    asked : int
        How often a number was asked for.
    """

    known: Mapping[str, int] | None = None
    where: str = ""
    used: bool | None = None
    asked: int = 0
    _numbers: dict[str, int] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[str, ...] | None:
        """The names so far, segment by segment; None where ids are numbers."""
        return tuple(self._numbers) if self.used else None

    def number(self, name: str, segments: int | None) -> int:
        """Return the number of a segment.

        Raises
        ------
        ValueError
            There can be no such segment; says why.
        """
        self.asked += 1
        number = self._numbers.get(name)
        if number is not None:
            return number
        if len(name.split()) != 1:
            raise ValueError(f"id '{name}' is not one word")
        if self.known is not None and name not in self.known:
            raise ValueError(f"id '{name}' is not in {self.where} ({_like(name, self.known)})")
        number = len(self._numbers)
        if segments is not None and number >= segments:
            raise ValueError(
                f"id '{name}' is number {number + 1} of the list, the references have "
                f"{counted(segments, 'segment')}"
            )
        self._numbers[name] = number
        return number


def positions(
    ids: Sequence[str], known: Mapping[str, int], *, lists: str, where: str
) -> list[int]:
    """Return where each segment of the lists stands in a file with the same ids.

    Raises
    ------
    InputError
        An id is on one side only.
    """
    own = set(ids)
    for here, there, some, other in (
        (ids, known, lists, where),
        (known, own, where, lists),
    ):
        lacking = [name for name in here if name not in there]
        if lacking:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            raise InputError(
                f"{some}: id '{lacking[0]}'{more} not in {other} ({_like(lacking[0], there)}); "
                f"both must be of the same segments"
            )
    return [known[name] for name in ids]


def _like(name: str, known: Mapping[str, int] | set[str]) -> str:
    """Return ids that are there: the nearest, or the first."""
    some = sorted(known)[:_COMPARED]
    near = difflib.get_close_matches(name, some, n=1)
    if near:
        return f"nearest: '{near[0]}'"
    return f"ids there: {', '.join(some[:3])}{', ...' * (len(known) > 3)}"
