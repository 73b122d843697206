"""Standard errors, intervals and tests by Student's t: of segments, of groups, and of tuning.

The jackknife leaves out one segment or one group at a time; how alike the segments of a group are
is the intraclass correlation. Replicas of a tuned system add the chance of tuning.
Samples are drawn in significance.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from portmert.metrics._base import FloatArray, Metric

from ..base.variation import TIE
from ..texts.groups import Groups


def t_interval(value: float, error: float, degrees: float, level: float) -> tuple[float, float]:
    """Return the interval of a value by Student's t."""
    from scipy.special import stdtrit  # noqa: PLC0415  start-up time

    width = float(stdtrit(degrees, (1.0 + level) / 2.0)) * error
    return value - width, value + width


def t_test(value: float, error: float, degrees: float) -> float:
    """Return the two-sided p of a value by Student's t; it is never 0."""
    from scipy.special import stdtr  # noqa: PLC0415  start-up time

    return max(2.0 * float(stdtr(degrees, -abs(value) / error)), math.ulp(0.0))


@dataclass(frozen=True)
class StandardError:
    """The standard error of a score or of a difference; the fields are those of `PairTest`."""

    error: float
    degrees: float
    intraclass: float | None = None
    design_effect: float | None = None


def scores_left_out(
    metric: Metric, tables: Sequence[FloatArray], groups: Groups | None
) -> ScoresLeftOut:
    """Score test sets that lack one segment or one group each, by tables (R, S, K) of systems."""
    segments = [_without_one(metric, table) for table in tables]
    if groups is None:
        return ScoresLeftOut(segments, None, None)
    of_groups = [_without_one(metric, groups.summed(table)) for table in tables]
    return ScoresLeftOut(segments, of_groups, groups)


def _without_one(metric: Metric, table: FloatArray) -> FloatArray:
    """Return (U,): the score without each unit, a mean over replicas; NaN if it is none."""
    rest = table.sum(axis=1, keepdims=True) - table
    with np.errstate(all="ignore"):
        scores: FloatArray = np.asarray(metric.score(rest), dtype=np.float64).mean(axis=0)
    return scores


@dataclass(frozen=True, eq=False)
class ScoresLeftOut:
    """For each system (S,) scores without each segment, and (G,) without each group."""

    segments: Sequence[FloatArray]
    of_groups: Sequence[FloatArray] | None
    groups: Groups | None

    def error(self, system: int, base: int | None = None) -> StandardError | None:
        """Return the standard error of a score, or of its difference from that of `base`.

        It is that of the jackknife, which leaves out one unit at a time: with groups it is the
        variance CR3 of clusters (Bell & McCaffrey 2002; MacKinnon, Nielsen & Webb, "Leverage,
        influence, and the jackknife in clustered regression models", 2023). The degrees of freedom
        are Satterthwaite's for groups of unequal size: those of sums whose variances are n (1 +
        (n - 1) r) for n segments and an intraclass correlation r (Imbens & Kolesar, "Robust
        standard errors in small samples", 2016); with equal sizes, the number of groups less 1.

        None if a score is not finite or nothing varies.
        """
        segments = _difference(self.segments, system, base)
        variance = jackknife_variance(segments)
        if self.groups is None or self.of_groups is None:
            if variance is None:
                return None
            return StandardError(variance**0.5, float(len(segments) - 1))
        of_groups = jackknife_variance(_difference(self.of_groups, system, base))
        if of_groups is None:
            return None
        sizes = self.groups.sizes.astype(np.float64)
        correlation = None
        if np.isfinite(segments).all():
            correlation = intraclass_correlation(segments, self.groups)
        of_sums = sizes * (1.0 + (sizes - 1.0) * max(correlation or 0.0, 0.0))
        degrees = max(1.0, float(of_sums.sum() ** 2 / (of_sums**2).sum()) - 1.0)
        effect = of_groups / variance if variance else None
        return StandardError(of_groups**0.5, degrees, correlation, effect)


def _difference(scores: Sequence[FloatArray], system: int, base: int | None) -> FloatArray:
    return scores[system] if base is None else np.asarray(scores[system] - scores[base])


