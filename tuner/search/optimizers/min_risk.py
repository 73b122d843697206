"""Search for the highest metric of expected statistics: minimum risk."""

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt, MinLen
from pydantic.dataclasses import dataclass

from portmert.metrics._base import FloatArray
from portmert.metrics._elementary import inner

from ...base.numbers import LARGEST
from ...base.threads import raise_if_cancelled
from ..constraints import Bounds
from ..lbfgs import minimise
from ..problem import NOTHING, TuningProblem
from . import _risk_kernels as kernels
from ._base import Optimizer, SearchResult
from ._linear import Linear, best_of

STEP = 1e-6
"""Relative step of the central differences: the cube root of float64's precision, rounded."""


class Risk:
    """The smooth loss of minimum risk, and its gradient.

    The loss is minus the metric of the statistics expected under a softmax of the model scores,
    plus the penalty.

    Parameters
    ----------
    linear : Linear
    l2 : float
        Weight of half the squared scaled weights.
    stats : (H, K) float64, optional
        Statistics of every hypothesis in place of the problem's: 0 for segments that do not count.
    """

    def __init__(
        self, linear: Linear, *, l2: float = 0.0, stats: FloatArray | None = None
    ) -> None:
        self.problem = linear.problem
        self.linear = linear
        self.l2 = l2
        self.stats = self.problem.all_stats() if stats is None else stats
        self._largest = np.maximum(self.stats.max(axis=0), -self.stats.min(axis=0))
        self._shares = np.empty(len(self.stats))
        self._slopes = np.empty(len(self.stats))

    def anneal(
        self, numbers: FloatArray, scales: Iterable[float], *, iterations: int
    ) -> Iterator[FloatArray]:
        """Yield the scaled weights (X,) at each stage's end, where the next stage begins.

        Parameters
        ----------
        scales
            Sharpness at the beginning of each stage: the spread of the model scores.
        iterations
            Of L-BFGS in each stage, at most.
        """
        for scale in scales:
            begin = self.linear.scaled(numbers, scale)
            lower, upper = self.linear.lower, self.linear.upper
            numbers = minimise(self.loss, begin, lower, upper, iterations=iterations)
            yield numbers

    def loss(self, numbers: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss at (X,) scaled weights and its gradient."""
        raise_if_cancelled()
        linear, offsets = self.linear, self.problem.offsets
        columns = linear.columns
        extra = NOTHING if linear.sparse is None else linear.sparse @ numbers[columns:]
        expected, dense = np.zeros(self.stats.shape[1]), numbers[:columns].copy()
        matrix, stats = linear.matrix, self.stats
        kernels.expect(matrix, dense, extra, offsets, stats, self._shares, expected)
        by_stat, gradient = self._slopes_by_stat(expected), np.zeros(columns)
        kernels.expected_slopes(
            matrix, offsets, stats, by_stat, self._shares, self._slopes, gradient
        )
        if linear.sparse is not None:
            gradient = np.concatenate([gradient, linear.sparse.T @ self._slopes])
        value = max(float(self.problem.oriented_scores(expected)), -LARGEST)  # -inf has no slope
        prior = self.problem.prior
        if prior is not None:  # it does not depend on the scale of weights
            weights = linear.searched(numbers) / prior.spread
            value -= prior.penalty(weights)
            gradient = gradient - linear.by_weight(prior.gradient(weights))
        return 0.5 * self.l2 * inner(numbers, numbers) - value, self.l2 * numbers - gradient

    def _slopes_by_stat(self, stats: FloatArray) -> FloatArray:
        """Return the (K,) derivative of the oriented score by summed statistics (K,).

        By central differences. A derivative that is not finite counts as 0.
        """
        # A statistic of 0 that is never negative is 0 for all hypotheses: any step will do.
        steps = STEP * np.where(stats == 0, np.maximum(self._largest, 1.0), np.abs(stats))
        above, below = stats + np.diag(steps), stats - np.diag(steps)
        with np.errstate(all="ignore"):
            metric = self.problem.metric
            values = metric.oriented(metric.score(np.stack([above, below])))
            slopes = (values[0] - values[1]) / (np.diag(above) - np.diag(below))
        return np.where(np.isfinite(slopes), slopes, 0.0)


@dataclass(frozen=True)
class MinRisk(Optimizer):
    """Maximise the metric of the statistics expected under a softmax of the model scores.

    All hypotheses of a segment count by their probability, not only the best one. So the objective
    is smooth in the weights, and L-BFGS maximises it. (Minimum risk, Smith & Eisner, ACL
    2006, in the form of Rosti et al., WMT 2010 and 2011: statistics are averaged over hypotheses,
    not the metric, which need not decompose.) The derivative of the metric by its K statistics is
    taken by central differences, so that any metric can be used. The derivative by the weights is
    exact.

    The softmax becomes sharper in stages. Each stage begins with the weights of the last one. The
    result is the end of the stage that scores highest on the lists, or the start if none scores
    higher. Weights of sparse features are searched too.

    Parameters
    ----------
    restarts, spread
        See `Optimizer`.
    scales
        Sharpness of the softmax at the start of each stage, as the spread of the model scores
        within segments.
    iterations
        Number of L-BFGS iterations in each stage.
    l2
        Strength of a penalty that is subtracted from the objective: half the sum of the squared
        weights. Each weight is first multiplied by the spread of its feature.
    """

    restarts: Annotated[int, Ge(1)] = 1
    scales: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] = (1.0, 2.0, 4.0, 8.0)
    iterations: Annotated[int, Ge(1)] = 50
    l2: Annotated[float, Ge(0)] = 1e-5

    sparse: ClassVar[bool] = True
    reads_all: ClassVar[bool] = True

    def search(
        self,
        problem: TuningProblem,
        start: FloatArray,
        bounds: Bounds,
        rng: np.random.Generator,  # noqa: ARG002  draws nothing
    ) -> SearchResult:
        """Anneal from one start."""
        linear = Linear(problem, start, bounds)
        risk = Risk(linear, l2=self.l2)
        stages = risk.anneal(linear.start, self.scales, iterations=self.iterations)
        candidates = [start, *(linear.weights(numbers) for numbers in stages)]
        return best_of(problem, candidates)
