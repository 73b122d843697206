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
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tuner import streams

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from metrics._base import FloatArray, IntArray, Metric

    SingleArray = NDArray[np.float32]

SAMPLES = 10_000
"""Resampled test sets and randomized pairs: p-values are then good to about 0.005."""

TIE = 1e-12
"""Scores nearer than this are equal: sums are exact, but the mean of several scores is rounded."""

_BOOTSTRAP_ENTRIES, _RANDOMIZATION_ENTRIES = 500_000, 2_000_000
"""Entries of the matrix of one chunk of samples: 4 and 8 MB. Random swaps depend on the latter."""
_EXACT_BITS, _SINGLE_BITS = 53, 24
"""Of the mantissa of a float64 and of a float32."""


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
    low, high
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
    low: float
    high: float
    p: float
    p_randomization: float
    p_bootstrap: float


def systems_tested(
    metrics: Sequence[Metric],
    systems: Sequence[Sequence[FloatArray]],
    resampling: Resampling | None = None,
) -> tuple[list[list[Spread]], list[list[Difference]]]:
    """Bootstrap all systems and test each against the first.

    Parameters
    ----------
    metrics
        M metrics.
    systems
        For each system the statistics under each metric: M arrays (R, S, K) of R replicas and S
        segments. Systems may have different numbers of replicas.

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
    sampled = _bootstrap(metrics, places, tables, resampling)
    randomized = [
        _randomized(metrics, places, tables, resampling, replicas)
        for replicas in sorted({len(table) for table in tables[1:]})
    ]
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
                    low=low,
                    high=high,
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


def count_as_extreme(differences: FloatArray, observed: float) -> int:
    """Return how many differences are at least as large as the observed one, signs aside."""
    return int(np.count_nonzero(np.abs(differences) >= abs(observed) - TIE))


def _columns(metrics: Sequence[Metric]) -> list[slice]:
    ends = np.cumsum([0, *(len(metric.stat_names) for metric in metrics)]).tolist()
    return [slice(start, stop) for start, stop in itertools.pairwise(ends)]


def _exact(tables: Sequence[FloatArray]) -> list[FloatArray]:
    """Round statistics so that no sum over a test set is ever rounded.

    Counts stay as they are. A fraction becomes a multiple of a power of 2 so large that sums of as
    many segments and replicas as there are fit into 53 bits: then a sum is the same in any order,
    whichever way a matrix product takes. The change is about 1e-16 of a column's sum.
    """
    _, exponents = np.frexp(np.maximum(_highest_sums(tables), 1.0))
    unit = np.ldexp(1.0, exponents - _EXACT_BITS)
    return [np.rint(table / unit) * unit for table in tables]


def _highest_sums(tables: Sequence[FloatArray]) -> FloatArray:
    """Return for each column what no sum over all replicas of two systems exceeds."""
    largest = np.max([np.abs(table).max(axis=(0, 1)) for table in tables], axis=0)
    return np.asarray(largest * (max(len(table) for table in tables) * 2 * tables[0].shape[1]))


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


class _Sums:
    """Holds the sums over resampled test sets of statistics that were rounded by `_exact`.

    Whole numbers so small that no sum reaches 2**24 are multiplied in float32, which takes half
    the time and is as exact.

    Parameters
    ----------
    outputs : N arrays (S, K) float64
        Their rows are what is resampled.
    single : (K,) bool
        Columns for which float32 is enough.
    """

    def __init__(self, outputs: Sequence[FloatArray], single: NDArray[np.bool_]) -> None:
        stacked = np.stack(outputs, axis=2)
        self._shape = stacked.shape[1:]
        self._parts = [
            (chosen, stacked[:, chosen].reshape(len(stacked), -1).astype(dtype))
            for chosen, dtype in ((single, np.float32), (~single, np.float64))
            if chosen.any()
        ]

    def of(self, times: SingleArray) -> FloatArray:
        """Return (K, N, B) sums for B samples; `times` (B, S): how often each row is in each."""
        sums = np.empty((*self._shape, len(times)))
        for chosen, table in self._parts:
            product = table.T @ times.T.astype(table.dtype, copy=False)
            sums[chosen] = product.reshape(-1, *sums.shape[1:])
        return sums


def _single_enough(tables: Sequence[FloatArray]) -> NDArray[np.bool_]:
    """Return (K,) whether sums of each column are whole numbers that float32 can hold."""
    whole = np.all([(table == np.rint(table)).all(axis=(0, 1)) for table in tables], axis=0)
    return np.asarray(whole & (_highest_sums(tables) <= 2.0**_SINGLE_BITS))


def _scored(metric: Metric, sums: FloatArray, places: IntArray) -> FloatArray:
    """Return the scores (...) of sums (K, ...): a statistic's values lie side by side."""
    return metric.score(np.moveaxis(sums[places], 0, -1))


