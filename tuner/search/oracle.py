"""Choose hypotheses by their score alone."""

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric

from ..base.mapped import gather, segment_blocks
from ..texts.statistics import finite_scores
from .problem import objective

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
    stats : (H, K) float64, or mapped and of any type
    start : (S,) int64
        Hypotheses to begin with.

    Returns
    -------
    score : float
    chosen : (S,) int64
    """
    chosen = start.copy()
    total = gather(stats, chosen).sum(axis=0)
    for _ in range(ORACLE_SWEEPS):
        before = chosen.copy()
        for first, last in segment_blocks(offsets, stats):
            for segment in range(first, last):
                rows = stats[offsets[segment] : offsets[segment + 1]]
                rest = total - stats[chosen[segment]]
                values = objective(metric, rest + rows)
                best = int(np.argmax(values))
                if values[best] > values[chosen[segment] - offsets[segment]]:
                    chosen[segment] = offsets[segment] + best
                    total = rest + rows[best]
        if (chosen == before).all():
            break
    return float(finite_scores(metric, gather(stats, chosen).sum(axis=0))), chosen
