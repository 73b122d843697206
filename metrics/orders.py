"""The metrics of word order: v, rho, tau, Hamming, Kendall, LRscore.

Formulas in docs/metrics/order.md.
"""

from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from . import _shared, _word_orders
from ._base import Batch, FloatArray, Metric
from .bleu import bleu_parts, bleu_score, bleu_stat_names, bleu_stats
from .kernels.word_orders import AGREEMENT, DISCORDANCE

Measure = Literal["hamming", "kendall"]
RefChoice = Literal["closest", "average"]

LR_MAX_ORDER = 4
"""N of the BLEU in LRscore."""


@dataclass(frozen=True)
class _MeanOrder(_shared.WeightedMean, _word_orders.Ordered):
    """Averages a measure of word order; a segment counts by its closest reference length."""

    order: ClassVar[_word_orders.Order]

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
        values, lengths = self.values(batch, self.order), _shared.reference_lengths(batch)
        return np.column_stack([values * lengths, lengths])


@dataclass(frozen=True)
class V(_MeanOrder):
    """Averages PORT's ordering measure v; a segment counts by its closest reference length.

    v is the harmonic mean of `v1` and `v2`. With several references, the highest value counts. A
    segment has 0 if the hypothesis or the reference is empty.
    """

    order: ClassVar[_word_orders.Order] = "v"
    scale: ClassVar[_word_orders.Scale] = "linear"  # type: ignore[misc]  # no option here
    tau_lr: ClassVar[bool] = False  # type: ignore[misc]  # no option here
    source: ClassVar[str] = "Chen, Kuhn and Larkin, ACL 2012 (PORT), equations 11-16"


@dataclass(frozen=True)
class V1(V):
    """Averages v1, the part of PORT's v that compares the places of words.

    It falls with the sum over words of how far apart their places are. Other rules are those of
    `v`.
    """

    order: ClassVar[_word_orders.Order] = "v1"
    source: ClassVar[str] = "Chen, Kuhn and Larkin, ACL 2012 (PORT), equations 11, 12"


@dataclass(frozen=True)
class V2(V):
    """Averages v2, the part of PORT's v that compares the jumps from word to word.

    A group of words that moves with its order unchanged counts once. Other rules are those of
    `v`.
    """

    order: ClassVar[_word_orders.Order] = "v2"
    source: ClassVar[str] = "Chen, Kuhn and Larkin, ACL 2012 (PORT), equations 13, 14"


@dataclass(frozen=True)
class Rho(_MeanOrder):
    """Averages Spearman's rho of word order; a segment counts by its closest reference length.

    With several references, the highest value counts. A segment has 0 if the hypothesis or the
    reference is empty.
    """

    order: ClassVar[_word_orders.Order] = "rho"
    tau_lr: ClassVar[bool] = False  # type: ignore[misc]  # no option here


@dataclass(frozen=True)
class Tau(_MeanOrder):
    """Averages Kendall's tau of word order; a segment counts by its closest reference length.

    With several references, the highest value counts. A segment has 0 if the hypothesis or the
    reference is empty.
    """

    order: ClassVar[_word_orders.Order] = "tau"


