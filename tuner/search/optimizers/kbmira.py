"""Learns weights by k-best batch MIRA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le
from pydantic.dataclasses import dataclass

from tuner.search.optimizers._base import Found, Optimizer
from tuner.search.optimizers._gains import all_stats, background_of, gains
from tuner.search.optimizers._linear import Linear, best_of, pulled
from tuner.search.problem import within_segment_spread

if TYPE_CHECKING:
    from metrics._base import FloatArray, IntArray
    from tuner.search.constraints import Bounds
    from tuner.search.problem import TuningProblem

START_SPREAD = 0.2
"""Spread of the model scores within segments at the start, that of the worth being 1: where the
model speaks louder, a bad favourite of its is hope and fear at once, and nothing moves. (Moses:
however large the start weights are; it has --safe-hope against this.)"""


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
        run = _Run(self, problem, linear, start)
        candidates = [start]
        goals = [problem.goal(start)]
        best = 0
        for _ in range(self.epochs):
            average = linear.weights(run.epoch(rng.permutation(len(problem.offsets) - 1)))
            candidates.append(average)
            goals.append(problem.goal(average))
            if goals[-1] > goals[best]:
                best = len(goals) - 1
        found = candidates[best]
        last = candidates[-1] if best == 0 else found
        return best_of(problem, [found, *pulled(problem, start, last)])


class _Run:
    """Holds the state of one search: numbers, their sum over all steps, the background."""

    def __init__(
        self, optimizer: Kbmira, problem: TuningProblem, linear: Linear, start: FloatArray
    ) -> None:
        self.optimizer = optimizer
        self.problem = problem
        self.linear = linear
        self.stats = all_stats(problem)
        self.segments = 1.0
        self.background = background_of(problem, start, self.segments)
        worth = gains(problem, self.stats, self.background, self.segments)
        found = within_segment_spread(worth[np.newaxis], problem.offsets, if_constant=0.0)[0]
        self.unit = 1.0 / found if found > 0 else 0.0
        self.numbers = linear.scaled(linear.start, START_SPREAD)
        self.sum = np.zeros(len(self.numbers))
        self.steps = 0

    def epoch(self, order: IntArray) -> FloatArray:
        """Pass over all segments; return the numbers averaged over all steps so far."""
        offsets = self.problem.offsets
        for begin in range(0, len(order), self.optimizer.block):
            block = order[begin : begin + self.optimizer.block]
            ranges = [np.arange(offsets[s], offsets[s + 1]) for s in block]
            rows = np.concatenate(ranges)
            worth = gains(self.problem, self.stats[rows], self.background, self.segments)
            worth *= self.unit
            at = 0
            for hypotheses in ranges:
                self._segment(hypotheses, worth[at : at + len(hypotheses)])
                at += len(hypotheses)
        return self.sum / self.steps

    def _segment(self, hypotheses: IntArray, worth: FloatArray) -> None:
        linear = self.linear
        first, columns = int(hypotheses[0]), linear.columns
        last = first + len(hypotheses)
        scores = np.einsum("hd,d->h", linear.matrix[first:last], self.numbers[:columns])
        if linear.sparse is not None:
            scores += linear.sparse[first:last] @ self.numbers[columns:]
        hope, fear = int(np.argmax(scores + worth)), int(np.argmax(scores - worth))
        difference = worth[hope] - worth[fear]
        if difference > 0:
            loss = difference - (scores[hope] - scores[fear])
            if loss > 0:
                self._update(first + hope, first + fear, loss)
            decay = self.optimizer.decay
            self.background = (self.background + self.stats[first + hope]) * decay
            self.segments = (self.segments + 1.0) * decay
        self.sum += self.numbers
        self.steps += 1

    def _update(self, hope: int, fear: int, loss: float) -> None:
        linear, columns = self.linear, self.linear.columns
        change = linear.matrix[hope] - linear.matrix[fear]
        square = float(change @ change)
        sparse = None
        if linear.sparse is not None:
            sparse = linear.sparse[[hope]] - linear.sparse[[fear]]
            square += float(sparse.data @ sparse.data)
        if square == 0:
            return
        step = min(self.optimizer.c, loss / square)
        self.numbers[:columns] += step * change
        if sparse is not None:
            self.numbers[columns + sparse.indices] += step * sparse.data
        self.numbers = np.clip(self.numbers, linear.lower, linear.upper)
