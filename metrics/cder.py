"""1 - CDER, the rate of edits where blocks may move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from metrics._base import Metric
from metrics._edits import distance_parts, distance_stats, one_minus_rate

if TYPE_CHECKING:
    from metrics._base import Batch, FloatArray


@dataclass(frozen=True)
class Cder(Metric):
    """1 minus the CDER, edits and long jumps over the reference length.

    The reference is covered once, in order, while the hypothesis may be gone through in any order
    with jumps that cost 1 each, its words covered several times or not at all. 1 is perfect; below
    0 where there are more edits than reference words.
    Of several references the one with the lowest rate counts, the first on a tie. Without any
    reference word the score is 1.
    """

    source: ClassVar[str] = "Leusch, Ueffing and Ney, EACL 2006; Moses mert/CderScorer.cpp"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The distance and the length of the reference."""
        return ("edits", "ref_len")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) counts in the order of `stat_names`."""
        return distance_stats(batch, long_jumps=True)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return 1 - cder, at most 1, for stats (..., 2)."""
        return one_minus_rate(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the rate, the edits and the reference length of stats (2,)."""
        return distance_parts(stats)
