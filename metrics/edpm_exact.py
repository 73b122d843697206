"""Defines the expected dependency pair match over all trees."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._dependencies import PAPER, DependencyMatch


@dataclass(frozen=True)
class EdpmExact(DependencyMatch):
    """Counts words, word pairs and links that match, expected over all trees.

    The expectation of EDPM without a limit on the number of parses: over all trees of a parser
    that scores single links, from the probability of each link.

    Of several references the one counts under which the hypothesis scores highest. Where a text
    has no parse, its links count as none and its n-grams as ever.

    Parameters
    ----------
    gamma
        How much better trees count more: the weight of a tree is proportional to its
        probability to this power. 1: as the parser says. 0: all trees the same.
    """

    parses: ClassVar[int] = 0  # type: ignore[misc]  # all: no option here

    source: ClassVar[str] = f"{PAPER}, in the limit of all parses"
