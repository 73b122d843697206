"""Searches for the weights of highest score on segments that were held out: the default."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from portmert.metrics._base import FloatArray, IntArray, offsets_of, rows_taken
from portmert.tuner.search._kernels import best_hypotheses
from portmert.tuner.search.constraints import Bounds
from portmert.tuner.search.optimizers._base import Found, Optimizer, Unseen
from portmert.tuner.search.optimizers._linear import Linear
from portmert.tuner.search.optimizers._mira import Lists, Mira
from portmert.tuner.search.optimizers._risk import Risk
from portmert.tuner.search.optimizers.coordinate import Coordinate
from portmert.tuner.search.problem import TuningProblem, within_segment_spread

RESAMPLES = 200
"""Bootstrap samples of the segments that a standard error is the deviation over."""

SHARES = (1.0, 0.75, 0.5, 0.25)
"""How much of what was learnt goes into a mixture with the start weights; 0 is always tried, and
the largest preferred."""

SCALES = (1.0, 2.0, 4.0)
"""Sharpness of the stages of minimum risk, see `min-risk`."""

L2 = 1e-5
"""Weight of half the squared numbers in minimum risk, see `min-risk`."""


@dataclass(frozen=True)
class Bagged(Optimizer):
    """Averages weights learnt in three ways from parts of the segments, drawn towards the start.

    The segments are dealt into `folds`; each fold is held out once while three searches learn from
    the others, from a thinned list of each segment: the steps of `kbmira`, for few epochs, the
    descent of `min-risk`, of few iterations, and one climb of `coordinate`. The means of all these
    weights, scaled to equal spread of the model scores, are less at the mercy of single segments,
    of their order and of single hypotheses than any of them; and the searches err in different
    ways.

    Then they are mixed with each other and with the start weights, which they may be no better
    than, in shares from none to all. Each run chooses hypotheses for the segments that were held
    out from it, with every mixture of one, two or all three searches in equal parts. These
    mixtures are averaged, each by how well the segments held out score with it, exp(-d) where it
    is d standard errors of the difference below the best one. Of the shares with which the best
    one scores higher than the start weights, and not clearly below its best share, by no more than
    one standard error of the difference, the largest is taken. If there is none, the start weights
    are the result. Standard errors are from bootstrap samples of segments.

    The estimate for unseen text is the score of the segments held out when those of each fold take
    the mixture that the other folds choose: no segment has a say in what judges it.

    Weights that score lower on the given lists than the start's are not returned either.
    Searches weights of sparse features too.

    Parameters
    ----------
    restarts, spread
        See `Optimizer`; one start is enough.
    folds
        How many parts the segments are dealt into, at random.
    epochs
        Passes over the segments of each run of MIRA.
    c
        The largest step, see `kbmira`.
    iterations
        L-BFGS iterations of each stage of minimum risk; 0: learn by MIRA alone. Where there are
        sparse features, which it does not search, the climb is left out.
    longest
        Hypotheses of a segment that a run learns from, evenly out of the whole list: other ones
        in each run, unless statistics are computed on demand. The climb learns from half as many.
        Choosing is always from all.
    """

    restarts: Annotated[int, Ge(1)] = 1
    folds: Annotated[int, Ge(2)] = 10
    epochs: Annotated[int, Ge(1)] = 20
    c: Annotated[float, Gt(0)] = 0.05
    iterations: Annotated[int, Ge(0)] = 10
    longest: Annotated[int, Ge(2)] = 100

    sparse: ClassVar[bool] = True
    holds_out: ClassVar[bool] = True

    def search(
        self, problem: TuningProblem, start: FloatArray, bounds: Bounds, rng: np.random.Generator
    ) -> Found:
        """Learn with each fold held out."""
        fold_of = rng.permutation(len(problem.offsets) - 1) % self.folds
        counts = _samples(len(fold_of), int(rng.integers(2**63)))
        at_start = problem.goal(start)
        held_out = problem.winners(start)
        if len(fold_of) > 1:
            from_start, start_scores = _scaled(problem, start)
            blends = _blends(self._searches(problem))
            mixtures = [share * blend for share in SHARES for blend in blends]
            chosen = np.tile(held_out, (1 + len(mixtures), 1))
            penalties = np.zeros(len(chosen))
            penalties[0] = problem.penalty(start)
            learnt = []
            for fold, runs in enumerate(self._learnt(problem, start, bounds, fold_of, rng)):
                is_out = fold_of == fold
                at, offsets = rows_taken(problem.offsets, np.flatnonzero(is_out))
                pairs = [
                    (numbers, scores[at])
                    for numbers, scores in (_scaled(problem, weights) for weights in runs)
                ]
                found, scores = (np.stack(some) for some in zip(*pairs, strict=True))
                learnt.append(found)
                own_scores = start_scores[at]
                for row, parts in enumerate(mixtures, 1):
                    mixed = _mixture(parts, own_scores, scores)
                    chosen[row, is_out] = at[best_hypotheses(mixed, offsets)]
                    weights = _unscaled(_mixture(parts, from_start, found))
                    penalties[row] += problem.penalty(weights) * float(is_out.mean())
            parts, by_others = _choose(problem, chosen, penalties, blends, fold_of, counts)
            mean: FloatArray = np.mean(learnt, axis=0)
            weights = bounds.clip(_unscaled(_mixture(parts, from_start, mean)))
            value = problem.goal(weights)
            if parts.any() and value > at_start:
                for fold, (others, found) in enumerate(zip(by_others, learnt, strict=True)):
                    winners = problem.winners(_unscaled(_mixture(others, from_start, found)))
                    held_out[fold_of == fold] = winners[fold_of == fold]
                return Found(weights, value, unseen=_worth(problem, held_out, counts))
        return Found(start, at_start, unseen=_worth(problem, held_out, counts))

    def _searches(self, problem: TuningProblem) -> int:
        """Return how many searches learn: the climb searches no sparse features."""
        return 1 if not self.iterations else 2 if problem.sparse is not None else 3

    def _learnt(
        self,
        problem: TuningProblem,
        start: FloatArray,
        bounds: Bounds,
        fold_of: IntArray,
        rng: np.random.Generator,
    ) -> Iterator[list[FloatArray]]:
        """Yield the weights that the searches learn with each fold held out."""
        lists: Lists | None = None
        is_whole = bool(np.diff(problem.offsets).max(initial=0) <= self.longest)
        for fold in range(fold_of.max() + 1):
            if lists is None or not (is_whole or problem.stats.is_lazy):
                lists = None  # the memory of the last ones
                lists = Lists(
                    Linear(self._thinned(problem, fold, self.longest), start, bounds), start
                )
            learnt = self._learn(lists, fold_of != fold, rng)
            if self._searches(problem) > len(learnt):
                half = self._thinned(lists.linear.problem, fold, max(self.longest // 2, 2))
                at, offsets = rows_taken(half.offsets, np.flatnonzero(fold_of != fold))
                climb = Coordinate().search(half.take(at, offsets), start, bounds, rng)
                learnt.append(climb.weights)
            yield learnt

    def _learn(
        self, lists: Lists, is_learnt: NDArray[np.bool_], rng: np.random.Generator
    ) -> list[FloatArray]:
        """Return the weights that MIRA, and minimum risk, learn from some segments."""
        linear = lists.linear
        mira = Mira(lists, np.flatnonzero(is_learnt), c=self.c)
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

    def _thinned(self, problem: TuningProblem, part: int, longest: int) -> TuningProblem:
        """Return the problem with at most `longest` hypotheses a segment, evenly out of the list.

        Each of `folds` parts of it begins a little later.
        """
        lengths = np.diff(problem.offsets)
        kept = np.minimum(lengths, longest)
        if (kept == lengths).all():
            return problem
        offsets = offsets_of(kept)
        number = np.arange(offsets[-1]) - np.repeat(offsets[:-1], kept)
        at = (number * self.folds + part) * np.repeat(lengths, kept)
        at //= np.repeat(kept, kept) * self.folds
        return problem.take(np.repeat(problem.offsets[:-1], kept) + at, offsets)


def _scaled(problem: TuningProblem, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return weights, and 1 for what is not searched, and model scores: scaled to spread 1."""
    scores = problem.model_scores(weights)
    spread = float(within_segment_spread(scores[np.newaxis], problem.offsets)[0])
    scores /= spread
    return np.append(weights, 1.0) / spread, scores


