"""Computes PORT's statistics and score, for `port`, its variants, `qmean` and `bleu-sbp`.

Chen, Kuhn and Larkin, ACL 2012; formulas in docs/metrics/port.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from portmert.metrics._base import Batch, FloatArray, Metric
from portmert.metrics._ngrams import (
    SMALLEST_COUNT,
    hypothesis_lengths,
    matched,
    reference_lengths,
    totals,
)
from portmert.metrics._order_metrics import Ordered
from portmert.metrics._orders import Order

MAX_ORDER = 4
REF_LEN, SHORTER, LONGER, ORDERING = 12, 13, 14, 15
"""Columns after the three counts of each n-gram order."""


def port_stat_names(ordering: str) -> tuple[str, ...]:
    """Return the names of the 16 statistics; `ordering` is what the last one weights."""
    kinds = ("matched", "total", "ref_total")
    counts = (f"{kind}_{n}" for n in range(1, MAX_ORDER + 1) for kind in kinds)
    return (*counts, "ref_len", "min_len", "max_len", f"{ordering}_x_ref_len")


def port_stats(batch: Batch, ordering: FloatArray | float) -> FloatArray:
    """Return (H, 16) float64 in the order of `port_stat_names`.

    Parameters
    ----------
    batch
        All hypotheses.
    ordering : (H,) float64 in 0..1, or 0
        v_s or what stands in its place; weighted here with the closest reference length.
    """
    lengths, closest = hypothesis_lengths(batch), reference_lengths(batch)
    stats = np.empty((len(lengths), 16), order="F")
    stats[:, 0:REF_LEN:3] = matched(batch, MAX_ORDER)
    stats[:, 1:REF_LEN:3] = totals(lengths, MAX_ORDER)
    stats[:, 2:REF_LEN:3] = totals(closest, MAX_ORDER)
    stats[:, REF_LEN] = closest
    stats[:, SHORTER] = np.minimum(lengths, closest)
    stats[:, LONGER] = np.maximum(lengths, closest)
    stats[:, ORDERING] = ordering * closest
    return stats


def strict_brevity_penalty(stats: FloatArray) -> FloatArray:
    """Return SBP (...), equation 8."""
    ratio = stats[..., REF_LEN] / np.maximum(stats[..., SHORTER], SMALLEST_COUNT)
    return np.asarray(np.exp(np.minimum(1.0 - ratio, 0.0)))


def strict_redundancy_penalty(stats: FloatArray) -> FloatArray:
    """Return SRP (...), equation 9."""
    ratio = stats[..., LONGER] / np.maximum(stats[..., REF_LEN], SMALLEST_COUNT)
    return np.asarray(np.exp(np.minimum(1.0 - ratio, 0.0)))


def _recalls(stats: FloatArray) -> Iterator[FloatArray]:
    """Yield r(n) (...) for n = 1..4, equation 2."""
    longest = 3 * MAX_ORDER - 1
    # A longer reference can match where the closest one is too short to have an n-gram: r(n) is
    # 0 then. Where there are 4-grams there are all others, so that one look is enough.
    guarded = not (stats[..., longest] > 0.0).all()
    for n in range(MAX_ORDER):
        match, ref_total = stats[..., 3 * n], stats[..., 3 * n + 2]
        if guarded:
            match = np.where(ref_total > 0.0, match, 0.0)
        yield np.asarray(match / np.maximum(ref_total, SMALLEST_COUNT))


def qmean(stats: FloatArray, *, recall_cap: bool) -> FloatArray:
    """Return Qmean (...), equation 10."""
    precision, recall = np.zeros(stats.shape[:-1]), np.zeros(stats.shape[:-1])
    for n, part in enumerate(_recalls(stats)):
        precision += stats[..., 3 * n] / np.maximum(stats[..., 3 * n + 1], SMALLEST_COUNT)
        recall += np.minimum(part, 1.0) if recall_cap else part
    precision *= strict_brevity_penalty(stats)
    recall *= strict_redundancy_penalty(stats)
    square_sum = precision * precision + recall * recall
    return np.asarray(np.sqrt(square_sum / (2.0 * MAX_ORDER**2)))  # Pa and Ra are means of four


def mean_ordering(stats: FloatArray) -> FloatArray:
    """Return v (...), equation 16.

    A line search adds and subtracts changes of this sum of fractions: rounding may leave it a
    hair below 0, where a power would be NaN.
    """
    ratio = stats[..., ORDERING] / np.maximum(stats[..., REF_LEN], SMALLEST_COUNT)
    return np.asarray(np.maximum(ratio, 0.0))


def port_score(stats: FloatArray, *, alpha: float, recall_cap: bool) -> FloatArray:
    """Return PORT (...), equation 17: the harmonic mean of Qmean and v ** alpha."""
    quality, order = qmean(stats, recall_cap=recall_cap), mean_ordering(stats)
    if alpha == 0.25:
        weighted = np.sqrt(np.sqrt(order))  # the default, cheaper than a power
    elif alpha == 0.0:
        weighted = np.where(order > 0.0, 1.0, 0.0)
    else:
        weighted = order**alpha
    smallest = np.finfo(np.float64).tiny
    return np.asarray(2.0 * quality * weighted / np.maximum(quality + weighted, smallest))


def port_parts(
    stats: FloatArray, *, recall_cap: bool, ordering: str | None = None
) -> dict[str, float]:
    """Return precisions, recalls, penalties, Qmean, the ordering and the counts of one row (16,).

    Parameters
    ----------
    stats : (16,) float64
    recall_cap
        As in the metric.
    ordering
        The name of the ordering measure; None leaves it out.
    """
    match, total, ref_total = (stats[k:REF_LEN:3] for k in range(3))
    precision = match / np.maximum(total, SMALLEST_COUNT)
    recall = np.array(list(_recalls(stats)))
    if recall_cap:
        recall = np.minimum(recall, 1.0)
    orders = range(1, MAX_ORDER + 1)
    parts = {f"p{n}": float(precision[n - 1]) for n in orders}
    parts |= {f"r{n}": float(recall[n - 1]) for n in orders}
    parts["SBP"] = float(strict_brevity_penalty(stats))
    parts["SRP"] = float(strict_redundancy_penalty(stats))
    parts["Qmean"] = float(qmean(stats, recall_cap=recall_cap))
    if ordering is not None:
        parts[ordering] = float(mean_ordering(stats))
    for n in orders:
        parts[f"matched_{n}"] = float(match[n - 1])
        parts[f"total_{n}"] = float(total[n - 1])
        parts[f"ref_total_{n}"] = float(ref_total[n - 1])
    return parts | {"hyp_len": float(total[0]), "ref_len": float(stats[REF_LEN])}


@dataclass(frozen=True)
class PortOptions(Metric):
    """Has the options that PORT adds to those of its ordering measure.

    Parameters
    ----------
    alpha
        Exponent of the ordering measure; more gives word order more weight.
    order
        The ordering measure: `v` (equations 11 to 16), or Spearman's `rho` or Kendall's `tau`
        in its place.
    recall_cap
        Limit the recall of each n-gram order to 1, which several references can exceed.
    """

    alpha: Annotated[float, Ge(0), Le(100)] = 0.25
    order: Order = "v"
    recall_cap: bool = False


# The options of the last base come first.
@dataclass(frozen=True)
class PortFamily(Ordered, PortOptions):
    """Scores n-grams and word order, as PORT does."""

    source: ClassVar[str] = "Chen, Kuhn and Larkin, ACL 2012 (PORT), equations 1, 2, 6-17"

    def __post_init__(self) -> None:
        """Check that all options have an effect."""
        self.check(self.order)

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Matched, total and reference n-grams of each order, lengths, weighted ordering."""
        return port_stat_names(self.order)

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 16) float64 in the order of `stat_names`."""
        return port_stats(batch, self.values(batch, self.order))

    def score(self, stats: FloatArray) -> FloatArray:
        """Return PORT for stats (..., 16)."""
        return port_score(stats, alpha=self.alpha, recall_cap=self.recall_cap)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return precisions, recalls, penalties, Qmean, ordering and counts of stats (16,)."""
        return port_parts(stats, recall_cap=self.recall_cap, ordering=self.order)
