"""Adds up what correlations are made of, and compares metrics under exchanges; compiled."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray
from portmert.metrics.kernels.compiled import helper, kernel

SingleArray = NDArray[np.float32]

SUMS = 20
"""Number of sums that `row_sums` returns for each sample."""
_CONSTANT = 1e-20
"""A variance of standardised scores within a row that is below this is a rounding error."""
_SHARE = 1e-12
"""So is one below this share of the squares that it is computed from."""


class RowTerms(NamedTuple):
    """Sums over the systems of each of B samples, for each of N rows; all float64.

    Parameters
    ----------
    judged, x, y, xx, yy, xy : (B, N)
        Number of judgments; sums of the metric's scores x and of human scores y, of their squares
        and products. The mean of a row is subtracted first.
    x_mean, y_mean : (N,)
        These means.
    """

    judged: FloatArray
    x: FloatArray
    y: FloatArray
    xx: FloatArray
    yy: FloatArray
    xy: FloatArray
    x_mean: FloatArray
    y_mean: FloatArray


@kernel
def row_sums(
    rows: FloatArray, lengths: FloatArray, terms: RowTerms, varies: NDArray[np.bool_]
) -> FloatArray:
    """Return (B, 20): sums over the rows of each sample.

    Nine sums come plain and then weighted by length: count, x, y, xx, yy, xy, and xy, xx, yy with
    the means of rows subtracted. The last two are the sum of rows' own correlations, and the
    number of rows that have one because their human scores differ. If the metric's scores do not
    differ there, the correlation is 0.

    Parameters
    ----------
    rows : (B, N) float64
        Count of each row in each sample.
    lengths : (N,) float64
    terms : RowTerms
    varies : (N,) bool
        Whether the human scores of a row differ in the data itself.
    """
    samples, number = rows.shape
    sums = np.zeros((samples, 20))
    for b in range(samples):
        for n in range(number):
            w, c = rows[b, n], terms.judged[b, n]
            if w == 0.0 or c == 0.0:
                continue
            x, y = terms.x[b, n], terms.y[b, n]
            xx, yy, xy = terms.xx[b, n], terms.yy[b, n], terms.xy[b, n]
            mx, my = terms.x_mean[n], terms.y_mean[n]
            in_xy, in_xx, in_yy = xy - x * y / c, xx - x * x / c, yy - y * y / c
            in_xx = 0.0 if in_xx <= _CONSTANT + _SHARE * xx else in_xx
            in_yy = 0.0 if in_yy <= _CONSTANT + _SHARE * yy else in_yy
            for place, v in ((0, w), (9, w * lengths[n])):
                sums[b, place] += v * c
                sums[b, place + 1] += v * (x + mx * c)
                sums[b, place + 2] += v * (y + my * c)
                sums[b, place + 3] += v * (xx + 2.0 * mx * x + mx * mx * c)
                sums[b, place + 4] += v * (yy + 2.0 * my * y + my * my * c)
                sums[b, place + 5] += v * (xy + mx * y + my * x + mx * my * c)
                sums[b, place + 6] += v * in_xy
                sums[b, place + 7] += v * in_xx
                sums[b, place + 8] += v * in_yy
            if varies[n] and in_yy > 0.0:
                sums[b, 19] += w
                if in_xx > 0.0:
                    r = in_xy / (np.sqrt(in_xx) * np.sqrt(in_yy))
                    sums[b, 18] += w * min(1.0, max(-1.0, r))
    return sums


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


@kernel
def system_differences(
    centre: FloatArray, moved: FloatArray, pairs: IntArray, human: FloatArray, ranked: FloatArray
) -> FloatArray:
    """Return (3, R, Q): differences of Pearson's r, of Spearman's rho and of pairwise accuracy.

    Parameters
    ----------
    centre : (n, M) float64
        Systems' scores under n metrics.
    moved : (R, n, M) float64
        Sums of their scores with the signs of each permutation.
    pairs : (Q, 2) int64
        Pairs of metrics.
    human, ranked : (M,) float64
        Human scores of systems with mean 0 and length 1, and their ranks likewise; zeros if all
        are equal.
    """
    systems = len(human)
    differences = np.zeros((3, len(moved), len(pairs)))
    values, ranks = np.empty(systems), np.empty(systems)
    for r in range(len(moved)):
        for q in range(len(pairs)):
            i, j = pairs[q, 0], pairs[q, 1]
            for side in (1.0, -1.0):
                for m in range(systems):
                    middle = (centre[i, m] + centre[j, m]) / 2
                    value = middle + side * (moved[r, i, m] - moved[r, j, m]) / 2
                    values[m] = np.round(value * 1e12) / 1e12
                right = total = 0
                for a in range(systems):
                    rank = 0.0
                    for b in range(systems):
                        if values[b] < values[a]:
                            rank += 1.0
                        elif values[b] == values[a]:
                            rank += 0.5
                        if human[a] > human[b]:
                            total += 1
                            right += values[a] > values[b]
                    ranks[a] = rank
                differences[0, r, q] += side * _pearson(values, human)
                differences[1, r, q] += side * _pearson(ranks, ranked)
                if total > 0:
                    differences[2, r, q] += side * right / total
    return differences


@helper
def _pearson(x: FloatArray, unit: FloatArray) -> float:
    """Return the correlation of x with scores of mean 0 and length 1; 0 where x is constant."""
    mean = x.mean()
    xy = xx = squares = 0.0
    for m in range(len(x)):
        xy += (x[m] - mean) * unit[m]
        xx += (x[m] - mean) ** 2
        squares += x[m] * x[m]
    if xx <= 1e-28 * squares:
        return 0.0
    return float(min(1.0, max(-1.0, xy / np.sqrt(xx))))