def jackknife_variance(scores: FloatArray) -> float | None:
    """Return the variance of a score by its values without one unit; None if it is none."""
    count = len(scores)
    if count < 2 or not np.isfinite(scores).all():
        return None
    variance = (count - 1) ** 2 / count * float(scores.var(ddof=1))
    return variance if variance > TIE**2 else None


def intraclass_correlation(values: FloatArray, groups: Groups) -> float | None:
    """Return how alike (S,) values of one group are, by the variances within and between groups.

    None if no group has two segments, or nothing varies.

    References
    ----------
    Donner & Koval, "The estimation of intraclass correlation in the analysis of family data",
    Biometrics 1980, for groups of unequal size.
    """
    sizes, count, total = groups.sizes, len(groups), len(values)
    if count < 2 or count == total:
        return None
    centred = values - values.mean()
    means = np.bincount(groups.of_segment, centred, minlength=count) / sizes
    between = float((sizes * means**2).sum()) / (count - 1)
    within = float(((centred - means[groups.of_segment]) ** 2).sum()) / (total - count)
    size = (total - float((sizes.astype(np.float64) ** 2).sum()) / total) / (count - 1)
    whole = between + (size - 1.0) * within
    return (between - within) / whole if whole > 0 else None


class TTest(NamedTuple):
    """A two-sided p, the standard error and its degrees of freedom, and the error of tuning."""

    p: float
    error: float
    degrees: float
    tuning_error: float


def t_test_with_tuning(
    difference: float,
    systems: Sequence[tuple[FloatArray, FloatArray]],
    units: int,
    of_groups: StandardError | None = None,
    common: float = 0.0,
) -> TTest | None:
    """Test a difference of two means over replicas by both kinds of chance, with Student's t.

    A replica's score has three sources of variance: the segments, alike in all replicas; tuning;
    and the interaction of this tuning with these segments. The variance over replicas contains
    the last two. The variance of bootstrapped means contains the first and a share of the third.
    That share is estimated from how far replicas drift apart from sample to sample, and
    subtracted. A system with one replica adds no variance of tuning. The sum is never below the
    variance of the bootstrapped difference: few replicas may have equal scores by chance.

    Parameters
    ----------
    systems
        For either system (R,) scores and (R, B) bootstrapped scores of its replicas.
    units
        The number of segments, or of groups.
    of_groups
        The standard error over groups, which replaces that of the bootstrap.
    common
        `Resampling.common`: so much of the variance over replicas stays in their mean, however
        many there are (as Nadeau & Bengio 2003 for scores of parts).

    Returns
    -------
    None if neither system has replicas, or if nothing varies.

    References
    ----------
    Satterthwaite, "An approximate distribution of estimates of variance components", 1946, for
    the degrees of freedom.
    """
    if all(len(scores) < 2 for scores, _ in systems):
        return None
    means = [sampled.mean(axis=0) for _, sampled in systems]
    of_segments = float(np.var(means[1] - means[0], ddof=1)) if len(means[0]) > 1 else 0.0
    free_units: float = max(units - 1, 1)
    if of_groups is not None:
        of_segments, free_units = of_groups.error**2, of_groups.degrees
    of_tuning, of_outputs = [], of_segments
    for (scores, sampled), mean in zip(systems, means, strict=True):
        free = len(scores) - 1
        if free and len(mean) > 1:
            share = 1.0 / len(scores) + common
            of_tuning.append((float(np.var(scores, ddof=1)) * share, free))
            drift = np.var(sampled - mean, axis=1, ddof=1)
            of_segments -= float(drift.sum()) / free / len(scores)
    parts = [(max(of_segments, 0.0), free_units), *of_tuning]
    if sum(part for part, _ in parts) < of_outputs:
        parts = [(of_outputs, free_units)]
    variance = sum(part for part, _ in parts)
    if variance <= TIE**2:
        return None
    degrees = variance**2 / sum(part**2 / free for part, free in parts)
    error = variance**0.5
    tuning_error = sum(part for part, _ in of_tuning) ** 0.5
    return TTest(t_test(difference, error, degrees), error, degrees, tuning_error)
