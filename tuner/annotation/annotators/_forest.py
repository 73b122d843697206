"""Says whether heads make a parse."""

from __future__ import annotations

from portmert.tuner.annotation.annotators._base import Heads


def fault(heads: Heads) -> str:
    """Return what keeps heads from being a forest, empty if nothing does.

    Several roots are allowed; a head out of range, a cycle and so a sentence without a root are
    not.
    """
    bad = place(heads)
    if not bad:
        return ""
    head = heads[bad - 1][0]
    if not 0 <= head <= len(heads):
        return f"word {bad} has head {head}, expected 0..{len(heads)}"
    return f"word {bad} is its own head or its head's head (a cycle)"


def place(heads: Heads) -> int:
    """Return which word, from 1, has a head out of range or stands in a cycle; 0 if none does."""
    count = len(heads)
    for word, (head, _) in enumerate(heads, 1):
        if not 0 <= head <= count:
            return word
    # 0: not yet seen; a word is marked with the walk that came by first.
    walk_of = [0] * (count + 1)
    walk_of[0] = -1
    for start in range(1, count + 1):
        word = start
        while not walk_of[word]:
            walk_of[word] = start
            word = heads[word - 1][0]
        if walk_of[word] == start:
            return word
    return 0
