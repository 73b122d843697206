"""F-score of dependency subtrees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from metrics._base import Metric, Need
from metrics._trees import Average, Forests, Noparse, Overlap

if TYPE_CHECKING:
    from metrics._base import Batch, FloatArray


@dataclass(frozen=True)
class DstmF(Metric):
    """Harmonic mean of the mean precision and the mean recall of the subtrees of `dstm`.

    Recall counts against the reference with the number of words closest to the hypothesis's
    (the smaller on a tie). Matches may come from another reference: recall and F can exceed 1. A
    reference without a parse is left out; without any the segment does not count.

    Parameters
    ----------
    depth
        D, the most levels.
    noparse
        The precision of a hypothesis without a parse (an empty one has none): `ignore` it, or
        count it as matching nothing of as many items as the reference has (`worst`). The recall
        always counts it.
    average
        `corpus` sums the counts over all segments first; `segments` is the mean of the scores of
        the segments, as the paper defines them.
    """

    depth: int = 4
    noparse: Noparse = "ignore"
    average: Average = "corpus"

    needs: ClassVar[frozenset[Need]] = frozenset({"heads"})
    source: ClassVar[str] = (
        "Liu and Gildea, ACL workshop on evaluation measures 2005; Moses mert/HwcmScorer.cpp"
    )
    bounds: ClassVar[dict[str, tuple[float, float]]] = {"depth": (1, 16)}

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Of each order the subtrees that match, those of the hypothesis and of the reference."""
        return self._overlap.stat_names

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 3 D) counts in the order of `stat_names`, (H, 2) of means over segments."""
        return self._overlap.stats(batch, Forests.dependency(batch), "subtrees")

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the F-score, 0 or more, for stats (..., K)."""
        return self._overlap.score(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return precisions, recalls, their means and the counts of stats (K,)."""
        return self._overlap.parts(stats)

    @property
    def _overlap(self) -> Overlap:
        return Overlap("F", self.depth, self.noparse, self.average)
