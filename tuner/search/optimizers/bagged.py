"""Search for the weights of highest score on held-out segments: the default."""

import copy
import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from portmert.metrics._base import FloatArray, IntArray, offsets_of, rows_taken

from ...base import streams
from ...base.threads import each, raise_if_cancelled
from .._line_search_kernels import first_maxima
from ..constraints import Bounds
from ..problem import MANY, TuningProblem, oriented_scores, within_segment_spread
from ..unseen import DrawnGroups, held_out_estimate, segment_samples
from . import _linear, kbmira
from ._base import Optimizer, SearchResult
from ._likelihood import Likelihood, are_outcomes
from ._mixtures import SHARES, blends_of, choose_mixture
from .coordinate import Coordinate
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
        The weights of each search, and 1 for what is not searched, divided by the spread of
        their model scores.
    places : (M, n) unsigned
        The place in its list of the hypothesis that each mixture chooses for the fold's segments.
    line_searches : int
        Those of the climb.
    seconds : float
        Processor time.
    """

    weights: FloatArray
    places: NDArray[Any]
    line_searches: int
    seconds: float


class _Split:
    """A problem whose segments are dealt into folds.

    Parameters
    ----------
    fold_of : (S,) int64
        The fold of each segment.
    seed : int
        The seed of the bootstrap samples.

    Attributes
    ----------
    is_out : list of (S,) bool
        For each fold, its segments.
    taught_by : list of sets of int
        For each fold, those from which weights are learnt while it is held out.
    start_spread : float
        The spread of the model scores of the start.
    """

    def __init__(
        self,
        problem: TuningProblem,
        start: FloatArray,
        bounds: Bounds,
        fold_of: IntArray,
        seed: int,
    ) -> None:
        self.problem, self.start, self.bounds = problem, start, bounds
        self.fold_of, self.seed = fold_of, seed
        self.is_out = [fold_of == fold for fold in range(fold_of.max() + 1)]
        count = len(self.is_out)
        taught = min(count - 1, math.ceil(MANY * count / len(fold_of)))
        self.taught_by = [
            {(fold + step) % count for step in range(1, taught + 1)} for fold in range(count)
        ]
        self.start_spread = _spread(problem, problem.model_scores(start))

    @property
    def learns_from_part(self) -> bool:
        """Whether the folds learnt from are not all others."""
        return len(self.taught_by[0]) < len(self.taught_by) - 1

    def members(self, fold: int) -> tuple[IntArray, IntArray]:
        """Return the hypotheses of a fold's segments, and the offsets of these."""
        return rows_taken(self.problem.offsets, np.flatnonzero(self.is_out[fold]))

    def is_learnt(self, fold: int) -> NDArray[np.bool_]:
        """Return (S,) which segments weights are learnt from while a fold is held out."""
        return np.isin(self.fold_of, list(self.taught_by[fold]))

    def mixed(self, parts: FloatArray, learnt: FloatArray) -> FloatArray:
        """Return the weights of a mixture of the start with learnt weights."""
        numbers = _mixture(parts, np.append(self.start, 1.0) / self.start_spread, learnt)
        weights: FloatArray = numbers[:-1] / numbers[-1]  # what is not searched has weight 1 again
        return weights


