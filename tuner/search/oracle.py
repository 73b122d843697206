"""Choose hypotheses by their score alone."""

from itertools import pairwise

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric

from ..texts.statistics import finite_scores
from .problem import oriented_scores

ORACLE_SWEEPS = 10


def oracle(
    stats: FloatArray, offsets: IntArray, metric: Metric, start: IntArray
) -> tuple[float, IntArray]:
    """Choose one hypothesis a segment for a high corpus score, whatever the model scores.

    Segment by segment, the hypothesis that makes the corpus score highest replaces the chosen one
    while the others stay, again and again until nothing changes. This is a local optimum. For most
    metrics nobody knows how to find the global one.

    Parameters
    ----------
    stats : (H, K)
        Of any type.
    start : (S,) int64
        Hypotheses to begin with.

    Returns
    -------
    score : float
    winners : (S,) int64
    """
    winners = start.copy()
    total = stats[winners].astype(np.float64).sum(axis=0)
    of_segment = np.repeat(np.arange(len(start)), np.diff(offsets))
    for _ in range(ORACLE_SWEEPS):
        values = oriented_scores(metric, total - stats[winners[of_segment]] + stats)
        if (np.maximum.reduceat(values, offsets[:-1]) <= values[winners]).all():
            break
        for segment, (first, last) in enumerate(pairwise(offsets)):
            rows = stats[first:last]
            remainder = total - stats[winners[segment]]
            values = oriented_scores(metric, remainder + rows)
            best = int(np.argmax(values))
            if values[best] > values[winners[segment] - first]:
                winners[segment] = first + best
                total = remainder + rows[best]
    return float(finite_scores(metric, stats[winners].astype(np.float64).sum(axis=0))), winners
