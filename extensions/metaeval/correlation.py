"""Measures how well metric scores agree with human scores, and whether two agreements differ.

These are correlations; all measures as sums over segments are in measures.py.

Formulas in docs/metrics/meta-evaluation.md. Arrays may have leading axes: one call serves
the scores of one test set or of all its bootstrap samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

VARIANTS = ("wmt10", "wmt13", "wmt14", "consistency")
"""Of Kendall's tau: they differ in what a tie of the metric counts as, and in the total."""

_NOTHING = 1e-28
"""A variance below this share of the mean square is a rounding error: scores are constant."""


def pearson(x: FloatArray, y: FloatArray, *, weights: FloatArray | None = None) -> FloatArray:
    """Return (...): Pearson's r of the last axes; NaN where either side is constant.

    Parameters
    ----------
    x, y : (..., N) float64
    weights : (..., N) float64, optional
        Not negative; all sums and means are weighted. A row of zeros gives NaN.
    """
    w = np.ones(1) if weights is None else weights
    total = np.broadcast_to(w, np.broadcast_shapes(x.shape, w.shape)).sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        x_mean = np.sum(w * x, axis=-1, keepdims=True) / total
        y_mean = np.sum(w * y, axis=-1, keepdims=True) / total
        dx, dy = x - x_mean, y - y_mean
        xx, yy = np.sum(w * dx * dx, axis=-1), np.sum(w * dy * dy, axis=-1)
        return from_sums(
            np.sum(w * dx * dy, axis=-1),
            np.where(xx > _NOTHING * np.sum(w * x * x, axis=-1), xx, 0.0),
            np.where(yy > _NOTHING * np.sum(w * y * y, axis=-1), yy, 0.0),
        )


def from_sums(xy: FloatArray, xx: FloatArray, yy: FloatArray) -> FloatArray:
    """Return xy / sqrt(xx * yy) within -1..1, and NaN where either is not above 0."""
    is_defined = (xx > 0.0) & (yy > 0.0)
    root = np.sqrt(np.where(is_defined, xx, 1.0)) * np.sqrt(np.where(is_defined, yy, 1.0))
    return np.clip(np.where(is_defined, xy / root, np.nan), -1.0, 1.0)


def spearman(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return (...): Spearman's rho of the last axes, Pearson's r of their ranks."""
    from scipy.stats import rankdata  # noqa: PLC0415  start-up time

    return pearson(rankdata(x, axis=-1), rankdata(y, axis=-1))


def rounded(scores: FloatArray) -> FloatArray:
    """Return rounded scores, so that scores that differ by rounding errors only are ties."""
    return np.round(scores, 12)


def mean_removed(x: FloatArray) -> FloatArray:
    """Subtract from each row of the last axis its mean."""
    return np.asarray(x - x.mean(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Pairs:
    """Human judgments of every pair of systems on every segment.

    Parameters
    ----------
    first, second : (P,) int64
        Columns of the two systems of each pair, rising.
    better, worse, tied : (S, P) float64
        Numbers of judgments that prefer the first, the second, or neither.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    better: FloatArray
    worse: FloatArray
    tied: FloatArray

    @classmethod
    def of(cls, human: FloatArray) -> Pairs:
        """Return the pairs of human scores (S, M); NaN marks a missing score."""
        first, second = np.triu_indices(human.shape[1], 1)
        a, b = human[:, first], human[:, second]
        counts = ((a > b), (a < b), (a == b))
        return cls(
            first, second, *(counts_of_outcome.astype(np.float64) for counts_of_outcome in counts)
        )

    @property
    def count(self) -> float:
        """Number of judgments that are no ties."""
        return float(self.better.sum() + self.worse.sum())

    def outcomes(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Count concordant and discordant judgments: two (S, P) float64.

        Parameters
        ----------
        scores : (S, M) float64
            Scores of the metric, higher is better.
        """
        difference = scores[:, self.first] - scores[:, self.second]
        up, down = difference > 0, difference < 0
        return (
            np.where(up, self.better, np.where(down, self.worse, 0.0)),
            np.where(up, self.worse, np.where(down, self.better, 0.0)),
        )


def williams(first: float, second: float, between: float, *, count: int) -> float:
    """Return the two-sided p of Williams' test that two correlations with the same scores differ.

    Parameters
    ----------
    first, second
        Pearson's r of either metric with the human scores.
    between
        Pearson's r between the metrics.
    count
        Number of scores. Below 4 the result is NaN: the test has count - 3 degrees of freedom. So
        it is if the metrics determine each other.

    References
    ----------
    Williams, "Regression Analysis", 1959; Graham & Baldwin, "Testing for Significance of Increased
    Correlation with Human Judgment", EMNLP 2014.
    """
    from scipy.stats import t as student  # noqa: PLC0415  start-up time

    if count < 4:
        return float("nan")
    if first == second:
        return 1.0
    unexplained = 1 - first**2 - second**2 - between**2 + 2 * first * second * between
    variance = 2 * max(unexplained, 0.0) * (count - 1) / (count - 3)
    variance += (first + second) ** 2 / 4 * (1 - between) ** 3
    if variance <= 0.0:
        return float("nan")
    statistic = (first - second) * np.sqrt((count - 1) * (1 + between) / variance)
    p: Any = 2 * student.sf(abs(statistic), count - 3)
    return float(p)
