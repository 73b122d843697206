"""How well metrics agree with people, as functions of sums over rows.

A row is a segment, a document or a group, with the outputs of all systems. A measure is a
function of sums over rows, as the score of a metric is a function of sums over segments. So the
tests of `significance` compare metrics as they compare systems: they draw rows, leave rows out,
and exchange the rows of two metrics; whole documents of them, where these are known. For measures
of systems a row has what its segment adds to the score of each corpus. Two metrics are on one
scale, so their rows can be exchanged.

References
----------
Deutsch, Dror & Roth, "A Statistical Analysis of Summarization Evaluation Metrics Using Resampling
Methods", TACL 2021: exchanges of whole inputs.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from portmert.metrics._base import Batch, FloatArray, Metric
from portmert.tuner.base.variation import TIE
from portmert.tuner.evaluation.significance import Resampling, holm, is_resampled, systems_tested
from portmert.tuner.evaluation.standard_errors import t_interval
from portmert.tuner.texts.groups import Groups

from .correlation import VARIANTS, Pairs, from_sums, pearson, rounded, spearman
from .data import Judged, MetricScores, Points

_OF_RANKS = ("system.spearman", "system.pairwise")
_SHARES = ("pairwise", "soft", "consistency", "acc_eq", "king", "orange")
"""Beginnings of measures that are from 0 to 1; the others are from -1 to 1."""


@dataclass(frozen=True)
class Measure(Metric):
    """A measure as what `significance` takes for a metric.

    Parameters
    ----------
    measure
        Its name, `level.correlation`.
    columns
        The number of sums.
    """

    measure: str
    columns: int

    @property
    def is_smooth(self) -> bool:  # type: ignore[override]
        """Whether it is no step function of the sums."""
        return self.measure not in _OF_RANKS

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Numbers of the sums."""
        return tuple(map(str, range(self.columns)))

    def stats(self, batch: Batch) -> FloatArray:  # noqa: ARG002  `rows_of` makes them
        """Raise ValueError: the rows of a measure are of several outputs."""
        raise ValueError(f"{self.measure} is no metric of texts")

    def value(self, sums: FloatArray) -> FloatArray:
        """Return (...) values of sums (..., K); NaN where it has none.

        K is 2 for a mean: a sum and its count. It is 4 for a correlation of centred scores: n, xy,
        xx, yy. It is 6 for one of other scores: n, x, y, xx, yy, xy.
        """
        level, _, name = self.measure.partition(".")
        if level == "system":
            return _of_systems(name, sums)
        x = np.moveaxis(sums, -1, 0)
        if self.columns == 2:
            return np.asarray(np.where(x[1] > 0, x[0] / np.where(x[1] > 0, x[1], 1.0), np.nan))
        if self.columns == 6:
            n = np.maximum(x[0], 1e-300)  # if all references are empty, all sums are 0
            xy, xx, yy = x[5] - x[1] * x[2] / n, x[3] - x[1] ** 2 / n, x[4] - x[2] ** 2 / n
        else:
            n, xy, xx, yy = x
        least = TIE * n
        return from_sums(xy, np.where(xx > least, xx, 0.0), np.where(yy > least, yy, 0.0))

    def score(self, stats: FloatArray) -> FloatArray:
        """Return (...) values of sums (..., K); 0 where it has none, as in a constant sample."""
        return np.nan_to_num(self.value(stats))


def _of_systems(name: str, sums: FloatArray) -> FloatArray:
    """Return the agreement of two scores of each system: sums (..., 3 M) of `_system_rows`."""
    x, won, every = np.split(sums, 3, axis=-1)
    x, y = rounded(x), rounded(won / np.maximum(every, 1.0))
    if name != "pairwise":
        return (pearson if name == "pearson" else spearman)(x, y)
    first, second = np.triu_indices(x.shape[-1], 1)
    order = np.sign(y[..., first] - y[..., second])
    right = order * np.sign(x[..., first] - x[..., second]) > 0
    total = np.abs(order).sum(axis=-1)
    return np.asarray(np.where(total > 0, right.sum(axis=-1) / np.maximum(total, 1.0), np.nan))


