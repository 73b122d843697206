"""Defines 1 - CDER, the rate of edits where blocks may move, as a metric."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._edits import DistanceRate


@dataclass(frozen=True)
class Cder(DistanceRate):
    """Computes 1 minus the CDER, edits and long jumps over the reference length.

    The reference is covered once, in order, while the hypothesis may be gone through in any order
    with jumps that cost 1 each, its words covered several times or not at all. 1 is perfect; below
    0 where there are more edits than reference words.
    Of several references the one with the lowest rate counts, the first on a tie. Without any
    reference word the score is 1.
    """

    long_jumps: ClassVar[bool] = True
    source: ClassVar[str] = "Leusch, Ueffing and Ney, EACL 2006; Moses mert/CderScorer.cpp"
