"""Kendall similarity of the word order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from metrics._base import Metric, Need
from metrics._orders import (
    Encoding,
    Null,
    RefChoice,
    damped_similarity,
    weighted_mean,
)

if TYPE_CHECKING:
    from metrics._base import Batch, FloatArray


@dataclass(frozen=True)
class Kendall(Metric):
    """Mean over segments of the Kendall similarity of word order times a brevity factor.

    The similarity is 1 - sqrt(share of discordant pairs of source words);
    the factor min(1, exp(1 - reference length / hypothesis length)). An empty hypothesis has 0.
    Moses rounds each segment to 5 places; here nothing is rounded.

    Parameters
    ----------
    null
        Where an unaligned source word stands in target order: `inherit` the place of the
        previous source word and follow it, or `plus_one` target position after it.
    encoding
        What is compared: the source positions in target order (`order`), or for each
        source word its rank in target order (`rank`), which does not depend on how the source is
        numbered.
    refchoice
        Of several references the one that gives most (`closest`, Moses' name for it), or the
        mean over all (`average`).
    """

    null: Null = "inherit"
    encoding: Encoding = "rank"
    refchoice: RefChoice = "closest"

    needs: ClassVar[frozenset[Need]] = frozenset({"links"})
    source: ClassVar[str] = (
        "Birch and Osborne, WMT 2010 and ACL 2011; Moses mert/PermutationScorer.cpp"
    )

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The similarity and 1."""
        return ("kendall", "segments")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        values = damped_similarity(
            batch,
            "kendall",
            null=self.null,
            encoding=self.encoding,
            refchoice=self.refchoice,
        )
        return np.column_stack([values, np.ones_like(values)])

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the mean in 0..1 for stats (..., 2)."""
        return weighted_mean(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the mean and the number of segments of stats (2,)."""
        return {"kendall": float(weighted_mean(stats)), "segments": float(stats[1])}
