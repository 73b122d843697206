"""Sums what is expected under a softmax of model scores, and its derivative; compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from metrics._base import FloatArray, IntArray


@njit(cache=True, nogil=True)
def expect(
    matrix: FloatArray,
    numbers: FloatArray,
    extra: FloatArray,
    offsets: IntArray,
    counts: FloatArray,
    stats: FloatArray,
    shares: FloatArray,
    expected: FloatArray,
) -> float:
    """Sum the statistics expected under a softmax of each segment's model scores.

    Hypotheses less likely than the best one by a factor of 1e-9 count as impossible.

    Parameters
    ----------
    matrix : (H, D) float64, C order
    numbers : (D,) float64
    extra : (H,) float64, or empty
        The part of the model scores that is not matrix times numbers.
    offsets : (S + 1,) int64
    counts : (S,) float64
        How often each segment counts; one of 0 is not looked at.
    stats : (H, K) float64
    shares : (H,) float64
        Modified in place: the probabilities, each as often as its segment counts.
    expected : (K,) float64
        Modified in place: the sum.

    Returns
    -------
    float
        The entropies of the segments, each as often as it counts.
    """
    columns, kinds = matrix.shape[1], stats.shape[1]
    expected[:] = 0.0
    entropy = 0.0
    for s in range(offsets.size - 1):
        begin, end = offsets[s], offsets[s + 1]
        if counts[s] == 0.0:
            shares[begin:end] = 0.0
            continue
        top = -np.inf
        for h in range(begin, end):
            score = extra[h] if extra.size else 0.0
            for d in range(columns):
                score += matrix[h, d] * numbers[d]
            shares[h] = score
            top = max(top, score)
        total, mean = 0.0, 0.0
        for h in range(begin, end):
            below = shares[h] - top
            share = np.exp(below) if below > -20.7 else 0.0
            shares[h] = share
            total += share
            mean += share * below
        entropy += counts[s] * (np.log(total) - mean / total)
        for h in range(begin, end):
            if shares[h] > 0.0:
                shares[h] *= counts[s] / total
                for k in range(kinds):
                    expected[k] += shares[h] * stats[h, k]
    return entropy


@njit(cache=True, nogil=True)
def expected_slopes(
    matrix: FloatArray,
    offsets: IntArray,
    stats: FloatArray,
    worth: FloatArray,
    entropy: float,
    shares: FloatArray,
    slopes: FloatArray,
    gradient: FloatArray,
) -> None:
    """Derive what `expect` sums by model score and by number.

    Parameters
    ----------
    matrix, offsets, stats, shares
        See `expect`.
    worth : (K,) float64
        What one more of each statistic is worth.
    entropy : float
        What one more of entropy is worth.
    slopes : (H,) float64
        Modified in place: the derivative by model score.
    gradient : (D,) float64
        Modified in place: the derivative by number.
    """
    columns, kinds = matrix.shape[1], stats.shape[1]
    gradient[:] = 0.0
    for s in range(offsets.size - 1):
        begin, end = offsets[s], offsets[s + 1]
        count, mean = 0.0, 0.0
        for h in range(begin, end):
            count += shares[h]
        for h in range(begin, end):
            slopes[h] = 0.0
            if shares[h] > 0.0:
                if entropy != 0.0:
                    slopes[h] = -entropy * np.log(shares[h] / count)
                for k in range(kinds):
                    slopes[h] += stats[h, k] * worth[k]
                mean += shares[h] / count * slopes[h]
        for h in range(begin, end):
            slopes[h] = shares[h] * (slopes[h] - mean)
            if slopes[h] != 0.0:
                for d in range(columns):
                    gradient[d] += slopes[h] * matrix[h, d]
