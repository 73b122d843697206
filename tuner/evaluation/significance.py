"""Tests whether one system is better than another by resampling per-segment statistics.

Every metric's score is a function of summed statistics, so a resampled test set is a row of
numbers (how often each segment is in it) times the matrix of statistics: all samples of all
metrics are a few matrix products and one call of `score` each. Products are exact (see `_exact`),
so that results do not depend on threads or machine.

References: Koehn (EMNLP 2004) for the bootstrap; Riezler and Maxwell (2005) for randomization;
Clark, Dyer, Lavie and Smith (ACL 2011) for both over several optimizer runs, as in MultEval, and
for the two kinds of chance, of segments and of tuning, which `_both_kinds` adds up.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray, Metric
from portmert.tuner.evaluation.samples import TIE, Plan, highest_sums, samples_of
from portmert.tuner.executors.team import Team, Threads

SingleArray = NDArray[np.float32]

SAMPLES = 10_000
"""Resampled test sets and randomized pairs: p-values are then good to about 0.005."""

_EXACT_BITS = 53
"""Of the mantissa of a float64."""


@dataclass(frozen=True)
class Resampling:
    """Holds what is random in a comparison, and how much of it.

    Parameters
    ----------
    samples
        Resampled test sets, and randomized pairs of systems.
    seed
        Same seed, same numbers.
    confidence
        Level of the intervals, such as 0.95.
    """

    samples: int = SAMPLES
    seed: int = 1
    confidence: float = 0.95

    def __post_init__(self) -> None:
        """Check the values.

        Raises
        ------
        ValueError
            No sample, a negative seed, or a level that is not between 0 and 1.
        """
        if self.samples < 1:
            raise ValueError(f"samples is {self.samples}; it must be at least 1")
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}; it must not be negative")
        if not 0.0 < self.confidence < 1.0:
            raise ValueError(f"confidence is {self.confidence}; it must be between 0 and 1")


@dataclass(frozen=True)
class Spread:
    """Says how sure one system's score under one metric is.

    Parameters
    ----------
    score
        Mean over replicas of the corpus score; `replica_scores` are they.
    low, high
        Bootstrap interval of `score`.
    s_sel
        Standard deviation over samples of the test set, a mean over replicas.
    s_opt
        Standard deviation over replicas (n - 1); None with one.
    """

    score: float
    replica_scores: tuple[float, ...]
    low: float
    high: float
    s_sel: float
    s_opt: float | None


@dataclass(frozen=True)
class Difference:
    """Holds a system against the first one under one metric.

    Parameters
    ----------
    difference
        System - first.
    difference_low, difference_high
        Its interval: of the bootstrap where neither has replicas, else of both kinds of chance.
    p
        Two-sided, of the verdict: `p_randomization` where neither has replicas, else that of a
        t-test of both kinds of chance.
    p_randomization
        Two-sided: how often a random exchange of outputs makes as large a difference.
    p_bootstrap
        One-sided: in how many test sets the system is not better than the first.
    """

    difference: float
    difference_low: float
    difference_high: float
    p: float
    p_randomization: float
    p_bootstrap: float


def systems_tested(
    metrics: Sequence[Metric],
    systems: Sequence[Sequence[FloatArray]],
    resampling: Resampling | None = None,
    team: Team | None = None,
) -> tuple[list[list[Spread]], list[list[Difference]]]:
    """Bootstrap all systems and test each against the first.

    Parameters
    ----------
    metrics
        M metrics.
    systems
        For each system the statistics under each metric: M arrays (R, S, K) of R replicas and S
        segments. Systems may have different numbers of replicas.
    team
        Shares the samples; None: they are drawn here.

    Returns
    -------
    spreads : M lists, one entry for each system
    differences : M lists, one entry for each system but the first

    Raises
    ------
    ValueError
        No system, or systems of different segments.
    """
    resampling = resampling or Resampling()
    columns = _columns(metrics)
    tables = [np.concatenate(list(stats), axis=2) for stats in systems]
    if not tables or len({table.shape[1] for table in tables}) != 1 or tables[0].shape[1] == 0:
        raise ValueError("systems must have the same segments, at least one")
    tables = _exact(tables)
    observed = [
        [[float(metric.score(row)) for row in table.sum(axis=1)[:, part]] for table in tables]
        for metric, part in zip(metrics, columns, strict=True)
    ]
    tables, places = _without_copies(tables, columns)
    sampled, randomized = samples_of(
        Plan(metrics, places, tables, resampling.samples, resampling.seed), team or Threads(1)
    )
    spreads, differences = [], []
    for m, metric in enumerate(metrics):
        means = [np.array(scores).mean(axis=0) for scores in sampled[m]]
        spreads.append(
            [
                _spread(observed[m][i], sampled[m][i], means[i], resampling.confidence)
                for i in range(len(tables))
            ]
        )
        found = []
        for i in range(1, len(tables)):
            p = next(group[i] for group in randomized if i in group)[m]
            change = means[i] - means[0]
            difference = float(np.mean(observed[m][i]) - np.mean(observed[m][0]))
            low, high = _interval(change, resampling.confidence)
            p_of_both = p
            both = _both_kinds(
                [(np.array(observed[m][n]), sampled[m][n]) for n in (0, i)], tables[0].shape[1]
            )
            if both is not None:
                p_of_both, width = _t_test(difference, *both, resampling.confidence)
                low, high = difference - width, difference + width
            not_better = int(np.count_nonzero(metric.oriented(change) <= TIE))
            found.append(
                Difference(
                    difference=difference,
                    difference_low=low,
                    difference_high=high,
                    p=p_of_both,
                    p_randomization=p,
                    p_bootstrap=(1 + not_better) / (resampling.samples + 1),
                )
            )
        differences.append(found)
    return spreads, differences


def _both_kinds(
    systems: Sequence[tuple[FloatArray, FloatArray]], segments: int
) -> tuple[float, float] | None:
    """Return the variance of a difference of two means over replicas, and its degrees of freedom.

    A replica's score varies with the segments, alike in all replicas; with tuning; and with what
    this tuning makes of these segments. Variance over replicas holds the second and third, that
    of bootstrapped means the first and a share of the third, which is taken off: it is known from
    how far replicas drift apart from sample to sample. A system of one replica adds no variance
    of tuning: it is compared as it is.

    Parameters
    ----------
    systems
        Of either system the (R,) scores and the (R, B) bootstrapped scores of its replicas.

    Returns
    -------
    None where no system has replicas, or where nothing varies.

    References
    ----------
    Satterthwaite, "An approximate distribution of estimates of variance components", 1946, for
    the degrees of freedom.
    """
    if all(len(scores) < 2 for scores, _ in systems):
        return None
    means = [sampled.mean(axis=0) for _, sampled in systems]
    of_segments = float(np.var(means[1] - means[0], ddof=1)) if len(means[0]) > 1 else 0.0
    of_tuning = []
    for (scores, sampled), mean in zip(systems, means, strict=True):
        free = len(scores) - 1
        if free and len(mean) > 1:
            of_tuning.append((float(np.var(scores, ddof=1)) / len(scores), free))
            drift = np.var(sampled - mean, axis=1, ddof=1)
            of_segments -= float(drift.sum()) / free / len(scores)
    parts = [(max(of_segments, 0.0), max(segments - 1, 1)), *of_tuning]
    variance = sum(part for part, _ in parts)
    if variance <= TIE**2:
        return None
    return variance, variance**2 / sum(part**2 / free for part, free in parts)


def _t_test(
    difference: float, variance: float, free: float, confidence: float
) -> tuple[float, float]:
    """Return the two-sided p of Student's t, and half the width of the interval."""
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415  start-up time

    p = 2.0 * float(stdtr(free, -abs(difference) / variance**0.5))
    return p, float(stdtrit(free, (1.0 + confidence) / 2.0)) * variance**0.5


