"""Search a line exactly, on the upper envelope (Och, ACL 2003)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from portmert.metrics._base import FloatArray, IntArray
from portmert.metrics._elementary import inner, norm

from ..base.threads import raise_if_cancelled
from . import _line_search_kernels as kernels
from .problem import NOTHING, TuningProblem, finite

OUTER_STEP = 0.1
"""How far beyond the outermost breakpoint the outer intervals are entered, in units of the
weights' own length: far enough to be inside, near enough that no weight explodes (Moses, cdec and
travatar step 1000 or 0.1, 0.1 or 1000, and 1, in units of whatever the direction is)."""

REACH = 1000.0
"""Steps are searched up to a change of weights this many times as long as the weights: beyond,
the weights are the direction itself."""

TIE = 1e-12
"""Objectives are equal if they differ by less than this share of the largest one on the line:
cumulated sums of fractional statistics carry rounding."""


NARROW = 1e-10
"""An interval that is no wider than this share of the weights' own length is rounding between
breakpoints that are one: inside, the order of the list decides."""


@dataclass(frozen=True)
class LinePoint:
    """The end of a line search: `step` along the direction, and the objective there."""

    step: float
    objective: float


class Ball(NamedTuple):
    """The weights (F,) with |(w - center) * spread| <= radius."""

    center: FloatArray
    radius: float


class LineSearch:
    """Search lines through the weights of one problem.

    It keeps working arrays, so each thread needs its own.

    Parameters
    ----------
    problem : TuningProblem
    lower, upper : (F,) float64
        Hard bounds of each weight, infinite where there is none.
    smooth : float
        Half width of a window over which scores are averaged before the best interval is
        chosen, in units of the weights' length; 0, the default, is Och's exact search.

    Attributes
    ----------
    slopes : (H,) float64
        Change of each model score per unit step along the line searched last.
    """

    def __init__(
        self, problem: TuningProblem, lower: FloatArray, upper: FloatArray, *, smooth: float = 0.0
    ) -> None:
        self.problem = problem
        self.lower = lower
        self.upper = upper
        self.smooth = smooth
        self.slopes = np.empty(problem.size)
        self._bounded = bool(np.isfinite(lower).any() or np.isfinite(upper).any())
        self._measured = NOTHING, 1.0  # weights and their length, the same for many lines
        size = problem.size
        self._work = (self.slopes, np.empty(size, dtype=np.int64), np.empty(size))

    def best_point(
        self,
        weights: FloatArray,
        scores: FloatArray,
        columns: IntArray,
        direction: FloatArray,
        ball: Ball | None = None,
    ) -> LinePoint | None:
        """Find the best-scoring step along a line, exactly.

        If objectives are equal, the interval nearest to step 0 wins; of two equally near ones, the
        left one. The step is the interval's middle.

        With a prior, the penalty varies within an interval, where the metric does not. It is
        counted at one point of each interval: where it is lowest along the whole line if that
        point lies in the interval, else at the middle. The metric's part stays exact, and the best
        of these points is returned. A point nearer to an interval's end might be a little better,
        but it would be within rounding of a breakpoint.

        Parameters
        ----------
        weights : (F,) float64
            Feature weights at step 0. Not modified, and not by the caller between searches.
        scores : (H,) float64
            Model scores under `weights`. Not modified.
        columns, direction : (D,)
            The direction's entries; those left out are 0.
        ball
            Search only there.

        Returns
        -------
        LinePoint or None
            None if bounds leave no room along this line.

        Raises
        ------
        ValueError
            `direction` is zero or not finite.
        Cancelled
            Nobody waits for the result any more.

        References
        ----------
        Och, "Minimum Error Rate Training in SMT", ACL 2003.
        """
        if not direction.all():
            columns, direction = columns[direction != 0], direction[direction != 0]
        if not (direction.size and np.isfinite(direction).all()):
            raise ValueError("direction must be finite and not zero")
        raise_if_cancelled()
        window, unit = self._window(weights, columns, direction, ball)
        if not window[0] < window[1]:
            return None
        steps, values = self._surface(scores, columns, direction, window)
        if self.smooth > 0:
            values = smoothed(steps, finite(values), self.smooth * unit)
        # Intervals below `narrow` are too thin to aim at; `outer` is how far the step goes beyond
        # the last breakpoint. Both are in lengths of the weights along the line.
        narrow = min(NARROW * unit, float(np.diff(steps).max()) / 2)
        outer = OUTER_STEP * unit
        if self.problem.prior is not None:
            return self._choose_with_prior(
                weights, columns, direction, (steps, values), (outer, narrow)
            )
        return LinePoint(*kernels.best_interval(steps, values, TIE, outer, narrow))

    def surface(
        self, weights: FloatArray, columns: IntArray, direction: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the oriented score along a line as a step function.

        Returns
        -------
        steps : (B + 2,) float64
            Ends of the intervals, rising.
        scores : (B + 1,) float64
            Oriented score in each interval.
        """
        window, _ = self._window(weights, columns, direction, None)
        return self._surface(self.problem.model_scores(weights), columns, direction, window)

    def _choose_with_prior(
        self,
        weights: FloatArray,
        columns: IntArray,
        direction: FloatArray,
        surface: tuple[FloatArray, FloatArray],
        bounds: tuple[float, float],
    ) -> LinePoint:
        (steps, values), (outer, narrow) = surface, bounds
        assert self.problem.prior is not None  # noqa: S101  the caller has seen to it
        points = (steps[:-1] + steps[1:]) / 2
        if len(values) == 1:
            points[0] = 0.0
        else:
            points[0] = max(points[0], steps[1] - outer)
            points[-1] = min(points[-1], steps[-2] + outer)
        _, nearest = self.problem.prior.along(weights, columns, direction, points)
        if np.isfinite(nearest):
            points = np.where((steps[:-1] < nearest) & (nearest < steps[1:]), nearest, points)
        penalties, _ = self.problem.prior.along(weights, columns, direction, points)
        objectives = np.where(np.diff(steps) > narrow, values - penalties, -np.inf)
        tie = TIE * np.max(np.abs(objectives), initial=0.0, where=np.isfinite(objectives))
        best = np.flatnonzero(objectives >= objectives.max() - tie)
        closest = int(best[np.argmin(np.abs(points[best]))])
        return LinePoint(float(points[closest]), float(objectives[closest]))

    def _window(
        self,
        weights: FloatArray,
        columns: IntArray,
        direction: FloatArray,
        ball: Ball | None,
    ) -> tuple[tuple[float, float], float]:
        """Return the steps allowed, and the step that changes weights by their own length."""
        spread = self.problem.spread
        scaled = direction * spread[columns]
        square = inner(scaled, scaled)
        if self._measured[0] is not weights:
            scaled_weights = weights * spread
            length = norm(scaled_weights) or 1.0
            self._measured = weights, length
        unit = self._measured[1] / square**0.5
        low, high = -REACH * unit, REACH * unit
        if self._bounded:
            to_lower = (self.lower[columns] - weights[columns]) / direction
            to_upper = (self.upper[columns] - weights[columns]) / direction
            low = max(low, float(np.minimum(to_lower, to_upper).max()))
            high = min(high, float(np.maximum(to_lower, to_upper).min()))
        if ball is not None:  # where the line meets its surface
            offset = (weights - ball.center) * spread
            along = inner(scaled, offset[columns])
            discriminant = along * along - square * (inner(offset, offset) - ball.radius**2)
            if discriminant <= 0:
                return (0.0, 0.0), unit
            low = max(low, (-along - discriminant**0.5) / square)
            high = min(high, (-along + discriminant**0.5) / square)
        return (low, high), unit

    def _surface(
        self,
        scores: FloatArray,
        columns: IntArray,
        direction: FloatArray,
        window: tuple[float, float],
    ) -> tuple[FloatArray, FloatArray]:
        problem = self.problem
        segments = len(problem.offsets) - 1
        _, winners, starts = self._work
        count = kernels.envelopes(
            problem.features, problem.offsets, columns, direction, scores, window, self._work
        )
        rows, starts = problem.rows_of(winners[:count]), starts[:count]
        is_later = starts > window[0]
        later = np.flatnonzero(is_later)
        order = np.concatenate([np.flatnonzero(~is_later), later[_stable_order(starts[later])]])
        sums = kernels.cumulate(problem.stats.take(rows), order, segments)
        ends = np.empty(len(sums) + 1)
        ends[0], ends[-1] = window
        ends[1:-1] = starts[order[segments:]]
        return ends, problem.oriented_scores(sums)


def _stable_order(values: FloatArray) -> IntArray:
    """Return the order of (n,) values, the earlier of equal ones first."""
    order = np.argsort(values)  # three times as fast as the stable one, and equal without ties
    rising = values[order]
    has_ties = (rising[1:] == rising[:-1]).any()
    return np.argsort(values, kind="stable") if has_ties else order


def smoothed(steps: FloatArray, values: FloatArray, half_width: float) -> FloatArray:
    """Return each interval's score averaged over `half_width` to both sides of its middle.

    A peak that is narrow beside the window counts little, as its neighbours enter the mean. The
    first and last value continue beyond the ends.
    """
    inner = np.clip(steps, steps[1] - half_width * 4, steps[-2] + half_width * 4)
    middles = (inner[:-1] + inner[1:]) / 2
    integral = np.concatenate([[0.0], np.cumsum(values * np.diff(inner))])

    def primitive(at: FloatArray) -> FloatArray:
        left = np.minimum(at - inner[0], 0) * values[0]
        right = np.maximum(at - inner[-1], 0) * values[-1]
        area: FloatArray = np.interp(at, inner, integral) + left + right
        return area

    window: FloatArray = primitive(middles + half_width) - primitive(middles - half_width)
    return window / (2 * half_width)