def _chunks(samples: int, entries: int, most: int) -> Iterator[slice]:
    """Cut the samples so that a chunk's matrix, of `entries` a sample, has at most `most`."""
    size = max(1, most // max(entries, 1))
    for start in range(0, samples, size):
        yield slice(start, min(start + size, samples))


def _bootstrap(
    metrics: Sequence[Metric],
    places: Sequence[IntArray],
    tables: Sequence[FloatArray],
    resampling: Resampling,
) -> list[list[FloatArray]]:
    """Return for each metric and system (R, B): each replica's score of each sampled test set.

    All systems see the same samples.
    """
    segments = tables[0].shape[1]
    outputs = [output for table in tables for output in table]
    sums = _Sums(outputs, _single_enough(tables))
    scores = np.empty((len(metrics), len(outputs), resampling.samples))
    rng = streams.score_bootstrap(resampling.seed)
    for chunk in _chunks(resampling.samples, segments, _BOOTSTRAP_ENTRIES):
        size = chunk.stop - chunk.start
        drawn = rng.integers(segments, size=(size, segments))
        drawn += np.arange(size)[:, np.newaxis] * segments
        times = np.bincount(drawn.ravel(), minlength=size * segments).astype(np.float32)
        sampled = sums.of(times.reshape(size, segments))
        for m, metric in enumerate(metrics):
            scores[m, :, chunk] = _scored(metric, sampled, places[m])
    ends = np.cumsum([len(table) for table in tables])[:-1]
    return [np.split(of_metric, ends) for of_metric in scores]


def _randomized(
    metrics: Sequence[Metric],
    places: Sequence[IntArray],
    tables: Sequence[FloatArray],
    resampling: Resampling,
    replicas: int,
) -> dict[int, list[float]]:
    """Return p for each system of so many replicas, against the first, and each metric.

    As in MultEval the outputs of all replicas are one long test set: for each of its segments the
    replicas' outputs are permuted, then each is swapped with one of the other system, or not.
    Systems of unequal numbers of replicas share out all outputs of a segment at random.
    """
    first = tables[0]
    own, segments, width = first.shape
    members = [i for i in range(1, len(tables)) if len(tables[i]) == replicas]
    whole = first.sum(axis=(0, 1))[:, np.newaxis]
    others = np.stack([tables[i].sum(axis=(0, 1)) for i in members], axis=1)
    single = _single_enough(tables)
    ours = _Sums([first.reshape(-1, width)], single)
    theirs = _Sums([tables[i].reshape(-1, width) for i in members], single)
    observed = [
        _scored(metric, others, place) - _scored(metric, whole, place)
        for metric, place in zip(metrics, places, strict=True)
    ]
    extreme = np.zeros((len(members), len(metrics)), dtype=np.int64)
    rng = streams.randomization(resampling.seed, replicas)
    entries = segments * (own + replicas)
    for chunk in _chunks(resampling.samples, entries, _RANDOMIZATION_ENTRIES):
        size = chunk.stop - chunk.start
        kept, taken = _assignments(rng, size, segments, own, replicas)
        one = theirs.of(taken.reshape(size, -1))
        one += ours.of(kept.reshape(size, -1))
        other = (whole + others)[..., np.newaxis] - one
        for m, metric in enumerate(metrics):
            change = _scored(metric, other, places[m]) - _scored(metric, one, places[m])
            for n in range(len(members)):
                extreme[n, m] += count_as_extreme(change[n], float(observed[m][n]))
    return {
        member: ((1 + extreme[n]) / (resampling.samples + 1)).tolist()
        for n, member in enumerate(members)
    }


def _assignments(
    rng: np.random.Generator, size: int, segments: int, own: int, replicas: int
) -> tuple[SingleArray, SingleArray]:
    """Return which outputs make up the randomized first system: 0 or 1 each.

    Returns
    -------
    (size, own, segments), (size, replicas, segments) float32
        Of the first system's own outputs and of the other's; `own` of each segment in all.
    """
    if own != replicas:
        keys = rng.random((size, own + replicas, segments), dtype=np.float32)
        chosen = keys.argsort(axis=1).argsort(axis=1) < own
        return chosen[:, :own].astype(np.float32), chosen[:, own:].astype(np.float32)
    shape = (size, own, segments)
    bits = np.frombuffer(rng.bytes(-(-size * own * segments // 8)), dtype=np.uint8)
    swapped = np.unpackbits(bits, count=size * own * segments).reshape(shape).astype(np.float32)
    if own == 1:
        return 1.0 - swapped, swapped
    # The swaps of a segment's outputs are alike, so that to permute one side's is enough.
    order = rng.random(shape, dtype=np.float32).argsort(axis=1)
    return 1.0 - swapped, np.take_along_axis(swapped, order, axis=1)


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
