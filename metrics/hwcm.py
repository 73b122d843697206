"""Defines the head-word chain metric."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._base import Need
from portmert.metrics._trees import Items, Overlap


@dataclass(frozen=True)
class Hwcm(Overlap):
    """Averages the precision of the head-word chains of 1..D words in dependency parses.

    A chain of n words is a path down the parse: a word, a dependent of it, a dependent of that,
    and so on; one word is a chain by itself. Matches are clipped by the one reference that has
    most of a chain. A reference without a parse is left out; without any the segment does not
    count. A precision without a length penalty: to tune on it rewards short output; `hwcm-f`
    does not.
    """

    items: ClassVar[Items] = "chains"
    needs: ClassVar[frozenset[Need]] = frozenset({"heads"})
