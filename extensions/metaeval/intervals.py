"""Adds up correlations over bootstrap samples, all at once.

A sample has each segment and each system a number of times. A sum over a sample is therefore a
product of these counts and the terms of the sum, and all samples are a few matrix products. The
first sample is the data itself and gives the correlation; the others give its interval. Sums of
several test sets add up to those of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from portmert.metrics._base import FloatArray
from portmert.tuner.base.variation import chunks, interval, is_mostly_unknown

from .correlation import (
    VARIANTS,
    Pairs,
    from_sums,
    kendall,
    of_samples,
    pearson,
    rounded,
    spearman,
)
from .data import Draws, Judged, MetricScores, Points

_ROUNDING = 1e-12
"""A variance of standardised scores below this is 0."""
_CONSTANT = 1e-20
"""Within a row, one below this is a rounding error, or below `_ROUNDING` times the squares."""
_HALF = 9
"""Sums of `_row_sums` that are not weighted by length."""


def pearsons(
    blocks: Sequence[tuple[Points, FloatArray, Draws]], *, systems: int
) -> dict[str, FloatArray]:
    """Return (B,) of each of Pearson's correlations; with one system there are none within rows.

    Parameters
    ----------
    blocks
        For each test set its data points, a metric's scores (N, M) of them, and the samples.
        Correlations are over all of them.
    """
    weights = np.array([points.counts.sum() for points, *_ in blocks])
    metric = joined_moments(weights, [points.moments(scores) for points, scores, _ in blocks])
    human = joined_moments(weights, [points.human_moments for points, *_ in blocks])
    sums = np.sum([_pearson_sums(*block, metric, human) for block in blocks], axis=0)
    by_name: dict[str, FloatArray] = {}
    for first, name in ((0, ""), (_HALF, "_weighted")):
        n, x, y, xx, yy, xy, in_xy, in_xx, in_yy = sums[:, first : first + _HALF].T
        # If all references are empty, all sums are 0, and so is the correlation.
        n = np.maximum(n, 1e-300)
        by_name[f"pearson{name}"] = of_samples(
            correlation(xy - x * y / n, xx - x * x / n, yy - y * y / n, n)
        )
        # The mean of a row is not weighted by length: a row has one length.
        if systems > 1:
            by_name[f"pearson_mean_removed{name}"] = of_samples(
                correlation(in_xy, in_xx, in_yy, n)
            )
    if systems > 1:
        own, rows, xy, xx, yy = sums[:, 2 * _HALF :].T
        by_item = _share(own, rows)
        if np.isnan(by_name["pearson_mean_removed"][0]):  # no row has a correlation
            by_item = np.full_like(by_item, np.nan)
        by_name["pearson_by_item"] = by_item
        by_name["pearson_deltas"] = of_samples(correlation(xy, xx, yy, sums[:, 0]))
    return by_name


def joined_moments(
    weights: FloatArray, moments: Sequence[tuple[float, float]]
) -> tuple[float, float]:
    """Return mean and standard deviation of several sets from those of each, weighted."""
    if len(moments) == 1:
        return moments[0]
    means, spreads = np.array(moments).T
    mean = float(np.average(means, weights=weights))
    return mean, float(np.sqrt(np.average(spreads**2 + (means - mean) ** 2, weights=weights)))


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return part / whole, and NaN if the whole is 0."""
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan)


def _pearson_sums(
    points: Points,
    scores: FloatArray,
    draws: Draws,
    metric: tuple[float, float],
    human: tuple[float, float],
) -> FloatArray:
    """Return (B, 23): terms of Pearson's r, added up over the rows of each sample.

    Parameters
    ----------
    scores : (N, M) float64
    metric, human
        Mean and standard deviation, by which scores are standardised.
    """
    counts = points.counts
    # Scores that do not vary get an infinite scale and become 0.
    x = (scores - metric[0]) / (metric[1] or np.inf)
    y = (points.human - human[0]) / (human[1] or np.inf)
    within = points.within / (human[1] ** 2 or np.inf)
    judged = np.maximum(counts.sum(axis=1), 1.0)
    x_mean, y_mean = ((counts * side).sum(axis=1) / judged for side in (x, y))
    x, y = x - x_mean[:, None], y - y_mean[:, None]
    squares = counts * y * y + within
    terms = [counts, counts * x, counts * y, counts * x * x, squares, counts * x * y]
    times = draws.times
    sums = [
        _row_sums(
            draws.rows[part], points, [times[part] @ term.T for term in terms], x_mean, y_mean
        )
        for part in chunks(len(times), len(points), most=1 << 16)  # they fit a cache
    ]
    return np.concatenate(sums)


