"""Searches for the weights of highest score on segments that were held out: the default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt
from pydantic.dataclasses import dataclass

from metrics._base import offsets_of, rows_taken
from tuner.search._kernels import best_hypotheses
from tuner.search.optimizers._base import Found, Optimizer, Unseen
from tuner.search.optimizers._linear import Linear
from tuner.search.optimizers._mira import Lists, Mira
from tuner.search.optimizers._risk import Risk
from tuner.search.problem import within_segment_spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metrics._base import FloatArray, IntArray
    from tuner.search.constraints import Bounds
    from tuner.search.problem import TuningProblem

RESAMPLES = 200
"""Bootstrap samples of the segments that a standard error is the deviation over."""

SHARES = (1.0, 0.75, 0.5, 0.25)
"""How much of what was learnt goes into a mixture with the start weights; 0 is always tried."""

BLENDS = (0.5, 0.0, 1.0)
"""How much of what was learnt is from expected statistics, the rest being from MIRA."""

CANDIDATES = tuple((share, blend) for share in SHARES for blend in BLENDS)
"""What the segments held out choose among, that first which is preferred."""

SCALES = (1.0, 2.0, 4.0)
"""Sharpness of the stages of minimum risk, see `expected`."""

L2 = 1e-5
"""Weight of half the squared numbers in minimum risk, see `expected`."""


@dataclass(frozen=True)
class Shrunk(Optimizer):
    """Averages weights learnt in two ways from parts of the segments, drawn towards the start.

    The segments are dealt into `folds`; each fold is held out once while two searches learn from
    the others, from a thinned list of each segment: the steps of `kbmira`, for few epochs, and the
    descent of `expected`, of few iterations. The means of all these weights, scaled to equal
    spread of the model scores, are less at the mercy of single segments, of their order and of
    single hypotheses than any of them; and the two searches err in different ways.

    Then they are mixed with each other, half and half or one of them alone, and with the start
    weights, which they may be no better than: in shares from none to all. Each run chooses
    hypotheses for the segments that were held out from it, with every mixture. Of the mixtures
    under which these score higher together than under the start weights, and not clearly below
    the best one, by no more than one standard error of the difference, that with the largest
    share is taken; of equal ones half and half first, then MIRA's. If there is none, the start
    weights are the result. The score of the mixture taken is the estimate for unseen text;
    standard errors are from bootstrap samples of segments.

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
        L-BFGS iterations of each stage of minimum risk; 0: from MIRA alone.
    longest
        Hypotheses of a segment that a run learns from, evenly out of the whole list: other ones
        in each run, unless statistics are computed on demand. Choosing is always from all.
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
        segments = len(problem.offsets) - 1
        fold_of = rng.permutation(segments) % self.folds
        seed = int(rng.integers(2**63))
        from_start, start_scores = _scaled(problem, start)
        candidates = [one for one in CANDIDATES if self.iterations or not one[1]]
        chosen = np.tile(problem.winners(start), (1 + len(candidates), 1))
        penalties = np.full(len(chosen), problem.penalty(start))
        penalties[1:] = 0.0
        learnt = []
        lists: Lists | None = None
        is_whole = bool(np.diff(problem.offsets).max(initial=0) <= self.longest)
        for fold in range(min(self.folds, segments)) if segments > 1 else ():
            held_out = fold_of == fold
            if lists is None or not (is_whole or problem.stats.is_lazy):
                lists = None  # the memory of the last ones
                lists = Lists(Linear(self._thinned(problem, fold), start, bounds), start)
            pair = [_scaled(problem, weights) for weights in self._learn(lists, ~held_out, rng)]
            found = np.stack([weights for weights, _ in pair])
            learnt.append(found)
            at, offsets = rows_taken(problem.offsets, np.flatnonzero(held_out))
            scores = np.stack([one[at] for _, one in pair])
            for row, (share, blend) in enumerate(candidates, 1):
                mixed = _mixture(start_scores[at], scores, share, blend)
                winners = at[best_hypotheses(mixed, offsets)]
                chosen[row, held_out] = winners
                weights = _unscaled(_mixture(from_start, found, share, blend))
                penalties[row] += problem.penalty(weights) * float(held_out.mean())
        row, before, unseen = _choose(problem, chosen, penalties, fold_of, seed)
        at_start = problem.goal(start)
        if row:
            mean: FloatArray = np.mean(learnt, axis=0)
            weights = bounds.clip(_unscaled(_mixture(from_start, mean, *candidates[row - 1])))
            value = problem.goal(weights)
            if value > at_start:
                return Found(weights, value, unseen=unseen)
        return Found(start, at_start, unseen=before)

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

    def _thinned(self, problem: TuningProblem, part: int) -> TuningProblem:
        """Return the problem with at most `longest` hypotheses a segment, evenly out of the list.

        Each of `folds` parts of it begins a little later.
        """
        lengths = np.diff(problem.offsets)
        kept = np.minimum(lengths, self.longest)
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


