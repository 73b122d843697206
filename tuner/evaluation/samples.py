"""Scores resampled test sets, here or some at each worker of a cluster.

The samples of a chunk follow from those of the chunks before: who scores a later chunk draws those
too. Statistics are such that no sum is ever rounded (see `significance`), so that it does not
matter who adds them, and how.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray, Metric
from portmert.tuner.executors.team import Team
from portmert.tuner.ground import streams

Progress = Callable[[int, int], None]
SingleArray = NDArray[np.float32]

TIE = 1e-12
"""Scores nearer than this are equal: sums are exact, but the mean of several scores is rounded."""

_BOOTSTRAP_ENTRIES, _RANDOMIZATION_ENTRIES = 500_000, 2_000_000
"""Entries of the matrix of one chunk of samples: 4 and 8 MB. Random swaps depend on the latter."""
_SINGLE_BITS = 24
"""Of the mantissa of a float32."""


class Plan(NamedTuple):
    """Holds what all samples are drawn for.

    Parameters
    ----------
    metrics, places
        M metrics, and which statistics are theirs.
    tables
        Of each system the (R, S, K) statistics of R replicas and S segments.
    samples, seed
        How many samples there are of each kind; equal seeds, equal samples.
    """

    metrics: Sequence[Metric]
    places: Sequence[IntArray]
    tables: Sequence[FloatArray]
    samples: int
    seed: int

    def chunks(self, replicas: int) -> list[slice]:
        """Cut the samples so that the matrix of a chunk has not too many entries."""
        own, segments, _ = self.tables[0].shape
        entries = segments * (own + replicas) if replicas else segments
        most = _RANDOMIZATION_ENTRIES if replicas else _BOOTSTRAP_ENTRIES
        size, samples = max(1, most // max(entries, 1)), self.samples
        return [slice(at, min(at + size, samples)) for at in range(0, samples, size)]


def samples_of(
    plan: Plan, team: Team
) -> tuple[list[list[FloatArray]], list[dict[int, list[float]]]]:
    """Let a team draw all samples; each task some chunks of one kind.

    Returns
    -------
    For each metric and system the (R, B) bootstrapped scores of its replicas; for each number of
    replicas of systems: system -> p of each metric.
    """
    kinds = [0, *sorted({len(table) for table in plan.tables[1:]})]
    shared, tasks = team.shared(plan), []
    for replicas in kinds:
        count = len(plan.chunks(replicas))
        parts = min(team.size, count)
        cuts = [count * part // parts for part in range(parts + 1)]
        tasks += [(shared, replicas, *cut, team.step) for cut in itertools.pairwise(cuts)]
    done = dict(team.run(_sampled, tasks))
    found: dict[int, list[Any]] = {replicas: [] for replicas in kinds}
    for number, (_, replicas, *_) in enumerate(tasks):
        found[replicas].append(done[number])
    ends = np.cumsum([len(table) for table in plan.tables])[:-1]
    sampled = [np.split(scores, ends) for scores in np.concatenate(found.pop(0), axis=2)]
    randomized = []
    for replicas, counts in found.items():
        p = (1 + np.sum(counts, axis=0)) / (plan.samples + 1)
        members = _of_replicas(plan.tables, replicas)
        randomized.append(dict(zip(members, p.tolist(), strict=True)))
    return sampled, randomized


def _sampled(plan: Plan, replicas: int, begin: int, end: int, step: Progress) -> Any:
    """Draw chunks `begin:end`: for the bootstrap, or to test systems of so many replicas."""
    if replicas:
        return _randomized(plan, replicas, begin, end, step)
    return _bootstrap(plan, begin, end, step)


def _of_replicas(tables: Sequence[FloatArray], replicas: int) -> list[int]:
    return [i for i in range(1, len(tables)) if len(tables[i]) == replicas]


def _bootstrap(plan: Plan, begin: int, end: int, step: Progress) -> FloatArray:
    """Return (M, N, B): the score of each output of all systems on each sampled test set.

    All systems see the same samples. Those of earlier chunks are drawn: others follow from them.
    """
    metrics, places, tables, _, seed = plan
    segments = tables[0].shape[1]
    outputs = [output for table in tables for output in table]
    sums = _Sums(outputs, _single_enough(tables))
    rng, scores = streams.score_bootstrap(seed), []
    for number, chunk in enumerate(plan.chunks(0)[:end]):
        step(number, end)
        size = chunk.stop - chunk.start
        drawn = rng.integers(segments, size=(size, segments))
        if number < begin:
            continue
        drawn += np.arange(size)[:, np.newaxis] * segments
        times = np.bincount(drawn.ravel(), minlength=size * segments).astype(np.float32)
        sampled = sums.of(times.reshape(size, segments))
        pairs = zip(metrics, places, strict=True)
        scores.append([_scored(metric, sampled, place) for metric, place in pairs])
    return np.concatenate(scores, axis=2)


def _randomized(plan: Plan, replicas: int, begin: int, end: int, step: Progress) -> IntArray:
    """Return how many random exchanges make as large a difference: (systems, metrics).

    The systems are those of so many replicas, against the first. As in MultEval the outputs of all
    replicas are one long test set: for each of its segments the replicas' outputs are permuted,
    then each is swapped with one of the other system, or not. Systems of unequal numbers of
    replicas share out all outputs of a segment at random.
    """
    metrics, places, tables, _, seed = plan
    first, members = tables[0], _of_replicas(tables, replicas)
    own, segments, width = first.shape
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
    rng = streams.randomization(seed, replicas)
    for number, chunk in enumerate(plan.chunks(replicas)[:end]):
        step(number, end)
        size = chunk.stop - chunk.start
        kept, taken = _assignments(rng, size, segments, own, replicas)
        if number < begin:  # what follows from it is drawn at another worker
            continue
        one = theirs.of(taken.reshape(size, -1))
        one += ours.of(kept.reshape(size, -1))
        other = (whole + others)[..., np.newaxis] - one
        for m, metric in enumerate(metrics):
            change = _scored(metric, other, places[m]) - _scored(metric, one, places[m])
            for n in range(len(members)):
                least = abs(observed[m][n]) - TIE
                extreme[n, m] += np.count_nonzero(np.abs(change[n]) >= least)
    return extreme


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
    return np.asarray(whole & (highest_sums(tables) <= 2.0**_SINGLE_BITS))


def _scored(metric: Metric, sums: FloatArray, places: IntArray) -> FloatArray:
    """Return the scores (...) of sums (K, ...): a statistic's values lie side by side."""
    return metric.score(np.moveaxis(sums[places], 0, -1))


def highest_sums(tables: Sequence[FloatArray]) -> FloatArray:
    """Return for each column what no sum over all replicas of two systems exceeds."""
    largest = np.max([np.abs(table).max(axis=(0, 1)) for table in tables], axis=0)
    return np.asarray(largest * (max(len(table) for table in tables) * 2 * tables[0].shape[1]))
