"""Defines the recall of part-of-speech tags as a metric."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._tags import Figure, TagMatch


@dataclass(frozen=True)
class Posr(TagMatch):
    """Averages the recall of tag n-grams over n = 1..4.

    A recall has no length penalty: to tune on it rewards long output; `posf` does not. Of several
    references the one with the highest F of arithmetic means counts, the first on a tie.
    """

    figure: ClassVar[Figure] = "recall"