def _row_sums(
    rows: FloatArray,
    points: Points,
    terms: Sequence[FloatArray],
    x_mean: FloatArray,
    y_mean: FloatArray,
) -> FloatArray:
    """Return (B, 23): sums over the rows of each sample.

    Nine sums come plain and then weighted by length: count, x, y, xx, yy, xy, and xy, xx, yy with
    the means of rows subtracted. Two more are the sum of rows' own correlations, and the number of
    rows that have one because their human scores differ. If the metric's scores do not differ
    there, the correlation is 0. The last three are xy, xx, yy of the differences of all pairs in a
    row: n times as much as with the mean of the n scores subtracted.

    Parameters
    ----------
    rows : (B, N) float64
        Count of each row in each sample.
    terms
        Six arrays (B, N), sums over systems: number of judgments; scores x of the metric and y of
        people, their squares and products. The mean of a row is subtracted first.
    x_mean, y_mean : (N,) float64
        These means.
    """
    count, x, y, xx, yy, xy = terms
    judged = np.maximum(count, 1.0)
    in_xy, in_xx, in_yy = xy - x * y / judged, xx - x * x / judged, yy - y * y / judged
    in_xx = np.where(in_xx <= _CONSTANT + _ROUNDING * xx, 0.0, in_xx)
    in_yy = np.where(in_yy <= _CONSTANT + _ROUNDING * yy, 0.0, in_yy)
    halves = [
        count,
        x + x_mean * count,
        y + y_mean * count,
        xx + 2 * x_mean * x + x_mean**2 * count,
        yy + 2 * y_mean * y + y_mean**2 * count,
        xy + x_mean * y + y_mean * x + x_mean * y_mean * count,
        in_xy,
        in_xx,
        in_yy,
    ]
    has_own = points.varies & (in_yy > 0)
    own = np.where(has_own, np.nan_to_num(from_sums(in_xy, in_xx, in_yy)), 0.0)
    parts = [(rows, part) for part in halves]
    parts += [(rows * points.lengths, part) for part in halves]
    parts += [(rows, own), (rows, has_own.astype(np.float64))]
    parts += [(rows * count, part) for part in (in_xy, in_xx, in_yy)]
    return np.stack([np.einsum("bn,bn->b", *pair) for pair in parts], axis=1)


def correlation(
    xy: FloatArray, xx: FloatArray, yy: FloatArray | float, total: FloatArray | float
) -> FloatArray:
    """Return correlations from sums over all judgments; NaN where a side is constant."""
    least = _ROUNDING * total
    return from_sums(xy, np.where(xx > least, xx, 0.0), np.where(yy > least, yy, 0.0))


def system_samples(data: Judged, scores: MetricScores, draws: Draws) -> dict[str, FloatArray]:
    """Return (B,) of each agreement on systems. Corpora are scored anew for each sample."""
    segments, systems, size = scores.stats.shape
    sums = np.tensordot(draws.rows, data.system_sums, axes=1)
    human = rounded(sums[..., 0] / np.maximum(sums[..., 1], 1.0))
    metric = np.empty_like(human)
    for part in chunks(len(human), systems * size):
        totals = draws.rows[part] @ scores.stats.reshape(segments, -1)
        metric[part] = rounded(scores.oriented(totals.reshape(-1, systems, size)))
    x, y = (np.take_along_axis(side, draws.systems, axis=1) for side in (metric, human))
    first, second = np.triu_indices(systems, 1)
    order = np.sign(y[:, first] - y[:, second])
    right = order * np.sign(x[:, first] - x[:, second]) > 0
    samples = {"spearman": spearman(x, y), "pearson": pearson(x, y)}
    samples = {name: of_samples(values) for name, values in samples.items()}
    if systems < 3:  # samples of two points are on a line, or are one point
        for values in samples.values():
            values[1:] = np.nan
    return samples | {
        "pairwise": _share(right.sum(axis=1).astype(np.float64), np.abs(order).sum(axis=1)),
    }


