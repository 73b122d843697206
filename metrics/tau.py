"""Kendall's tau of the word order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from metrics._base import Metric, Need
from metrics._ngrams import reference_lengths
from metrics._orders import (
    Encoding,
    Null,
    Scale,
    check_scale,
    ordering,
    weighted_mean,
)

if TYPE_CHECKING:
    from metrics._base import Batch, FloatArray


@dataclass(frozen=True)
class Tau(Metric):
    """Mean of Kendall's tau of the word order, weighted with the closest reference length.

    Of several references the one that gives most counts; an empty hypothesis has 0.

    Parameters
    ----------
    null
        Where an unaligned source word stands in target order: `inherit` the place of the
        previous source word and follow it, or `plus_one` target position after it.
    encoding
        What is compared: the source positions in target order (`order`, as in the paper), or for
        each source word its rank in target order (`rank`), which does not depend on how the source
        is numbered.
    scale
        From -1..1 to 0..1: `linear`, (x + 1) / 2, or `clip`, max(0, x).
    tau_lr
        1 - sqrt(share of discordant pairs), the form of LRscore, in place of the scaled tau.
    """

    null: Null = "inherit"
    encoding: Encoding = "order"
    scale: Scale = "linear"
    tau_lr: bool = False

    needs: ClassVar[frozenset[Need]] = frozenset({"links"})
    source: ClassVar[str] = "Chen, Kuhn and Larkin, ACL 2012 (PORT), section 3.3 and table 10"

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        check_scale("tau", self.scale, tau_lr=self.tau_lr)

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The weighted sum and the weight."""
        return ("tau_x_ref_len", "ref_len")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        values = ordering(
            batch,
            "tau",
            null=self.null,
            encoding=self.encoding,
            scale=self.scale,
            tau_lr=self.tau_lr,
        )
        lengths = reference_lengths(batch)
        return np.column_stack([values * lengths, lengths])

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the mean in 0..1 for stats (..., 2)."""
        return weighted_mean(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the mean and the reference length of stats (2,)."""
        return {"tau": float(weighted_mean(stats)), "ref_len": float(stats[1])}
