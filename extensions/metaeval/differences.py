"""Tests whether one metric agrees better with people than another, by permutations.

PERM-BOTH standardises both metrics. It swaps each score of a system's translation of a segment
between them with probability 1/2: if they were equally good, nothing would change. After a swap
with signs s (1: kept, -1: swapped) a score is (x + y) / 2 + s (x - y) / 2. For correlations of
systems, what segments add to the score of a corpus is swapped. So every sum behind
Pearson's r is linear in s, with one term from each metric, and so is the difference of two Kendall
taus, see `kendall_terms`. All permutations of all pairs of metrics are therefore a few matrix
products. Squares of the means that are removed from rows need products of two metrics.

A measure that is a mean over rows (of the correlation within each, or of a share) is tested by
swapping whole rows, which needs no common scale.

References
----------
Deutsch, Dror & Roth, "A Statistical Analysis of Summarization Evaluation Metrics Using Resampling
Methods", TACL 2021.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray
from portmert.tuner.base.variation import chunks

from ._correlation_kernels import kendall_terms
from .correlation import Pairs, pearson, rounded, spearman
from .data import Points
from .intervals import correlation, joined_moments

_CHUNK = 1 << 23
"""Entries of the largest array of a chunk of permutations."""
_ROUNDING = 1e-12
"""Differences nearer than this are equal."""
_SYSTEM = ("system.pearson", "system.spearman", "system.pairwise")
_PEARSONS = ("pearson", "pearson_weighted")
_REMOVED = ("pearson_mean_removed", "pearson_mean_removed_weighted", "pearson_deltas")
STREAMS = {"segment": 0, "document": 1, "group": 8}
"""Number of the generator of each level; 2 is that of rows."""


@dataclass(frozen=True, eq=False)
class ScoredPoints:
    """Scores of several metrics for the data points of one test set.

    Parameters
    ----------
    points : Points
    scores : (n, N, M) float64
        Scores by n metrics.
    pairs : Pairs or None
        Judgments of pairs of outputs of a segment; None for documents.
    systems : (M,) float64 or None
        People's scores of the systems; None for documents.
    contributions : (n, N, M) float64 or None
        What segments add to the metrics' scores of systems, which are their means. They are
        swapped for measures of systems.
    """

    points: Points
    scores: FloatArray
    pairs: Pairs | None = None
    systems: FloatArray | None = None
    contributions: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Permuted:
    """Differences of all pairs of metrics, first minus second.

    Parameters
    ----------
    observed : dict
        Measure -> (Q,).
    samples : dict
        Measure -> (R, Q), one row for each permutation.
    """

    observed: dict[str, FloatArray]
    samples: dict[str, FloatArray]

    def p_values(self) -> dict[str, FloatArray]:
        """Return (Q,) two-sided p of each: (1 + differences as large) / (permutations + 1)."""
        return {
            name: (1 + np.count_nonzero(np.abs(samples) >= np.abs(observed) - _ROUNDING, axis=0))
            / (len(samples) + 1)
            for (name, samples), observed in zip(
                self.samples.items(), self.observed.values(), strict=True
            )
        }

    def corrected(self) -> dict[str, FloatArray]:
        """Return (Q,) p of each, corrected for their number by the largest of all differences.

        All pairs of metrics see the same permutations. Each of the Q differences is divided by its
        spread over permutations. The p counts how often the largest of them is as large as the
        observed one (Westfall & Young, "Resampling-Based Multiple Testing", 1993). With 1,000
        permutations, Holm's correction would find nothing among more than 50 pairs.
        """
        p_by_measure = {}
        for name, samples in self.samples.items():
            spread = np.sqrt(np.mean(samples**2, axis=0))
            varies = spread > _ROUNDING
            unit = np.where(varies, spread, np.inf)
            largest = np.sort((np.abs(samples) / unit).max(axis=1, initial=0.0))
            observed = np.abs(self.observed[name]) / unit
            as_large = len(largest) - np.searchsorted(largest, observed - 1e-9)
            p_by_measure[name] = (1 + as_large) / (len(largest) + 1)
        return p_by_measure

    @classmethod
    def mean(cls, parts: Sequence[Permuted]) -> Permuted:
        """Return the means over several test sets, which are permuted independently."""
        names = [
            name for name in parts[0].observed if all(name in part.observed for part in parts)
        ]
        return cls(
            {name: np.mean([part.observed[name] for part in parts], axis=0) for name in names},
            {name: np.mean([part.samples[name] for part in parts], axis=0) for name in names},
        )


def metric_pairs(count: int) -> IntArray:
    """Return (Q, 2): all pairs of `count` metrics, the lower number first."""
    return np.stack(np.triu_indices(count, 1), axis=1).astype(np.int64)


def permute(
    blocks: Sequence[ScoredPoints], level: str, *, permutations: int, rng: np.random.Generator
) -> Permuted:
    """Swap scores of every two metrics, and compare how they agree with people then.

    Parameters
    ----------
    blocks
        One for each test set. Correlations are over all of them. A single one that has `pairs`
        gives measures of systems too.
    level
        `segment` or `document`, the first part of the names of measures.
    """
    weights = np.array([block.points.counts.sum() for block in blocks])
    human = joined_moments(weights, [block.points.human_moments for block in blocks])
    sides = [_standardised(blocks, removed=removed) for removed in (False, True)]
    tests = [_Test(block, scores, human) for block, *scores in zip(blocks, *sides, strict=True)]
    size = sum(block.points.human.size for block in blocks)
    parts = [_all_differences(tests, level, None)]
    for part in chunks(permutations, size, most=4 * _CHUNK):
        count = part.stop - part.start
        signs = [
            2 * rng.integers(0, 2, size=(count, *block.points.human.shape), dtype=np.int8) - 1
            for block in blocks
        ]
        parts.append(_all_differences(tests, level, signs))
    return Permuted(
        {name: values[0] for name, values in parts[0].items()},
        {name: np.concatenate([part[name] for part in parts[1:]]) for name in parts[0]},
    )


def permute_all(
    blocks: Sequence[Mapping[str, ScoredPoints]],
    rows: Sequence[Mapping[str, tuple[FloatArray, FloatArray]]],
    permutations: int,
    stream: Callable[[int], np.random.Generator],
) -> Permuted:
    """Permute the scores of every level, and the rows of measures that are means over rows.

    Parameters
    ----------
    blocks, rows
        For each test set: level -> data points; measure -> values and weights of rows. Only what
        all sets have is permuted.
    stream
        Returns the generators: those of `STREAMS`, and 2 for rows.
    """
    observed: dict[str, FloatArray] = {}
    samples: dict[str, FloatArray] = {}
    levels = [level for level in blocks[0] if all(level in by_level for by_level in blocks)]
    for level in levels:
        of_level = [by_level[level] for by_level in blocks]
        permuted = permute(of_level, level, permutations=permutations, rng=stream(STREAMS[level]))
        observed |= permuted.observed
        samples |= permuted.samples
    rng = stream(2)
    for name in rows[0]:
        if all(name in by_measure for by_measure in rows):
            each = [by_measure[name] for by_measure in rows]
            observed[name], samples[name] = permute_rows(each, permutations=permutations, rng=rng)
    return Permuted(observed, samples)


def permute_rows(
    rows: Sequence[tuple[FloatArray, FloatArray]], *, permutations: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return (Q,) differences of means over rows and (R, Q) with whole rows swapped.

    Parameters
    ----------
    rows
        For each test set (n, N) values of n metrics, and (N,) weights of the rows.
    """
    total = sum(float(weights.sum()) for _, weights in rows) or 1.0
    first, second = metric_pairs(len(rows[0][0])).T
    observed = np.zeros(len(first))
    samples = np.zeros((permutations, len(first)))
    for values, weights in rows:
        weighted = (values * weights / total).T
        difference = weighted.sum(axis=0)
        observed += difference[first] - difference[second]
        signs = 2.0 * rng.integers(0, 2, size=(permutations, len(weights)), dtype=np.int8) - 1
        moved = signs @ weighted
        samples += moved[:, first] - moved[:, second]
    return observed, samples


