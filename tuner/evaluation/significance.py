"""Tests whether one system is better than another by resampling per-segment statistics.

Every metric's score is a function of summed statistics. So a resampled test set is a row of
counts (how often each segment is in it) times the matrix of statistics, and all samples of all
metrics are a few matrix products and one call of `score` each. Products are exact (see `_exact`):
results do not depend on threads or machine.

Samples are scored here, or some at each worker of a cluster. The samples of a chunk follow from
those of the chunks before: a worker that scores a later chunk draws the earlier ones too.

References: Koehn (EMNLP 2004) for the bootstrap; Riezler and Maxwell (2005) for randomization;
Clark, Dyer, Lavie and Smith (ACL 2011) for both over several optimizer runs, as in MultEval, and
for the two kinds of chance, of segments and of tuning, which standard_errors.py adds up.

Segments of one document or speaker are not independent. Groups of them are then drawn, and
exchanged, as a whole: their statistics are summed first, so that a group is as a segment here. The
bootstrap's quantiles are too narrow for few groups (Cameron, Gelbach & Miller 2008); the interval
is then that of standard_errors.py, which also has intraclass correlation and Student's t. Holm's
correction is here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray, Metric

from ..base import streams
from ..base.context import current
from ..base.errors import InputError, counted, faults_at
from ..base.numbers import Level, Natural, Positive
from ..base.variation import TIE, chunks, deviation, interval
from ..base.warn import warn
from ..texts.groups import Groups
from ..texts.statistics import finite_scores
from .standard_errors import (
    ScoresLeftOut,
    StandardError,
    scores_left_out,
    t_interval,
    t_test_with_tuning,
)

SingleArray = NDArray[np.float32]

_BOOTSTRAP_ENTRIES, _RANDOMIZATION_ENTRIES = 500_000, 2_000_000
"""Entries of the matrix of one chunk of samples: 4 and 8 MB. The second fixes random swaps."""
_ONE_THREAD = 1 << 18
"""OpenBLAS multiplies so few entries in one thread. Threads that wait for each other take more
time than they save on thin matrices: ten times as much on a busy machine."""
_SINGLE_BITS = 24
"""Bits of the mantissa of a float32."""


Pair = tuple[int, int]
Kind = tuple[int, ...]
"""Numbers of replicas of two systems whose outputs are exchanged; empty: bootstrap samples."""


class SamplePlan(NamedTuple):
    """Input of all samples.

    Parameters
    ----------
    metrics, places
        M metrics, and the columns of statistics of each.
    tables
        Statistics of each system, (R, S, K) for R replicas and S segments.
    samples, seed
        Number of samples of each kind. Equal seeds give equal samples.
    pairs
        Which systems are compared, by their numbers: the second one with the first.
    """

    metrics: Sequence[Metric]
    places: Sequence[IntArray]
    tables: Sequence[FloatArray]
    samples: int
    seed: int
    pairs: Sequence[Pair]

    def chunks(self, kind: Kind) -> list[slice]:
        """Cut the samples into chunks whose matrix fits into memory."""
        entries = self.tables[0].shape[1] * (sum(kind) or 1)
        limit = _RANDOMIZATION_ENTRIES if kind else _BOOTSTRAP_ENTRIES
        return list(chunks(self.samples, entries, most=limit))

    def of_kind(self, kind: Kind) -> list[Pair]:
        """Return the pairs of systems with these numbers of replicas."""
        return [pair for pair in self.pairs if tuple(len(self.tables[n]) for n in pair) == kind]


def samples_of(plan: SamplePlan) -> tuple[list[list[FloatArray]], dict[Pair, list[float]]]:
    """Draw all samples, at the workers of the cluster if there is one.

    Each task draws some chunks of one kind.

    Returns
    -------
    For each metric and system, (R, B) bootstrapped scores of its replicas. For each pair of
    systems p of each metric.
    """
    sizes = [tuple(len(plan.tables[n]) for n in pair) for pair in plan.pairs]
    kinds: list[Kind] = [(), *sorted(set(sizes))]
    workers, tasks = current().cluster, []
    for kind in kinds:
        count = len(plan.chunks(kind))
        parts = 1 if workers is None else min(workers.wait_for_workers(), count)
        cuts = [count * part // parts for part in range(parts + 1)]
        tasks += [(kind, *cut) for cut in itertools.pairwise(cuts)]
    if workers is None:
        results = dict(enumerate(_sampled(plan, *task) for task in tasks))
    else:
        shared = workers.shared(plan)
        shared_tasks = [(shared, *task) for task in tasks]
        results = dict(workers.run(_sampled, shared_tasks, phase="resampling"))
    counts_of_kind: dict[Kind, list[Any]] = {kind: [] for kind in kinds}
    for number, (kind, *_) in enumerate(tasks):
        counts_of_kind[kind].append(results[number])
    ends = np.cumsum([len(table) for table in plan.tables])[:-1]
    sampled = [np.split(scores, ends) for scores in np.concatenate(counts_of_kind.pop(()), axis=2)]
    randomized: dict[Pair, list[float]] = {}
    for kind, counts in counts_of_kind.items():
        p = (1 + np.sum(counts, axis=0)) / (plan.samples + 1)
        randomized |= zip(plan.of_kind(kind), p.tolist(), strict=True)
    return sampled, randomized


def _sampled(plan: SamplePlan, kind: Kind, begin: int, end: int) -> Any:
    """Draw chunks `begin:end`: bootstrap samples, or exchanges of systems of this kind."""
    return _randomized(plan, kind, begin, end) if kind else _bootstrap(plan, begin, end)


def _bootstrap(plan: SamplePlan, begin: int, end: int) -> FloatArray:
    """Return (M, N, B): the score of each output of all systems on each sampled test set.

    All systems see the same samples. Earlier chunks are drawn too, as later ones follow from them.
    """
    metrics, places, tables, _, seed, _ = plan
    segments = tables[0].shape[1]
    outputs = [output for table in tables for output in table]
    sums = _Sums(outputs)
    rng, scores, show = streams.score_bootstrap(seed), [], current().progress
    for number, chunk in enumerate(plan.chunks(())[:end]):
        show("resampling", number, end)
        size = chunk.stop - chunk.start
        drawn = rng.integers(segments, size=(size, segments))
        if number < begin:
            continue
        drawn += np.arange(size)[:, np.newaxis] * segments
        times = np.bincount(drawn.ravel(), minlength=size * segments).astype(np.float32)
        sampled = sums.sums(times.reshape(size, segments))
        pairs = zip(metrics, places, strict=True)
        scores.append([_scored(metric, sampled, place) for metric, place in pairs])
    return np.concatenate(scores, axis=2)


def _randomized(plan: SamplePlan, kind: Kind, begin: int, end: int) -> IntArray:
    """Count the random exchanges that make as large a difference, (pairs, metrics).

    As in MultEval, the outputs of all replicas are one long test set. In each segment the
    replicas' outputs are permuted, and each is then swapped with one of the other system or kept.
    If the numbers of replicas differ, all outputs of a segment are dealt out at random. All pairs
    see the same exchanges: sums are made once for each system.
    """
    show, pairs = current().progress, plan.of_kind(kind)
    firsts, others = (list(dict.fromkeys(side)) for side in zip(*pairs, strict=True))
    segments, width = plan.tables[0].shape[1:]
    totals = [table.sum(axis=(0, 1))[:, np.newaxis] for table in plan.tables]
    sums_of_firsts, sums_of_others = (
        _Sums([plan.tables[n].reshape(-1, width) for n in side]) for side in (firsts, others)
    )

    def changes(pair: Pair, first: FloatArray) -> FloatArray:
        """Return (metrics, samples) differences, if the first system has these sums."""
        other = totals[pair[0]] + totals[pair[1]] - first
        return np.stack(
            [
                _scored(metric, other, place) - _scored(metric, first, place)
                for metric, place in zip(plan.metrics, plan.places, strict=True)
            ]
        )

    least = [np.abs(changes(pair, totals[pair[0]])) - TIE for pair in pairs]
    extreme = np.zeros((len(pairs), len(plan.metrics)), dtype=np.int64)
    rng = streams.randomization(plan.seed, kind[1])
    for number, chunk in enumerate(plan.chunks(kind)[:end]):
        show("resampling", number, end)
        size = chunk.stop - chunk.start
        from_first, from_other = _assignments(rng, size, segments, *kind)
        if number < begin:  # another worker scores it
            continue
        kept = sums_of_firsts.sums(from_first.reshape(size, -1))
        taken = sums_of_others.sums(from_other.reshape(size, -1))
        for n, pair in enumerate(pairs):
            first = kept[:, firsts.index(pair[0])] + taken[:, others.index(pair[1])]
            extreme[n] += np.count_nonzero(np.abs(changes(pair, first)) >= least[n], axis=1)
    return extreme


def _assignments(
    rng: np.random.Generator, size: int, segments: int, first_replicas: int, replicas: int
) -> tuple[SingleArray, SingleArray]:
    """Return which outputs make up the randomized first system, 0 or 1 each.

    Returns
    -------
    (size, first_replicas, segments), (size, replicas, segments) float32
        Outputs of the first system and of the other one. Each segment has `first_replicas` ones.
    """
    if first_replicas != replicas:
        keys = rng.random((size, first_replicas + replicas, segments), dtype=np.float32)
        # Of equal keys the first one: numpy's usual sort depends on the processor.
        order = keys.argsort(axis=1, kind="stable")
        is_first = (order.argsort(axis=1, kind="stable") < first_replicas).astype(np.float32)
        return is_first[:, :first_replicas], is_first[:, first_replicas:]
    shape = (size, first_replicas, segments)
    count = size * first_replicas * segments
    bits = np.frombuffer(rng.bytes(-(-count // 8)), dtype=np.uint8)
    swapped = np.unpackbits(bits, count=count).reshape(shape).astype(np.float32)
    if first_replicas == 1:
        return 1.0 - swapped, swapped
    # All swaps within a segment are alike, so it is enough to permute one side.
    order = rng.random(shape, dtype=np.float32).argsort(axis=1, kind="stable")
    return 1.0 - swapped, np.take_along_axis(swapped, order, axis=1)


class _Sums:
    """Sums over resampled test sets, of statistics that were rounded by `_exact`.

    If no sum of a column of whole numbers reaches 2**24, float32 is exact and takes half the time.

    Parameters
    ----------
    outputs : N arrays (S, K) float64
        Their rows are resampled. A sample has no more rows than there are.
    """

    def __init__(self, outputs: Sequence[FloatArray]) -> None:
        stacked = np.stack(outputs, axis=2)
        whole = (stacked == np.rint(stacked)).all(axis=(0, 2))
        highest = np.abs(stacked).max(axis=(0, 2)) * len(stacked)
        single = whole & (highest <= 2.0**_SINGLE_BITS)
        self._shape = stacked.shape[1:]
        self._parts = [
            (columns, stacked[:, columns].reshape(len(stacked), -1).astype(dtype))
            for columns, dtype in ((single, np.float32), (~single, np.float64))
            if columns.any()
        ]

    def sums(self, times: SingleArray) -> FloatArray:
        """Return (K, N, B) sums; `times` (B, S) counts each row in each sample."""
        sums = np.empty((*self._shape, len(times)))
        for columns, table in self._parts:
            weights = times.astype(table.dtype, copy=False)
            product = np.empty((len(times), table.shape[1]), dtype=table.dtype)
            most = _ONE_THREAD if 4 * table.size <= _ONE_THREAD else product.size * len(table)
            for part in chunks(len(times), table.size, most=most):
                np.matmul(weights[part], table, out=product[part])
            sums[columns] = product.T.reshape(-1, *sums.shape[1:])
        return sums


def _scored(metric: Metric, sums: FloatArray, places: IntArray) -> FloatArray:
    """Return the scores (...) of sums (K, ...)."""
    with faults_at("a sampled test set", InputError, InputError):
        return finite_scores(metric, np.moveaxis(sums[places], 0, -1))


SAMPLES = 10_000
"""Resampled test sets and randomized pairs: p-values are then exact to about 0.005."""

MOST_UNITS = 10_000
"""More segments, or groups, are dealt at random into so many blocks, which are then drawn and
exchanged. Exchanges of blocks are some of those of segments, so the test stays exact; the
standard error of a bootstrap over so many units is off by 0.7 %."""

_EXACT_BITS = 53
"""Bits of the mantissa of a float64."""


@dataclass(frozen=True)
class Resampling:
    """The random samples for tests and intervals.

    Parameters
    ----------
    samples
        Number of bootstrap samples of the test set, and of randomizations in a test.
    seed
        Seed of all random choices. Equal seeds give equal results.
    level
        Confidence level of the intervals.
    """

    samples: Positive = SAMPLES
    seed: Natural = 1
    level: Level = 0.95

    common = 0.0
    """Share of the segments that two replicas have both learnt from; replicas of seeds alone do
    not differ by what they learn from."""

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
        if not 0.0 < self.level < 1.0:
            raise ValueError(f"level is {self.level}; it must be between 0 and 1")


@dataclass(frozen=True)
class Spread:
    """The score of one system under one metric, and how much it varies.

    Parameters
    ----------
    score
        Mean of `replica_scores`, the corpus scores of the replicas.
    low, high
        Interval of `score`, from the bootstrap or, with groups, from standard_errors.py; None
        without a sample to draw, see `is_resampled`, or if the score is the same on all of them.
    s_sel
        Standard deviation over samples of the test set, a mean over replicas; None as `low`.
    s_opt
        Standard deviation over replicas (n - 1); None with one replica.
    """

    score: float
    replica_scores: tuple[float, ...]
    low: float | None
    high: float | None
    s_sel: float | None
    s_opt: float | None


@dataclass(frozen=True)
class PairTest:
    """A test of one system against the first, under one metric. All p-values are two-sided.

    All but the difference is None without a sample to draw, see `is_resampled`.

    Parameters
    ----------
    difference
        Score of the system minus that of the first.
    difference_low, difference_high
        Its interval: from the bootstrap if neither system has replicas, with groups from
        standard_errors.py, else from the t-test. None if the difference is the same in all.
    p
        The verdict: `p_randomization` if neither system has replicas, else that of a t-test of
        chance in the test set and in tuning.
    p_randomization
        Share of random exchanges of outputs that make as large a difference; stratified over
        segments and replicas.
    p_bootstrap
        Paired bootstrap: twice the share of sampled test sets in which the system is not better
        than the first, or not worse, whichever is smaller. None if there is a difference, the same
        on all samples.
    error, degrees
        Its standard error, see standard_errors.py (`t_test_with_tuning` with replicas), and the
        degrees of freedom of Student's t for it.
    tuning_error
        The part of `error` that more segments do not lower, of few replicas; None without.
    intraclass
        Correlation of two segments of one group, of what each adds to the difference; None without
        groups, or if no group has two segments.
    design_effect
        Variance of the difference, divided by what it were if segments were independent.
    """

    difference: float
    difference_low: float | None = None
    difference_high: float | None = None
    p: float | None = None
    p_randomization: float | None = None
    p_bootstrap: float | None = None
    error: float | None = None
    degrees: float | None = None
    tuning_error: float | None = None
    intraclass: float | None = None
    design_effect: float | None = None


def is_resampled(segments: int, samples: int) -> bool:
    """Return whether a test set can be resampled: it has two segments, and two samples are drawn.

    Samples of one segment are all that segment. Their deviation would be 0.
    """
    return segments > 1 and samples > 1


def systems_tested(
    metrics: Sequence[Metric],
    systems: Sequence[Sequence[FloatArray]],
    resampling: Resampling | None = None,
    groups: Groups | None = None,
    pairs: Sequence[Pair] = (),
) -> tuple[list[list[Spread]], list[list[PairTest]]]:
    """Bootstrap all systems and test each against the first, or others against each other.

    Parameters
    ----------
    metrics
        M metrics.
    systems
        For each system M arrays (R, S, K): statistics under each metric of R replicas and S
        segments. Systems may have different numbers of replicas.
    groups
        The group of each segment. Default: segments are independent.
    pairs
        The numbers of two systems each: the second one is tested against the first. Default: all
        systems against the first one.

    Returns
    -------
    spreads : M lists with an entry for each system
    tests : M lists with an entry for each pair

    Raises
    ------
    ValueError
        No system, or systems of different segments.
    """
    resampling = resampling or Resampling()
    pairs = pairs or [(0, n) for n in range(1, len(systems))]
    ends = np.cumsum([0, *(len(metric.stat_names) for metric in metrics)]).tolist()
    columns = [slice(start, stop) for start, stop in itertools.pairwise(ends)]
    tables = [np.concatenate(list(stats), axis=2) for stats in systems]
    if not tables or len({table.shape[1] for table in tables}) != 1 or tables[0].shape[1] == 0:
        raise ValueError("systems must have the same segments, at least one")
    by_segment = tables
    tables = _exact(tables if groups is None else [groups.summed(table) for table in tables])
    observed = [
        [finite_scores(metric, table.sum(axis=1)[:, part]).tolist() for table in tables]
        for metric, part in zip(metrics, columns, strict=True)
    ]
    units = tables[0].shape[1]
    if not is_resampled(units, resampling.samples):
        untested = [
            [_spread(scores, np.empty((len(scores), 0)), None) for scores in of_metric]
            for of_metric in observed
        ]
        return untested, [
            [PairTest(spreads[other].score - spreads[first].score) for first, other in pairs]
            for spreads in untested
        ]
    if units > MOST_UNITS:
        numbers = streams.blocks(resampling.seed, units).permutation(units) % MOST_UNITS
        blocks = Groups(tuple(map(str, range(MOST_UNITS))), numbers, "blocks")
        tables = [blocks.summed(table) for table in tables]
    tables, places = _without_copies(tables, columns)
    sampled, randomized = samples_of(
        SamplePlan(metrics, places, tables, resampling.samples, resampling.seed, pairs)
    )
    spreads, tests = [], []
    for m, (metric, part) in enumerate(zip(metrics, columns, strict=True)):
        left_out = None
        if metric.is_smooth:
            left_out = scores_left_out(metric, [table[..., part] for table in by_segment], groups)
        judged = _Judged(observed[m], sampled[m], left_out, units, resampling)
        spreads.append([judged.spread(i) for i in range(len(tables))])
        tests.append([judged.test(*pair, randomized[pair][m]) for pair in pairs])
    return spreads, tests


@dataclass(frozen=True, eq=False)
class _Judged:
    """The samples of all systems under one metric.

    Parameters
    ----------
    observed, sampled
        For each system (R,) scores, and (R, B) bootstrapped ones, of its replicas.
    left_out
        Scores without one unit each; None if the score has steps, which the jackknife misses.
    units
        The number of groups, or of segments without groups.
    """

    observed: Sequence[Sequence[float]]
    sampled: Sequence[FloatArray]
    left_out: ScoresLeftOut | None
    units: int
    resampling: Resampling

    def spread(self, system: int) -> Spread:
        """Return the score of a system and its spread."""
        observed, sampled = self.observed[system], self.sampled[system]
        bounds = interval(sampled.mean(axis=0), self.resampling.level)
        if self.left_out is not None and self.left_out.groups is not None and bounds is not None:
            score = float(np.mean(observed))
            standard, level = self.left_out.error(system), self.resampling.level
            bounds = (
                None
                if standard is None
                else t_interval(score, standard.error, standard.degrees, level)
            )
        return _spread(observed, sampled, bounds)

    def test(self, first: int, system: int, p: float) -> PairTest:
        """Return the test of a system against another; `p` is that of randomization."""
        level = self.resampling.level
        change = self.sampled[system].mean(axis=0) - self.sampled[first].mean(axis=0)
        difference = float(np.mean(self.observed[system]) - np.mean(self.observed[first]))
        bounds = interval(change, level)
        is_certain = np.ptp(change) <= TIE < abs(difference)
        standard, is_grouped = None, False
        if self.left_out is not None:
            is_grouped = self.left_out.groups is not None
            standard = None if bounds is None else self.left_out.error(system, first)
        elif bounds is not None:
            standard = StandardError(float(change.std(ddof=1)), self.units - 1.0)
        both = [(np.array(self.observed[n]), self.sampled[n]) for n in (first, system)]
        of_groups = standard if is_grouped else None
        tested = t_test_with_tuning(
            difference, both, self.units, of_groups, self.resampling.common
        )
        if tested is not None:  # with the chance of tuning
            error, degrees = tested.error, tested.degrees
            bounds = t_interval(difference, error, degrees, level)
            standard = replace(
                standard or StandardError(error, degrees), error=error, degrees=degrees
            )
        elif is_grouped and standard is not None:
            bounds = t_interval(difference, standard.error, standard.degrees, level)
        fewest = min(np.count_nonzero(side * change <= TIE) for side in (1, -1))
        p_bootstrap = min(1.0, 2 * (1 + int(fewest)) / (self.resampling.samples + 1))
        low, high = bounds or (None, None)
        return PairTest(
            difference,
            low,
            high,
            p if tested is None else tested.p,
            p,
            None if is_certain else p_bootstrap,
            tuning_error=None if tested is None else tested.tuning_error or None,
            **({} if standard is None else vars(standard)),
        )


def holm(values: Sequence[float], resampling: Resampling | None = None) -> list[float]:
    """Return p-values corrected for their number by Holm's step-down method, in the same order.

    With `resampling` they are by exchanges, so none is below 1 / (samples + 1); a warning says if
    no corrected one can be below 1 - level (Holm, "A simple sequentially rejective multiple test
    procedure", 1979).
    """
    if resampling is not None:
        alpha, count = round(1.0 - resampling.level, 12), len(values)
        enough = math.floor(round(count / alpha, 6))
        if resampling.samples < enough:
            warn(
                f"with {counted(resampling.samples, 'sample')} and {counted(count, 'comparison')} "
                f"no corrected p (Holm) can be below {alpha:g}; take --samples {enough}"
            )
    corrected = [0.0] * len(values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(values)), key=lambda i: values[i])):
        largest = max(largest, min(1.0, (len(values) - rank) * values[index]))
        corrected[index] = largest
    return corrected


def correct(
    rows: list[dict[str, Any]],
    tests: Sequence[str] = ("p",),
    resampling: Resampling | None = None,
) -> list[dict[str, Any]]:
    """Return rows with their p-values corrected within their `family`: `p_holm` and so on.

    Rows without a family are one. `resampling` is for `holm`.
    """
    for test in tests:
        families: dict[str | None, list[dict[str, Any]]] = {}
        for row in rows:
            row[f"{test}_holm"] = None
            if row[test] is not None:
                families.setdefault(row.get("family"), []).append(row)
        for members in families.values():
            by_exchanges = test == "p" and all(x["p"] == x["p_randomization"] for x in members)
            values = holm([x[test] for x in members], resampling if by_exchanges else None)
            for row, p in zip(members, values, strict=True):
                row[f"{test}_holm"] = p
    return rows


def _exact(tables: Sequence[FloatArray]) -> list[FloatArray]:
    """Round statistics so that sums over a test set are exact.

    Counts do not change. A fraction becomes a multiple of a power of 2 that is large enough for
    sums over all segments and replicas to fit into 53 bits. A sum is then the same in any order
    in which a matrix product takes it. The change is about 1e-16 of a column's sum.
    """
    largest = np.max([np.abs(table).max(axis=(0, 1)) for table in tables], axis=0)
    highest_sums = largest * (max(len(table) for table in tables) * 2 * tables[0].shape[1])
    _, exponents = np.frexp(np.maximum(highest_sums, 1.0))
    unit = np.ldexp(1.0, exponents - _EXACT_BITS)
    return [np.rint(table / unit) * unit for table in tables]


def _without_copies(
    tables: Sequence[FloatArray], columns: Sequence[slice]
) -> tuple[list[FloatArray], list[IntArray]]:
    """Drop copies of columns, and return the new columns of each metric.

    Metrics of one family count the same n-grams.
    """
    joined = np.moveaxis(np.concatenate([*tables]), 2, 0)
    distinct: dict[bytes, int] = {}
    places = np.array([distinct.setdefault(c.tobytes(), len(distinct)) for c in joined])
    first_copies = np.unique(places, return_index=True)[1]
    return [table[:, :, first_copies] for table in tables], [places[part] for part in columns]


def _spread(
    observed: Sequence[float], sampled: FloatArray, bounds: tuple[float, float] | None
) -> Spread:
    low, high = bounds or (None, None)
    return Spread(
        score=float(np.mean(observed)),
        replica_scores=tuple(observed),
        low=low,
        high=high,
        s_sel=None if bounds is None else float(sampled.std(axis=1, ddof=1).mean()),
        s_opt=deviation(observed),
    )
