"""PORT, its variants and its parts: Qmean and BLEU with the strict brevity penalty.

Chen, Kuhn and Larkin, ACL 2012; formulas in docs/metrics/port.md.
"""

from collections.abc import Iterator
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from . import _shared, _word_orders
from ._base import Batch, FloatArray, Metric
from ._elementary import power
from .bleu import geometric_precision

MAX_ORDER = 4
COUNTS = tuple(
    f"{kind}_{n}" for n in range(1, MAX_ORDER + 1) for kind in ("matched", "total", "ref_total")
)
"""The first columns: three counts of each n-gram order."""
REF_LEN, SHORTER, LONGER, ORDERING = 12, 13, 14, 15
"""Columns after them."""


@dataclass(frozen=True)
class _Counted(Metric):
    """Counts the 16 statistics of PORT."""

    def _stat_names(self, ordering: str) -> tuple[str, ...]:
        """Return the names of the statistics; `ordering` is what the last one weights."""
        return (*COUNTS, "ref_len", "min_len", "max_len", f"{ordering}_x_ref_len")

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The 16 of `port`, the last being 0."""
        return self._stat_names("none")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 16) counts in the order of `stat_names`."""
        return _port_stats(batch, 0.0)


@dataclass(frozen=True)
class BleuSbp(_Counted):
    """Multiplies the geometric mean of 1..4-gram precisions with the strict brevity penalty.

    This is a baseline of the PORT paper. The penalty (Chiang et al. 2008) uses the sum over
    segments of min(hypothesis length, closest reference length). So a segment that is too long
    cannot make up for one that is too short.
    """

    source: ClassVar[str] = "Chiang et al., EMNLP 2008; PORT paper, equations 1, 4, 8"

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the score in 0..1 for stats (..., 16)."""
        return geometric_precision(stats, MAX_ORDER, each=3) * _strict_brevity_penalty(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return precisions, recalls, penalties, Qmean, counts and lengths of stats (16,)."""
        return _port_parts(stats, recall_cap=False)


@dataclass(frozen=True)
class Qmean(_Counted):
    """Computes the quadratic mean of 1..4-gram precision and recall, each with a length penalty.

    Recall divides by the length of the closest reference. With several references, matches may
    come from a longer one; then recall and Qmean can exceed 1.

    Parameters
    ----------
    recall_cap
        Limit the recall of each order to 1.
    """

    recall_cap: bool = False

    source: ClassVar[str] = "Chen, Kuhn and Larkin, ACL 2012 (PORT), equations 1, 2, 6-10"

    def score(self, stats: FloatArray) -> FloatArray:
        """Return Qmean for stats (..., 16)."""
        return _qmean(stats, recall_cap=self.recall_cap)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return precisions, recalls, penalties, Qmean, counts and lengths of stats (16,)."""
        return _port_parts(stats, recall_cap=self.recall_cap)


@dataclass(frozen=True)
class _PortOptions(Metric):
    """Adds the options that PORT has besides those of its ordering measure.

    Parameters
    ----------
    alpha
        Exponent of the ordering measure; a larger one gives word order more weight.
    order
        The ordering measure: `v` (equations 11 to 16), Spearman's `rho` or Kendall's `tau`.
    recall_cap
        Limit the recall of each n-gram order to 1, which several references can exceed.
    """

    alpha: Annotated[float, Ge(0), Le(100)] = 0.25
    order: _word_orders.Order = "v"
    recall_cap: bool = False


# The options of the last base come first.
@dataclass(frozen=True)
class Port(_word_orders.Ordered, _PortOptions, _Counted):
    """Computes the harmonic mean of Qmean (n-gram precision, recall) and a measure of word order.

    Chen, Kuhn and Larkin 2012: PORT = 2 / (1 / Qmean + 1 / v^alpha).
    """

    source: ClassVar[str] = "Chen, Kuhn and Larkin, ACL 2012 (PORT), equations 1, 2, 6-17"

    def __post_init__(self) -> None:
        """Check that all options have an effect."""
        self.check(self.order)

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Matched, total and reference n-grams of each order, lengths, weighted ordering."""
        return self._stat_names(self.order)

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 16) float64 in the order of `stat_names`."""
        return _port_stats(batch, self.values(batch, self.order))

    def score(self, stats: FloatArray) -> FloatArray:
        """Return PORT for stats (..., 16), equation 17."""
        order = _mean_ordering(stats)
        if self.alpha == 0.25:
            weighted = np.sqrt(np.sqrt(order))  # the default, cheaper than a power
        elif self.alpha == 0.0:
            weighted = np.where(order > 0.0, 1.0, 0.0)
        else:
            weighted = power(order, self.alpha)
        return _shared.harmonic_mean(_qmean(stats, recall_cap=self.recall_cap), weighted)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return precisions, recalls, penalties, Qmean, ordering and counts of stats (16,)."""
        return _port_parts(stats, recall_cap=self.recall_cap, ordering=self.order)