def _standardised(blocks: Sequence[ScoredPoints], *, removed: bool) -> list[FloatArray]:
    """Return for each block (n, N, M) standardised scores, maybe without the means of rows."""
    weights = np.array([block.points.counts.sum() for block in blocks])
    sides = [_row_centred(x.scores, x.points) if removed else x.scores for x in blocks]
    moments = [
        joined_moments(
            weights,
            [x.points.moments(of_metric) for x, of_metric in zip(blocks, each, strict=True)],
        )
        for each in zip(*sides, strict=True)
    ]
    mean, spread = np.array(moments).T[..., np.newaxis, np.newaxis]
    return [(scores - mean) / np.where(spread > 0, spread, np.inf) for scores in sides]


def _row_centred(scores: FloatArray, points: Points) -> FloatArray:
    """Return scores (..., N, M) without the mean of each row, over its judgments."""
    judged = np.maximum(points.counts.sum(axis=1, keepdims=True), 1.0)
    mean = (points.counts * scores).sum(axis=-1, keepdims=True) / judged
    # Rounding errors are no difference.
    centred = np.where(points.counts > 0, scores - mean, 0.0)
    constant = np.abs(centred).max(axis=-1, keepdims=True) <= _ROUNDING
    return np.where(constant, 0.0, centred)


