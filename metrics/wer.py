"""Defines 1 - word error rate as a metric."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._edits import DistanceRate


@dataclass(frozen=True)
class Wer(DistanceRate):
    """Computes 1 minus the insertions, deletions and substitutions over the reference length.

    1 is perfect; below 0 where there are more edits than reference words.
    Of several references the one with the lowest rate counts, the first on a tie. Without any
    reference word the score is 1.
    """

    source: ClassVar[str] = "Moses mert/CderScorer.cpp (WER)"
