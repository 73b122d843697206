"""Learns weights by k-best batch MIRA."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le
from pydantic.dataclasses import dataclass

from portmert.metrics._base import FloatArray
from portmert.tuner.search.constraints import Bounds
from portmert.tuner.search.optimizers._base import Found, Optimizer
from portmert.tuner.search.optimizers._linear import Linear, best_of, pulled
from portmert.tuner.search.optimizers._mira import Lists, Mira
from portmert.tuner.search.problem import TuningProblem


@dataclass(frozen=True)
class Kbmira(Optimizer):
    """Learns by batch MIRA over n-best lists (Cherry & Foster, NAACL 2012).

    Segment by segment, in a random order, weights move so that the hope (high in model score plus
    worth) beats the fear (high in model score minus worth) by as much as it is worth more, as far
    as `c` allows. What a hypothesis is worth is the metric of it and a background corpus, the
    decaying sum of the hopes so far. Weights are averaged over all steps; the average after the
    epoch that scores highest on the lists is the result, or the start if none scores higher.
    Searches weights of sparse features too.

    Other than in the paper, features are measured in their spread, so that one `c` suits all; the
    worth is in units of its spread within segments, so that it suits every metric; and the
    background stands still within a block of `block` segments, whose hypotheses are scored at
    once. (Moses: c 0.01, decay 0.999, 60 epochs, features as they are.)

    Parameters
    ----------
    restarts
        Orders of segments tried; the best end wins.
    spread
        See `Optimizer`.
    c
        The largest step.
    epochs
        Passes over the lists.
    decay
        What is left of the background after each segment.
    block
        Segments scored with the same background.
    """

    restarts: Annotated[int, Ge(1)] = 1
    c: Annotated[float, Gt(0)] = 0.05
    epochs: Annotated[int, Ge(1)] = 60
    decay: Annotated[float, Gt(0), Le(1)] = 0.999
    block: Annotated[int, Ge(1)] = 10

    sparse: ClassVar[bool] = True
    reads_all: ClassVar[bool] = True

    def search(
        self, problem: TuningProblem, start: FloatArray, bounds: Bounds, rng: np.random.Generator
    ) -> Found:
        """Make `epochs` passes from one start."""
        linear = Linear(problem, start, bounds)
        segments = np.arange(len(problem.offsets) - 1)
        mira = Mira(Lists(linear, start), segments, c=self.c, decay=self.decay, block=self.block)
        candidates = [start]
        goals = [problem.goal(start)]
        best = 0
        for _ in range(self.epochs):
            mira.epoch(rng)
            average = linear.weights(mira.mean)
            candidates.append(average)
            goals.append(problem.goal(average))
            if goals[-1] > goals[best]:
                best = len(goals) - 1
        found = candidates[best]
        last = candidates[-1] if best == 0 else found
        return best_of(problem, [found, *pulled(problem, start, last)])