class _Test:
    """Terms of all differences on one test set, for Q pairs of n metrics.

    Parameters
    ----------
    scores : (n, N, M) float64, twice
        Standardised, and standardised without the means of rows.
    human
        Mean and standard deviation of human scores on all test sets.
    """

    def __init__(
        self,
        block: ScoredPoints,
        scores: Sequence[FloatArray],
        human: tuple[float, float],
    ) -> None:
        points = block.points
        self.plain, self.removed = scores
        self.pairs, self.human_systems = block.pairs, block.systems
        self.contributions = block.contributions
        self.counts, self.lengths = points.counts, points.lengths
        self.several = points.human.shape[1] > 1
        mean, spread = human[0], human[1] or np.inf
        self.human = (points.human - mean) / spread
        self.squares = self.counts * self.human**2 + points.within / spread**2
        self.judged = np.maximum(self.counts.sum(axis=1), 1.0)
        self.row_human = _row_centred(self.human, points)
        self.row_squares = self.counts * self.row_human**2 + points.within / spread**2
        # Pairs of a row's n scores differ n times as much as the scores from their mean.
        self.weights = (np.ones_like(self.lengths), self.lengths, self.counts.sum(axis=1))
        sides = ((self.plain, self.human), (self.removed, self.row_human))
        self.columns = []  # (9 n, N M): terms of `sums`, plain and without the means of rows
        for values, human_scores in sides:
            terms = np.stack([values, values**2, values * human_scores]) * self.counts
            both = np.stack([terms * weights[:, None] for weights in self.weights])
            self.columns.append(both.reshape(-1, human_scores.size))

    def sums(self, signs: FloatArray | None, *, removed: bool) -> FloatArray:
        """Return (3, 3, R, n): sums of x, x squared and x times y with each of the `weights`.

        Parameters
        ----------
        signs : (R, N, M) float64 or None
            None: all are 1; these sums do not change by swaps.
        removed
            Whether the means of rows are removed from x and y.
        """
        columns = self.columns[removed]
        if signs is None:
            moved = columns.sum(axis=1)[None]
        else:
            moved = signs.reshape(len(signs), -1) @ columns.T
        return np.moveaxis(moved.reshape(len(moved), 3, 3, -1), 0, 2)

    def human_sums(self, *, removed: bool) -> FloatArray:
        """Return (3, 3): judgments and sums of people's scores and of their squares."""
        squares = self.row_squares if removed else self.squares
        return np.array(
            [
                [
                    float((weights[:, None] * terms).sum())
                    for terms in (self.counts, self.counts * self.human, squares)
                ]
                for weights in self.weights
            ]
        )

    def squared_means(self, signs: FloatArray) -> FloatArray:
        """Return (3, R, n, n): sums over rows of products of two metrics' sums with signs."""
        terms = np.ascontiguousarray((self.removed * self.counts).transpose(1, 2, 0))
        products = np.empty((3, len(signs), terms.shape[2], terms.shape[2]))
        for part in chunks(len(signs), terms.shape[0] * max(terms.shape[1:]), most=_CHUNK):
            # (N, R, M) @ (N, M, n): one product for each row.
            moved = np.matmul(signs[part].transpose(1, 0, 2), terms)
            moved = np.ascontiguousarray(moved.transpose(1, 2, 0))
            for place, weights in enumerate(self.weights):
                scaled = moved * (weights / self.judged)  # (R, n, N)
                products[place, part] = np.matmul(scaled, moved.transpose(0, 2, 1))
        return products

    def kendall(self, signs: NDArray[Any], pairs: IntArray) -> FloatArray:
        """Return (R, Q) differences of right less wrong judgments."""
        assert self.pairs is not None  # noqa: S101  the caller has checked it
        systems = np.stack([self.pairs.first, self.pairs.second], axis=1)
        scores = np.ascontiguousarray(self.plain.transpose(0, 2, 1))
        better, worse = (
            np.ascontiguousarray(judgments.T, dtype=np.float32)
            for judgments in (self.pairs.better, self.pairs.worse)
        )
        flat = np.ascontiguousarray(signs.transpose(0, 2, 1), dtype=np.float32)
        flat = flat.reshape(len(signs), -1)
        differences = np.empty((len(flat), len(pairs)))
        for part in chunks(len(pairs), flat.shape[1], most=_CHUNK):
            terms = kendall_terms(scores, pairs[part], better, worse, systems)
            # Whole numbers and halves, far too small to be rounded in single precision.
            differences[:, part] = flat @ terms.reshape(len(terms), -1).T
        return differences

    def systems(self, signs: FloatArray, pairs: IntArray) -> FloatArray:
        """Return (3, R, Q) differences of `_SYSTEM`."""
        assert self.contributions is not None  # noqa: S101  the caller has checked it
        assert self.human_systems is not None  # noqa: S101
        every = self.contributions.reshape(len(self.contributions), -1)  # (n, N M)
        mean, spread = (
            np.atleast_3d(f(every, axis=1)).transpose(1, 0, 2) for f in (np.mean, np.std)
        )
        varies = spread > _ROUNDING * np.maximum(1.0, np.abs(mean))
        terms = (self.contributions - mean) / np.where(varies, spread, np.inf)
        terms /= terms.shape[1]
        centre = terms.sum(axis=1)
        by_system = np.ascontiguousarray(signs.transpose(2, 0, 1))
        moved = np.matmul(by_system, np.ascontiguousarray(terms.transpose(2, 1, 0)))
        moved = moved.transpose(1, 2, 0)  # (R, n, M)
        human = rounded(self.human_systems)
        better, worse = np.nonzero(human[:, np.newaxis] > human)
        differences = np.zeros((len(_SYSTEM), len(signs), len(pairs)))
        for place, (first, second) in enumerate(pairs.tolist()):
            middle = (centre[first] + centre[second]) / 2
            half = (moved[:, first] - moved[:, second]) / 2
            for side in (1.0, -1.0):
                scores = rounded(middle + side * half)
                right = (scores[:, better] > scores[:, worse]).sum(axis=1) / max(len(better), 1)
                measures = np.stack([pearson(scores, human), spearman(scores, human), right])
                differences[:, :, place] += side * np.nan_to_num(measures)
        return differences


