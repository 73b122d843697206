"""Learn weights by pairwise ranking."""

from dataclasses import replace
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le
from pydantic.dataclasses import dataclass

from portmert.metrics._base import FloatArray, IntArray
from portmert.metrics._elementary import exp, inner, summed
from portmert.tuner.base.threads import raise_if_cancelled
from portmert.tuner.search.constraints import Bounds
from portmert.tuner.search.lbfgs import minimise
from portmert.tuner.search.optimizers import _linear
from portmert.tuner.search.optimizers._background_scores import background_scores
from portmert.tuner.search.optimizers._base import Optimizer, SearchResult
from portmert.tuner.search.problem import TuningProblem

PILOT = 100
"""Pairs of each segment that the median difference is taken from."""
ITERATIONS = 15000
"""L-BFGS iterations, at most: the loss is convex, and the descent ends by itself."""


@dataclass(frozen=True)
class Pro(Optimizer):
    """Learn to tell the better of two hypotheses (Hopkins & May, EMNLP 2011).

    Pairs of hypotheses of a segment are drawn at random. Some of the pairs that differ enough in
    background score are kept, and a logistic regression on the differences of their features gives
    the weights. The background score of a hypothesis is the metric's score of the hypothesis
    together with a background corpus, which is the best hypotheses under the start weights. So any
    metric can be used, and length counts as in the corpus score. With a brevity penalty for each
    segment PRO learns to make short translations (Nakov, Guzman & Vogel, COLING 2012).

    A pair with a very large difference contains a monster, an overlong or garbled hypothesis from
    which only its length can be learnt. Such pairs lead to weights under which more monsters win
    (Nakov, Guzman & Vogel, ACL 2013). `most` drops them. Pairs are chosen from the rest at random,
    because the largest differences are more often of length than of words.

    A background that is too long always rewards shorter hypotheses, and one that is too short
    rewards longer ones. So there are several rounds. The background of each round is the best
    hypotheses of the round before. The rounds are too long and too short in turn. The right length
    lies between two rounds, so the line between their weights is searched exactly.

    The result is the weights with the highest score on the lists, among all these and the start.
    Weights of sparse features are searched too.

    Parameters
    ----------
    restarts
        Number of samples of pairs, each with its own regression; the best on the lists wins.
    spread
        See `Optimizer`. The start is used only for the background and for `interpolation`.
    samples
        Number of pairs drawn for each segment.
    pairs
        Number of pairs kept for each segment (Hopkins and May: 50).
    least, most
        A pair counts if its difference in background score is in this range, in units of the
        median difference of random pairs. (Hopkins and May, and Moses: at least 0.05 BLEU, no
        limit.)
    keep
        Which pairs in that range to keep: a `random` choice, or the `largest` differences.
    background
        Size of the background corpus, in segments.
    rounds
        Number of rounds of drawing pairs and learning from them.
    l2
        Weight of the squared weights in the regression's loss.
    interpolation
        Share of the new weights in the result; the rest is the start weights. The absolute values
        of both are first scaled to the sum 1. (Hopkins and May: 0.1; Moses:
        --historic-interpolation.)
    """

    restarts: Annotated[int, Ge(1)] = 1
    samples: Annotated[int, Ge(1)] = 5000
    pairs: Annotated[int, Ge(1)] = 200
    least: Annotated[float, Ge(0)] = 1.0
    most: Annotated[float, Gt(0)] = 10.0
    keep: Literal["random", "largest"] = "random"
    background: Annotated[float, Ge(0)] = 20.0
    rounds: Annotated[int, Ge(1)] = 3
    l2: Annotated[float, Gt(0)] = 1.0
    interpolation: Annotated[float, Gt(0), Le(1)] = 1.0

    sparse: ClassVar[bool] = True
    reads_all: ClassVar[bool] = True

    def search(
        self, problem: TuningProblem, start: FloatArray, bounds: Bounds, rng: np.random.Generator
    ) -> SearchResult:
        """Sample pairs and regress, in rounds."""
        linear = _linear.Linear(problem, start, bounds)
        background = background_of(problem, start, self.background)
        candidates, last, line_searches = [start], start, 0
        stats = problem.all_stats()
        for _ in range(self.rounds):
            scores = background_scores(problem, stats, background, self.background)
            better, worse = self.sample(scores, problem.offsets, rng)
            if not better.size:
                break
            learnt = linear.weights(self._regress(linear, better, worse))
            mixed = self._interpolate(start, learnt) if self.interpolation < 1 else learnt
            mixed = bounds.clip(mixed)
            between = _linear.best_between(problem, last, mixed)
            line_searches += between is not last
            candidates += [mixed, between]
            last = mixed
            background = background_of(problem, learnt, self.background)
        return replace(_linear.best_of(problem, candidates), line_searches=line_searches)

    def sample(
        self, scores: FloatArray, offsets: IntArray, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray]:
        """Return the better and the worse hypothesis of each pair that is kept.

        Parameters
        ----------
        scores : (H,) float64
        offsets : (S + 1,) int64
            Hypotheses of segment s are `offsets[s]:offsets[s + 1]`.
        """
        pilot = [
            scores[rng.integers(a, b, PILOT)] - scores[rng.integers(a, b, PILOT)]
            for a, b in pairwise(offsets)
        ]
        sizes = np.abs(np.concatenate(pilot))
        unit = float(np.median(sizes[sizes > 0])) if (sizes > 0).any() else 1.0
        better, worse = [], []
        for begin, end in pairwise(offsets):
            raise_if_cancelled()
            first, second = rng.integers(begin, end, size=(2, self.samples))
            difference = scores[first] - scores[second]
            size = np.abs(difference)
            usable = np.flatnonzero(
                (size >= self.least * unit) & (size <= self.most * unit) & (size > 0)
            )
            if self.keep == "largest":
                usable = usable[np.argsort(-size[usable], kind="stable")]
            used = usable[: self.pairs]
            rises = difference[used] > 0
            better.append(np.where(rises, first[used], second[used]))
            worse.append(np.where(rises, second[used], first[used]))
        return np.concatenate(better), np.concatenate(worse)

    def _regress(self, linear: _linear.Linear, better: IntArray, worse: IntArray) -> FloatArray:
        """Return the scaled weights that minimise the logistic loss of all pairs."""
        dense = np.take(linear.matrix, better, axis=0)
        dense -= np.take(linear.matrix, worse, axis=0)
        columns = linear.columns
        sparse = None
        if linear.sparse is not None:
            sparse = linear.sparse[better] - linear.sparse[worse]

        def loss(numbers: FloatArray) -> tuple[float, FloatArray]:
            raise_if_cancelled()
            margins = np.einsum("pd,d->p", dense, numbers[:columns])
            if sparse is not None:
                margins += sparse @ numbers[columns:]
            value = float(summed(np.logaddexp(0.0, -margins)))
            slopes = -1.0 / (1.0 + exp(margins))
            gradient = np.einsum("pd,p->d", dense, slopes)
            if sparse is not None:
                gradient = np.concatenate([gradient, sparse.T @ slopes])
            value += 0.5 * self.l2 * inner(numbers, numbers)
            return value, gradient + self.l2 * numbers

        begin = np.zeros_like(linear.start)
        return minimise(loss, begin, linear.lower, linear.upper, iterations=ITERATIONS)

    def _interpolate(self, start: FloatArray, learnt: FloatArray) -> FloatArray:
        old_size, new_size = float(summed(np.abs(start))), float(summed(np.abs(learnt)))
        if old_size == 0 or new_size == 0:
            return learnt
        share = self.interpolation
        return old_size * (share * learnt / new_size + (1 - share) * start / old_size)


def background_of(problem: TuningProblem, weights: FloatArray, segments: float) -> FloatArray:
    """Return (K,): the statistics of the best hypotheses under weights, as so many segments."""
    total = problem.total(problem.winners(weights))
    return total * (segments / (len(problem.offsets) - 1))
