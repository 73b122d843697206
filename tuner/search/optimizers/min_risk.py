"""Search for the highest metric of expected statistics: minimum risk."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Gt, MinLen
from pydantic.dataclasses import dataclass

from portmert.metrics._base import FloatArray
from portmert.tuner.executors.team import raise_if_cancelled
from portmert.tuner.ground.mapped import segment_blocks
from portmert.tuner.ground.numbers import LARGEST
from portmert.tuner.search.constraints import Bounds
from portmert.tuner.search.optimizers import _kernels
from portmert.tuner.search.optimizers._base import Found, Optimizer
from portmert.tuner.search.optimizers._linear import Linear, all_stats, best_of
from portmert.tuner.search.problem import NOTHING, TuningProblem

_BLAS = threading.Lock()
_limits: list[Any] = []
"""One limit of BLAS' threads for each descent under way."""

Loss = Callable[[FloatArray], tuple[float, FloatArray]]

STEP = 1e-6
"""Relative step of the central differences: the cube root of float64's precision, rounded."""


@cache
def _libraries() -> Any:
    """Return threadpoolctl's view of the libraries to be limited; to look for them takes time."""
    import scipy.optimize  # noqa: F401, PLC0415  start-up time; loads the library to be limited
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415  start-up time

    return ThreadpoolController()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep BLAS from starting threads.

    L-BFGS solves systems of ten equations, for which they triple the processor time. The limit is
    the process's: the first descent of several at once sets it, the last one takes it back.
    """
    with _BLAS:
        _limits.append(_limits[0] if _limits else _libraries().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _BLAS:
            limit = _limits.pop()
            if not _limits:
                limit.restore_original_limits()


@_one_thread()
def descend(
    linear: Linear, loss: Loss, begin: FloatArray, *, iterations: int, l1: float = 0.0
) -> FloatArray:
    """Return the scaled weights (X,) where the way down from `begin` ends.

    Parameters
    ----------
    loss : callable
        Returns the loss at (X,) scaled weights and its gradient.
    iterations : int
        Of L-BFGS, at most.
    l1 : float
        Weight of the absolute scaled weights.
    """
    from scipy.optimize import minimize  # noqa: PLC0415  start-up time

    begin = np.clip(begin, linear.lower, linear.upper)
    bounds = np.stack([linear.lower, linear.upper], axis=1)
    size = len(begin)

    def split(parts: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = loss(parts[:size] - parts[size:])
        return value + l1 * float(parts.sum()), np.concatenate([gradient, -gradient]) + l1

    if l1:  # |x| has no derivative at 0; two parts of one sign each, x = up - down, have one
        begin = np.concatenate([np.maximum(begin, 0), np.maximum(-begin, 0)])
        bounds = np.maximum(np.concatenate([bounds, -bounds[:, ::-1]]), 0)
    found: FloatArray = minimize(
        split if l1 else loss,
        begin,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": iterations},
    ).x
    return found[:size] - found[size:] if l1 else found


class Risk:
    """The smooth loss of minimum risk, and its gradient.

    The loss is minus the metric of the statistics expected under a softmax of the model scores,
    plus the penalties.

    Parameters
    ----------
    linear : Linear
    l2 : float
        Weight of half the squared scaled weights.
    entropy : float
        Weight of the mean entropy of the segments, on top of the objective.
    stats : (H, K) float64, optional
        Statistics of every hypothesis in place of the problem's: 0 for segments that do not count.
    """

    def __init__(
        self,
        linear: Linear,
        *,
        l2: float = 0.0,
        entropy: float = 0.0,
        stats: FloatArray | None = None,
    ) -> None:
        self.problem = linear.problem
        self.linear = linear
        self.l2 = l2
        self.entropy = entropy
        self.stats = all_stats(self.problem) if stats is None else stats
        self._largest = np.zeros(self.stats.shape[1])
        for first, last in segment_blocks(self.problem.offsets, self.stats):
            rows = slice(self.problem.offsets[first], self.problem.offsets[last])
            self._largest = np.maximum(self._largest, np.abs(self.stats[rows]).max(axis=0))
        self._shares = np.empty(len(self.stats))
        self._slopes = np.empty(len(self.stats))

    def anneal(
        self, numbers: FloatArray, scales: Iterable[float], *, iterations: int, l1: float = 0.0
    ) -> Iterator[FloatArray]:
        """Yield the scaled weights (X,) at each stage's end, where the next stage begins.

        Parameters
        ----------
        scales
            Sharpness at the beginning of each stage: the spread of the model scores.
        iterations, l1
            As for `descend`.
        """
        for scale in scales:
            begin = self.linear.scaled(numbers, scale)
            numbers = descend(self.linear, self.loss, begin, iterations=iterations, l1=l1)
            yield numbers

    def loss(self, numbers: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss at (X,) scaled weights and its gradient."""
        raise_if_cancelled()
        linear, offsets = self.linear, self.problem.offsets
        columns = linear.columns
        extra = NOTHING if linear.sparse is None else linear.sparse @ numbers[columns:]
        expected, entropies = np.zeros(self.stats.shape[1]), 0.0
        for first, last in segment_blocks(offsets, linear.matrix, self.stats):
            entropies = _kernels.expect(
                linear.matrix,
                numbers[:columns].copy(),
                extra,
                offsets[first : last + 1],
                self.stats,
                self._shares,
                expected,
                entropies,
            )
        share, worth = self.entropy / (len(offsets) - 1), self._worth(expected)
        gradient = np.zeros(columns)
        for first, last in segment_blocks(offsets, linear.matrix, self.stats):
            _kernels.expected_slopes(
                linear.matrix,
                offsets[first : last + 1],
                self.stats,
                worth,
                share,
                self._shares,
                self._slopes,
                gradient,
            )
        if linear.sparse is not None:
            gradient = np.concatenate([gradient, linear.sparse.T @ self._slopes])
        score = max(float(self.problem.objective(expected)), -LARGEST)  # -inf has no slope
        value = score + share * entropies
        prior = self.problem.prior
        if prior is not None:  # it does not depend on the scale of weights
            weights = linear.searched(numbers) / prior.spread
            value -= prior.penalty(weights)
            gradient = gradient - linear.by_weight(prior.gradient(weights))
        return 0.5 * self.l2 * float(numbers @ numbers) - value, self.l2 * numbers - gradient

    def _worth(self, stats: FloatArray) -> FloatArray:
        """Return the (K,) derivative of the objective by summed statistics (K,).

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
    l1, l2
        Strengths of two penalties that are subtracted from the objective: the sum of the absolute
        weights (`l1`) and half the sum of their squares (`l2`). Each weight is first multiplied by
        the spread of its feature.
    entropy
        Weight of the mean entropy of the segments' softmax. It is added to the objective, so the
        softmax stays less sharp.
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
        risk = Risk(linear, l2=self.l2, entropy=self.entropy)
        stages = risk.anneal(linear.start, self.scales, iterations=self.iterations, l1=self.l1)
        candidates = [start, *(linear.weights(numbers) for numbers in stages)]
        return best_of(problem, candidates)
