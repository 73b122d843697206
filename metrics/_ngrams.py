"""Counts matched n-grams and reference lengths, for BLEU, PORT and others.

Formulas in docs/metrics/ngrams.md.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from portmert.metrics._base import Batch, FloatArray, Ragged
from portmert.metrics._kernels import ngram_matches
from portmert.metrics._pair_kernels import mean_matches, pair_matches
from portmert.metrics._pairs import PairBatch, WeightedLists

ReferenceLength = Literal["closest", "shortest", "average"]

SMALLEST_COUNT = 1e-9
"""Below every positive count: `a / max(b, SMALLEST_COUNT)` is a / b, and 0 where both are 0."""


def require_references(batch: Batch) -> None:
    """Raise ValueError if a segment has no reference."""
    empty = np.flatnonzero(np.diff(batch.reference_offsets) < 1)
    if empty.size:
        raise ValueError(f"segment {empty[0]} has no reference")


def matched(batch: Batch, max_order: int) -> FloatArray:
    """Return (H, N) float64: the clipped matches of each hypothesis for n-grams of 1..N tokens."""
    counts: FloatArray
    if isinstance(batch, PairBatch):
        single = flat(batch.single.tokens)
        counts = pair_matches(
            single.values, single.offsets, batch.firsts, batch.lasts, batch.chosen, max_order
        )
        return counts.T
    require_references(batch)
    counts = ngram_matches(*token_arrays(batch), max_order)
    return counts


def mean_matched(lists: WeightedLists, max_order: int) -> FloatArray:
    """Return (H, N) float64: the mean clipped matches of each text with all texts of its list."""
    tokens = flat(lists.hypotheses.tokens)
    means: FloatArray = mean_matches(
        tokens.values, tokens.offsets, lists.offsets, lists.weights, max_order
    )
    return means


def totals(lengths: FloatArray, max_order: int) -> FloatArray:
    """Return (H, N) float64: how many n-grams texts of these (H,) lengths have, never below 0."""
    return np.maximum(lengths - np.arange(max_order, dtype=np.float64)[:, None], 0.0).T


def hypothesis_lengths(batch: Batch) -> FloatArray:
    """Return (H,) float64."""
    return batch.hypotheses.tokens.lengths.astype(np.float64)


def reference_lengths(batch: Batch, rule: ReferenceLength = "closest") -> FloatArray:
    """Return (H,) float64: the reference length each hypothesis is held against.

    `closest`: the length nearest to the hypothesis's own, the shorter one on a tie.
    """
    require_references(batch)
    lengths = batch.references.tokens.lengths.astype(np.float64)
    starts = batch.reference_offsets[:-1]
    counts = np.diff(batch.reference_offsets)
    per_segment = np.diff(batch.offsets)
    if len(batch) == 0:
        return np.empty(0)
    if rule == "shortest":
        return np.repeat(np.minimum.reduceat(lengths, starts), per_segment)
    if rule == "average":
        return np.repeat(np.add.reduceat(lengths, starts) / counts, per_segment)
    closest = np.repeat(lengths[starts], per_segment)
    own = hypothesis_lengths(batch)
    for k in range(1, int(counts.max())):
        # A segment with fewer references sees its first one again: no change.
        other = np.repeat(lengths[starts + np.where(k < counts, k, 0)], per_segment)
        distance, other_distance = np.abs(closest - own), np.abs(other - own)
        nearer = (other_distance < distance) | ((other_distance == distance) & (other < closest))
        closest = np.where(nearer, other, closest)
    return closest


def flat(rows: Ragged) -> Ragged:
    """Return the rows in the one dtype and layout that kernels are compiled for."""
    return Ragged(
        np.ascontiguousarray(rows.values, dtype=np.int32),
        np.ascontiguousarray(rows.offsets, dtype=np.int64),
    )


def kernel_arrays(batch: Batch, hypotheses: Ragged, references: Ragged) -> tuple[object, ...]:
    """Return what kernels read of a batch whose texts are such rows."""
    return (
        hypotheses.values,
        hypotheses.offsets,
        np.ascontiguousarray(batch.offsets, dtype=np.int64),
        references.values,
        references.offsets,
        np.ascontiguousarray(batch.reference_offsets, dtype=np.int64),
    )


def token_arrays(batch: Batch) -> tuple[object, ...]:
    """Return what kernels read of the tokens of a batch."""
    return kernel_arrays(batch, flat(batch.hypotheses.tokens), flat(batch.references.tokens))
