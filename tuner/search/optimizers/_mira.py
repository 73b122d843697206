"""Learns numbers by batch MIRA: segment by segment, from hope and fear."""

from __future__ import annotations

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, rows_taken
from portmert.tuner.ground.mapped import BLOCK_BYTES, release
from portmert.tuner.search.optimizers import _kernels
from portmert.tuner.search.optimizers._gains import all_stats, gains
from portmert.tuner.search.optimizers._linear import Linear
from portmert.tuner.search.problem import within_segment_spread

START_SPREAD = 0.2
"""Spread of the model scores within segments at the start, that of the worth being 1: where the
model speaks louder, a bad favourite of its is hope and fear at once, and nothing moves. (Moses:
however large the start weights are; it has --safe-hope against this.)"""


class Lists:
    """Holds what MIRA learns from: lists, and how much their hypotheses' worth varies.

    Parameters
    ----------
    linear : Linear

    Attributes
    ----------
    stats : (H, K) float64
        Statistics of every hypothesis.
    unit : float
        One over the spread of the worth within segments; 0 where all are worth the same.
    """

    def __init__(self, linear: Linear, start: FloatArray) -> None:
        problem = linear.problem
        self.linear = linear
        self.stats = all_stats(problem)
        self.winners = problem.winners(start)
        self.begin = np.clip(linear.scaled(linear.start, START_SPREAD), linear.lower, linear.upper)
        background = problem.total(self.winners) / len(self.winners)
        worth = gains(problem, self.stats, background, 1.0)[np.newaxis]
        found = within_segment_spread(worth, problem.offsets, if_constant=0.0)[0]
        self.unit = 1.0 / float(found) if found > 0 else 0.0
        sparse = linear.sparse
        empty: IntArray = np.empty(0, dtype=np.int64)
        self.arrays = _kernels.Lists(
            linear.matrix,
            problem.offsets,
            empty if sparse is None else sparse.indptr.astype(np.int64),
            empty if sparse is None else sparse.indices.astype(np.int64),
            np.empty(0) if sparse is None else sparse.data,
        )


class Mira:
    """Holds the state of a search: numbers, their mean over all steps, the background.

    Parameters
    ----------
    lists : Lists
    segments : (n,) int64
        Those learnt from.
    c
        The largest step.
    decay
        What is left of the background after each segment.
    block
        Segments scored with the same background.
    """

    def __init__(
        self,
        lists: Lists,
        segments: IntArray,
        *,
        c: float = 0.05,
        decay: float = 0.999,
        block: int = 10,
    ) -> None:
        self.lists = lists
        self.segments = segments
        self.c = c
        self.decay = decay
        self.block = block
        self.numbers = lists.begin.copy()
        self.background = lists.linear.problem.total(lists.winners[segments]) / len(segments)
        self.size = 1.0
        self.steps = 0
        self._late = np.zeros(len(self.numbers))
        self._read = 0

    @property
    def mean(self) -> FloatArray:
        """The numbers (X,) averaged over all steps so far."""
        return self.numbers - self._late / max(self.steps, 1)

    def epoch(self, rng: np.random.Generator) -> None:
        """Pass over all segments, in a random order."""
        order = rng.permutation(self.segments)
        for begin in range(0, len(order), self.block):
            self.learn(order[begin : begin + self.block])

    def learn(self, segments: IntArray) -> None:
        """Learn from some segments with the same background."""
        lists = self.lists
        problem, stats = lists.linear.problem, lists.stats
        rows, _ = rows_taken(problem.offsets, segments)
        worth = gains(problem, stats[rows], self.background, self.size) * lists.unit
        hopes = _kernels.mira(
            lists.arrays,
            segments,
            worth,
            (lists.linear.lower, lists.linear.upper, self.c),
            self.steps,
            self.numbers,
            self._late,
        )
        self.steps += len(segments)
        self._read += worth.nbytes * (stats.shape[1] + lists.linear.columns)
        if self._read > BLOCK_BYTES:
            release(stats, lists.linear.matrix)
            self._read = 0
        for hope in hopes[hopes >= 0]:
            self.background = (self.background + stats[hope]) * self.decay
            self.size = (self.size + 1.0) * self.decay
