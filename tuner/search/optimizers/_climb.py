"""Climb by exact line searches: the moves that several optimizers share."""

from abc import abstractmethod
from typing import Annotated

import numpy as np
from annotated_types import Ge, Lt
from pydantic.dataclasses import dataclass as component_dataclass

from portmert.metrics._base import FloatArray, IntArray
from portmert.metrics._elementary import norm

from ..constraints import Bounds
from ..line_search import Ball, LinePoint, LineSearch
from ..problem import TuningProblem
from ._base import Optimizer, SearchResult


class Climb:
    """Current weights with their model scores and objective, and the best weights seen so far.

    The objective is always computed from scratch: the score of the best hypotheses under the
    current model scores, less the penalty of the prior. The value that a line search promises is
    not used.

    Parameters
    ----------
    problem : TuningProblem
    weights : (F,) float64
        Where to start; inside the bounds. Not modified.
    bounds : Bounds
    tolerance : float
        A step counts as a gain if it is larger than this share of the objective's size.
    smooth : float
        See `LineSearch`.

    Attributes
    ----------
    features : int
        F, the number of weights.
    line_searches : int
        How many so far.
    """

    def __init__(
        self,
        problem: TuningProblem,
        weights: FloatArray,
        bounds: Bounds,
        *,
        tolerance: float,
        smooth: float = 0.0,
    ) -> None:
        self.whole = problem
        self.features = len(problem.features)
        self.bounds = bounds
        self.tolerance = tolerance
        self.smooth = smooth
        self.weights = weights
        self.line_searches = 0
        self._set_problem(problem, None)
        self.best_weights, self.best_objective = weights, self.objective

    def go(self, weights: FloatArray) -> None:
        """Make `weights` the current ones."""
        self.weights = weights
        self.scores = self.problem.model_scores(weights)
        self.objective = self.problem.objective(weights, self.scores)

    def keep(self) -> None:
        """Remember the current weights if they are better than the best so far."""
        if self.objective > self.best_objective:
            self.best_weights, self.best_objective = self.weights, self.objective

    def size(self) -> float:
        """Return the size of the objective, of which gains are shares. Its parts may cancel."""
        return abs(self.objective) + self.problem.penalty(self.weights)

    def length(self, change: FloatArray) -> float:
        """Return the length of a change of weights, each measured by its feature's spread."""
        return norm(change * self.whole.spread)

    def focus(self, radius: float) -> None:
        """Leave out the hypotheses that cannot win within `radius` of the weights.

        Moves are exact within that ball and do not leave it, until `focus` or `widen` is called.
        """
        self._set_problem(self.whole.within(self.weights, radius), Ball(self.weights, radius))

    def widen(self) -> None:
        """Search the whole problem again."""
        if self.problem is not self.whole:
            self._set_problem(self.whole, None)

    def inside(self, weights: FloatArray, *, share: float) -> bool:
        """Whether weights lie within a share of the radius of `focus`; False without one."""
        if self._ball is None:
            return False
        center, radius = self._ball
        return self.length(weights - center) <= share * radius

    def move_along(self, feature: int) -> float:
        """Move along one feature's weight; see `move`."""
        return self.move(np.array([feature]), np.ones(1))

    def move_randomly(self, rng: np.random.Generator) -> float:
        """Move along a random direction, each feature scaled by its spread; see `move`."""
        return self.move(
            self.whole.all_columns, rng.normal(size=self.features) / self.whole.spread
        )

    def move(self, columns: IntArray, direction: FloatArray) -> float:
        """Search along a direction; go to the best step if that is a gain. Return the gain."""
        point = self.best_point(columns, direction)
        least = self.objective
        if np.isfinite(least):
            least += self.tolerance * self.size()
        if point is None or point.objective <= least:
            return 0.0
        weights = self.weights.copy()
        weights[columns] += point.step * direction
        weights = self.bounds.clip(weights)  # for rounding at the bounds
        scores = point.step * self._line.slopes
        scores += self.scores
        objective = self.problem.objective(weights, scores)
        if objective <= self.objective:  # the interval was narrower than rounding
            return 0.0
        gain = objective - self.objective
        self.weights, self.scores, self.objective = weights, scores, objective
        return gain

    def best_point(self, columns: IntArray, direction: FloatArray) -> LinePoint | None:
        """Search along a direction without moving."""
        self.line_searches += 1
        return self._line.best_point(self.weights, self.scores, columns, direction, self._ball)

    def _set_problem(self, problem: TuningProblem, ball: Ball | None) -> None:
        self.problem, self._ball = problem, ball
        self._line = LineSearch(problem, self.bounds.lower, self.bounds.upper, smooth=self.smooth)
        self.go(self.weights)


@component_dataclass(frozen=True)
class Climber(Optimizer):
    """Climb by exact line searches.

    Parameters
    ----------
    restarts, spread
        See `Optimizer`.
    tolerance : float
        A gain counts if it is larger than this share of the objective's size.
    smooth : float
        Half width, in units of the weights' length, of the window over which the error surface
        is averaged before a step is chosen; 0 searches the surface as it is.
    """

    tolerance: Annotated[float, Ge(0), Lt(1)] = 1e-7
    smooth: Annotated[float, Ge(0)] = 0.0

    @abstractmethod
    def climb(self, climb: Climb, rng: np.random.Generator) -> None:
        """Improve `climb` from its current weights; it keeps the best weights it has seen."""

    def search(
        self, problem: TuningProblem, start: FloatArray, bounds: Bounds, rng: np.random.Generator
    ) -> SearchResult:
        """Climb from one start."""
        climb = Climb(problem, start, bounds, tolerance=self.tolerance, smooth=self.smooth)
        self.climb(climb, rng)
        return SearchResult(climb.best_weights, climb.best_objective, climb.line_searches)
