"""Defines the subtree metric."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._base import Need
from portmert.metrics._trees import Items, Overlap


@dataclass(frozen=True)
class Stm(Overlap):
    """Averages the precision of subtrees of 1..D levels of constituency parses without words.

    A subtree of n levels is a node with all below it, cut off at the n-th level, if it goes so
    deep; one level is a node alone. Matches are clipped by the one reference that has most of a
    subtree. A reference without a parse is left out; without any the segment does not count.
    A precision without a length penalty: to tune on it rewards short output; `stm-f` does not.
    """

    items: ClassVar[Items] = "subtrees"
    needs: ClassVar[frozenset[Need]] = frozenset({"trees"})