# Rows of one metric: measure -> (N, K).

Rows = dict[str, FloatArray]


def segment_rows(data: Judged, scores: MetricScores, epsilon: float) -> Rows:
    """Return the rows of all measures of systems and segments but Pearson's of segments."""
    rows: Rows = {}
    if len(data.systems) > 1:
        of_systems = _system_rows(data, scores)
        rows |= dict.fromkeys(("system.spearman", "system.pearson", "system.pairwise"), of_systems)
        rows |= _pair_rows(data.pairs, scores, epsilon)
    if scores.likeness is not None:
        whole = np.ones(len(data.human))
        rows["likeness.king"] = np.stack([scores.likeness.king, whole], axis=1)
        orange = scores.likeness.orange.mean(axis=1)
        rows["likeness.orange"] = np.stack([orange, whole], axis=1)
    return rows


def _system_rows(data: Judged, scores: MetricScores) -> FloatArray:
    """Return (S, 3 M): what segments add to each corpus, and people's two sums of each system."""
    added = scores.contributions
    mean, spread = added.mean(), added.std()
    scale = spread if spread > TIE * max(1.0, abs(mean)) else np.inf
    sides = (added - mean) / scale / len(added), *np.moveaxis(data.system_sums, -1, 0)
    return np.concatenate(sides, axis=1)


def _pair_rows(pairs: Pairs, scores: MetricScores, epsilon: float) -> Rows:
    """Return the rows of Kendall's tau and of the accuracy with ties, as (S, 2) part and whole."""
    right, wrong = (side.sum(axis=1) for side in pairs.outcomes(scores.segment_scores))
    ranked = (pairs.better + pairs.worse).sum(axis=1)
    every = ranked + pairs.tied.sum(axis=1)
    correct = correct_pairs(pairs, scores.unrounded_scores, epsilon).sum(axis=1)
    sides = {
        "wmt10": (2 * right - ranked, ranked),
        "wmt13": (right - wrong, right + wrong),
        "wmt14": (right - wrong, ranked),
        "consistency": (right, ranked),
        "acc_eq": (correct / np.maximum(every, 1.0), every > 0),
    }
    names = (*VARIANTS, "acc_eq")
    return {f"segment.{name}": np.stack(sides[name], axis=1).astype(np.float64) for name in names}


def correct_pairs(pairs: Pairs, scores: FloatArray, epsilon: float) -> FloatArray:
    """Return (S, P): judgments that the metric agrees with, small differences being ties.

    Parameters
    ----------
    scores : (S, M) float64
        Not rounded.
    """
    difference = scores[:, pairs.first] - scores[:, pairs.second]
    return np.where(
        np.abs(difference) <= max(epsilon, TIE),
        pairs.tied,
        np.where(difference > 0, pairs.better, pairs.worse),
    )


def pearson_rows(blocks: Sequence[tuple[Points, FloatArray]]) -> Rows:
    """Return the rows of Pearson's correlations of several test sets, on one scale.

    Parameters
    ----------
    blocks
        For each test set its data points, and a metric's scores (N, M) of them.
    """
    weights = [points.counts for points, _ in blocks]
    x_mean, x_scale = _scale([scores for _, scores in blocks], weights)
    within = sum(float(points.within.sum()) for points, _ in blocks)
    y_mean, y_scale = _scale([points.human for points, _ in blocks], weights, within)
    parts = [
        _pearson_rows(
            replace(
                points,
                human=(points.human - y_mean) / y_scale,
                within=points.within / y_scale**2,
            ),
            (scores - x_mean) / x_scale,
        )
        for points, scores in blocks
    ]
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if max(points.human.shape[1] for points, _ in blocks) == 1:
        return {name: rows[name] for name in ("pearson", "pearson_weighted")}
    # Scores without the means of rows have a scale of their own.
    n, _, squares, of_people = rows["pearson_mean_removed"].sum(axis=0)
    if min(squares, of_people) <= TIE * n:  # no row has a correlation
        rows["pearson_by_item"] *= 0.0
    if squares > TIE * n:
        scale = np.array([1.0, (n / squares) ** 0.5, n / squares, 1.0])
        for name in ("pearson_mean_removed", "pearson_mean_removed_weighted", "pearson_deltas"):
            rows[name] = rows[name] * scale
    return rows


