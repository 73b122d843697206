"""Turns weights into numbers of comparable size, for optimizers with slopes."""

from __future__ import annotations

import numpy as np

from portmert.metrics._base import FloatArray, IntArray
from portmert.tuner.ground.mapped import empty_beside, release, segment_blocks
from portmert.tuner.search.constraints import Bounds
from portmert.tuner.search.line_search import LineSearch
from portmert.tuner.search.optimizers._base import Found
from portmert.tuner.search.problem import TuningProblem, within_segment_spread

SMALLEST_SHARE = 1e-6
"""Least number that stands for the part of the model scores that is not searched."""

_ROWS = 1 << 12
"""Hypotheses whose values are turned from columns into rows at once."""


class Linear:
    """Holds what a problem's model scores are as a function of numbers x.

    The numbers are the weights times each feature's spread, so that all dense ones are of
    comparable effect; the weights of sparse features as they are; and, where part of the model
    scores is not searched, one number for that part. As only the direction of weights chooses
    hypotheses, any positive multiple of x stands for the same weights: it is scaled so that the
    part not searched has weight 1, or else the weights add up to what those of the start do.

    Sums are in an order of their own, not in that of a matrix library, so that they do not depend
    on its number of threads.

    Parameters
    ----------
    problem : TuningProblem
    start : (F + P,) float64
        Weights to start from.
    bounds : Bounds
        Of the weights. Signs are kept while searching, other bounds by moving what is found.

    Attributes
    ----------
    start : (X,) float64
        The numbers of the start weights.
    lower, upper : (X,) float64
        Bounds of the numbers: 0 or infinite.
    """

    def __init__(self, problem: TuningProblem, start: FloatArray, bounds: Bounds) -> None:
        self.problem = problem
        self.bounds = bounds
        self._start = start
        self.sparse = problem.sparse
        self._dense = len(problem.features)
        lower = np.where(bounds.lower >= 0, 0.0, -np.inf)
        upper = np.where(bounds.upper <= 0, 0.0, np.inf)
        self.start = start.copy()
        self.start[: self._dense] *= problem.spread
        self._fixed_spread = 0.0
        if problem.fixed.size:
            self._fixed_spread = float(
                within_segment_spread(problem.fixed[np.newaxis], problem.offsets)[0]
            )
            lower = np.insert(lower, self._dense, SMALLEST_SHARE)
            upper = np.insert(upper, self._dense, np.inf)
            self.start = np.insert(self.start, self._dense, self._fixed_spread)
        self.lower, self.upper = lower, upper
        self.matrix = self._matrix()
        self._size = float(np.abs(start).sum()) or 1.0

    def _matrix(self) -> FloatArray:
        """Return the (H, D) values that each unit of a number adds to the model scores."""
        problem = self.problem
        matrix = empty_beside(
            problem.features, (problem.size, self._dense + bool(self._fixed_spread))
        )
        for begin in range(0, problem.size, _ROWS):
            rows = slice(begin, begin + _ROWS)
            values = problem.features[:, rows] / problem.spread[:, np.newaxis]
            matrix[rows, : self._dense] = values.T
            if self._fixed_spread:
                matrix[rows, self._dense] = problem.fixed[rows] / self._fixed_spread
            release(problem.features, matrix)
        return matrix

    @property
    def columns(self) -> int:
        """Number of columns of `matrix`, dense features and the part not searched."""
        return int(self.matrix.shape[1])

    def scores(self, numbers: FloatArray) -> FloatArray:
        """Return the (H,) model scores under (X,) numbers."""
        scores, offsets = np.empty(len(self.matrix)), self.problem.offsets
        for first, last in segment_blocks(offsets, self.matrix):
            rows = slice(offsets[first], offsets[last])
            scores[rows] = np.einsum("hd,d->h", self.matrix[rows], numbers[: self.columns])
        if self.sparse is not None:
            scores += self.sparse @ numbers[self.columns :]
        return scores

    def searched(self, numbers: FloatArray) -> FloatArray:
        """Return the numbers of the weights (F + P,), without that of the part not searched."""
        return np.delete(numbers, self._dense) if self._fixed_spread else numbers

    def by_weight(self, values: FloatArray) -> FloatArray:
        """Add the number of the part not searched to values for each weight (F + P,): 0."""
        return np.insert(values, self._dense, 0.0) if self._fixed_spread else values

    def weights(self, numbers: FloatArray) -> FloatArray:
        """Return the weights (F + P,) that (X,) numbers stand for, inside the bounds."""
        weights = numbers.copy()
        weights[: self._dense] /= self.problem.spread
        if self._fixed_spread:
            scale = max(float(weights[self._dense]), SMALLEST_SHARE) / self._fixed_spread
            weights = np.delete(weights, self._dense) / scale
        else:
            size = float(np.abs(weights).sum())
            if size == 0:  # weights of 0 choose whatever stands first: no choice at all
                return self._start
            weights *= self._size / size
        return self.bounds.clip(weights)

    def scaled(self, numbers: FloatArray, spread: float) -> FloatArray:
        """Return a multiple of the numbers under which model scores have this spread.

        The spread is the root mean square deviation from the segment's mean.
        """
        scores = self.scores(numbers)[np.newaxis]
        found = within_segment_spread(scores, self.problem.offsets, if_constant=0.0)[0]
        return numbers * (spread / found) if found > 0 else numbers


def best_of(problem: TuningProblem, candidates: list[FloatArray]) -> Found:
    """Return the candidate weights of the highest goal; of equal ones the first."""
    goals = [problem.goal(weights) for weights in candidates]
    best = int(np.argmax(goals))
    return Found(candidates[best], goals[best])


def best_between(problem: TuningProblem, begin: FloatArray, end: FloatArray) -> FloatArray:
    """Return the weights of the highest goal between two, by one exact line search."""
    change = end - begin
    if not change.any():
        return begin
    at_begin, at_end = problem.model_scores(begin), problem.model_scores(end)
    line = TuningProblem(
        (at_end - at_begin)[np.newaxis],
        problem.offsets,
        problem.stats,
        problem.metric,
        at_begin,
        problem.rows,
        np.ones(1),
    )
    search = LineSearch(line, np.zeros(1), np.ones(1))
    steps, values = search.surface(np.zeros(1), np.zeros(1, dtype=np.int64), np.ones(1))
    middles = (steps[:-1] + steps[1:]) / 2
    if problem.prior is not None:
        columns: IntArray = np.arange(len(begin))
        penalties, _ = problem.prior.along(begin, columns, change, middles)
        values = values - penalties
    step = float(middles[int(np.argmax(values))])
    return begin + step * change


def pulled(problem: TuningProblem, start: FloatArray, found: FloatArray) -> list[FloatArray]:
    """Return, where there is a prior, the best weights on the way from `start` to `found`.

    For optimizers whose own loss knows nothing of the prior.
    """
    return [] if problem.prior is None else [best_between(problem, start, found)]
