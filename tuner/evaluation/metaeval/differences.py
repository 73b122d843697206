"""Tests whether one metric agrees better with people than another: the PERM-BOTH test.

Both metrics are standardised, and each score of a system's translation of a segment is swapped
between them with probability 1/2: if they were equally good, nothing would change.

After a swap with signs s (1: kept, -1: swapped) a score is (x + y) / 2 + s (x - y) / 2. So every
sum that Pearson's r is made of is linear in s, and so is the difference of two Kendall taus, see
`kendall_terms`: all permutations of all pairs of metrics are one matrix product.

References
----------
Deutsch, Dror & Roth, "A Statistical Analysis of Summarization Evaluation Metrics Using Resampling
Methods", TACL 2021.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from tuner.evaluation.correlation import Pairs, from_sums, pearson, ranks, rounded
from tuner.evaluation.metaeval.intervals import standardised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metrics._base import FloatArray

_CHUNK = 1 << 22
"""Signs of a chunk of permutations."""
_ROUNDING = 1e-12
"""Differences nearer than this are equal."""

TESTED = ("system.pearson", "system.spearman", "segment.pearson", "segment.wmt10")


def permutation_tests(
    human: FloatArray,
    scores: Sequence[FloatArray],
    *,
    permutations: int,
    rng: np.random.Generator,
) -> dict[tuple[int, int], dict[str, tuple[float, float]]]:
    """Return for each two metrics and each measure the difference and its two-sided p.

    Parameters
    ----------
    human : (S, M) float64
    scores : sequence of (S, M) float64
        Of each metric. The score of a system is the mean of its segments' scores, for only these
        can be swapped.

    Returns
    -------
    dict
        (i, j) with i < j -> name in `TESTED` -> (first minus second, p), with
        p = (1 + permutations with a difference as large) / (permutations + 1).
    """
    pairs = list(combinations(range(len(scores)), 2))
    if not pairs:
        return {}
    test = _Test(human, [standardised(one) for one in scores], pairs)
    observed = test.differences(np.ones((1, human.size)))
    exceeding = {name: np.zeros(len(pairs)) for name in TESTED}
    step = max(1, _CHUNK // human.size)
    for start in range(0, permutations, step):
        count = min(step, permutations - start)
        signs = rng.integers(0, 2, size=(count, human.size), dtype=np.int8).astype(np.float64)
        signs = 2.0 * signs - 1.0
        for name, found in test.differences(signs).items():
            large = np.abs(found) >= np.abs(observed[name]) - _ROUNDING
            exceeding[name] += np.count_nonzero(large, axis=0)
    return {
        pair: {
            name: (
                float(observed[name][0, number]),
                float((1 + exceeding[name][number]) / (permutations + 1)),
            )
            for name in TESTED
        }
        for number, pair in enumerate(pairs)
    }


class _Test:
    """Holds the terms of all differences, for Q pairs of metrics."""

    def __init__(
        self, human: FloatArray, scores: Sequence[FloatArray], pairs: Sequence[tuple[int, int]]
    ) -> None:
        self.shape = human.shape
        self.human = standardised(human)
        self.system_human = rounded(human.mean(axis=0))
        x = np.stack([scores[i] for i, _ in pairs])
        y = np.stack([scores[j] for _, j in pairs])
        self.mean, self.half = (x + y) / 2, (x - y) / 2  # (Q, S, M)
        self.squares, self.half_squares = (x**2 + y**2) / 2, (x**2 - y**2) / 2
        ranked = Pairs.of(human)
        self.pairs = max(ranked.count, 1)
        self.kendall = np.stack([kendall_terms(a, b, ranked) for a, b in zip(x, y, strict=True)])

    def differences(self, signs: FloatArray) -> dict[str, FloatArray]:
        """Return (R, Q) for each measure under signs (R, S * M)."""
        segments, systems = self.shape
        by_system = signs.reshape(-1, segments, systems).transpose(2, 0, 1)
        swapped = (by_system @ self.half.transpose(2, 1, 0)).transpose(1, 2, 0) / segments
        centre = self.mean.mean(axis=1)  # (Q, M)
        first, second = rounded(centre + swapped), rounded(centre - swapped)  # (R, Q, M)
        human = self.system_human
        ranked = ranks(human)
        return {
            "system.pearson": pearson(first, human) - pearson(second, human),
            "system.spearman": (pearson(ranks(first), ranked) - pearson(ranks(second), ranked)),
            "segment.pearson": self._segment_pearson(signs),
            "segment.wmt10": signs @ self._columns(self.kendall) / self.pairs,
        }

    def _segment_pearson(self, signs: FloatArray) -> FloatArray:
        size = self.human.size
        total = self._columns(self.mean).sum(axis=0)
        squares = self._columns(self.squares).sum(axis=0)
        products = self._columns(self.mean * self.human).sum(axis=0)
        d_total = signs @ self._columns(self.half)
        d_squares = signs @ self._columns(self.half_squares)
        d_products = signs @ self._columns(self.half * self.human)
        sides = []
        for side in (1.0, -1.0):
            variance = squares + side * d_squares - (total + side * d_total) ** 2 / size
            variance = np.where(variance > _ROUNDING * size, variance, 0.0)
            sides.append(
                from_sums(
                    products + side * d_products, variance, np.asarray(np.sum(self.human**2))
                )
            )
        return np.asarray(sides[0] - sides[1])

    def _columns(self, terms: FloatArray) -> FloatArray:
        """Return (S * M, Q) of (Q, S, M)."""
        return np.ascontiguousarray(terms.reshape(len(terms), -1).T)


def kendall_terms(x: FloatArray, y: FloatArray, pairs: Pairs) -> FloatArray:
    """Return (S, M): what the sign of each score adds to the difference of two wmt10 taus.

    A pair counts 1 or -1; what it counts under x' less what it counts under y' depends on the
    two signs s and t of its systems, and changes its sign with both of them, for then x' and y'
    are exchanged. Such a function of two signs is a s + b t.
    """

    def counts(first: FloatArray, second: FloatArray) -> FloatArray:
        right = (first[:, pairs.first] - second[:, pairs.second]) * pairs.sign > 0
        return np.where(pairs.sign != 0, np.where(right, 1.0, -1.0), 0.0)

    both, one = counts(x, x) - counts(y, y), counts(x, y) - counts(y, x)
    systems = np.eye(x.shape[1])
    return np.asarray(
        (both + one) / 2 @ systems[pairs.first] + (both - one) / 2 @ systems[pairs.second]
    )
