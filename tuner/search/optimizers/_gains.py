"""Computes what one hypothesis is worth to the corpus score."""

from __future__ import annotations

import numpy as np

from portmert.metrics._base import FloatArray
from portmert.tuner.ground.mapped import empty_beside, release
from portmert.tuner.search.problem import TuningProblem

ROWS = 1 << 14
"""Hypotheses that are looked at at once."""


def gains(
    problem: TuningProblem, stats: FloatArray, background: FloatArray, segments: float
) -> FloatArray:
    """Return (n,): the objective of each hypothesis together with a background corpus.

    Most metrics say little about one segment alone: a BLEU without a matching 4-gram is 0, and a
    penalty of one short segment ignores that the others are long enough. So each hypothesis is
    scored as one more segment of a background corpus, as in Chiang et al. (EMNLP 2008). The score
    is multiplied by the number of segments, so that differences are of the size of those of
    segment scores whatever the size of the background.

    Parameters
    ----------
    stats : (n, K) float64
        Statistics of n hypotheses.
    background : (K,) float64
        Summed statistics of the background corpus.
    segments : float
        How many segments it counts as.
    """
    found = np.empty(len(stats))
    for begin in range(0, len(stats), ROWS):
        rows = slice(begin, begin + ROWS)
        found[rows] = problem.objective(background + stats[rows])
        release(stats)
    found *= segments + 1.0
    return found


def background_of(problem: TuningProblem, weights: FloatArray, segments: float) -> FloatArray:
    """Return (K,): the statistics of the best hypotheses under weights, as so many segments."""
    total = problem.total(problem.winners(weights))
    return total * (segments / (len(problem.offsets) - 1))


def all_stats(problem: TuningProblem) -> FloatArray:
    """Return the (H, K) statistics of every hypothesis, mapped where the features are."""
    rows = problem.rows_of(np.arange(problem.size))
    stats = empty_beside(problem.features, (problem.size, problem.stats.rows.shape[1]))
    for begin in range(0, problem.size, ROWS):
        stats[begin : begin + ROWS] = problem.stats.take(rows[begin : begin + ROWS])
        release(stats)
    return stats