def _all_differences(
    tests: Sequence[_Test], level: str, signs: Sequence[NDArray[np.int8]] | None
) -> dict[str, FloatArray]:
    """Return (R, Q) of each measure. Without signs nothing is swapped and R is 1."""
    pairs = metric_pairs(len(tests[0].plain))
    if signs is None:
        signs = [np.ones((1, *test.human.shape), dtype=np.int8) for test in tests]
    differences: dict[str, list[FloatArray]] = {}
    largest = max(test.human.size for test in tests)
    for rows in chunks(len(signs[0]), largest, most=_CHUNK):
        part = [part_of_signs[rows].astype(np.float64) for part_of_signs in signs]
        chunk = _pearson_differences(tests, part, pairs)
        if len(tests) == 1 and tests[0].contributions is not None:
            chunk |= dict(zip(_SYSTEM, tests[0].systems(part[0], pairs), strict=True))
        for name, values in chunk.items():
            full = name if "." in name else f"{level}.{name}"
            differences.setdefault(full, []).append(values)
    joined = {name: np.concatenate(values) for name, values in differences.items()}
    if all(test.pairs is not None for test in tests):
        count = sum(test.pairs.count for test in tests if test.pairs is not None)
        if count:
            counted = _total(
                test.kendall(part_of_signs, pairs)
                for test, part_of_signs in zip(tests, signs, strict=True)
            )
            joined[f"{level}.wmt10"] = counted / count
    return joined


def _pearson_differences(
    tests: Sequence[_Test], signs: Sequence[FloatArray], pairs: IntArray
) -> dict[str, FloatArray]:
    """Return (R, Q) of each of Pearson's correlations, from sums over all tests."""
    first, second = pairs.T
    differences = {}
    for removed in (False, True)[: 1 + any(test.several for test in tests)]:
        fixed = _total(test.sums(None, removed=removed) for test in tests)
        moved = _total(
            test.sums(test_signs, removed=removed)
            for test, test_signs in zip(tests, signs, strict=True)
        )
        squared = _total(
            test.squared_means(test_signs) if removed else np.zeros(3)
            for test, test_signs in zip(tests, signs, strict=True)
        )
        human = _total(test.human_sums(removed=removed) for test in tests)
        for place, name in enumerate(_REMOVED if removed else _PEARSONS):
            total, y, yy = human[place]
            total = max(total, 1e-300)
            sides = []
            for x, xx, xy in _both_sides(fixed[place], moved[place], first, second):
                if removed:
                    products = squared[place]
                    twice = products[:, first, first] + products[:, second, second]
                    squares = xx - (twice - 2 * products[:, first, second]) / 4, yy
                    sides.append(np.nan_to_num(correlation(xy, *squares, total)))
                else:
                    squares = xx - x * x / total, yy - y * y / total
                    sides.append(np.nan_to_num(correlation(xy - x * y / total, *squares, total)))
            differences[name] = sides[0] - sides[1]
    return differences


def _total(parts: Iterable[FloatArray]) -> FloatArray:
    """Return the sum of arrays of one shape."""
    return np.asarray(sum(parts))


def _both_sides(
    fixed: FloatArray, moved: FloatArray, first: IntArray, second: IntArray
) -> Iterator[FloatArray]:
    """Yield (3, R, Q) sums of the first metric and of the second one after swaps."""
    middle = (fixed[..., first] + fixed[..., second]) / 2
    half = (moved[..., first] - moved[..., second]) / 2
    yield middle + half
    yield middle - half
