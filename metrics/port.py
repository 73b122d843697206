"""PORT, its variants and its parts: Qmean and BLEU with the strict brevity penalty.

Chen, Kuhn and Larkin, ACL 2012; formulas in docs/metrics/port.md.
"""

from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from . import _shared, _word_orders
from ._base import Batch, FloatArray, Metric
from ._elementary import power

Mean = Literal["a", "g", "h", "q"]
REF_LEN, SHORTER, LONGER, ORDERING = -4, -3, -2, -1
"""Columns after the three counts of each n-gram order."""


@dataclass(frozen=True)
class _Counted(Metric):
    """Counts the statistics of PORT: three counts of each order, lengths, the ordering.

    Parameters
    ----------
    max_order
        N, the longest n-gram.
    effective_order
        Leave out of the means the orders of which neither side has an n-gram.
    """

    max_order: Annotated[int, Ge(1), Le(16)] = 4
    effective_order: bool = False

    signed_if_changed: ClassVar[frozenset[str]] = frozenset(
        {"max_order", "effective_order", "mean", "combination"}
    )

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Matched, total and reference n-grams of each order, lengths, weighted ordering or 0."""
        orders = range(1, self.max_order + 1)
        counts = [f"{kind}_{n}" for n in orders for kind in ("matched", "total", "ref_total")]
        return (*counts, "ref_len", "min_len", "max_len", f"{self._ordering or 'none'}_x_ref_len")

    @property
    def _ordering(self) -> _word_orders.Order | None:
        """The ordering measure; None if there is none."""
        return None

    @property
    def _sides(self) -> tuple[bool, Mean]:
        """Whether recalls are at most 1, and the mean of precision and recall."""
        return False, "q"

    @property
    def best(self) -> float:
        """The score that none surpasses; a recall of several references may be more than 1."""
        return 1.0 if self._sides[0] else np.inf

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 3 N + 4) float64 in the order of `stat_names`."""
        return self._stats(batch, 0.0)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return precisions, recalls, penalties, Qmean, ordering and counts of stats (K,)."""
        parts = {f"p{n}": float(share) for n, share in enumerate(self._shares(stats, 1), 1)}
        parts |= {f"r{n}": float(share) for n, share in enumerate(self._shares(stats, 2), 1)}
        parts["SBP"] = float(_strict_brevity_penalty(stats))
        parts["SRP"] = float(_strict_redundancy_penalty(stats))
        parts[f"{self._sides[1].upper()}mean"] = float(self._qmean(stats))
        if self._ordering is not None:
            parts[self._ordering] = float(_mean_ordering(stats))
        parts |= _shared.named(self.stat_names[:REF_LEN], stats[:REF_LEN])
        return parts | {"hyp_len": float(stats[1]), "ref_len": float(stats[REF_LEN])}

    def _stats(self, batch: Batch, ordering: FloatArray | float) -> FloatArray:
        """Return (H, 3 N + 4); `ordering` (H,) in 0..1 is weighted with the closest length."""
        lengths, closest = _shared.hypothesis_lengths(batch), _shared.reference_lengths(batch)
        stats = np.empty((len(lengths), 3 * self.max_order + 4), order="F")
        stats[:, 0:REF_LEN:3] = _shared.matched(batch, self.max_order)
        stats[:, 1:REF_LEN:3] = _shared.totals(lengths, self.max_order)
        stats[:, 2:REF_LEN:3] = _shared.totals(closest, self.max_order)
        stats[:, REF_LEN] = closest
        stats[:, SHORTER] = np.minimum(lengths, closest)
        stats[:, LONGER] = np.maximum(lengths, closest)
        stats[:, ORDERING] = ordering * closest
        return stats

    def _shares(self, stats: FloatArray, side: Literal[1, 2]) -> list[FloatArray]:
        """Return p(n) (side 1) or r(n) (side 2) (...) of the orders, equations 1 and 2."""
        # A longer reference can match where the closest one is too short to have an n-gram: r(n)
        # is 0 then.
        orders = range(0, 3 * self.max_order, 3)
        shares = [_shared.quotient(stats[..., n], stats[..., n + side]) for n in orders]
        if side == 2 and self._sides[0]:
            shares = [np.minimum(share, 1.0) for share in shares]
        return shares

    def _items(self, stats: FloatArray) -> list[FloatArray]:
        """Return the n-grams on both sides (...) of each order, if orders may be left out."""
        return _shared.items_of_orders(stats, self.max_order if self.effective_order else 0)

    def _qmean(self, stats: FloatArray) -> FloatArray:
        """Return Qmean (...), equation 10, or the other mean that is asked for."""
        items = self._items(stats)
        precision = _shared.mean_of_orders(self._shares(stats, 1), items)
        recall = _shared.mean_of_orders(self._shares(stats, 2), items)
        precision = precision * _strict_brevity_penalty(stats)
        recall = recall * _strict_redundancy_penalty(stats)
        return _mean_of_two(precision, recall, self._sides[1])


@dataclass(frozen=True)
class BleuSbp(_Counted):
    """Multiplies the geometric mean of 1..4-gram precisions with the strict brevity penalty.

    This is a baseline of the PORT paper. The penalty (Chiang et al. 2008) uses the sum over
    segments of min(hypothesis length, closest reference length). So a segment that is too long
    cannot make up for one that is too short.
    """

    source: ClassVar[str] = "Chiang et al., EMNLP 2008; PORT paper, equations 1, 4, 8"

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the score in 0..1 for stats (..., 3 N + 4)."""
        precisions = self._shares(stats, 1)
        mean = _shared.mean_of_orders(precisions, self._items(stats), geometric=True)
        return np.asarray(mean * _strict_brevity_penalty(stats))


