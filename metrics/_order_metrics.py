"""Defines what the metrics of word order share: options, statistics and scores.

Formulas in docs/metrics/order.md.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from portmert.metrics import _bleu
from portmert.metrics._base import Batch, FloatArray, Metric, Need
from portmert.metrics._ngrams import reference_lengths
from portmert.metrics._orders import (
    Averaged,
    Encoding,
    Measure,
    Null,
    Order,
    RefChoice,
    Scale,
    check_scale,
    damped_similarity,
    ordering,
    weighted_mean,
)

LR_MAX_ORDER = 4
"""N of the BLEU in LRscore."""


@dataclass(frozen=True)
class Ordered(Metric):
    """Measures how alike the word orders of hypothesis and reference are.

    A subclass says which measure it takes (`order`); one that lacks an option sets it as a class
    variable.

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
        From -1..1 to 0..1, for rho and tau: `linear`, (x + 1) / 2, or `clip`, max(0, x).
    tau_lr
        For tau: 1 - sqrt(share of discordant pairs), the form of LRscore, in place of the scaled
        tau.
    """

    null: Null = "inherit"
    encoding: Encoding = "order"
    scale: Scale = "linear"
    tau_lr: bool = False

    needs: ClassVar[frozenset[Need]] = frozenset({"links"})

    def check(self, order: Order) -> None:
        """Raise ValueError for options that have no effect on a measure."""
        check_scale(order, self.scale, tau_lr=self.tau_lr)

    def values(self, batch: Batch, order: Order) -> FloatArray:
        """Return (H,) float64 in 0..1: the measure against the reference that gives most."""
        return ordering(
            batch,
            order,
            null=self.null,
            encoding=self.encoding,
            scale=self.scale,
            tau_lr=self.tau_lr,
        )


@dataclass(frozen=True)
class MeanOrder(Averaged, Ordered):
    """Averages a measure of word order, segments weighted with the closest reference length."""

    order: ClassVar[Order]

    source: ClassVar[str] = "Chen, Kuhn and Larkin, ACL 2012 (PORT), section 3.3 and table 10"

    def __post_init__(self) -> None:
        """Check that all options have an effect."""
        self.check(self.order)

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The weighted sum and the weight."""
        return (f"{self.order}_x_ref_len", "ref_len")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        values, lengths = self.values(batch, self.order), reference_lengths(batch)
        return np.column_stack([values * lengths, lengths])


@dataclass(frozen=True)
class Similar(Averaged):
    """Measures the similarity of word order times a brevity factor, as LRscore does.

    A subclass says which measure it takes (`measure`).

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

    measure: ClassVar[Measure]
    needs: ClassVar[frozenset[Need]] = frozenset({"links"})
    source: ClassVar[str] = (
        "Birch and Osborne, WMT 2010 and ACL 2011; Moses mert/PermutationScorer.cpp"
    )

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The similarity and 1."""
        return (self.measure, "segments")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        values = damped_similarity(
            batch,
            self.measure,
            null=self.null,
            encoding=self.encoding,
            refchoice=self.refchoice,
        )
        return np.column_stack([values, np.ones_like(values)])


@dataclass(frozen=True)
class Interpolated(Metric):
    """Has a weight alpha.

    Parameters
    ----------
    alpha
        Weight of the similarity, in 0..1. The default is that of Moses' interpolated scorer;
        Birch and Osborne tune it for each language pair.
    """

    alpha: Annotated[float, Ge(0), Le(1)] = 0.5


# The options of the last base come first.
@dataclass(frozen=True)
class LrScore(Similar, Interpolated):
    """Interpolates a similarity of word order with BLEU."""

    source: ClassVar[str] = "Birch and Osborne, WMT 2010 (LRscore)"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The similarity, 1, and the nine of `bleu`."""
        return (*super().stat_names, *_bleu.bleu_stat_names(LR_MAX_ORDER))

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 11) float64 in the order of `stat_names`."""
        counts = _bleu.bleu_stats(batch, LR_MAX_ORDER, "closest")
        return np.column_stack([super().stats(batch), counts])

    def score(self, stats: FloatArray) -> FloatArray:
        """Return LRscore in 0..1 for stats (..., 11)."""
        bleu = _bleu.bleu_score(stats[..., 2:], LR_MAX_ORDER)
        return self.alpha * weighted_mean(stats) + (1.0 - self.alpha) * bleu

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the similarity, BLEU and BLEU's parts of stats (11,)."""
        return {
            self.measure: float(weighted_mean(stats)),
            "BLEU": float(_bleu.bleu_score(stats[2:], LR_MAX_ORDER)),
            **_bleu.bleu_parts(stats[2:], LR_MAX_ORDER),
        }