@dataclass(frozen=True)
class _Similarity(_shared.WeightedMean, _word_orders.Linked):
    """Measures the similarity of word order times a brevity factor, as LRscore does.

    A subclass says which measure it takes (`measure`).

    Parameters
    ----------
    refchoice
        With several references: take the highest value (`closest`, Moses' name for it), or the
        mean over all (`average`).
    """

    encoding: _word_orders.Encoding = "rank"
    refchoice: RefChoice = "closest"

    measure: ClassVar[Measure]
    source: ClassVar[str] = (
        "Birch and Osborne, WMT 2010 and ACL 2011; Moses mert/PermutationScorer.cpp"
    )

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The similarity and 1."""
        return (self.measure, "segments")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        if self.measure == "hamming":
            values = self.pairs(batch, AGREEMENT)
        else:
            values = 1.0 - np.sqrt(self.pairs(batch, DISCORDANCE))
        if values.size:
            lengths, reference_lengths = _word_orders.pair_lengths(batch)
            damped = values * _shared.length_penalty(reference_lengths, lengths)
            damped = np.where((lengths > 0.0) & (reference_lengths > 0.0), damped, 0.0)
            if self.refchoice == "closest":
                values = np.maximum.reduceat(damped, _word_orders.pair_starts(batch))
            else:
                values = np.add.reduceat(damped, _word_orders.pair_starts(batch))
                values = values / _word_orders.references_each(batch)
        return np.column_stack([values, np.ones_like(values)])


@dataclass(frozen=True)
class Hamming(_Similarity):
    """Averages the Hamming similarity of word order times a brevity factor.

    The similarity is the share of source words with the same rank in target order. The factor is
    min(1, exp(1 - reference length / hypothesis length)). A segment has 0 if the hypothesis or the
    reference is empty. Moses rounds the value of each segment to 5 places; here nothing is
    rounded.
    """

    measure: ClassVar[Measure] = "hamming"
    encoding: ClassVar[_word_orders.Encoding] = "rank"  # type: ignore[misc]  # no option here


@dataclass(frozen=True)
class Kendall(_Similarity):
    """Averages the Kendall similarity of word order times a brevity factor.

    The similarity is 1 - sqrt(share of discordant pairs of source words). The factor is
    min(1, exp(1 - reference length / hypothesis length)). A segment has 0 if the hypothesis or the
    reference is empty. Moses rounds the value of each segment to 5 places; here nothing is
    rounded.
    """

    measure: ClassVar[Measure] = "kendall"


@dataclass(frozen=True)
class _Interpolated(Metric):
    """Adds a weight alpha.

    Parameters
    ----------
    alpha
        Weight of the similarity, 0 to 1. The default is that of Moses' interpolated scorer. Birch
        and Osborne tune it for each language pair.
    """

    alpha: Annotated[float, Ge(0), Le(1)] = 0.5


# The options of the last base come first.
@dataclass(frozen=True)
class _LrScore(_Similarity, _Interpolated):
    """Interpolates a similarity of word order with BLEU."""

    source: ClassVar[str] = "Birch and Osborne, WMT 2010 (LRscore)"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The similarity, 1, and the nine of `bleu`."""
        return (*super().stat_names, *bleu_stat_names(LR_MAX_ORDER))

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 11) float64 in the order of `stat_names`."""
        counts = bleu_stats(batch, LR_MAX_ORDER, "closest")
        return np.column_stack([super().stats(batch), counts])

    def score(self, stats: FloatArray) -> FloatArray:
        """Return LRscore in 0..1 for stats (..., 11)."""
        return self.alpha * _shared.weighted_mean(stats) + (1.0 - self.alpha) * bleu_score(
            stats[..., 2:]
        )

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the similarity, BLEU and BLEU's parts of stats (11,)."""
        return {
            self.measure: float(_shared.weighted_mean(stats)),
            "BLEU": float(bleu_score(stats[2:])),
            **bleu_parts(stats[2:]),
        }


@dataclass(frozen=True)
class LrHamming(_LrScore):
    """Computes LRscore: alpha times the Hamming similarity of order plus 1 - alpha times BLEU.

    BLEU is the metric `bleu` with its defaults; the similarity is the metric `hamming`.
    """

    measure: ClassVar[Measure] = "hamming"
    encoding: ClassVar[_word_orders.Encoding] = "rank"  # type: ignore[misc]  # no option here


@dataclass(frozen=True)
class LrKendall(_LrScore):
    """Computes LRscore: alpha times the Kendall similarity of order plus 1 - alpha times BLEU.

    BLEU is the metric `bleu` with its defaults; the similarity is the metric `kendall`.
    """

    measure: ClassVar[Measure] = "kendall"
