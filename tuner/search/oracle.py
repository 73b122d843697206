"""Chooses hypotheses by their score alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray, Metric
from portmert.tuner.ground.mapped import gather, segment_blocks
from portmert.tuner.search.searched import Searched

ORACLE_SWEEPS = 10


def oracle(
    stats: FloatArray, offsets: IntArray, metric: Metric, start: IntArray
) -> tuple[float, IntArray]:
    """Choose one hypothesis a segment for a high corpus score, whatever the model scores.

    Segment by segment, the hypothesis is taken that makes the corpus score highest while the
    others stay, again and again until nothing changes: a local optimum, no more, as the exact
    one is not known how to be found for most metrics.

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
                values = metric.oriented(metric.score(rest + rows))
                best = int(np.argmax(values))
                if values[best] > values[chosen[segment] - offsets[segment]]:
                    chosen[segment] = offsets[segment] + best
                    total = rest + rows[best]
        if (chosen == before).all():
            break
    return float(metric.score(gather(stats, chosen).sum(axis=0))), chosen


def known_hypotheses(lists: Searched) -> NDArray[np.bool_]:
    """Return (H,) whether the statistics of each hypothesis are known."""
    known = lists.stats.is_known
    return known if lists.rows is None else known[lists.rows]


def oracle_score(lists: Searched, start: IntArray) -> float:
    """Return the oracle's score among the hypotheses whose statistics are known."""
    if lists.rows is None and not lists.stats.is_lazy:
        return oracle(lists.stats.rows, lists.offsets, lists.metric, start)[0]
    rows = np.arange(len(lists.stats.rows)) if lists.rows is None else lists.rows
    lists.stats.need(rows[start])
    known = np.flatnonzero(known_hypotheses(lists))
    score, _ = oracle(
        lists.stats.take(rows[known]),
        np.searchsorted(known, lists.offsets),
        lists.metric,
        np.searchsorted(known, start),
    )
    return score
