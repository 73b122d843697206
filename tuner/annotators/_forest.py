"""Whether heads make a parse."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuner.annotators._base import Heads


def fault(heads: Heads) -> str:
    """Return what keeps heads from being a forest, empty if nothing does.

    Several roots are allowed; a head out of range, a cycle and so a sentence without a root are
    not.
    """
    count = len(heads)
    for place, (head, _) in enumerate(heads, 1):
        if not 0 <= head <= count:
            return f"token {place} has head {head}, expected 0..{count}"
    # 0: not yet seen; a token is marked with the number of the walk that came by first.
    walk_of = [0] * (count + 1)
    walk_of[0] = -1
    for start in range(1, count + 1):
        place = start
        while not walk_of[place]:
            walk_of[place] = start
            place = heads[place - 1][0]
        if walk_of[place] == start:
            return f"the heads make a cycle through token {place}"
    return ""