@dataclass(frozen=True)
class PortRho(Port):
    """Computes PORT(rho), which is `port` with Spearman's rho instead of v.

    Section 3.3 of the PORT paper compares it with v.
    """

    order: ClassVar[_word_orders.Order] = "rho"  # type: ignore[misc]  # no option here
    tau_lr: ClassVar[bool] = False  # type: ignore[misc]  # no option here
    source: ClassVar[str] = "Chen, Kuhn and Larkin, ACL 2012 (PORT), section 3.3"


@dataclass(frozen=True)
class PortTau(Port):
    """Computes PORT(tau), which is `port` with Kendall's tau instead of v.

    Section 3.3 of the PORT paper compares it with v.
    """

    order: ClassVar[_word_orders.Order] = "tau"  # type: ignore[misc]  # no option here
    source: ClassVar[str] = "Chen, Kuhn and Larkin, ACL 2012 (PORT), section 3.3"


def _port_stats(batch: Batch, ordering: FloatArray | float) -> FloatArray:
    """Return (H, 16) float64 in the order of `stat_names`.

    Parameters
    ----------
    batch
        All hypotheses.
    ordering : (H,) float64 in 0..1, or 0
        v_s or what stands in its place; weighted here with the closest reference length.
    """
    lengths, closest = _shared.hypothesis_lengths(batch), _shared.reference_lengths(batch)
    stats = np.empty((len(lengths), 16), order="F")
    stats[:, 0:REF_LEN:3] = _shared.matched(batch, MAX_ORDER)
    stats[:, 1:REF_LEN:3] = _shared.totals(lengths, MAX_ORDER)
    stats[:, 2:REF_LEN:3] = _shared.totals(closest, MAX_ORDER)
    stats[:, REF_LEN] = closest
    stats[:, SHORTER] = np.minimum(lengths, closest)
    stats[:, LONGER] = np.maximum(lengths, closest)
    stats[:, ORDERING] = ordering * closest
    return stats


def _strict_brevity_penalty(stats: FloatArray) -> FloatArray:
    """Return SBP (...), equation 8."""
    return _shared.length_penalty(stats[..., REF_LEN], stats[..., SHORTER])


def _strict_redundancy_penalty(stats: FloatArray) -> FloatArray:
    """Return SRP (...), equation 9."""
    return _shared.length_penalty(stats[..., LONGER], stats[..., REF_LEN])


def _recalls(stats: FloatArray) -> Iterator[FloatArray]:
    """Yield r(n) (...) for n = 1..4, equation 2."""
    # A longer reference can match where the closest one is too short to have an n-gram: r(n) is
    # 0 then.
    for n in range(MAX_ORDER):
        yield _shared.quotient(stats[..., 3 * n], stats[..., 3 * n + 2])


def _qmean(stats: FloatArray, *, recall_cap: bool) -> FloatArray:
    """Return Qmean (...), equation 10."""
    precision, recall = np.zeros(stats.shape[:-1]), np.zeros(stats.shape[:-1])
    for n, part in enumerate(_recalls(stats)):
        precision += _shared.quotient(stats[..., 3 * n], stats[..., 3 * n + 1])
        recall += np.minimum(part, 1.0) if recall_cap else part
    precision *= _strict_brevity_penalty(stats)
    recall *= _strict_redundancy_penalty(stats)
    square_sum = precision * precision + recall * recall
    return np.asarray(np.sqrt(square_sum / (2.0 * MAX_ORDER**2)))  # Pa and Ra are means of four


def _mean_ordering(stats: FloatArray) -> FloatArray:
    """Return v (...), equation 16.

    A line search adds and subtracts changes of this sum of fractions. Rounding may leave the sum
    slightly below 0, where a power would be NaN.
    """
    ratio = _shared.quotient(stats[..., ORDERING], stats[..., REF_LEN])
    return np.asarray(np.maximum(ratio, 0.0))


def _port_parts(
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
    precision = _shared.quotient(stats[0:REF_LEN:3], stats[1:REF_LEN:3])
    recall = np.array(list(_recalls(stats)))
    if recall_cap:
        recall = np.minimum(recall, 1.0)
    parts = {f"p{n}": value for n, value in enumerate(precision.tolist(), 1)}
    parts |= {f"r{n}": value for n, value in enumerate(recall.tolist(), 1)}
    parts["SBP"] = float(_strict_brevity_penalty(stats))
    parts["SRP"] = float(_strict_redundancy_penalty(stats))
    parts["Qmean"] = float(_qmean(stats, recall_cap=recall_cap))
    if ordering is not None:
        parts[ordering] = float(_mean_ordering(stats))
    parts |= _shared.named(COUNTS, stats[:REF_LEN])
    return parts | {"hyp_len": float(stats[1]), "ref_len": float(stats[REF_LEN])}
