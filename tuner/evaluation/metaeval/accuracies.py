"""Computes the accuracies of today's shared tasks: with ties calibrated, and soft.

References
----------
Deutsch, Foster & Freitag, "Ties Matter", EMNLP 2023; Thompson, Mathur, Deutsch & Khayrallah,
"Improving Statistical Significance in Human Evaluation of Automatic Metrics via Soft Pairwise
Accuracy", WMT 2024.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from portmert.metrics._base import FloatArray
from portmert.tuner.evaluation.correlation import Pairs, rounded
from portmert.tuner.evaluation.metaeval.data import Judged, MetricScores
from portmert.tuner.evaluation.metaeval.intervals import Draws
from portmert.tuner.ground import streams

if TYPE_CHECKING:
    from portmert.tuner.evaluation.metaeval.evaluation import Settings

_CHUNK = 1 << 22
"""Numbers of the largest array of a chunk of permutations."""
_ROUNDING = 1e-12
"""Differences nearer than this are equal."""


def calibrated(pairs: Pairs, scores: FloatArray) -> float:
    """Return epsilon: where the metric ties what differs by no more, it is right most often.

    It is 0 or one of the differences there are; of equally good ones the smallest.

    Parameters
    ----------
    scores : (S, M) float64
    """
    difference = rounded(scores[:, pairs.first] - scores[:, pairs.second]).ravel()
    ordered = np.where(difference > 0, pairs.better.ravel(), pairs.worse.ravel())
    size = np.abs(difference)
    order = np.argsort(size, kind="stable")
    size = size[order]
    # A pair that becomes a tie is right where people tie it, and no longer where they do not.
    gain = np.where(size > 0, pairs.tied.ravel()[order] - ordered[order], 0.0)
    reached = np.cumsum(gain)
    last = np.flatnonzero(np.append(np.diff(size) > 0, True))  # of each size
    if not len(last):
        return 0.0
    best = last[np.argmax(reached[last])]
    return float(size[best]) if reached[best] > 0 else 0.0


def better_than(
    stats: FloatArray, score: Callable[[FloatArray], FloatArray], swaps: FloatArray
) -> FloatArray:
    """Return (P,) one-sided p of "the first system is better" of each two, rising.

    Parameters
    ----------
    stats : (S, M, K) float64
        Sums over segments make the score of a system.
    score
        Returns scores (...) of sums (..., K), higher is better.
    swaps : (R, S) float64
        1 where a permutation leaves the two systems' segment as it is, -1 where it swaps them.
    """
    segments, systems, size = stats.shape
    first, second = np.triu_indices(systems, 1)
    total = stats.sum(axis=0)
    middle = (total[first] + total[second]) / 2
    observed = score(total)
    observed = rounded(observed[first] - observed[second])
    as_large = np.zeros(len(first))
    step = max(1, _CHUNK // (max(len(first), systems) * size))
    for start in range(0, len(swaps), step):
        moved = (swaps[start : start + step] @ stats.reshape(segments, -1)).reshape(
            -1, systems, size
        )
        half = (moved[:, first] - moved[:, second]) / 2
        difference = score(middle + half) - score(middle - half)
        as_large += np.count_nonzero(difference >= observed - _ROUNDING, axis=0)
    return np.asarray((1 + as_large) / (len(swaps) + 1))


def human_better_than(data: Judged, swaps: FloatArray) -> FloatArray:
    """Return (P,) one-sided p of people's scores, means over judgments."""
    points = data.points
    stats = np.stack([points.counts * points.human, points.counts], axis=2)
    return better_than(stats, lambda sums: sums[..., 0] / np.maximum(sums[..., 1], 1e-300), swaps)


def soft_agreement(human: FloatArray, scores: MetricScores, swaps: FloatArray) -> FloatArray:
    """Return (P,): 1 less the difference of people's p and the metric's, of each two systems."""
    return 1.0 - np.abs(human - better_than(scores.stats, scores.oriented, swaps))


class SoftAccuracy:
    """Holds what soft pairwise accuracy shares between metrics: swaps, and people's p."""

    def __init__(self, data: Judged, draws: Draws, settings: Settings, *, seed: int) -> None:
        rng = streams.system_swaps(seed)
        swaps = rng.integers(0, 2, size=(settings.samples, len(data.human)), dtype=np.int8)
        self.swaps = 2 * swaps.astype(np.float64) - 1
        self.human = human_better_than(data, self.swaps)
        self.of_pair = draws.of_pairs(data.pairs.first, data.pairs.second)
        if settings.resampled == "segments":  # p-values are of all segments
            self.of_pair[1:] = 0.0

    def samples(self, scores: MetricScores) -> FloatArray:
        """Return (B,) means over the pairs of systems of each sample; NaN without a pair."""
        agreement = soft_agreement(self.human, scores, self.swaps)
        total = self.of_pair.sum(axis=1)
        mean = (self.of_pair @ agreement) / np.maximum(total, 1.0)
        return np.where(total > 0, mean, np.nan)
