"""The steps of MIRA, compiled."""

from typing import NamedTuple

import numpy as np

from portmert.metrics._base import FloatArray, IntArray
from portmert.metrics.kernels.compiled import kernel


class FeatureRows(NamedTuple):
    """Features of H hypotheses in S segments, row by row.

    A kernel takes them as one argument.

    Parameters
    ----------
    matrix : (H, D) float64, C order
    offsets : (S + 1,) int64
    begins : (H + 1,) int64, or empty where no feature is sparse
        The sparse features of hypothesis h are `begins[h]:begins[h + 1]`.
    columns : (n,) int64
        Which each of them is, from 0.
    values : (n,) float64
    """

    matrix: FloatArray
    offsets: IntArray
    begins: IntArray
    columns: IntArray
    values: FloatArray


@kernel
def mira(
    lists: FeatureRows,
    segments: IntArray,
    background_scores: FloatArray,
    limits: tuple[FloatArray, FloatArray, float],
    steps: int,
    numbers: FloatArray,
    late: FloatArray,
) -> IntArray:
    """Move weights, segment after segment, until hope beats fear by the difference in score.

    If hypotheses are equal, the first is hope or fear.

    Parameters
    ----------
    lists : FeatureRows
    segments : (n,) int64
    background_scores : (m,) float64
        The background scores of the hypotheses of these segments, in their order.
    limits : (X,) float64, (X,) float64, float
        Bounds of the numbers, and the largest step.
    steps : int
        Segments that were learnt from before.
    numbers : (X,) float64
        D dense ones and one for each sparse feature. Modified in place.
    late : (X,) float64
        Modified in place: the sum of all changes, each times the steps before it. The mean of the
        numbers after each of n steps is `numbers - late / n`.

    Returns
    -------
    (n,) int64
        The hope of each segment; -1 where that of the fear is as high.
    """
    matrix, offsets, begins, columns, values = lists
    lower, upper, largest = limits
    dense = matrix.shape[1]
    hopes = np.full(segments.size, -1)
    change = np.zeros(numbers.size)
    touched = np.empty(numbers.size, dtype=np.int64)  # the first `count` of it, ascending
    for d in range(dense):
        touched[d] = d
    at = 0
    for n in range(segments.size):
        begin, end = offsets[segments[n]], offsets[segments[n] + 1]
        hope = fear = begin  # highest model score plus, and minus, background score
        best = worst = -np.inf
        high = low = 0.0
        for h in range(begin, end):
            score = 0.0
            for d in range(dense):
                score += matrix[h, d] * numbers[d]
            if begins.size:
                for i in range(begins[h], begins[h + 1]):
                    score += values[i] * numbers[dense + columns[i]]
            value = background_scores[at + h - begin]
            if score + value > best:
                best, hope, high = score + value, h, score
            if score - value > worst:
                worst, fear, low = score - value, h, score
        gain = background_scores[at + hope - begin] - background_scores[at + fear - begin]
        at += end - begin
        if gain <= 0.0:
            continue
        hopes[n] = hope
        if gain <= high - low:
            continue
        for d in range(dense):
            change[d] = matrix[hope, d] - matrix[fear, d]
        count = dense
        if begins.size:  # the sparse columns of both rise: they are merged
            up, down = begins[hope], begins[fear]
            while up < begins[hope + 1] or down < begins[fear + 1]:
                of_hope = columns[up] if up < begins[hope + 1] else numbers.size
                of_fear = columns[down] if down < begins[fear + 1] else numbers.size
                x = dense + min(of_hope, of_fear)
                if of_hope <= of_fear:
                    change[x] += values[up]
                    up += 1
                if of_fear <= of_hope:
                    change[x] -= values[down]
                    down += 1
                touched[count] = x
                count += 1
        square = 0.0
        for x in touched[:count]:
            square += change[x] * change[x]
        step = min(largest, (gain - high + low) / square) if square > 0.0 else 0.0
        for x in touched[:count]:
            moved = min(max(numbers[x] + step * change[x], lower[x]), upper[x])
            late[x] += (steps + n) * (moved - numbers[x])
            numbers[x] = moved
            change[x] = 0.0
    return hopes


@kernel
def with_background(
    stats: FloatArray, offsets: IntArray, segments: IntArray, background: FloatArray
) -> FloatArray:
    """Return the background plus the statistics of each hypothesis of some segments.

    Parameters
    ----------
    stats : (H, K) float64
    offsets : (S + 1,) int64
    segments : (n,) int64
    background : (K,) float64

    Returns
    -------
    (m, K) float64
    """
    size = 0
    for s in segments:
        size += offsets[s + 1] - offsets[s]
    sums = np.empty((size, background.size))
    at = 0
    for s in segments:
        for h in range(offsets[s], offsets[s + 1]):
            for k in range(background.size):
                sums[at, k] = background[k] + stats[h, k]
            at += 1
    return sums


@kernel
def remember(
    stats: FloatArray, hopes: IntArray, decay: float, background: FloatArray, size: float
) -> float:
    """Add hopes (n,), unless they are -1, to a background (K,) that decays; it is modified.

    Returns
    -------
    float
        How many segments the background counts as; `size` of them before.
    """
    for hope in hopes:
        if hope >= 0:
            for k in range(background.size):
                background[k] = (background[k] + stats[hope, k]) * decay
            size = (size + 1.0) * decay
    return size
