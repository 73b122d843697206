"""Search for the weights of highest score on held-out segments: the default."""

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from portmert.metrics._base import FloatArray, IntArray, offsets_of, rows_taken

from ...base import streams
from ...executors.team import each, raise_if_cancelled
from .._kernels import best_hypotheses
from ..constraints import Bounds
from ..problem import TuningProblem, objective, within_segment_spread
from ..unseen import SHARES, Unseen, blends_of, choose, judged, samples
from . import _linear, kbmira, mert
from ._base import Found, Optimizer
from ._likelihood import Likelihood, are_outcomes
from .min_risk import Risk

SCALES = (1.0, 2.0, 4.0)
"""Sharpness of the stages of minimum risk, see `min-risk`."""

L2 = 1e-5
"""Weight of half the squared numbers in minimum risk, see `min-risk`."""

MOST_CLIMBED = 100
"""The largest number of features with which there is a climb."""


class _Fold(NamedTuple):
    """The weights learnt with one fold held out.

    Parameters
    ----------
    weights : (L, F + 1) float64
        The weights of each search, scaled, see `_scaled`.
    chosen : (M, n) int64
        The hypotheses that each mixture chooses for the fold's segments.
    seconds : float
        Processor time.
    """

    weights: FloatArray
    chosen: IntArray
    seconds: float


