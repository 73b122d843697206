"""Minimum risk: the metric of expected statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt, MinLen
from pydantic.dataclasses import dataclass

from tuner.search.optimizers._base import Found, Optimizer
from tuner.search.optimizers._gains import all_stats
from tuner.search.optimizers._linear import Linear, best_of

if TYPE_CHECKING:
    from metrics._base import FloatArray
    from tuner.search.constraints import Bounds
    from tuner.search.problem import TuningProblem

STEP = 1e-6
"""Relative step of the central differences: the cube root of float64's precision, rounded."""


@dataclass(frozen=True)
class Expected(Optimizer):
    """Maximise the metric of the statistics expected under a softmax of the model scores.

    Instead of counting the best hypothesis of each segment, count all of them, each by its
    probability: the result is smooth in the weights, and L-BFGS finds its way. (Minimum risk,
    Smith & Eisner, ACL 2006, in the form of Rosti et al., WMT 2010 and 2011: the metric is not
    averaged over hypotheses, their statistics are, so that it need not decompose.) The derivative
    of the metric by its K statistics is taken by central differences, that by the weights is
    exact; every metric will do.

    At first the softmax is flat, then sharper and sharper; each stage begins where the last one
    ended. The end of the stage that scores highest on the lists is the result, or the start if
    none scores higher. Searches weights of sparse features too.

    Parameters
    ----------
    restarts, spread
        See `Optimizer`.
    scales
        Sharpness at the beginning of each stage: the spread of the model scores within segments.
    iterations
        L-BFGS iterations of each stage.
    l1, l2
        Weight of the absolute and of half the squared numbers (weights in units of the spread of
        their feature), off the objective.
    entropy
        Weight of the mean entropy of the segments' hypotheses, on top of the objective: keeps the
        softmax from growing sharp.
    """

    restarts: Annotated[int, Ge(1)] = 1
    scales: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] = (1.0, 2.0, 4.0, 8.0)
    iterations: Annotated[int, Ge(1)] = 50
    l1: Annotated[float, Ge(0)] = 0.0
    l2: Annotated[float, Ge(0)] = 1e-5
    entropy: Annotated[float, Ge(0)] = 0.0

    sparse: ClassVar[bool] = True
    reads_all: ClassVar[bool] = True

    def search(
        self,
        problem: TuningProblem,
        start: FloatArray,
        bounds: Bounds,
        rng: np.random.Generator,  # noqa: ARG002  draws nothing
    ) -> Found:
        """Anneal from one start."""
        linear = Linear(problem, start, bounds)
        risk = _Risk(self, problem, linear)
        numbers = linear.start
        candidates = [start]
        for scale in self.scales:
            numbers = risk.descend(linear.scaled(numbers, scale))
            candidates.append(linear.weights(numbers))
        return best_of(problem, candidates)


class _Risk:
    """Holds the smooth loss and its derivative."""

    def __init__(self, optimizer: Expected, problem: TuningProblem, linear: Linear) -> None:
        self.optimizer = optimizer
        self.problem = problem
        self.linear = linear
        self.stats = all_stats(problem)
        self.largest = np.abs(self.stats).max(axis=0)
        self.lengths = np.diff(problem.offsets)

    def descend(self, begin: FloatArray) -> FloatArray:
        """Return the numbers (X,) at the end of the way down from `begin`."""
        from scipy.optimize import minimize  # noqa: PLC0415  start-up time

        linear, l1 = self.linear, self.optimizer.l1
        begin = np.clip(begin, linear.lower, linear.upper)
        bounds = np.stack([linear.lower, linear.upper], axis=1)
        options = {"maxiter": self.optimizer.iterations}
        if not l1:
            found = minimize(
                self.loss, begin, jac=True, method="L-BFGS-B", bounds=bounds, options=options
            )
            numbers: FloatArray = found.x
            return numbers

        # |x| has no derivative at 0; two numbers of one sign each, x = up - down, have.
        size = len(begin)

        def split(parts: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = self.loss(parts[:size] - parts[size:])
            return value + l1 * float(parts.sum()), np.concatenate([gradient, -gradient]) + l1

        ups = np.stack([np.maximum(bounds[:, 0], 0), np.maximum(bounds[:, 1], 0)], axis=1)
        downs = np.stack([np.maximum(-bounds[:, 1], 0), np.maximum(-bounds[:, 0], 0)], axis=1)
        found = minimize(
            split,
            np.concatenate([np.maximum(begin, 0), np.maximum(-begin, 0)]),
            jac=True,
            method="L-BFGS-B",
            bounds=np.concatenate([ups, downs]),
            options=options,
        )
        difference: FloatArray = found.x[:size] - found.x[size:]
        return difference

    def loss(self, numbers: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss at (X,) numbers and its gradient."""
        optimizer, offsets = self.optimizer, self.problem.offsets
        starts = offsets[:-1]
        scores = self.linear.scores(numbers)
        scores -= np.repeat(np.maximum.reduceat(scores, starts), self.lengths)
        shares = np.exp(scores)
        totals = np.add.reduceat(shares, starts)
        shares /= np.repeat(totals, self.lengths)
        expected = np.einsum("h,hk->k", shares, self.stats)
        worth = np.einsum("hk,k->h", self.stats, self._slopes(expected))
        value = float(self.problem.objective(expected))
        if optimizer.entropy:
            # The derivative of -sum p log p by a score is -p (log p - sum p log p).
            logs = scores - np.repeat(np.log(totals), self.lengths)
            share = optimizer.entropy / len(starts)
            value -= share * float(np.einsum("h,h->", shares, logs))
            worth = worth - share * logs
        means = np.add.reduceat(shares * worth, starts)
        gradient = self.linear.gradient(shares * (worth - np.repeat(means, self.lengths)))
        prior = self.problem.prior
        if prior is not None:  # it does not depend on the scale of weights
            weights = self.linear.searched(numbers) / prior.spread
            value -= prior.penalty(weights)
            gradient = gradient - self.linear.by_weight(prior.gradient(weights))
        value -= 0.5 * optimizer.l2 * float(numbers @ numbers)
        return -value, optimizer.l2 * numbers - gradient

    def _slopes(self, stats: FloatArray) -> FloatArray:
        """Return the (K,) derivative of the objective by summed statistics (K,).

        By central differences; where the metric has no finite value the derivative counts as 0.
        """
        # A statistic of 0 that is never negative is 0 for all hypotheses: any step will do.
        steps = STEP * np.where(stats == 0, np.maximum(self.largest, 1.0), np.abs(stats))
        above, below = stats + np.diag(steps), stats - np.diag(steps)
        with np.errstate(all="ignore"):
            values = self.problem.objective(np.stack([above, below]))
            slopes = (values[0] - values[1]) / (np.diag(above) - np.diag(below))
        return np.where(np.isfinite(slopes), slopes, 0.0)