def pair_sums(data: Judged, scores: MetricScores, draws: Draws, *, epsilon: float) -> FloatArray:
    """Return (B, 5): right, wrong and all pairs, sum of rows' accuracies with ties, and rows.

    A pair counts as often as both its systems are in a sample.

    Parameters
    ----------
    epsilon
        Two outputs tie for the metric if their scores differ by no more.
    """
    pairs = data.pairs
    of_pair = draws.of_pairs(pairs.first, pairs.second).astype(np.float32)
    every = pairs.better + pairs.worse + pairs.tied
    right, wrong = pairs.outcomes(scores.segment_scores)

    def by_row(counts: FloatArray) -> FloatArray:
        # Whole numbers, far too small to be rounded in single precision.
        return np.asarray(of_pair @ counts.T.astype(np.float32), dtype=np.float64)

    total = by_row(every)
    accuracy = _share(by_row(correct_pairs(pairs, scores.unrounded_scores, epsilon)), total)
    weights = draws.rows
    return np.stack(
        [
            (weights * by_row(right)).sum(axis=1),
            (weights * by_row(wrong)).sum(axis=1),
            (weights * by_row(pairs.better + pairs.worse)).sum(axis=1),
            np.nansum(weights * accuracy, axis=1),
            (weights * (total > 0)).sum(axis=1),
        ],
        axis=1,
    )


def correct_pairs(pairs: Pairs, scores: FloatArray, epsilon: float) -> FloatArray:
    """Return (S, P): judgments that the metric agrees with, small differences being ties.

    Parameters
    ----------
    scores : (S, M) float64
        Not rounded.
    """
    difference = scores[:, pairs.first] - scores[:, pairs.second]
    return np.where(
        np.abs(difference) <= max(epsilon, _ROUNDING),
        pairs.tied,
        np.where(difference > 0, pairs.better, pairs.worse),
    )


def pair_correlations(sums: FloatArray) -> dict[str, FloatArray]:
    """Return (B,) of each Kendall variant and of the accuracy with ties, from `pair_sums`."""
    right, wrong, total, accuracy, rows = sums.T
    return {
        **{name: kendall(right, wrong, total, name) for name in VARIANTS},
        "acc_eq": _share(accuracy, rows),
    }


def fisher_interval(samples: FloatArray, level: float, units: int) -> tuple[float, float] | None:
    """Return the interval of a Pearson correlation by Student's t on the scale of Fisher's z.

    Quantiles of few units are too near: the deviation over samples of n units is too small by
    sqrt(1 - 1/n), and it is an estimate itself. Samples of 1 or -1 have two points, or repeat
    them, and say nothing; neither do samples without a correlation (NaN). With one unit, or if the
    data have a correlation of 1 or -1, it is quantiles.
    (Fisher, "On the probable error of a coefficient of correlation", Metron 1921.)

    Parameters
    ----------
    samples : (B,) float64
        That of the data itself first.
    units : int
        How many systems (or segments) the samples are drawn from.
    """
    from scipy.special import stdtrit  # noqa: PLC0415  start-up time

    is_known = np.abs(samples) < 1 - _ROUNDING  # False for NaN
    if units < 2 or not is_known[0] or np.count_nonzero(is_known) < 3:
        return interval(samples[1:], level)
    scaled = np.arctanh(samples[is_known])
    error = np.std(scaled[1:]) * (units / (units - 1)) ** 0.5
    if error <= _ROUNDING or is_mostly_unknown(samples):
        return None
    width = stdtrit(units - 1, (1 + level) / 2) * error
    low, high = np.tanh(scaled[0] + np.array([-width, width]))
    return float(low), float(high)


def row_correlations(points: Points, scores: FloatArray) -> FloatArray:
    """Return (N,) Pearson's r within each row, over its judgments; 0 if the metric ties all."""
    judged = np.maximum(points.counts.sum(axis=1, keepdims=True), 1.0)
    x = scores - (points.counts * scores).sum(axis=1, keepdims=True) / judged
    mean = (points.counts * points.human).sum(axis=1, keepdims=True) / judged
    y = points.human - mean
    yy = points.counts * y * y + points.within
    constant = np.abs(np.where(points.counts > 0, x, 0.0)).max(axis=1) <= _ROUNDING
    xx = np.where(constant, 0.0, (points.counts * x * x).sum(axis=1))
    return np.nan_to_num(from_sums((points.counts * x * y).sum(axis=1), xx, yy.sum(axis=1)))