@dataclass(frozen=True)
class Bagged(Optimizer):
    """Average weights that three searches learn from parts of the segments, drawn to the start.

    The segments are dealt into `folds`. Each fold is held out once while three searches learn from
    the other folds: `kbmira` with few epochs, `min-risk` with few iterations, and one climb of
    `coordinate`. Each segment's list is thinned for this. All weights are scaled so that model
    scores have equal spread, and averaged. The averages depend less on single segments, on their
    order and on single hypotheses than the weights of one search, and the three searches make
    different errors.

    If the score is the mean of outcomes (right or wrong), a likelihood takes the place of the
    climb: a conditional logit, with the L2 penalty under which segments that it has not learnt
    from are most likely.

    Then mixtures are made. A mixture averages the weights of one, two or all three searches and
    adds the start weights with a share from none to all. For the segments of a fold, each mixture
    chooses hypotheses with the weights learnt without that fold. The mixtures are averaged. One
    that scores d standard errors of the difference below the best on the held-out segments counts
    exp(-d). Among the shares of learnt weights with which the best mixture beats the start
    weights, and which lie within one standard error of its best share, the largest is taken. If
    there is none, the result is the start weights; if these have no score (0 divided by 0), it is
    all that was learnt, and if that has none either, the best mixture learnt without one fold.
    Standard errors come from bootstrap samples of segments.

    The estimate for unseen text is the score of the held-out segments when each fold uses the
    mixture that the other folds choose. On few segments it is a little too high: the weights by
    which the other folds choose were learnt from that fold too. See `judged` for its error.

    The result is also the start weights if the averaged weights score lower on the given lists.
    Weights of sparse features are searched too.

    Parameters
    ----------
    restarts, spread
        See `Optimizer`; one start is enough.
    folds
        Number of parts into which the segments are dealt at random.
    epochs
        Passes over the segments in each run of MIRA.
    c
        The largest step, see `kbmira`.
    iterations
        L-BFGS iterations of each stage of minimum risk. With 0 only MIRA learns. There is no climb
        with sparse features, which it does not search, nor with more than 100 features, because
        its time grows with the square of their number.
    longest
        Number of hypotheses of a segment from which a run learns, spread evenly over the list.
        Each run has different ones, unless statistics are computed on demand. The climb learns
        from half as many. Mixtures always choose from all hypotheses.
    likelihood
        Whether a likelihood takes the place of the climb where the score is a mean of outcomes.
    """

    restarts: Annotated[int, Ge(1)] = 1
    folds: Annotated[int, Ge(2)] = 10
    epochs: Annotated[int, Ge(1)] = 20
    c: Annotated[float, Gt(0)] = 0.05
    iterations: Annotated[int, Ge(0)] = 10
    longest: Annotated[int, Ge(2)] = 100
    likelihood: bool = True

    sparse: ClassVar[bool] = True
    holds_out: ClassVar[bool] = True

    def folds_of(self, segments: int, seed: int) -> IntArray:
        """Return the (S,) folds with which the first search of a seed holds segments out."""
        return streams.restart(seed, 0).permutation(segments) % self.folds

    def search(
        self, problem: TuningProblem, start: FloatArray, bounds: Bounds, rng: np.random.Generator
    ) -> Found:
        """Learn with each fold held out."""
        return self.search_in(1, problem, start, bounds, rng)

    def search_in(
        self,
        threads: int,
        problem: TuningProblem,
        start: FloatArray,
        bounds: Bounds,
        rng: np.random.Generator,
    ) -> Found:
        """Learn with each fold held out, several folds at once."""
        fold_of = rng.permutation(len(problem.offsets) - 1) % self.folds
        sample_seed = int(rng.integers(2**63))
        counts = samples(len(fold_of), sample_seed)

        def unseen(chosen: IntArray) -> Unseen:
            rows = problem.rows_of(chosen.ravel()).reshape(chosen.shape)
            return judged(problem.stats, problem.metric, rows, fold_of, sample_seed)

        at_start, seconds = problem.goal(start), 0.0
        held_out = problem.winners(start)[np.newaxis]
        if len(fold_of) > 1:
            from_start, start_scores = _scaled(problem, start)
            by_likelihood = self._by_likelihood(problem)
            blends = blends_of(3 if by_likelihood else self._searches(problem))
            mixtures = [share * blend for share in SHARES for blend in blends]
            chosen = np.tile(held_out, (1 + len(mixtures), 1))
            penalties = np.zeros(len(chosen))
            penalties[0] = problem.penalty(start)
            is_out = [fold_of == fold for fold in range(fold_of.max() + 1)]
            draws = list(self._draws(rng, [int((~out).sum()) for out in is_out]))
            lists = self._lists(problem, start, bounds)

            def work(fold: int) -> _Fold:
                begin = time.thread_time()
                own, others = lists(fold), ~is_out[fold]
                runs = self._learn(own, others, draws[fold])
                if by_likelihood:
                    scores = objective(problem.metric, own.stats)
                    segments = np.flatnonzero(others)
                    runs.append(Likelihood(own.linear, scores).learn(segments, part=fold))
                elif self._searches(problem) > len(runs):
                    runs.append(self._climbed(own, fold, others, draws[fold]))
                at, offsets = rows_taken(problem.offsets, np.flatnonzero(is_out[fold]))
                pairs = [
                    (numbers, scores[at])
                    for numbers, scores in (_scaled(problem, weights) for weights in runs)
                ]
                found, scores = (np.stack(some) for some in zip(*pairs, strict=True))
                own_scores = start_scores[at]
                picked = [
                    at[best_hypotheses(_mixture(parts, own_scores, scores), offsets)]
                    for parts in mixtures
                ]
                return _Fold(found, np.stack(picked), time.thread_time() - begin)

            folds = each(work, len(is_out), threads=threads)
            seconds = sum(fold.seconds for fold in folds)
            learnt = [fold.weights for fold in folds]
            for out, fold in zip(is_out, folds, strict=True):
                chosen[1:, out] = fold.chosen
                for row, parts in enumerate(mixtures, 1):
                    weights = _unscaled(_mixture(parts, from_start, fold.weights))
                    penalties[row] += problem.penalty(weights) * float(out.mean())
            rows = problem.rows_of(chosen.ravel()).reshape(chosen.shape)
            parts, by_others = choose(
                problem.stats, problem.metric, rows, penalties, blends, fold_of, counts
            )
            learnt_weights = np.stack(learnt)
            weights, value = _averaged(
                problem, bounds, (start, at_start), parts, blends, from_start, learnt_weights
            )
            held_out = _held_out(problem, is_out, by_others, from_start, learnt_weights)
            if value > at_start:
                return Found(weights, value, unseen=unseen(held_out), seconds=seconds)
        return Found(start, at_start, unseen=unseen(held_out), seconds=seconds)

    def _draws(
        self, rng: np.random.Generator, sizes: Sequence[int]
    ) -> Iterator[np.random.Generator]:
        """Yield a generator for each fold: where `rng` stands when the folds before have drawn."""
        for size in sizes:
            yield copy.deepcopy(rng)
            for _ in range(self.epochs):
                raise_if_cancelled()
                rng.permutation(size)

    def _searches(self, problem: TuningProblem) -> int:
        """Return how many searches learn: the climb searches neither sparse nor many features."""
        if not self.iterations:
            return 1
        return 3 if problem.sparse is None and problem.width <= MOST_CLIMBED else 2

    def _lists(
        self, problem: TuningProblem, start: FloatArray, bounds: Bounds
    ) -> Callable[[int], kbmira.MiraLists]:
        """Return a function from a fold to the lists that are learnt from without it."""

        def thin(fold: int) -> kbmira.MiraLists:
            some = thinned(problem, self.longest, part=fold, parts=self.folds)
            return kbmira.MiraLists(_linear.Linear(some, start, bounds), start)

        is_whole = bool(np.diff(problem.offsets).max(initial=0) <= self.longest)
        if not (is_whole or problem.stats.is_lazy):
            return thin
        lists = thin(0)
        return lambda _: lists

    def _by_likelihood(self, problem: TuningProblem) -> bool:
        """Return whether a likelihood learns: of outcomes that are known."""
        if problem.stats.is_lazy or not (self.iterations and self.likelihood):
            return False
        some = thinned(problem, self.longest, part=0, parts=self.folds)
        return are_outcomes(some, _linear.all_stats(some))

    def _climbed(
        self,
        lists: kbmira.MiraLists,
        fold: int,
        is_learnt: NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return the weights that the climb learns with a fold held out."""
        problem = lists.linear.problem
        half = thinned(problem, max(self.longest // 2, 2), part=fold, parts=self.folds)
        at, offsets = rows_taken(half.offsets, np.flatnonzero(is_learnt))
        some = half.take(at, offsets)
        return mert.Coordinate().search(some, lists.start, lists.linear.bounds, rng).weights

    def _learn(
        self, lists: kbmira.MiraLists, is_learnt: NDArray[np.bool_], rng: np.random.Generator
    ) -> list[FloatArray]:
        """Return the weights that MIRA, and minimum risk, learn from some segments."""
        linear = lists.linear
        mira = kbmira.Mira(lists, np.flatnonzero(is_learnt), c=self.c)
        for _ in range(self.epochs):
            mira.epoch(rng)
        found = [linear.weights(mira.mean)]
        if self.iterations:
            counts = np.repeat(is_learnt, np.diff(linear.problem.offsets))
            risk = Risk(linear, l2=L2, stats=np.where(counts[:, np.newaxis], lists.stats, 0.0))
            for numbers in risk.anneal(linear.start, SCALES, iterations=self.iterations):
                last = numbers
            found.append(linear.weights(last))
        return found


def _averaged(
    problem: TuningProblem,
    bounds: Bounds,
    start: tuple[FloatArray, float],
    parts: FloatArray,
    blends: FloatArray,
    from_start: FloatArray,
    learnt: FloatArray,
) -> tuple[FloatArray, float]:
    """Return the weights of a mixture of the means over folds, and their objective.

    A start without a score is the worst: then all that was learnt counts, or, if that has no
    score either, the best mixture learnt without one fold.
    """
    at_start = start[1]
    if not parts.any():
        if at_start > -np.inf:
            return start
        parts = blends[-1]

    def mixed(parts: FloatArray, of: FloatArray) -> FloatArray:
        return bounds.clip(_unscaled(_mixture(parts, from_start, of)))

    weights = mixed(parts, np.mean(learnt, axis=0))
    value = problem.goal(weights)
    if max(value, at_start) > -np.inf:
        return weights, value
    best = _linear.best_of(problem, [mixed(blend, one) for one in learnt for blend in blends])
    return best.weights, best.value


def _held_out(
    problem: TuningProblem,
    is_out: Sequence[NDArray[np.bool_]],
    by_others: Sequence[FloatArray],
    start: FloatArray,
    learnt: FloatArray,
) -> IntArray:
    """Return (1 + K, S) the hypotheses of held-out segments with K folds.

    Row 0 is by the weights learnt without the segment's fold, row 1 + k without fold k as well:
    leaving it out is taken to change all weights as it changes their mean.
    """
    changes = learnt - learnt.mean(axis=0)
    chosen = np.empty((1 + len(is_out), len(problem.offsets) - 1), dtype=np.int64)
    for fold, (out, parts) in enumerate(zip(is_out, by_others, strict=True)):
        at, offsets = rows_taken(problem.offsets, np.flatnonzero(out))
        own = problem.take(at, offsets)
        for row in range(len(chosen)):
            found = learnt[fold] + (0.0 if row in (0, 1 + fold) else changes[row - 1])
            chosen[row, out] = at[own.winners(_unscaled(_mixture(parts, start, found)))]
    return chosen


def thinned(problem: TuningProblem, longest: int, *, part: int, parts: int) -> TuningProblem:
    """Return the problem with at most `longest` hypotheses a segment, evenly out of the list.

    Each of `parts` parts of the list begins a little later than the one before.
    """
    lengths = np.diff(problem.offsets)
    kept = np.minimum(lengths, longest)
    if (kept == lengths).all():
        return problem
    offsets = offsets_of(kept)
    number = np.arange(offsets[-1]) - np.repeat(offsets[:-1], kept)
    at = (number * parts + part) * np.repeat(lengths, kept)
    at //= np.repeat(kept, kept) * parts
    return problem.take(np.repeat(problem.offsets[:-1], kept) + at, offsets)


def _scaled(problem: TuningProblem, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return weights, and 1 for what is not searched, and model scores: scaled to spread 1."""
    scores = problem.model_scores(weights)
    spread = float(within_segment_spread(scores[np.newaxis], problem.offsets)[0])
    scores /= spread
    return np.append(weights, 1.0) / spread, scores


def _mixture(parts: FloatArray, start: FloatArray, learnt: FloatArray) -> FloatArray:
    """Return (n,) numbers of the start with (L,) parts of (L, n) learnt ones in their place."""
    mixed: FloatArray = np.einsum("l,ln->n", parts, learnt)
    mixed += (1 - parts.sum()) * start
    return mixed


def _unscaled(numbers: FloatArray) -> FloatArray:
    """Return the weights of scaled ones; what is not searched has weight 1 again."""
    weights: FloatArray = numbers[:-1] / numbers[-1]
    return weights