def _blends(searches: int) -> FloatArray:
    """Return (B, L) parts of searches, of each, each two and so on, equal and 1 in all."""
    sets = np.array(list(itertools.product((0.0, 1.0), repeat=searches))[1:])
    blends: FloatArray = sets / sets.sum(axis=1, keepdims=True)
    return blends


def _mixture(parts: FloatArray, start: FloatArray, learnt: FloatArray) -> FloatArray:
    """Return (n,) numbers of the start with (L,) parts of (L, n) learnt ones in their place."""
    mixed: FloatArray = np.einsum("l,ln->n", parts, learnt)
    mixed += (1 - parts.sum()) * start
    return mixed


def _unscaled(numbers: FloatArray) -> FloatArray:
    """Return the weights of scaled ones; what is not searched has weight 1 again."""
    weights: FloatArray = numbers[:-1] / numbers[-1]
    return weights


def _samples(segments: int, seed: int) -> FloatArray:
    """Return (1 + RESAMPLES, S) counts of segments: in the text, once each, and in samples."""
    drawn = np.random.default_rng(seed).multinomial(
        segments, np.full(segments, 1 / segments), size=RESAMPLES
    )
    return np.vstack([np.ones(segments), drawn])


def _worth(problem: TuningProblem, chosen: IntArray, counts: FloatArray) -> Unseen:
    """Return what (S,) hypotheses are worth."""
    rows = problem.rows_of(chosen)
    worth = problem.objective(np.einsum("ns,sk->nk", counts, problem.stats.take(rows)))
    return Unseen(float(worth[0]), float(np.std(worth[1:], ddof=1)), rows)


