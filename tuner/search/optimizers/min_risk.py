"""Searches for the highest metric of expected statistics: minimum risk."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt, MinLen
from pydantic.dataclasses import dataclass

from portmert.metrics._base import FloatArray
from portmert.tuner.search.constraints import Bounds
from portmert.tuner.search.optimizers._base import Found, Optimizer
from portmert.tuner.search.optimizers._linear import Linear, best_of
from portmert.tuner.search.optimizers._risk import Risk
from portmert.tuner.search.problem import TuningProblem


@dataclass(frozen=True)
class MinRisk(Optimizer):
    """Maximises the metric of the statistics expected under a softmax of the model scores.

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
        risk = Risk(linear, l2=self.l2, entropy=self.entropy)
        stages = risk.anneal(linear.start, self.scales, iterations=self.iterations, l1=self.l1)
        candidates = [start, *(linear.weights(numbers) for numbers in stages)]
        return best_of(problem, candidates)