def _mixture(start: FloatArray, learnt: FloatArray, share: float, blend: float) -> FloatArray:
    """Return what (n,) numbers of the start and (1 or 2, n) learnt ones mix to."""
    both = learnt[0] if blend == 0 else (1 - blend) * learnt[0] + blend * learnt[1]
    mixed: FloatArray = (1 - share) * start + share * both
    return mixed


def _unscaled(numbers: FloatArray) -> FloatArray:
    """Return the weights of scaled ones; what is not searched has weight 1 again."""
    weights: FloatArray = numbers[:-1] / numbers[-1]
    return weights


def _choose(
    problem: TuningProblem,
    chosen: IntArray,
    penalties: FloatArray,
    fold_of: IntArray,
    seed: int,
) -> tuple[int, Unseen, Unseen]:
    """Return which row of (n, S) hypotheses to believe in, and the worth of the first and of it.

    Its worth is the score of the segments of each fold by the row that the other folds choose:
    what a choice gains by knowing the segments that judge it does not count.
    """
    rows = problem.rows_of(chosen.ravel()).reshape(chosen.shape)
    stats = problem.stats.take(rows.ravel()).reshape(*rows.shape, -1)
    segments = chosen.shape[1]
    drawn = np.random.default_rng(seed).multinomial(
        segments, np.full(segments, 1 / segments), size=RESAMPLES
    )
    counts = np.vstack([np.ones(segments), drawn])
    folds = [fold_of == fold for fold in range(fold_of.max() + 1)]
    sums = np.stack([np.einsum("ns,rsk->nrk", counts[:, at], stats[:, at]) for at in folds])

    def unseen(row_of: IntArray) -> Unseen:
        taken = row_of, np.arange(segments)
        worth = problem.objective(np.einsum("ns,sk->nk", counts, stats[taken]))
        return Unseen(float(worth[0]), float(np.std(worth[1:], ddof=1)), rows[taken])

    best = _preferred(problem.objective(sums.sum(axis=0)), penalties)
    others = np.zeros_like(fold_of)
    for fold, at in enumerate(folds if best else ()):
        worths = problem.objective(np.delete(sums, fold, axis=0).sum(axis=0))
        others[at] = _preferred(worths, penalties)
    return best, unseen(np.zeros_like(fold_of)), unseen(others)


def _preferred(worths: FloatArray, penalties: FloatArray) -> int:
    """Return which of n rows to believe in, by what they and (1 + RESAMPLES, n) samples are worth.

    Earlier rows, but for the first, are preferred where they are hardly worse than the best.
    """
    values = worths[0] - penalties
    best = int(np.argmax(values))  # of equal ones the start
    errors = np.std(worths[1:, [best]] - worths[1:], axis=0, ddof=1)
    good = (values > values[0]) & (values[best] - values <= errors)
    return int(np.flatnonzero(good)[0]) if best else 0
