"""Defines the precision of part-of-speech tags as a metric."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._tags import Figure, TagMatch


@dataclass(frozen=True)
class Posp(TagMatch):
    """Averages the precision of tag n-grams over n = 1..4.

    A precision has no length penalty: to tune on it rewards short output; `posf` does not. Of
    several references the one with the highest F of arithmetic means counts, the first on a tie.
    """

    figure: ClassVar[Figure] = "precision"
