"""Searches for the weights of highest score on segments that were held out: the default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt, MinLen
from pydantic.dataclasses import dataclass

from tuner.search.optimizers._base import Found, Optimizer, Unseen
from tuner.search.optimizers._gains import background_of, gains
from tuner.search.optimizers._linear import Linear
from tuner.search.optimizers._risk import Risk
from tuner.search.problem import within_segment_spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metrics._base import FloatArray, IntArray
    from tuner.search.constraints import Bounds
    from tuner.search.problem import TuningProblem

RESAMPLES = 200
"""Bootstrap samples of the segments that a standard error is the deviation over."""


@dataclass(frozen=True)
class Shrunk(Optimizer):
    """Maximises the expected metric, drawn towards the start as far as held-out segments ask for.

    The metric of the statistics expected under a softmax of the model scores is smooth in the
    weights (see `expected`). Here it is maximised less a penalty: the squared distance from the
    start weights, scaled to a spread of the model scores within segments of 1. So weights stay
    where the start has them unless the segments say clearly that they should not, and the softmax
    stays flat enough for all good hypotheses to count, not only for those that happen to win.

    How strong the penalty must be depends on the number of segments and on the start. It is
    tried: the segments are dealt into `folds`, each fold is held out once while the others are
    learnt from with every strength, and the strength is taken under which the hypotheses chosen
    for the held-out segments score highest together. That score is also the estimate for unseen
    text; its standard error is from bootstrap samples of the segments. Where no strength beats
    the start weights on held-out segments, the start weights are the result.

    Weights that score lower on the given lists than the start's are not returned either.
    Searches weights of sparse features too.

    Parameters
    ----------
    restarts, spread
        See `Optimizer`; the loss has few optima, and one start is enough.
    strengths
        Weights of half the squared distance from the start, falling, in units of what a
        hypothesis is usually worth more or less than its neighbours, for one segment.
    folds
        How many parts the segments are dealt into, at random.
    iterations
        L-BFGS iterations with each strength; each begins where the one before ended.
    longest
        Hypotheses of a segment that are learnt from while others are held out, evenly out of the
        whole list; where statistics are computed on demand also in the end. Choosing is always
        from all.
    """

    restarts: Annotated[int, Ge(1)] = 1
    strengths: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] = (80.0, 20.0, 5.0, 1.25)
    folds: Annotated[int, Ge(2)] = 5
    iterations: Annotated[int, Ge(1)] = 8
    longest: Annotated[int, Ge(2)] = 100

    sparse: ClassVar[bool] = True
    holds_out: ClassVar[bool] = True

    def search(
        self, problem: TuningProblem, start: FloatArray, bounds: Bounds, rng: np.random.Generator
    ) -> Found:
        """Choose the strength by held-out segments, then learn from all of them."""
        segments = len(problem.offsets) - 1
        fold_of = rng.permutation(segments) % self.folds
        seed = int(rng.integers(2**63))
        sample = _shortened(problem, self.longest)
        learner = _Learner(self, sample, start, bounds)
        rows = problem.winners(start)
        if learner.unit == 0 or segments < 2:  # nothing to learn, or nothing to hold out
            return Found(start, problem.goal(start), unseen=_estimate(problem, rows, seed))
        chosen = np.empty((len(self.strengths), segments), dtype=np.int64)
        penalties = np.zeros(len(self.strengths))
        for fold in range(min(self.folds, segments)):
            held_out = fold_of == fold
            for strength, weights in enumerate(learner.path(~held_out)):
                chosen[strength, held_out] = problem.winners(weights)[held_out]
                penalties[strength] += problem.penalty(weights) * held_out.mean()
        values = [
            float(problem.objective(problem.total(winners))) - penalty
            for winners, penalty in zip(chosen, penalties, strict=True)
        ]
        best = int(np.argmax(values))  # of equal ones the strongest
        at_start = problem.goal(start)
        if values[best] > at_start:
            if sample is not problem and not problem.stats.is_lazy:
                learner = _Learner(self, problem, start, bounds)
            weights = learner.path(np.ones(segments, dtype=bool), stages=best + 1)[-1]
            value = problem.goal(weights)
            if value > at_start:
                return Found(weights, value, unseen=_estimate(problem, chosen[best], seed))
        return Found(start, at_start, unseen=_estimate(problem, rows, seed))


class _Learner:
    """Learns weights from some segments of a problem, with one strength after the other.

    Attributes
    ----------
    unit : float
        What a hypothesis is usually worth more or less than its neighbours; 0 where all are
        worth the same.
    """

    def __init__(
        self, optimizer: Shrunk, problem: TuningProblem, start: FloatArray, bounds: Bounds
    ) -> None:
        self.optimizer = optimizer
        self.linear = Linear(problem, start, bounds)
        self.risk = Risk(self.linear, toward=self._toward())
        segments = float(len(problem.offsets) - 1)
        background = background_of(problem, start, segments)
        worth = gains(problem, self.risk.stats, background, segments)
        self.unit = float(
            within_segment_spread(worth[np.newaxis], problem.offsets, if_constant=0.0)[0]
        )

    def _toward(self) -> FloatArray:
        linear = self.linear
        return np.clip(linear.scaled(linear.start, 1.0), linear.lower, linear.upper)

    def path(self, is_learnt: NDArray[np.bool_], *, stages: int | None = None) -> list[FloatArray]:
        """Return the weights under each strength (the first `stages`), learnt from segments."""
        risk = self.risk
        risk.counts = is_learnt.astype(np.float64)
        numbers, weights = risk.toward, []
        for strength in self.optimizer.strengths[:stages]:
            risk.l2 = strength * self.unit / len(risk.counts)
            numbers = risk.descend(numbers, iterations=self.optimizer.iterations)
            weights.append(self.linear.weights(numbers))
        return weights


def _shortened(problem: TuningProblem, longest: int) -> TuningProblem:
    """Return the problem with at most so many hypotheses a segment, evenly out of the list."""
    lengths = np.diff(problem.offsets)
    if (lengths <= longest).all():
        return problem
    kept = [
        begin + np.arange(min(length, longest)) * length // min(length, longest)
        for begin, length in zip(problem.offsets[:-1], lengths, strict=True)
    ]
    offsets = np.concatenate([[0], np.cumsum(np.minimum(lengths, longest))])
    return problem.take(np.concatenate(kept), offsets)


def _estimate(problem: TuningProblem, hypotheses: IntArray, seed: int) -> Unseen:
    """Return the objective of (S,) hypotheses and its deviation over samples of segments."""
    stats = problem.stats.rows[problem.rows_of(hypotheses)]
    drawn = np.random.default_rng(seed).multinomial(
        len(stats), np.full(len(stats), 1 / len(stats)), size=RESAMPLES
    )
    samples = problem.objective(np.einsum("ns,sk->nk", drawn.astype(np.float64), stats))
    return Unseen(float(problem.objective(stats.sum(axis=0))), float(np.std(samples, ddof=1)))
