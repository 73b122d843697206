"""Estimates of the score on unseen text, by segments that were held out."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric

from ..base import streams
from ..base.variation import deviation, is_constant
from .problem import finite, oriented_scores
from .stat_table import StatTable

RESAMPLES = 200
"""Bootstrap samples of the segments; a standard error is the deviation over them."""

GROUPS = 4000
"""Segments that samples draw one by one. Of more, they draw about so many groups: the standard
error of a score is the same, and no surer with segments."""

CLEARLY_BETTER = 1.645
"""Standard errors by which held-out segments must gain before the start weights are left: with
true gains of 0, one search in twenty leaves them. See research/kept-start.md."""

CLEARLY = 3.0
"""Standard errors of the difference by which a clearly worse candidate is below the best one."""


@dataclass(frozen=True)
class Unseen:
    """An estimate of the score of weights on segments from which they were not learnt.

    Parameters
    ----------
    oriented_score : float
        The estimate, negated if lower is better.
    error : float
        Its standard error.
    rows : (S,) int64
        The hypothesis chosen for each segment while it was held out, as a row of the statistics.
    without : (K, S) int64
        The same without what each of K folds teaches; (0, S) if there is one fold.
    folds : (S,) int64
        The fold with which each segment was held out, from 0.
    seed : int
        The seed of the bootstrap samples.
    """

    oriented_score: float
    error: float
    rows: IntArray = field(compare=False, repr=False)
    without: IntArray = field(compare=False, repr=False)
    folds: IntArray = field(compare=False, repr=False)
    seed: int = field(default=0, compare=False, repr=False)

    def score(self, metric: Metric) -> float | None:
        """Return the estimate as a score; None if there is one fold, so nothing was held out."""
        return metric.oriented(self.oriented_score) if len(self.without) else None


def segment_samples(segments: int, seed: int) -> FloatArray:
    """Return (1 + RESAMPLES, S): how often each segment counts in the text and in each sample.

    In the text, row 0, each counts once.
    """
    rng, shares = streams.whole(seed), np.full(segments, 1 / segments)
    counts = np.ones((1 + RESAMPLES, segments))
    for sample in counts[1:]:
        sample[:] = rng.multinomial(segments, shares)
    return counts


class DrawnGroups:
    """What bootstrap samples draw: segments, or groups of segments where there are many.

    Parameters
    ----------
    folds : (S,) int64
        The fold of each segment. A group has segments of one fold.

    Attributes
    ----------
    folds : (G,) int64
        The fold of each group.
    """

    def __init__(self, folds: IntArray) -> None:
        self._order: IntArray = np.arange(len(folds))
        self._begins = self._order
        if len(folds) > GROUPS:
            self._order = np.argsort(folds, kind="stable")
            part = self._begins * GROUPS // len(folds)
            is_first = (np.diff(part, prepend=-1) > 0) | (
                np.diff(folds[self._order], prepend=-1) > 0
            )
            self._begins = np.flatnonzero(is_first)
        self.folds = folds[self._order[self._begins]]

    def sums(self, stats: StatTable, rows: IntArray) -> FloatArray:
        """Return the (G, K) summed statistics of the rows (S,) of segments."""
        sums: FloatArray = np.add.reduceat(stats.take(rows[self._order]), self._begins)
        return sums


def gain_of(metric: Metric, tables: Sequence[FloatArray], seed: int) -> tuple[float, float]:
    """Return how much the oriented score rises from one of two tables to the other, and its error.

    The tables are (S, K) statistics of segments; the error is over bootstrap samples of these.
    """
    counts = segment_samples(len(tables[0]), seed)
    scores = [
        finite(oriented_scores(metric, np.einsum("ns,sk->nk", counts, table))) for table in tables
    ]
    gain, *sample_gains = (scores[1] - scores[0]).tolist()
    return gain, deviation(sample_gains) or 0.0


def held_out_estimate(
    stats: StatTable, metric: Metric, rows: IntArray, folds: IntArray, seed: int
) -> Unseen:
    """Estimate from the hypotheses that were chosen for held-out segments; see `Unseen`.

    The squared error has two parts: the variance over bootstrap samples of segments, as if weights
    were fixed, and what folds teach each other. That is the sum over folds of the squared change
    of the estimate without what a fold teaches, less the mean change. On pure noise both parts are
    equal; the second is capped by the first.

    Parameters
    ----------
    rows : (1 + K, S) int64
        The hypotheses chosen, then those chosen without what each of K folds teaches; or (1, S).
    """
    sums, groups = [stats.take(row).sum(axis=0) for row in rows[1:]], DrawnGroups(folds)
    count = len(groups.folds)
    drawn = np.einsum("ns,sk->nk", segment_samples(count, seed), groups.sums(stats, rows[0]))
    values = oriented_scores(metric, np.vstack([drawn, *sums]))
    scores = finite(values)
    sampling = _variance(scores[1 : len(drawn)]) * count / max(count - 1, 1)
    learnt = _variance(scores[len(drawn) :]) * len(sums)
    error = (sampling + min(sampling, learnt)) ** 0.5
    return Unseen(float(values[0]), error, rows[0], rows[1:], folds, seed)


def _variance(scores: FloatArray) -> float:
    return 0.0 if is_constant(scores) else float(np.var(scores, ddof=1))


def middle_estimate(candidates: Sequence[Unseen], stats: StatTable, metric: Metric) -> Unseen:
    """Estimate the score of the best of several candidates.

    The highest of several estimates promises too much, because it is the luckiest one too.
    Choosing on some folds and judging on others helps little: the errors of two folds correlate.
    So this is the middle estimate of all candidates that are not clearly worse than the best one.

    Parameters
    ----------
    candidates
        At least one. All are of the same segments.
    """
    groups = DrawnGroups(candidates[0].folds)
    counts = segment_samples(len(groups.folds), candidates[0].seed)
    tables = np.stack([groups.sums(stats, candidate.rows) for candidate in candidates])
    scores = finite(oriented_scores(metric, np.einsum("ns,csk->cnk", counts, tables)))
    below = scores[np.argmax(scores[:, 0])] - scores
    errors = np.std(below[:, 1:], axis=1, ddof=1)
    near = np.flatnonzero(below[:, 0] <= CLEARLY * errors)
    rising = near[np.argsort(scores[near, 0], kind="stable")]
    return candidates[int(rising[(len(rising) - 1) // 2])]


def scores_without_folds(metric: Metric, tables: FloatArray, folds: IntArray) -> FloatArray:
    """Return (K,) the oriented score of all segments but those of each fold.

    `tables` are the statistics of segments: (S, n), or (K, S, n) other ones for each fold.
    """
    count = int(folds.max(initial=0)) + 1
    tables = np.broadcast_to(tables, (count, *tables.shape[-2:]))
    sums = [table[folds != fold].sum(axis=0) for fold, table in enumerate(tables)]
    return finite(oriented_scores(metric, np.stack(sums)))


def error_without_folds(without: FloatArray) -> float:
    """Return the standard error of a value, a delete-a-group jackknife.

    Parameters
    ----------
    without : (K,) float64
        The value without each of K folds.
    """
    count = len(without)
    if count < 2:
        return 0.0
    return float(((count - 1) / count * np.square(without - without.mean()).sum()) ** 0.5)


def chosen_by_others(values: FloatArray, without: FloatArray, folds: IntArray) -> float:
    """Estimate the best of several candidates: other folds choose one, each fold judges it.

    The highest of several estimates is the luckiest one too. If all folds choose the candidate of
    the highest value, that value is returned; what other choices gain or lose is added to it.

    Parameters
    ----------
    values : (N,) float64
        The oriented score of each candidate.
    without : (N, 2, K) float64
        The oriented score without each of K folds: to choose by, which should not count what the
        fold taught the others either, and to judge by.
    folds : (S,) int64
    """
    parts = values[:, np.newaxis] - (1 - np.bincount(folds) / len(folds)) * without[:, 1]
    winners = np.argmax(without[:, 0], axis=0)  # of equal ones the first
    best = int(np.argmax(values))
    return float(values[best] + (parts[winners, np.arange(len(winners))] - parts[best]).sum())
