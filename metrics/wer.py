"""1 - word error rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from metrics._base import Metric
from metrics._edits import distance_parts, distance_stats, one_minus_rate

if TYPE_CHECKING:
    from metrics._base import Batch, FloatArray


@dataclass(frozen=True)
class Wer(Metric):
    """1 minus the insertions, deletions and substitutions over the reference length.

    1 is perfect; below 0 where there are more edits than reference words.
    Of several references the one with the lowest rate counts, the first on a tie. Without any
    reference word the score is 1.
    """

    source: ClassVar[str] = "Moses mert/CderScorer.cpp (WER)"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The distance and the length of the reference."""
        return ("edits", "ref_len")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) counts in the order of `stat_names`."""
        return distance_stats(batch, long_jumps=False)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return 1 - wer, at most 1, for stats (..., 2)."""
        return one_minus_rate(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the rate, the edits and the reference length of stats (2,)."""
        return distance_parts(stats)
