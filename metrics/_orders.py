"""Computes word order: from links to permutations, and how alike those of two texts are.

Formulas in docs/metrics/port.md.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from portmert.metrics import _kernels
from portmert.metrics._base import Batch, FloatArray, IntArray, Metric, Texts, TokenArray
from portmert.metrics._ngrams import SMALLEST_COUNT, hypothesis_lengths, require_references

Order = Literal["v", "rho", "tau"]
Measure = Literal["hamming", "kendall"]
Null = Literal["inherit", "plus_one"]
Encoding = Literal["order", "rank"]
Scale = Literal["linear", "clip"]
RefChoice = Literal["closest", "average"]


def ordering(
    batch: Batch,
    order: Order,
    *,
    null: Null,
    encoding: Encoding,
    scale: Scale = "linear",
    tau_lr: bool = False,
) -> FloatArray:
    """Return (H,) float64 in 0..1: v, rho or tau against the reference that gives most.

    0 for an empty hypothesis. The options are those of the metrics (see
    `portmert.metrics._order_metrics.Ordered`).
    """
    if order == "v":
        values = _pairs(batch, _kernels.V, null=null, encoding=encoding)
    elif order == "rho":
        values = _pairs(batch, _kernels.RHO, null=null, encoding=encoding)
        values = np.maximum(values, 0.0) if scale == "clip" else (values + 1.0) / 2.0
    else:
        share = _pairs(batch, _kernels.DISCORDANCE, null=null, encoding=encoding)
        if tau_lr:
            values = 1.0 - np.sqrt(share)
        else:
            values = np.maximum(1.0 - 2.0 * share, 0.0) if scale == "clip" else 1.0 - share
    best = np.maximum.reduceat(values, _pair_starts(batch)) if values.size else values
    return np.where(batch.hypotheses.tokens.lengths > 0, best, 0.0)


def check_scale(order: Order, scale: Scale, *, tau_lr: bool) -> None:
    """Raise ValueError for options of `ordering` that would have no effect."""
    if tau_lr and order != "tau":
        raise ValueError(f"tau_lr is for order=tau, found order={order}")
    if scale == "clip" and (order == "v" or tau_lr):
        found = "tau_lr" if tau_lr else "order=v"
        raise ValueError(f"scale maps -1..1 to 0..1, but {found} is in 0..1 already; leave it out")


def damped_similarity(
    batch: Batch,
    measure: Measure,
    *,
    null: Null,
    encoding: Encoding,
    refchoice: RefChoice,
) -> FloatArray:
    """Return (H,) float64 in 0..1: Hamming or Kendall similarity times the brevity factor.

    Both depend on the reference; of several the largest product counts, or their mean.
    """
    if measure == "hamming":
        values = _pairs(batch, _kernels.AGREEMENT, null=null, encoding=encoding)
    else:
        share = _pairs(batch, _kernels.DISCORDANCE, null=null, encoding=encoding)
        values = 1.0 - np.sqrt(share)
    if not values.size:
        return values
    starts = _pair_starts(batch)
    own = np.repeat(hypothesis_lengths(batch), _references_each(batch))
    ratio = batch.references.tokens.lengths[_pair_references(batch)] / np.maximum(own, 1.0)
    damped = np.where(own > 0.0, values * np.exp(np.minimum(1.0 - ratio, 0.0)), 0.0)
    if refchoice == "closest":
        return np.maximum.reduceat(damped, starts)
    return np.add.reduceat(damped, starts) / _references_each(batch)


def weighted_mean(stats: FloatArray) -> FloatArray:
    """Return (...): `stats[..., 0] / stats[..., 1]`, 0 where the weight is 0."""
    return np.asarray(stats[..., 0] / np.maximum(stats[..., 1], SMALLEST_COUNT))


class Averaged(Metric):
    """Averages a value of segments: the statistics are a weight times it, and the weight."""

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the mean (...) for stats (..., 2)."""
        return weighted_mean(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the mean and the sum of the weights of stats (2,)."""
        return {self.name(): float(weighted_mean(stats)), self.stat_names[1]: float(stats[1])}


def word_orders(
    texts: Texts, source_lengths: IntArray, *, null: Null, encoding: Encoding
) -> TokenArray:
    """Return the permutations of all texts, one after the other, counted from 0.

    Parameters
    ----------
    source_lengths : (T,) int64
        Number of source tokens of each text.

    Raises
    ------
    ValueError
        The texts have no links, or a link points outside its sentence.
    """
    if texts.links is None:
        raise ValueError("word order needs links, and these texts have none")
    offsets = np.ascontiguousarray(texts.links.offsets, dtype=np.int64)
    lengths = texts.tokens.lengths
    orders, fault = _kernels.permutations(
        np.ascontiguousarray(texts.links.values, dtype=np.int32).reshape(-1, 2),
        offsets,
        np.ascontiguousarray(source_lengths, dtype=np.int64),
        lengths,
        null == "plus_one",
        encoding == "rank",
    )
    if fault >= 0:
        text = int(np.searchsorted(offsets, fault, side="right")) - 1
        i, j = texts.links.values[fault]
        raise ValueError(
            f"text {text}: link {i}-{j}: the source has {source_lengths[text]} tokens and the "
            f"target {lengths[text]}"
        )
    return np.asarray(orders)


def _pairs(batch: Batch, measure: int, *, null: Null, encoding: Encoding) -> FloatArray:
    """Return (P,) float64: every hypothesis against each reference of its segment in turn."""
    require_references(batch)
    if batch.source_lengths is None:
        raise ValueError("word order needs source_lengths, and this batch has none")
    lengths = batch.source_lengths.astype(np.int64)
    offsets = np.ascontiguousarray(batch.offsets, dtype=np.int64)
    reference_offsets = np.ascontiguousarray(batch.reference_offsets, dtype=np.int64)
    values: FloatArray = _kernels.compare_orders(
        word_orders(
            batch.hypotheses, np.repeat(lengths, np.diff(offsets)), null=null, encoding=encoding
        ),
        offsets,
        word_orders(
            batch.references,
            np.repeat(lengths, np.diff(reference_offsets)),
            null=null,
            encoding=encoding,
        ),
        reference_offsets,
        lengths,
        measure,
    )
    return values


def _references_each(batch: Batch) -> IntArray:
    """Return (H,) how many references the segment of each hypothesis has."""
    return np.repeat(np.diff(batch.reference_offsets), np.diff(batch.offsets))


def _pair_starts(batch: Batch) -> IntArray:
    """Return (H,) where the pairs of each hypothesis begin."""
    each = _references_each(batch)
    return np.cumsum(each) - each


def _pair_references(batch: Batch) -> IntArray:
    """Return (P,) the reference of each pair."""
    each = _references_each(batch)
    first = np.repeat(batch.reference_offsets[:-1], np.diff(batch.offsets))
    within = np.arange(int(each.sum())) - np.repeat(_pair_starts(batch), each)
    return np.repeat(first, each) + within
