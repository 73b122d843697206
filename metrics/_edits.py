"""Computes edit distances and word links, for WER, CDER and RIBES.

Formulas in docs/metrics/edits.md.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from portmert.metrics import _edit_kernels
from portmert.metrics._base import Batch, FloatArray, Metric
from portmert.metrics._ngrams import SMALLEST_COUNT, token_arrays
from portmert.metrics._references import best_reference


def distance_stats(batch: Batch, *, long_jumps: bool) -> FloatArray:
    """Return (H, 2) float64: distance and length of the reference with the lowest share of both.

    `long_jumps`: as in CDER; without them it is the edit distance. An empty reference is chosen
    where the distance to it is 0, or where there is no other.
    """

    def stats(single: Batch) -> FloatArray:
        distances = _edit_kernels.edit_distances(*_arrays(single), long_jumps)
        return np.column_stack([distances, one_length(single)])

    return best_reference(batch, stats, _lowest_rate)


def edit_kinds(batch: Batch) -> dict[str, float]:
    """Return substitutions, insertions and deletions of one hypothesis a segment, summed.

    Also as shares of the reference length. The references are those of `distance_stats`.
    """

    def stats(single: Batch) -> FloatArray:
        kinds = _edit_kernels.edit_kinds(*_arrays(single))
        return np.column_stack([kinds.sum(axis=1), one_length(single), kinds])

    chosen = best_reference(batch, stats, lambda rows: _lowest_rate(rows[:, :2])).sum(axis=0)
    names = ("substitutions", "insertions", "deletions")
    counts = dict(zip(names, chosen[2:].tolist(), strict=True))
    length = max(float(chosen[1]), SMALLEST_COUNT)
    shares = {f"{name[:3]}_rate": count / length for name, count in counts.items()}
    return (shares if chosen[1] else dict.fromkeys(shares, 0.0)) | counts


def rank_agreements(single: Batch) -> FloatArray:
    """Return (H, 2) float64 of a batch with one reference a segment: RIBES's NKT, and links."""
    agreements: FloatArray = _edit_kernels.rank_agreements(*_arrays(single))
    return agreements


def one_length(single: Batch) -> FloatArray:
    """Return (H,) float64: the reference length of a batch with one reference a segment."""
    return np.repeat(single.references.tokens.lengths, np.diff(single.offsets)).astype(np.float64)


def one_minus_rate(stats: FloatArray) -> FloatArray:
    """Return 1 - distance / length (...) of stats (..., 2), 1 where the length is 0."""
    rate = stats[..., 0] / np.maximum(stats[..., 1], SMALLEST_COUNT)
    return np.asarray(1.0 - np.where(stats[..., 1] > 0.0, rate, 0.0))


def _lowest_rate(stats: FloatArray) -> FloatArray:
    """Return what is highest for the reference to choose; edits against no word rate infinitely.

    The score of a segment will not do: without a reference word it is 1 whatever the edits.
    """
    endless = (stats[..., 1] == 0.0) & (stats[..., 0] > 0.0)
    return np.where(endless, -np.inf, one_minus_rate(stats))


def rate_parts(rate: float, stats: FloatArray) -> dict[str, float]:
    """Return a rate, the edits and the reference length of stats (2,)."""
    return {"rate": rate, "edits": float(stats[0]), "ref_len": float(stats[1])}


@dataclass(frozen=True)
class DistanceRate(Metric):
    """Scores 1 minus an edit distance over the reference length.

    A subclass says whether jumps are edits as in CDER (`long_jumps`).
    """

    long_jumps: ClassVar[bool] = False

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The distance and the length of the reference."""
        return ("edits", "ref_len")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) counts in the order of `stat_names`."""
        return distance_stats(batch, long_jumps=self.long_jumps)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return 1 minus the rate, at most 1, for stats (..., 2)."""
        return one_minus_rate(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the rate, the edits and the reference length of stats (2,)."""
        return rate_parts(1.0 - float(one_minus_rate(stats)), stats)

    def details(self, batch: Batch) -> dict[str, float]:
        """Return how many edits are of which kind, but of CDER, which has jumps."""
        return {} if self.long_jumps else edit_kinds(batch)


def _arrays(single: Batch) -> tuple[object, ...]:
    return token_arrays(single)[:-1]  # one reference each