@dataclass(frozen=True)
class Qmean(_Counted):
    """Computes the quadratic mean of 1..4-gram precision and recall, each with a length penalty.

    Recall divides by the length of the closest reference. With several references, matches may
    come from a longer one; then recall and Qmean can exceed 1.

    Parameters
    ----------
    recall_cap
        Limit the recall of each order to 1.
    mean
        The mean of precision and recall; section 2.2.1 of the paper compares them.
        `a`: arithmetic;
        `g`: geometric;
        `h`: harmonic;
        `q`: quadratic.
    """

    recall_cap: bool = False
    mean: Mean = "q"

    source: ClassVar[str] = "Chen, Kuhn and Larkin, ACL 2012 (PORT), equations 1, 2, 6-10"

    @property
    def _sides(self) -> tuple[bool, Mean]:
        return self.recall_cap, self.mean

    def score(self, stats: FloatArray) -> FloatArray:
        """Return Qmean for stats (..., 3 N + 4)."""
        return self._qmean(stats)


@dataclass(frozen=True)
class _PortOptions(Metric):
    """Adds the options that PORT has besides those of its ordering measure.

    Parameters
    ----------
    alpha
        Exponent of the ordering measure; a larger one gives word order more weight.
    order
        The ordering measure.
        `v`: the harmonic mean of v1 and v2, equation 15;
        `v1`: how far words are apart, equation 12;
        `v2`: how far jumps are, equation 14;
        `rho`: Spearman's;
        `tau`: Kendall's.
    recall_cap
        Limit the recall of each n-gram order to 1, which several references can exceed.
    mean
        The mean of precision and recall.
        `a`: arithmetic;
        `g`: geometric;
        `h`: harmonic;
        `q`: quadratic, as in the paper.
    combination
        The mean of Qmean and the weighted ordering measure.
        `a`: arithmetic;
        `g`: geometric;
        `h`: harmonic, as in the paper (equation 17);
        `q`: quadratic.
    """

    alpha: Annotated[float, Ge(0), Le(100)] = 0.25
    order: _word_orders.Order = "v"
    recall_cap: bool = False
    mean: Mean = "q"
    combination: Mean = "h"


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
    def _ordering(self) -> _word_orders.Order:
        return self.order

    @property
    def _sides(self) -> tuple[bool, Mean]:
        return self.recall_cap, self.mean

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 3 N + 4) float64 in the order of `stat_names`."""
        return self._stats(batch, self.values(batch, self.order))

    def score(self, stats: FloatArray) -> FloatArray:
        """Return PORT for stats (..., 3 N + 4), equation 17."""
        order = _mean_ordering(stats)
        if self.alpha == 0.25:
            weighted = np.sqrt(np.sqrt(order))  # the default, cheaper than a power
        elif self.alpha == 0.0:
            weighted = np.where(order > 0.0, 1.0, 0.0)
        else:
            weighted = power(order, self.alpha)
        return _mean_of_two(self._qmean(stats), weighted, self.combination)


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


def _mean_of_two(first: FloatArray, second: FloatArray, mean: Mean) -> FloatArray:
    """Return (...): the arithmetic, geometric, harmonic or quadratic mean of two numbers."""
    if mean == "h":
        return _shared.harmonic_mean(first, second)
    if mean == "a":
        return np.asarray((first + second) / 2.0)
    if mean == "g":
        return np.asarray(np.sqrt(first * second))
    return np.asarray(np.sqrt((first * first + second * second) / 2.0))


def _strict_brevity_penalty(stats: FloatArray) -> FloatArray:
    """Return SBP (...), equation 8."""
    return _shared.length_penalty(stats[..., REF_LEN], stats[..., SHORTER])


def _strict_redundancy_penalty(stats: FloatArray) -> FloatArray:
    """Return SRP (...), equation 9."""
    return _shared.length_penalty(stats[..., LONGER], stats[..., REF_LEN])


def _mean_ordering(stats: FloatArray) -> FloatArray:
    """Return v (...), equation 16.

    A line search adds and subtracts changes of this sum of fractions. Rounding may leave the sum
    slightly below 0, where a power would be NaN.
    """
    ratio = _shared.quotient(stats[..., ORDERING], stats[..., REF_LEN])
    return np.asarray(np.maximum(ratio, 0.0))
