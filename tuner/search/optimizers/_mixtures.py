"""Mixtures of learnt weights with the start weights, chosen by segments that were held out."""

import itertools

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric
from portmert.metrics._elementary import exp

from ..problem import finite, oriented_scores
from ..unseen import CLEARLY_BETTER

SHARES = (1.0, 0.75, 0.5, 0.25)
"""How much of what was learnt goes into a mixture with the start weights; 0 is always tried, and
the largest preferred."""


def blends_of(searches: int) -> FloatArray:
    """Return (B, L): every way to take one or more of L searches in equal parts that add to 1."""
    sets = np.array(list(itertools.product((0.0, 1.0), repeat=searches))[1:])
    blends: FloatArray = sets / sets.sum(axis=1, keepdims=True)
    return blends


def choose_mixture(
    metric: Metric,
    tables: FloatArray,
    penalties: FloatArray,
    blends: FloatArray,
    fold_of: IntArray,
    counts: FloatArray,
    *,
    keeps_start: bool,
) -> tuple[FloatArray, list[FloatArray]]:
    """Choose how much of each of several searches to believe, the rest being the start.

    Parameters
    ----------
    tables : (1 + SHARES * B, S, K) float64
        Statistics of the hypotheses that S held-out segments, or groups of them, get: those of the
        start, then those of each share of each blend.
    penalties : (1 + SHARES * B,) float64
        Taken off the oriented score of each.
    blends : (B, L) float64
        Parts of L searches, see `blends_of`.
    fold_of : (S,) int64
    counts : (1 + RESAMPLES, S) float64
        See `segment_samples`.
    keeps_start
        Whether to choose the start if nothing is clearly better; else it is not chosen.

    Returns
    -------
    parts : (L,) float64
        Of each search; all 0 for the start.
    by_others : list of (L,) float64
        For each fold, the parts that the other folds choose.
    """
    folds = [fold_of == fold for fold in range(fold_of.max() + 1)]
    sums = np.stack([np.einsum("ns,rsk->nrk", counts[:, at], tables[:, at]) for at in folds])
    counted = np.vstack([np.ones(len(sums)), 1 - np.eye(len(sums))])  # all, then without each
    drawn = np.stack([counts[:, at].sum(axis=1) for at in folds])
    choices = []
    for is_counted in counted:
        total = np.einsum("f,fnrk->nrk", is_counted, sums)
        total[is_counted @ drawn == 0] = total[0]  # of a sample without any segment: the text's
        scores = oriented_scores(metric, total)
        choices.append(_parts(scores, penalties, blends, keeps_start=keeps_start))
    return choices[0], choices[1:]


def _parts(
    scores: FloatArray, penalties: FloatArray, blends: FloatArray, *, keeps_start: bool
) -> FloatArray:
    """Return the (L,) parts of searches to believe in, all 0 for the start.

    Parameters
    ----------
    scores : (1 + RESAMPLES, 1 + SHARES * B) float64
        Oriented scores of the start, then of each share of each blend; in each sample.
    """
    scores = finite(scores)
    values = (scores[0, 1:] - penalties[1:]).reshape(len(SHARES), -1)
    drawn = scores[1:, 1:].reshape(-1, *values.shape)
    best = int(np.argmax(values[0]))
    errors = np.std(drawn[:, 0, [best]] - drawn[:, 0], axis=0, ddof=1)
    least = np.finfo(np.float64).eps * (np.abs(values).max() or 1.0)  # rounding, no difference
    belief = exp(-(values[0, best] - values[0]) / np.maximum(errors, least))
    shared = values[:, best]
    top = int(np.argmax(shared))
    errors = np.std(drawn[:, [top], best] - drawn[:, :, best], axis=0, ddof=1)
    good = shared[top] - shared <= errors
    if keeps_start:
        errors = np.std(drawn[:, :, best] - scores[1:, [0]], axis=0, ddof=1)
        good &= shared - (scores[0, 0] - penalties[0]) > CLEARLY_BETTER * errors
    share = SHARES[int(np.argmax(good))] if good.any() else 0.0
    parts: FloatArray = share * np.einsum("b,bl->l", belief, blends) / belief.sum()
    return parts
