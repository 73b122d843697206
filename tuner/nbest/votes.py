"""Weights with which the hypotheses of a list vote for each other."""

from itertools import pairwise

import numpy as np

from portmert.metrics._base import FloatArray, IntArray
from portmert.metrics._elementary import exp, summed

from ..base import numbers


def uniform(offsets: IntArray) -> FloatArray:
    """Return (H,) weights that are equal in each list and add to 1."""
    sizes = np.diff(offsets)
    return np.repeat(1.0 / sizes, sizes)


def by_model(
    offsets: IntArray,
    scores: FloatArray,
    *,
    temperature: float | None = None,
    size: int | None = None,
) -> FloatArray:
    """Return (H,) weights of hypotheses as references, by their model scores.

    Parameters
    ----------
    offsets : (S + 1,) int64
        The hypotheses of list s are `offsets[s]:offsets[s + 1]`.
    scores : (H,) float64
        Model scores; higher is better.
    temperature
        The weights are the softmax of the scores times this factor, at most `LARGEST`. None: all
        are equal.
    size
        The number of hypotheses of each list that have a weight above 0: those with the highest
        scores, of equal ones the first. None: all.
    """
    weights = np.zeros(len(scores))
    for begin, end in pairwise(offsets.tolist()):
        list_scores = scores[begin:end]
        best_rows = begin + np.argsort(-list_scores, kind="stable")[:size]
        logits = min(temperature or 0.0, numbers.LARGEST) * scores[best_rows]
        shares = exp(logits - logits.max())
        weights[best_rows] = shares / summed(shares)
    return weights
