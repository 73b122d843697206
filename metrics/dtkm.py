"""Dependency tree kernel metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from metrics._base import Metric, Need
from metrics._orders import weighted_mean
from metrics._trees import WEIGHT_NAMES, Forests, Weight, similarity_stats

if TYPE_CHECKING:
    from metrics._base import Batch, FloatArray


@dataclass(frozen=True)
class Dtkm(Metric):
    """Mean cosine of the numbers of all fragments of dependency parses, labels being words.

    A fragment is a connected part of a tree with at least one production, in which a node has all
    its children or none. Of several references the one that gives most counts. A hypothesis
    without a parse has 0; without a parsed reference the segment does not count. Two parses
    without any production are alike, 1, if they are equal.

    Parameters
    ----------
    weight
        Of a segment in the mean: `one`, or the length of the closest reference (`reflen`).
    """

    weight: Weight = "one"

    needs: ClassVar[frozenset[Need]] = frozenset({"heads"})
    source: ClassVar[str] = (
        "Liu and Gildea, ACL workshop on evaluation measures 2005; Collins and Duffy, NIPS 2001"
    )

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Weight times the cosine, and the weight."""
        return ("dtkm", WEIGHT_NAMES[self.weight])

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        return similarity_stats(batch, Forests.dependency(batch), self.weight)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the mean in 0..1 for stats (..., 2)."""
        return weighted_mean(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the mean and the sum of the weights of stats (2,)."""
        return {"dtkm": float(weighted_mean(stats)), self.stat_names[1]: float(stats[1])}