def holm(values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's step-down method, in the same order.

    References
    ----------
    Holm, "A simple sequentially rejective multiple test procedure", 1979.
    """
    corrected = [0.0] * len(values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(values)), key=lambda i: values[i])):
        largest = max(largest, min(1.0, (len(values) - rank) * values[index]))
        corrected[index] = largest
    return corrected


def _columns(metrics: Sequence[Metric]) -> list[slice]:
    ends = np.cumsum([0, *(len(metric.stat_names) for metric in metrics)]).tolist()
    return [slice(start, stop) for start, stop in itertools.pairwise(ends)]


def _exact(tables: Sequence[FloatArray]) -> list[FloatArray]:
    """Round statistics so that no sum over a test set is ever rounded.

    Counts stay as they are. A fraction becomes a multiple of a power of 2 so large that sums of as
    many segments and replicas as there are fit into 53 bits: then a sum is the same in any order,
    whichever way a matrix product takes. The change is about 1e-16 of a column's sum.
    """
    _, exponents = np.frexp(np.maximum(highest_sums(tables), 1.0))
    unit = np.ldexp(1.0, exponents - _EXACT_BITS)
    return [np.rint(table / unit) * unit for table in tables]


def _without_copies(
    tables: Sequence[FloatArray], columns: Sequence[slice]
) -> tuple[list[FloatArray], list[IntArray]]:
    """Keep one of equal columns, and return where each metric's columns are now.

    Metrics of one family count the same n-grams.
    """
    joined = np.moveaxis(np.concatenate([*tables]), 2, 0)
    distinct: dict[bytes, int] = {}
    places = np.array([distinct.setdefault(c.tobytes(), len(distinct)) for c in joined])
    kept = np.unique(places, return_index=True)[1]
    return [table[:, :, kept] for table in tables], [places[part] for part in columns]


def _spread(
    observed: Sequence[float], sampled: FloatArray, means: FloatArray, confidence: float
) -> Spread:
    low, high = _interval(means, confidence)
    return Spread(
        score=float(np.mean(observed)),
        replica_scores=tuple(observed),
        low=low,
        high=high,
        s_sel=float(sampled.std(axis=1, ddof=1).mean()) if sampled.shape[1] > 1 else 0.0,
        s_opt=float(np.std(observed, ddof=1)) if len(observed) > 1 else None,
    )


def _interval(values: FloatArray, confidence: float) -> tuple[float, float]:
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(values, [tail, 1.0 - tail])
    return float(low), float(high)
