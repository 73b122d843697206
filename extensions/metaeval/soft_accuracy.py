"""Soft pairwise accuracy: whether a metric and people doubt the same pairs of systems.

Reference: Thompson, Mathur, Deutsch & Khayrallah, "Improving Statistical Significance in Human
Evaluation of Automatic Metrics via Soft Pairwise Accuracy", WMT 2024.
"""

from collections.abc import Callable

import numpy as np

from portmert.metrics._base import FloatArray
from portmert.tuner.base import streams
from portmert.tuner.base.variation import TIE, chunks
from portmert.tuner.evaluation.significance import Resampling

from .correlation import rounded
from .data import Judged, MetricScores

SOFT_SWAPS = 1000
"""Permutations behind soft pairwise accuracies, as in the official code of WMT."""


def better_than(
    stats: FloatArray, score: Callable[[FloatArray], FloatArray], swaps: FloatArray
) -> FloatArray:
    """Return (P,) one-sided p of "the first system is better" for each pair of systems.

    Parameters
    ----------
    stats : (S, M, K) float64
        Their sum over segments gives the score of a system.
    score
        Returns scores (...) of sums (..., K), higher is better.
    swaps : (R, S) float64
        1 if a permutation keeps the two systems' segment, -1 if it swaps them.
    """
    segments, systems, size = stats.shape
    first, second = np.triu_indices(systems, 1)
    total = stats.sum(axis=0)
    middle = (total[first] + total[second]) / 2
    observed = score(total)
    observed = rounded(observed[first] - observed[second])
    as_large = np.zeros(len(first))
    for part in chunks(len(swaps), max(len(first), systems) * size):
        moved = (swaps[part] @ stats.reshape(segments, -1)).reshape(-1, systems, size)
        half = (moved[:, first] - moved[:, second]) / 2
        difference = score(middle + half) - score(middle - half)
        as_large += np.count_nonzero(difference >= observed - TIE, axis=0)
    return np.asarray((1 + as_large) / (len(swaps) + 1))


def human_better_than(data: Judged, swaps: FloatArray) -> FloatArray:
    """Return (P,) one-sided p of people's scores of systems."""
    return better_than(
        data.system_sums, lambda sums: sums[..., 0] / np.maximum(sums[..., 1], 1e-300), swaps
    )


class SoftAccuracy:
    """Soft pairwise accuracy, in two forms.

    For each pair of systems it compares the human p of "the first is better" with the metric's,
    both by permutations of segments. Our form swaps statistics of segments, and so tests the
    metric's own corpus score. The official code of WMT (mt-metrics-eval) adds up segment scores
    instead: the measure `soft_pairwise_segments`. For BLEU the two are up to 0.12 apart.
    """

    def __init__(self, data: Judged, resampling: Resampling) -> None:
        rng = streams.system_swaps(resampling.seed)
        shape = min(resampling.samples, SOFT_SWAPS), len(data.human)
        swaps = rng.integers(0, 2, size=shape, dtype=np.int8)
        self.swaps = 2 * swaps.astype(np.float64) - 1
        self.human = human_better_than(data, self.swaps)

    def agreements(self, scores: MetricScores) -> dict[str, tuple[float, FloatArray]]:
        """Return the mean over pairs of systems, and (M,) means without each system.

        All are NaN for one segment: no p-value can be had.
        """
        sides = {
            "system.soft_pairwise": (scores.stats, scores.oriented),
            "system.soft_pairwise_segments": (
                scores.unrounded_scores[..., np.newaxis], lambda x: x[..., 0]
            ),
        }  # fmt: skip
        first, second = np.triu_indices(scores.stats.shape[1], 1)
        agreed = {}
        for measure, (stats, oriented) in sides.items():
            agreement = 1.0 - np.abs(self.human - better_than(stats, oriented, self.swaps))
            if min(self.swaps.shape) < 2:
                agreement[:] = np.nan
            rest = [(first != k) & (second != k) for k in range(scores.stats.shape[1])]
            means = [agreement[x].mean() if x.any() else np.nan for x in rest]
            agreed[measure] = float(agreement.mean()), np.array(means)
        return agreed