def _scale(
    values: Sequence[FloatArray], weights: Sequence[FloatArray], within: float = 0.0
) -> tuple[float, float]:
    """Return the weighted mean and deviation of all values; infinite if nothing varies."""
    flat, of_flat = (np.concatenate([x.ravel() for x in side]) for side in (values, weights))
    mean = float(np.average(flat, weights=of_flat))
    variance = (float((of_flat * (flat - mean) ** 2).sum()) + within) / float(of_flat.sum())
    spread = variance**0.5
    return mean, spread if spread > TIE * max(1.0, abs(mean)) else np.inf


def _pearson_rows(points: Points, x: FloatArray) -> Rows:
    """Return the rows of one test set, whose scores are on a common scale.

    With the mean of each row removed, sums are (N, 4): count, xy, xx, yy; else (N, 6). The
    differences of all pairs of n outputs add up to n times as much as the differences from their
    mean. A row's own correlation is 0 if only the metric ties all its outputs.
    """
    counts, y = points.counts, points.human
    squares = counts * y**2 + points.within
    plain = [counts, counts * x, counts * y, counts * x**2, squares, counts * x * y]
    n, in_xy, in_xx, in_yy = in_rows(points, x)
    own = np.nan_to_num(from_sums(in_xy, in_xx, in_yy))
    has_own = points.varies & (in_yy > 0)
    moments = np.stack([terms.sum(axis=1) for terms in plain], axis=1)
    removed = np.stack([n, in_xy, in_xx, in_yy], axis=1)
    lengths = points.lengths[:, np.newaxis]
    return {
        "pearson": moments,
        "pearson_weighted": moments * lengths,
        "pearson_mean_removed": removed,
        "pearson_mean_removed_weighted": removed * lengths,
        "pearson_by_item": np.stack(
            [np.where(has_own, own, 0.0), has_own.astype(np.float64)], axis=1
        ),
        "pearson_deltas": removed * n[:, np.newaxis],
    }


class Products(NamedTuple):
    """Sums of products of the judgments of each row, its means removed; (N,) each."""

    counts: FloatArray
    xy: FloatArray
    xx: FloatArray
    yy: FloatArray


def in_rows(points: Points, x: FloatArray) -> Products:
    """Return the sums of the judgments and of a metric's scores."""
    counts = points.counts
    n = counts.sum(axis=1)
    judged = np.maximum(n, 1.0)[:, np.newaxis]
    x, y = (
        np.where(counts > 0, side - (counts * side).sum(axis=1, keepdims=True) / judged, 0.0)
        for side in (x, points.human)
    )
    varies = np.abs(x).max(axis=1) > TIE  # rounding errors are no difference
    in_yy = (counts * y**2 + points.within).sum(axis=1)
    in_yy = np.where(in_yy > TIE**2, in_yy, 0.0)
    in_xx = np.where(varies, (counts * x**2).sum(axis=1), 0.0)
    return Products(n, np.where(varies, (counts * x * y).sum(axis=1), 0.0), in_xx, in_yy)


# Estimates and tests.


@dataclass(frozen=True)
class Estimate:
    """One correlation and its interval; None if it cannot be computed.

    Parameters
    ----------
    error, degrees
        The standard error and its degrees of freedom, by which `low` and `high` are Student's. If
        nothing varies there is no error, and if nothing can be drawn no degrees either.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    degrees: float | None = None


def estimated(
    measure: str, value: float, errors: Sequence[tuple[float, float]], level: float
) -> Estimate:
    """Return a correlation with its interval, from independent errors and their degrees.

    The interval of a correlation is on the scale of Fisher's z; that of a share ends at 0 and 1.
    (Fisher, "On the probable error of a coefficient of correlation", Metron 1921; Satterthwaite,
    "An approximate distribution of estimates of variance components", 1946.)
    """
    if np.isnan(value):
        return Estimate(None)
    error, degrees = joined_errors(errors)
    if error <= TIE:
        return Estimate(value, degrees=degrees if errors else None)
    if measure.partition(".")[2].startswith(_SHARES):
        low, high = np.clip(t_interval(value, error, degrees, level), 0.0, 1.0)
    elif abs(value) < 1 - TIE:
        of_z = t_interval(np.arctanh(value), error / (1 - value**2), degrees, level)
        low, high = np.tanh(of_z)
    else:
        return Estimate(value, error=error, degrees=degrees)
    return Estimate(value, float(low), float(high), error, degrees)


def joined_errors(errors: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the error of a sum of independent parts, and its degrees of freedom."""
    variance = sum(error**2 for error, _ in errors)
    if variance <= TIE**2:
        return 0.0, 1.0
    return variance**0.5, variance**2 / sum(error**4 / free for error, free in errors)


