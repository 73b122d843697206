"""Defines the F-score of part-of-speech tags as a metric."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._tags import Figure, TagMatch


@dataclass(frozen=True)
class Posf(TagMatch):
    """Computes the F-score of the mean precision and recall of tag n-grams, n = 1..4.

    An untagged hypothesis matches nothing. Of several references the one with the highest F of
    arithmetic means counts, the first on a tie.
    """

    figure: ClassVar[Figure] = "F"