@dataclass(frozen=True)
class Bagged(Optimizer):
    """Average weights that three searches learn from parts of the segments, drawn to the start.

    The segments are dealt into `folds`. Each fold is held out once while three searches learn from
    the other folds, or from as many of them as have 3,000 segments: `kbmira` with few epochs,
    `min-risk` with few iterations, and one climb of `coordinate`. Each segment's list is thinned
    for this. All weights are scaled so that model scores have equal spread, and averaged. The
    averages depend less on single segments, on their order and on single hypotheses than the
    weights of one search, and the three searches make different errors.

    If the score is the mean of outcomes (right or wrong), a likelihood takes the place of the
    climb: a conditional logit, with the L2 penalty under which segments that it has not learnt
    from are most likely.

    Then mixtures are made. A mixture averages the weights of one, two or all three searches and
    adds the start weights with a share from none to all. For the segments of a fold, each mixture
    chooses hypotheses with the weights learnt without that fold. The mixtures are averaged. One
    that scores d standard errors of the difference below the best on the held-out segments counts
    exp(-d). Among the shares of learnt weights with which the best mixture beats the start
    weights by more than 1.645 standard errors, and which lie within one standard error of its best
    share, the largest is taken. If there is none, the result is the start weights; if these have
    no score (0 divided by 0), it is all that was learnt, and if that has none either, the best
    mixture learnt without one fold. Standard errors come from bootstrap samples of segments,
    or of some 4,000 groups of them.

    The estimate for unseen text is the score of the held-out segments when each fold uses the
    mixture that the other folds choose. On few segments it is a little too high: the weights by
    which the other folds choose were learnt from that fold too. See `held_out_estimate` for its
    error.

    The result is also the start weights if the averaged weights score lower on the given lists.
    `tune` and `mert-moses` do not keep the start weights in a search, because the first lists show
    only what these decode. They compare weights when they end. Weights of sparse features are
    searched too.

    Parameters
    ----------
    restarts, spread
        See `Optimizer`; one start is enough.
    folds
        Number of parts into which the segments are dealt at random.
    epochs
        Passes over the segments in each run of MIRA; as many steps with more than 3,000 segments.
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
    keeps_start
        Whether the result is the start weights if nothing is clearly better. If not, it is the
        best of what was learnt.
    """

    restarts: Annotated[int, Ge(1)] = 1
    folds: Annotated[int, Ge(2)] = 10
    epochs: Annotated[int, Ge(1)] = 20
    c: Annotated[float, Gt(0)] = 0.05
    iterations: Annotated[int, Ge(0)] = 10
    longest: Annotated[int, Ge(2)] = 100
    likelihood: bool = True
    keeps_start: bool = True

    sparse: ClassVar[bool] = True
    holds_out: ClassVar[bool] = True

    def explorer(self) -> Self:
        """Return this search, but one that does not keep the start weights."""
        return replace(self, keeps_start=False)

    def folds_of(self, segments: int, seed: int) -> IntArray:
        """Return the (S,) folds with which the first search of a seed holds segments out."""
        return streams.restart(seed, 0).permutation(segments) % self.folds

    def search(
        self, problem: TuningProblem, start: FloatArray, bounds: Bounds, rng: np.random.Generator
    ) -> SearchResult:
        """Learn with each fold held out, several folds at once."""
        fold_of = rng.permutation(len(problem.offsets) - 1) % self.folds
        split = _Split(problem, start, bounds, fold_of, int(rng.integers(2**63)))
        at_start = problem.objective(start)
        end, held_out = (start, at_start), problem.winners(start)[np.newaxis]
        folds: list[_Fold] = []
        if len(fold_of) > 1:
            blends, folds = self._learn_folds(split, rng)
            parts, by_others = _choose_mixture(split, blends, folds, keeps_start=self.keeps_start)
            learnt = np.stack([fold.weights for fold in folds])
            held_out = _held_out(split, by_others, learnt)
            averaged = _averaged(split, at_start, parts, blends, learnt)
            end = max(end, averaged, key=itemgetter(1)) if self.keeps_start else averaged
        unseen = held_out_estimate(
            problem.stats, problem.metric, problem.rows_of(held_out), fold_of, split.seed
        )
        return SearchResult(
            *end,
            line_searches=sum(fold.line_searches for fold in folds),
            unseen=unseen,
            seconds=sum(fold.seconds for fold in folds),
        )

    def _learn_folds(
        self, split: _Split, rng: np.random.Generator
    ) -> tuple[FloatArray, list[_Fold]]:
        """Return the blends of searches, and what is learnt with each fold held out."""
        problem, third = split.problem, self._third_learner(split.problem)
        blends, draws = blends_of(1 + bool(self.iterations) + bool(third)), []
        for fold in range(len(split.is_out)):
            # Each draws from where `rng` stands when those before it have drawn.
            draws.append(copy.deepcopy(rng))
            segments = int(split.is_learnt(fold).sum())
            for _ in range(self._passes(segments)):
                raise_if_cancelled()
                rng.permutation(segments)

        def thin(fold: int) -> kbmira.MiraLists:
            part = 0 if problem.stats.is_lazy else fold
            sample = thinned(problem, self.longest, part=part, parts=self.folds)
            if split.learns_from_part:
                segments = np.flatnonzero(split.is_learnt(fold))
                sample = sample.take(*rows_taken(sample.offsets, segments))
            linear = _linear.Linear(sample, split.start, split.bounds)
            lists = kbmira.MiraLists(linear, split.start)
            if third != "climb":
                linear.forget_features()
            return lists

        is_whole = bool(np.diff(problem.offsets).max(initial=0) <= self.longest)
        is_same = not split.learns_from_part and (is_whole or problem.stats.is_lazy)
        shared = thin(0) if is_same else None

        def learn(fold: int) -> _Fold:
            begin = time.thread_time()
            is_learnt = split.is_learnt(fold)
            if split.learns_from_part:  # the lists have no other segments
                is_learnt = is_learnt[is_learnt]
            weights, line_searches = self._learn(
                shared or thin(fold), fold, is_learnt, draws[fold], third
            )
            learnt, places = _choices(split, fold, weights, blends)
            return _Fold(learnt, places, line_searches, time.thread_time() - begin)

        return blends, each(learn, len(split.is_out))

    def _passes(self, segments: int) -> int:
        """Return how often MIRA passes over segments: as many steps as with `MANY` of them."""
        return min(self.epochs, math.ceil(self.epochs * MANY / max(segments, 1)))

    def _third_learner(self, problem: TuningProblem) -> Literal["likelihood", "climb", ""]:
        """Return what learns beside MIRA and minimum risk.

        A likelihood learns of outcomes that are known. The climb searches neither sparse nor many
        features.
        """
        if not self.iterations:
            return ""
        if self.likelihood and not problem.stats.is_lazy:
            sample = thinned(problem, self.longest, part=0, parts=self.folds)
            if are_outcomes(sample):
                return "likelihood"
        return "climb" if problem.sparse is None and problem.width <= MOST_CLIMBED else ""

    def _learn(
        self,
        lists: kbmira.MiraLists,
        fold: int,
        is_learnt: NDArray[np.bool_],
        rng: np.random.Generator,
        third: str,
    ) -> tuple[list[FloatArray], int]:
        """Return the weights that each search learns from some segments, and its line searches."""
        linear, segments = lists.linear, np.flatnonzero(is_learnt)
        mira = kbmira.Mira(lists, segments, c=self.c)
        for _ in range(self._passes(len(segments))):
            mira.epoch(rng)
        learnt = [linear.weights(mira.mean)]
        if self.iterations:
            counts = np.repeat(is_learnt, np.diff(linear.problem.offsets))
            stats = lists.stats if counts.all() else np.where(counts[:, None], lists.stats, 0.0)
            risk = Risk(linear, l2=L2, stats=stats)
            *_, last = risk.anneal(linear.start, SCALES, iterations=self.iterations)
            learnt.append(linear.weights(last))
        if third == "likelihood":
            likelihood = Likelihood(linear, oriented_scores(linear.problem.metric, lists.stats))
            learnt.append(likelihood.learn(segments, part=fold))
        if third != "climb":
            return learnt, 0
        half = thinned(linear.problem, max(self.longest // 2, 2), part=fold, parts=self.folds)
        sample = half.take(*rows_taken(half.offsets, segments))
        climbed = Coordinate().search(sample, lists.start, linear.bounds, rng)
        return [*learnt, climbed.weights], climbed.line_searches


def _choices(
    split: _Split, fold: int, weights: Sequence[FloatArray], blends: FloatArray
) -> tuple[FloatArray, NDArray[Any]]:
    """Return the scaled weights of searches, and the `places` that mixtures choose, of a fold."""
    problem, (hypotheses, offsets) = split.problem, split.members(fold)
    rows: IntArray | slice = hypotheses
    if split.learns_from_part:  # the fold's segments tell the spread
        problem, rows = problem.take(hypotheses, offsets), slice(None)
    at_start = problem.model_scores(split.start)[rows] / split.start_spread
    learnt, scores = [], np.empty((len(weights), len(hypotheses)))
    for row, vector in zip(scores, weights, strict=True):
        of_all = problem.model_scores(vector)
        spread = _spread(problem, of_all)
        learnt.append(np.append(vector, 1.0) / spread)
        row[:] = of_all[rows] / spread
    mixtures = list(itertools.product(SHARES, blends))
    narrow = np.min_scalar_type(int(np.diff(offsets).max()))  # all mixtures of all folds are kept
    places = np.empty((len(mixtures), len(offsets) - 1), dtype=narrow)
    for row, (share, blend) in zip(places, mixtures, strict=True):
        winners = first_maxima(_mixture(share * blend, at_start, scores), offsets)
        row[:] = winners - offsets[:-1]
    return np.stack(learnt), places


def _choose_mixture(
    split: _Split, blends: FloatArray, folds: Sequence[_Fold], *, keeps_start: bool
) -> tuple[FloatArray, list[FloatArray]]:
    """Return the parts of searches to believe in, and those that the other folds choose."""
    problem = split.problem
    mixtures = [share * blend for share in SHARES for blend in blends]
    groups, winners = DrawnGroups(split.fold_of), problem.winners(split.start)
    begins, penalties = problem.offsets[:-1], np.zeros(1 + len(mixtures))
    at_start = groups.sums(problem.stats, problem.rows_of(winners))
    tables = np.empty((len(penalties), *at_start.shape))
    tables[0] = at_start
    penalties[0] = problem.penalty(split.start)
    for row, parts in enumerate(mixtures, 1):
        for is_out, fold in zip(split.is_out, folds, strict=True):
            winners[is_out] = begins[is_out] + fold.places[row - 1]
            penalty = problem.penalty(split.mixed(parts, fold.weights))
            penalties[row] += penalty * float(is_out.mean())
        tables[row] = groups.sums(problem.stats, problem.rows_of(winners))
    return choose_mixture(
        problem.metric,
        tables,
        penalties,
        blends,
        groups.folds,
        segment_samples(len(groups.folds), split.seed),
        keeps_start=keeps_start,
    )


def _averaged(
    split: _Split, at_start: float, parts: FloatArray, blends: FloatArray, learnt: FloatArray
) -> tuple[FloatArray, float]:
    """Return the weights of a mixture of the means over folds, and their objective.

    A start without a score is the worst. Then everything that was learnt counts, or, if that has
    no score either, the best mixture learnt without one fold.
    """
    if not parts.any():
        if at_start > -np.inf:
            return split.start, at_start
        parts = blends[-1]
    problem, bounds = split.problem, split.bounds
    weights = bounds.clip(split.mixed(parts, np.mean(learnt, axis=0)))
    value = problem.objective(weights)
    if max(value, at_start) > -np.inf:
        return weights, value
    candidates = [bounds.clip(split.mixed(blend, fold)) for fold in learnt for blend in blends]
    best = _linear.best_of(problem, candidates)
    return best.weights, best.objective


def _held_out(split: _Split, by_others: Sequence[FloatArray], learnt: FloatArray) -> IntArray:
    """Return (1 + K, S) the hypotheses of held-out segments with K folds.

    Row 0 is by the weights learnt without the segment's fold, row 1 + k without fold k as well.
    Leaving out fold k is assumed to change all weights as it changes their mean: to the mean of
    what is learnt without it.
    """
    changes = np.stack(
        [
            learnt[[fold not in taught for taught in split.taught_by]].mean(axis=0)
            for fold in range(len(learnt))
        ]
    ) - learnt.mean(axis=0)
    winners = np.empty((1 + len(learnt), len(split.fold_of)), dtype=np.int64)
    for fold, parts in enumerate(by_others):
        hypotheses, offsets = split.members(fold)
        problem = split.problem.take(hypotheses, offsets)
        for row in range(len(winners)):
            weights = learnt[fold] + (0.0 if row in (0, 1 + fold) else changes[row - 1])
            best = problem.winners(split.mixed(parts, weights))
            winners[row, split.is_out[fold]] = hypotheses[best]
    return winners


def thinned(problem: TuningProblem, longest: int, *, part: int, parts: int) -> TuningProblem:
    """Return the problem with at most `longest` hypotheses a segment, evenly out of the list.

    Each of `parts` parts of the list begins a little later than the one before.
    """
    lengths = np.diff(problem.offsets)
    sizes = np.minimum(lengths, longest)
    if (sizes == lengths).all():
        return problem
    offsets = offsets_of(sizes)
    number = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
    at = (number * parts + part) * np.repeat(lengths, sizes)
    at //= np.repeat(sizes, sizes) * parts
    return problem.take(np.repeat(problem.offsets[:-1], sizes) + at, offsets)


def _spread(problem: TuningProblem, scores: FloatArray) -> float:
    """Return the spread of (H,) model scores within segments."""
    return float(within_segment_spread(scores[np.newaxis], problem.offsets)[0])


def _mixture(parts: FloatArray, start: FloatArray, learnt: FloatArray) -> FloatArray:
    """Return (n,) numbers of the start with (L,) parts of (L, n) learnt ones in their place."""
    mixed: FloatArray = np.einsum("l,ln->n", parts, learnt)
    mixed += (1 - parts.sum()) * start
    return mixed