def _choose(
    problem: TuningProblem,
    chosen: IntArray,
    penalties: FloatArray,
    blends: FloatArray,
    fold_of: IntArray,
    counts: FloatArray,
) -> tuple[FloatArray, list[FloatArray]]:
    """Return the parts of searches to believe in, and those that the others of each fold choose.

    Parameters
    ----------
    chosen : (1 + SHARES * B, S) int64
        Hypotheses: of the start, then of each share of each blend.
    penalties : (1 + SHARES * B,) float64
    blends : (B, L) float64
    """
    rows = problem.rows_of(chosen.ravel())
    stats = problem.stats.take(rows).reshape(*chosen.shape, -1)
    folds = [fold_of == fold for fold in range(fold_of.max() + 1)]
    sums = np.stack([np.einsum("ns,rsk->nrk", counts[:, at], stats[:, at]) for at in folds])
    counted = np.vstack([np.ones(len(sums)), 1 - np.eye(len(sums))])  # all, then without each
    drawn = np.stack([counts[:, at].sum(axis=1) for at in folds])
    whole, *others = [
        _parts(problem.objective(_text_if_empty(some, sums, drawn)), penalties, blends)
        for some in counted
    ]
    return whole, others


def _text_if_empty(some: FloatArray, sums: FloatArray, drawn: FloatArray) -> FloatArray:
    """Return sums (1 + RESAMPLES, n, K) over some folds: the text's for a sample without any."""
    total: FloatArray = np.einsum("f,fnrk->nrk", some, sums)
    total[some @ drawn == 0] = total[0]
    return total


def _parts(worths: FloatArray, penalties: FloatArray, blends: FloatArray) -> FloatArray:
    """Return the (L,) parts of searches to believe in, all 0 for the start.

    Parameters
    ----------
    worths : (1 + RESAMPLES, 1 + SHARES * B) float64
        Objectives of the start, then of each share of each blend; in each sample.
    """
    values = (worths[0, 1:] - penalties[1:]).reshape(len(SHARES), -1)
    samples = worths[1:, 1:].reshape(-1, *values.shape)
    best = int(np.argmax(values[0]))
    errors = np.std(samples[:, 0, [best]] - samples[:, 0], axis=0, ddof=1)
    gaps = (values[0, best] - values[0]) / np.maximum(errors, np.finfo(np.float64).eps)
    belief = np.exp(-gaps)
    shared = values[:, best]
    top = int(np.argmax(shared))
    errors = np.std(samples[:, [top], best] - samples[:, :, best], axis=0, ddof=1)
    good = (shared > worths[0, 0] - penalties[0]) & (shared[top] - shared <= errors)
    share = SHARES[int(np.argmax(good))] if good.any() else 0.0
    parts: FloatArray = share * (belief @ blends) / belief.sum()
    return parts
