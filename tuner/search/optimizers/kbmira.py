"""Learn weights by k-best batch MIRA: segment by segment, from hope and fear."""

from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le
from pydantic.dataclasses import dataclass

from portmert.metrics._base import FloatArray, IntArray

from ...base.threads import raise_if_cancelled
from ..constraints import Bounds
from ..problem import MANY, TuningProblem, within_segment_spread
from . import _linear
from . import _mira_kernels as kernels
from ._background_scores import background_scores, scores_with_background
from ._base import Optimizer, SearchResult

BLOCK = 10
"""Number of segments that are scored with the same background."""
LARGE_BLOCK = 100
"""That number where there are many: a tenth of what the decay of the background remembers."""

START_SPREAD = 0.2
"""Spread of the model scores within segments at the start; background scores have spread 1. If
model scores had a larger spread, one hypothesis that the model prefers could be hope and fear at
once, and no weight would move. (Moses takes the start weights as they are; its --safe-hope is
against this.)"""


class MiraLists:
    """The lists that MIRA learns from, and how much their background scores vary.

    Attributes
    ----------
    start : (F + P,) float64
        The start weights.
    stats : (H, K) float64
        Statistics of every hypothesis.
    unit : float
        One over the spread of the background scores within segments; 0 where all are equal.
    """

    def __init__(self, linear: _linear.Linear, start: FloatArray) -> None:
        problem = linear.problem
        self.linear = linear
        self.start = start
        self.stats = problem.all_stats()
        self.winners = problem.winners(start)
        self.begin = np.clip(linear.scaled(linear.start, START_SPREAD), linear.lower, linear.upper)
        background = problem.total(self.winners) / len(self.winners)
        scores = background_scores(problem, self.stats, background, 1.0)[np.newaxis]
        deviation = within_segment_spread(scores, problem.offsets, if_constant=0.0)[0]
        self.unit = 1.0 / float(deviation) if deviation > 0 else 0.0
        sparse = linear.sparse
        empty: IntArray = np.empty(0, dtype=np.int64)
        self.arrays = kernels.FeatureRows(
            linear.matrix,
            problem.offsets,
            empty if sparse is None else sparse.indptr.astype(np.int64),
            empty if sparse is None else sparse.indices.astype(np.int64),
            np.empty(0) if sparse is None else sparse.data,
        )


class Mira:
    """Batch MIRA, segment by segment: scaled weights, their mean over all steps, the background.

    Parameters
    ----------
    lists : MiraLists
    segments : (n,) int64
        The segments to learn from.
    c, decay
        See `Kbmira`.
    """

    def __init__(
        self, lists: MiraLists, segments: IntArray, *, c: float = 0.05, decay: float = 0.999
    ) -> None:
        self.lists = lists
        self.segments = segments
        self.c, self.decay = c, decay
        self._block = LARGE_BLOCK if len(segments) > MANY else BLOCK
        self.weights = lists.begin.copy()
        self.background = lists.linear.problem.total(lists.winners[segments]) / len(segments)
        self.size = 1.0
        self.steps = 0
        self._late = np.zeros(len(self.weights))

    @property
    def mean(self) -> FloatArray:
        """The scaled weights (X,) averaged over all steps so far."""
        return self.weights - self._late / max(self.steps, 1)

    def epoch(self, rng: np.random.Generator) -> None:
        """Pass over all segments, in a random order."""
        order = rng.permutation(self.segments)
        for begin in range(0, len(order), self._block):
            self.learn(order[begin : begin + self._block])

    def learn(self, segments: IntArray) -> None:
        """Learn from some segments with the same background."""
        lists = self.lists
        problem, stats = lists.linear.problem, lists.stats
        raise_if_cancelled()
        sums = kernels.with_background(stats, problem.offsets, segments, self.background)
        scores = scores_with_background(problem, sums, self.size) * lists.unit
        hopes = kernels.mira(
            lists.arrays,
            segments,
            scores,
            (lists.linear.lower, lists.linear.upper, self.c),
            self.steps,
            self.weights,
            self._late,
        )
        self.steps += len(segments)
        self.size = kernels.remember(stats, hopes, self.decay, self.background, self.size)


@dataclass(frozen=True)
class Kbmira(Optimizer):
    """Learn by batch MIRA over n-best lists (Cherry & Foster, NAACL 2012).

    MIRA visits the segments in a random order. In each segment the hope is the hypothesis with the
    highest model score plus background score, the fear the one with the highest model score minus
    background score. The weights move, as far as `c` allows, until the hope's model score exceeds
    the fear's by as much as its background score does. The background score of a hypothesis is the
    metric's score of the hypothesis together with a background corpus, the decaying sum of the
    hopes so far; higher is better. Weights are averaged over all steps. The result is the average
    after the epoch that scores highest on the lists, or the start if none scores higher. Weights
    of sparse features are searched too.

    Three things differ from the paper. Features are divided by their spread, so that one `c` suits
    all. Background scores are divided by their spread within segments, so that one `c` suits every
    metric. The background stays the same for ten segments, whose hypotheses are scored together.
    (Moses: c 0.01, decay 0.999, 60 epochs, features as they are.)

    Parameters
    ----------
    restarts
        Number of random orders of the segments to try; the best result wins.
    spread
        See `Optimizer`.
    c
        The largest step.
    epochs
        Passes over the lists.
    decay
        The background is multiplied by this after each segment.
    """

    restarts: Annotated[int, Ge(1)] = 1
    c: Annotated[float, Gt(0)] = 0.05
    epochs: Annotated[int, Ge(1)] = 60
    decay: Annotated[float, Gt(0), Le(1)] = 0.999

    sparse: ClassVar[bool] = True
    reads_all: ClassVar[bool] = True

    def search(
        self, problem: TuningProblem, start: FloatArray, bounds: Bounds, rng: np.random.Generator
    ) -> SearchResult:
        """Make `epochs` passes from one start."""
        linear = _linear.Linear(problem, start, bounds)
        segments = np.arange(len(problem.offsets) - 1)
        mira = Mira(MiraLists(linear, start), segments, c=self.c, decay=self.decay)
        candidates = [start]
        for _ in range(self.epochs):
            mira.epoch(rng)
            candidates.append(linear.weights(mira.mean))
        best = _linear.best_of(problem, candidates)
        if problem.prior is None:
            return best
        # MIRA's own loss knows nothing of the prior.
        end = candidates[-1] if best.weights is start else best.weights
        between = _linear.best_between(problem, start, end)
        best = _linear.best_of(problem, [best.weights, between])
        return replace(best, line_searches=int(between is not start))
