"""Counts right and wrong judgments of two metrics under exchanges of their scores; compiled."""

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray
from portmert.metrics.kernels.compiled import kernel

SingleArray = NDArray[np.float32]


@kernel
def kendall_terms(
    scores: FloatArray,
    pairs: IntArray,
    better: SingleArray,
    worse: SingleArray,
    systems: IntArray,
) -> SingleArray:
    """Return (Q, M, S) float32: the share of each score's sign in the difference of two taus.

    A pair of systems counts its judgments as right or wrong (WMT10). Its count under x' minus that
    under y' depends on the two signs s and t of its systems. If both signs change, x' and y' are
    exchanged and the difference changes its sign. Such a function of two signs is a s + b t.

    Parameters
    ----------
    scores : (n, M, S) float64
        Scores by n metrics.
    pairs : (Q, 2) int64
        Pairs of metrics.
    better, worse : (P, S) float32
        As in `Pairs`.
    systems : (P, 2) int64
        The two systems of each pair.
    """
    segments = scores.shape[2]
    half = np.float32(0.5)
    terms = np.zeros((len(pairs), scores.shape[1], segments), dtype=np.float32)
    for q in range(len(pairs)):
        for p in range(len(systems)):
            i, j = systems[p, 0], systems[p, 1]
            xi, xj = scores[pairs[q, 0], i], scores[pairs[q, 0], j]
            yi, yj = scores[pairs[q, 1], i], scores[pairs[q, 1], j]
            up, down = better[p], worse[p]
            of_i, of_j = terms[q, i], terms[q, j]
            for s in range(segments):
                u, d = up[s], down[s]
                both = (u if xi[s] > xj[s] else -u) + (d if xi[s] < xj[s] else -d)
                both -= (u if yi[s] > yj[s] else -u) + (d if yi[s] < yj[s] else -d)
                term = (u if xi[s] > yj[s] else -u) + (d if xi[s] < yj[s] else -d)
                term -= (u if yi[s] > xj[s] else -u) + (d if yi[s] < xj[s] else -d)
                of_i[s] += half * (both + term)
                of_j[s] += half * (both - term)
    return terms
