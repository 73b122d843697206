"""Statistics expected under a softmax of model scores, compiled."""

import numpy as np

from portmert.metrics._base import FloatArray, IntArray
from portmert.metrics.kernels.compiled import kernel


@kernel
def expect(
    matrix: FloatArray,
    numbers: FloatArray,
    extra: FloatArray,
    offsets: IntArray,
    stats: FloatArray,
    shares: FloatArray,
    expected: FloatArray,
) -> None:
    """Sum the statistics expected under a softmax of each segment's model scores.

    Hypotheses less likely than the best one by a factor of 1e-9 count as impossible.

    Parameters
    ----------
    matrix : (H, D) float64, C order
    numbers : (D,) float64
    extra : (H,) float64, or empty
        The part of the model scores that is not matrix times numbers.
    offsets : (S + 1,) int64
    stats : (H, K) float64
    shares : (H,) float64
        Modified in place: the probabilities.
    expected : (K,) float64
        Modified in place: the sum is added.
    """
    columns, kinds = matrix.shape[1], stats.shape[1]
    for s in range(offsets.size - 1):
        begin, end = offsets[s], offsets[s + 1]
        top = -np.inf
        for h in range(begin, end):
            score = extra[h] if extra.size else 0.0
            for d in range(columns):
                score += matrix[h, d] * numbers[d]
            shares[h] = score
            top = max(top, score)
        total = 0.0
        for h in range(begin, end):
            below = shares[h] - top
            shares[h] = np.exp(below) if below > -20.7 else 0.0
            total += shares[h]
        for h in range(begin, end):
            if shares[h] > 0.0:
                shares[h] /= total
                for k in range(kinds):
                    expected[k] += shares[h] * stats[h, k]


@kernel
def expected_slopes(
    matrix: FloatArray,
    offsets: IntArray,
    stats: FloatArray,
    by_stat: FloatArray,
    shares: FloatArray,
    slopes: FloatArray,
    gradient: FloatArray,
) -> None:
    """Derive what `expect` sums by model score and by number.

    Parameters
    ----------
    matrix, offsets, stats, shares
        See `expect`.
    by_stat : (K,) float64
        The derivative of the score by each statistic.
    slopes : (H,) float64
        Modified in place: the derivative by model score.
    gradient : (D,) float64
        Modified in place: the derivative by number is added.
    """
    columns, kinds = matrix.shape[1], stats.shape[1]
    for s in range(offsets.size - 1):
        begin, end = offsets[s], offsets[s + 1]
        mean = 0.0
        for h in range(begin, end):
            slope, share = 0.0, shares[h]
            if share > 0.0:
                for k in range(kinds):
                    slope += stats[h, k] * by_stat[k]
                mean += share * slope
            slopes[h] = slope
        for h in range(begin, end):
            slope = shares[h] * (slopes[h] - mean)
            slopes[h] = slope
            if slope != 0.0:
                for d in range(columns):
                    gradient[d] += slope * matrix[h, d]
