"""Choose hypotheses by their score alone."""

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric

from ..texts.statistics import finite_scores
from ._line_search_kernels import first_maxima
from .problem import MANY, oriented_scores

ORACLE_SWEEPS = 10
AT_ONCE = 512
"""Segments that are looked at together for whether anything is better."""


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
    count, lengths = len(start), np.diff(offsets)

    def better(first: int, last: int) -> tuple[IntArray, IntArray]:
        """Return segments of some in a row, and for each a hypothesis with a higher score."""
        begin, end = offsets[first], offsets[last]
        remainders = np.repeat(total - stats[winners[first:last]], lengths[first:last], axis=0)
        values = oriented_scores(metric, remainders + stats[begin:end])
        best = first_maxima(values, offsets[first : last + 1] - begin)
        gains = np.flatnonzero(values[best] > values[winners[first:last] - begin])
        return first + gains, begin + best[gains]

    # Of many, each changes the score too little to change the choice of another.
    together = max(1, count // MANY)
    for _ in range(ORACLE_SWEEPS):
        parts = ((n, min(n + AT_ONCE, count)) for n in range(0, count, AT_ONCE))
        if not any(len(better(*part)[0]) for part in parts):
            break
        for first in range(0, count, together):
            segments, rows = better(first, min(first + together, count))
            if len(segments):
                total = total - stats[winners[segments]].sum(axis=0) + stats[rows].sum(axis=0)
                winners[segments] = rows
    return float(finite_scores(metric, stats[winners].astype(np.float64).sum(axis=0))), winners
