"""Computes BLEU's statistics and score, for `bleu` and the metrics that contain it.

Formulas in docs/metrics/ngrams.md.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from portmert.metrics._base import Batch, FloatArray
from portmert.metrics._ngrams import (
    SMALLEST_COUNT,
    ReferenceLength,
    hypothesis_lengths,
    matched,
    mean_matched,
    reference_lengths,
    totals,
)
from portmert.metrics._pairs import WeightedLists

Smoothing = Literal["none", "exp", "sacre-exp", "add1", "moses+1", "floor", "add-k"]

SMOOTH_VALUES = {"floor": 0.1, "add-k": 1.0}
"""What a method with a value uses if none is given; both are sacrebleu's."""


def bleu_stat_names(max_order: int) -> tuple[str, ...]:
    """Return the names of the 2 N + 1 statistics: Moses' order (`mert/BleuScorer.cpp`)."""
    orders = range(1, max_order + 1)
    return (*(f"{kind}_{n}" for n in orders for kind in ("matched", "total")), "ref_len")


def bleu_stats(batch: Batch, max_order: int, reflen: ReferenceLength) -> FloatArray:
    """Return (H, 2 N + 1) float64 in the order of `bleu_stat_names`."""
    lengths = hypothesis_lengths(batch)
    stats = np.empty((len(lengths), 2 * max_order + 1), order="F")
    stats[:, 0:-1:2] = matched(batch, max_order)
    stats[:, 1:-1:2] = totals(lengths, max_order)
    stats[:, -1] = reference_lengths(batch, reflen)
    return stats


def mean_bleu_stats(lists: WeightedLists, max_order: int) -> FloatArray:
    """Return (H, 2 N + 1): mean statistics of each text against all texts of its list."""
    lengths = hypothesis_lengths(lists)
    stats = np.empty((len(lengths), 2 * max_order + 1), order="F")
    stats[:, 0:-1:2] = mean_matched(lists, max_order)
    stats[:, 1:-1:2] = totals(lengths, max_order)
    stats[:, -1] = lists.mean(lengths)
    return stats


def brevity_penalty(stats: FloatArray) -> FloatArray:
    """Return BP (...) of BLEU statistics (..., 2 N + 1)."""
    ratio = stats[..., -1] / np.maximum(stats[..., 1], SMALLEST_COUNT)
    return np.asarray(np.exp(np.minimum(1.0 - ratio, 0.0)))


def geometric_precision(stats: FloatArray, max_order: int) -> FloatArray:
    """Return P_g (...): the unsmoothed geometric mean of the precisions.

    `stats[..., 2 n - 2]` and `stats[..., 2 n - 1]` are the matched and all n-grams.
    """
    product = stats[..., 0] / np.maximum(stats[..., 1], SMALLEST_COUNT)
    for n in range(1, max_order):
        product = product * (stats[..., 2 * n] / np.maximum(stats[..., 2 * n + 1], SMALLEST_COUNT))
    return root(product, max_order)


def root(product: FloatArray, degree: int) -> FloatArray:
    """Return the root of a degree; for the usual 4 by square roots, which are cheaper."""
    if degree == 4:
        return np.asarray(np.sqrt(np.sqrt(product)))
    return np.asarray(product ** (1.0 / degree))


def bleu_score(
    stats: FloatArray,
    max_order: int,
    smooth: Smoothing = "none",
    smooth_value: float | None = None,
) -> FloatArray:
    """Return BLEU (...) in 0..1 for statistics (..., 2 N + 1)."""
    if smooth == "none":
        return geometric_precision(stats, max_order) * brevity_penalty(stats)
    match, total = stats[..., 0:-1:2], stats[..., 1:-1:2]
    any_match = (match > 0.0).any(axis=-1)
    valid = total[..., 0] > 0.0
    later = np.arange(max_order) > 0
    if smooth == "moses+1":
        match, total = match + 1.0, total + 1.0
    elif smooth in ("add1", "add-k"):
        value = SMOOTH_VALUES["add-k"] if smooth_value is None else smooth_value
        value = 1.0 if smooth == "add1" else value
        match, total = match + later * value, total + later * value
        valid = valid & any_match
    elif smooth == "floor":
        value = SMOOTH_VALUES["floor"] if smooth_value is None else smooth_value
        match = np.where(match > 0.0, match, value)
        valid = valid & any_match & (total > 0.0).all(axis=-1)
    else:
        unmatched = (match <= 0.0) & (total > 0.0)
        match = np.where(unmatched, 0.5 ** np.cumsum(unmatched, axis=-1), match)
        if smooth == "exp":
            match = np.where(total > 0.0, match, 1.0)
            total = np.where(total > 0.0, total, 1.0)
        else:
            valid = valid & any_match & (total > 0.0).all(axis=-1)
    product = (match / np.maximum(total, SMALLEST_COUNT)).prod(axis=-1)
    # Where the score is 0 anyway the product may be beyond all bounds: no root of it.
    smoothed = root(np.where(valid, product, 0.0), max_order)
    return smoothed * brevity_penalty(stats)


def bleu_parts(stats: FloatArray, max_order: int) -> dict[str, float]:
    """Return p1..pN (unsmoothed), BP, the counts and the lengths of one row (2 N + 1,)."""
    ratios = stats[0:-1:2] / np.maximum(stats[1:-1:2], SMALLEST_COUNT)
    parts = {f"p{n}": float(ratios[n - 1]) for n in range(1, max_order + 1)}
    parts["BP"] = float(brevity_penalty(stats)) if stats[1] > 0.0 else float(stats[-1] == 0.0)
    for n in range(1, max_order + 1):
        parts[f"matched_{n}"] = float(stats[2 * n - 2])
        parts[f"total_{n}"] = float(stats[2 * n - 1])
    return parts | {"hyp_len": float(stats[1]), "ref_len": float(stats[-1])}