@dataclass(frozen=True)
class MetricDifference:
    """The difference of two metrics under one measure. All p-values are two-sided.

    Parameters
    ----------
    value, low, high
        The first one's correlation minus the second one's, and its interval.
    p, p_corrected
        By exchanges of rows, plain and corrected for the number of pairs of metrics (Holm).
    error, degrees
        As of `Estimate`.
    p_williams
        By Williams' test; None if it does not apply.
    """

    value: float
    low: float | None
    high: float | None
    p: float
    p_corrected: float
    error: float | None
    degrees: float
    p_williams: float | None = None


Differences = dict[tuple[int, int], dict[str, MetricDifference]]


class Tested(NamedTuple):
    """For each metric: measure -> value and its errors over rows; and all differences."""

    values: list[dict[str, float]]
    errors: list[dict[str, tuple[float, float]]]
    differences: Differences


def measured(rows: Sequence[Mapping[str, FloatArray]]) -> list[dict[str, float]]:
    """Return the value of each measure for each metric; NaN where it has none."""
    return [
        {
            name: float(Measure(name, table.shape[1]).value(table.sum(axis=0)))
            for name, table in of_metric.items()
        }
        for of_metric in rows
    ]


def tested(
    rows: Sequence[Mapping[str, FloatArray]], resampling: Resampling, groups: Groups
) -> Tested:
    """Resample rows, and test every two metrics; without two groups nothing is tested.

    Parameters
    ----------
    rows
        For each metric: measure -> (N, K).
    groups
        The group of each row, such as its document.
    """
    values, names, count = measured(rows), list(rows[0]), len(groups)
    if not is_resampled(count, resampling.samples):
        return Tested(values, [{} for _ in rows], {})
    measures = [Measure(name, rows[0][name].shape[1]) for name in names]
    tables = [[of_metric[name][np.newaxis] for name in names] for of_metric in rows]
    pairs = list(itertools.combinations(range(len(rows)), 2))
    backwards = [(j, i) for i, j in pairs]
    spreads, tests = systems_tested(measures, tables, resampling, groups, backwards)
    unbiased = (count / (count - 1)) ** 0.5
    errors = [
        {
            name: ((spreads[m][k].s_sel or 0.0) * unbiased, count - 1.0)
            for m, name in enumerate(names)
        }
        for k in range(len(rows))
    ]
    differences: Differences = {pair: {} for pair in pairs}
    for name, of_measure in zip(names, tests, strict=True):
        differs = {
            (i, j): MetricDifference(
                test.difference, test.difference_low, test.difference_high, test.p or 1.0, 1.0,
                test.error, test.degrees or count - 1.0,
            )
            for (i, j), test in zip(pairs, of_measure, strict=True)
            if not np.isnan(values[i][name] - values[j][name])
        }  # fmt: skip
        for pair, difference in corrected(differs, resampling).items():
            differences[pair][name] = difference
    return Tested(values, errors, differences)


def corrected(
    differences: Mapping[tuple[int, int], MetricDifference], resampling: Resampling | None = None
) -> dict[tuple[int, int], MetricDifference]:
    """Return the differences of all pairs of metrics with p-values corrected by `holm`."""
    p_values = holm([difference.p for difference in differences.values()], resampling)
    return {
        pair: replace(difference, p_corrected=p)
        for (pair, difference), p in zip(differences.items(), p_values, strict=True)
    }
