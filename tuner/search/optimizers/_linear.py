"""Weights of comparable size, for optimizers that learn; the best of several weights."""

from dataclasses import replace

import numpy as np

from portmert.metrics._base import FloatArray, IntArray
from portmert.metrics._elementary import summed

from ..constraints import Bounds
from ..line_search import LineSearch
from ..problem import TuningProblem, within_segment_spread
from ._base import SearchResult

SMALLEST_SHARE = 1e-6
"""Smallest scaled weight of the part of the model scores that is not searched."""

_ROWS = 1 << 12
"""Hypotheses whose values are turned from columns into rows at once."""


class Linear:
    """A problem's model scores as a linear function of scaled weights x.

    x has three parts. A dense feature's weight is multiplied by the feature's spread, so that all
    of them are of comparable effect. A sparse feature's weight stays as it is. If part of the
    model scores is not searched, one more number stands for that part. Only the direction of
    weights chooses hypotheses, so any positive multiple of x stands for the same weights. It is
    scaled so that the part not searched has weight 1; without such a part the absolute weights
    add up to what those of the start do.

    The order of sums is our own and not a matrix library's, so that results do not depend on its
    number of threads.

    Parameters
    ----------
    problem : TuningProblem
    start : (F + P,) float64
        Weights to start from.
    bounds : Bounds
        Bounds of the weights. Signs are kept while searching, other bounds by clipping the result.

    Attributes
    ----------
    start : (X,) float64
        The scaled start weights.
    lower, upper : (X,) float64
        Bounds of the scaled weights: 0 or infinite.
    columns : int
        D: dense features, then the part not searched.
    matrix : (H, D) float64
        The change of the model scores with each unit of a scaled weight.
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
        self._size = float(summed(np.abs(start))) or 1.0
        self.columns = self._dense + bool(self._fixed_spread)
        self.matrix = matrix = np.empty((problem.size, self.columns))
        for begin in range(0, problem.size, _ROWS):
            rows = slice(begin, begin + _ROWS)
            values = problem.features[:, rows] / problem.spread[:, np.newaxis]
            matrix[rows, : self._dense] = values.T
            if self._fixed_spread:
                matrix[rows, self._dense] = problem.fixed[rows] / self._fixed_spread

    def forget_features(self) -> None:
        """Free the features of the problem, which `matrix` has; only the rest is read then."""
        shape = self.problem.features.shape
        self.problem = replace(self.problem, features=np.broadcast_to(0.0, shape))

    def scores(self, numbers: FloatArray) -> FloatArray:
        """Return the (H,) model scores under (X,) scaled weights."""
        scores: FloatArray = np.einsum("hd,d->h", self.matrix, numbers[: self.columns])
        if self.sparse is not None:
            scores += self.sparse @ numbers[self.columns :]
        return scores

    def searched(self, numbers: FloatArray) -> FloatArray:
        """Return (F + P,) of (X,) scaled weights: all but the part not searched."""
        return np.delete(numbers, self._dense) if self._fixed_spread else numbers

    def by_weight(self, values: FloatArray) -> FloatArray:
        """Return (X,) of (F + P,) values, 0 for the part not searched."""
        return np.insert(values, self._dense, 0.0) if self._fixed_spread else values

    def weights(self, numbers: FloatArray) -> FloatArray:
        """Return the weights (F + P,), inside the bounds, of (X,) scaled ones."""
        weights = numbers.copy()
        weights[: self._dense] /= self.problem.spread
        if self._fixed_spread:
            scale = max(float(weights[self._dense]), SMALLEST_SHARE) / self._fixed_spread
            weights = np.delete(weights, self._dense) / scale
        else:
            size = float(summed(np.abs(weights)))
            if size == 0:  # weights of 0 choose nothing: all model scores are equal
                return self._start
            weights *= self._size / size
        return self.bounds.clip(weights)

    def scaled(self, numbers: FloatArray, spread: float) -> FloatArray:
        """Return a multiple of scaled weights under which model scores have this spread.

        The spread is the root mean square deviation from the segment's mean.
        """
        scores = self.scores(numbers)[np.newaxis]
        current = within_segment_spread(scores, self.problem.offsets, if_constant=0.0)[0]
        return numbers * (spread / current) if current > 0 else numbers


def best_of(problem: TuningProblem, candidates: list[FloatArray]) -> SearchResult:
    """Return the candidate weights of the highest objective; of equal ones the first."""
    objectives = [
        problem.objective(weights) if np.isfinite(weights).all() else -np.inf
        for weights in candidates
    ]
    best = int(np.argmax(objectives))
    return SearchResult(candidates[best], objectives[best])


def best_between(problem: TuningProblem, begin: FloatArray, end: FloatArray) -> FloatArray:
    """Return the weights of the highest objective between two, by one exact line search.

    No line is searched, and `begin` itself is returned, if both are equal.
    """
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
    values = np.where(steps[1:] > steps[:-1], values, -np.inf)
    step = float(middles[int(np.argmax(values))])
    return begin + step * change
