"""Tree kernel metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from metrics._base import Metric, Need
from metrics._orders import weighted_mean
from metrics._trees import WEIGHT_NAMES, Forests, Weight, similarity_stats

if TYPE_CHECKING:
    from metrics._base import Batch, FloatArray


@dataclass(frozen=True)
class Tkm(Metric):
    """Mean cosine of the numbers of all fragments of constituency parses.

    A fragment is a connected part of a tree with at least one production, in which a node has all
    its children or none. Of several references the one that gives most counts. A hypothesis
    without a parse has 0; without a parsed reference the segment does not count. Two parses
    without any production are alike, 1, if they are equal.

    Parameters
    ----------
    lexical
        Keep the words as leaves; else parts of speech are the leaves.
    weight
        Of a segment in the mean: `one`, or the length of the closest reference (`reflen`).
    """

    lexical: bool = False
    weight: Weight = "one"

    needs: ClassVar[frozenset[Need]] = frozenset({"trees"})
    source: ClassVar[str] = (
        "Liu and Gildea, ACL workshop on evaluation measures 2005; Collins and Duffy, NIPS 2001"
    )

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Weight times the cosine, and the weight."""
        return ("tkm", WEIGHT_NAMES[self.weight])

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        return similarity_stats(
            batch, Forests.constituency(batch, lexical=self.lexical), self.weight
        )

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the mean in 0..1 for stats (..., 2)."""
        return weighted_mean(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the mean and the sum of the weights of stats (2,)."""
        return {"tkm": float(weighted_mean(stats)), self.stat_names[1]: float(stats[1])}
