"""The error surface along one weight, exactly."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from portmert.metrics._base import FloatArray
from portmert.metrics._elementary import norm
from portmert.tuner.search.line_search import LineSearch
from portmert.tuner.search.problem import TuningProblem

MOST_PIECES = 1200
"""Pieces of a surface. If the window has more, it is made narrower: the function stays exact."""

DIGITS = 6
"""Decimals of ends and scores: finer than any screen."""


class Surface(NamedTuple):
    """The score of the lists along the weight of one feature; the other weights stay.

    Parameters
    ----------
    feature
    weight
        The weight in the result.
    ends : list of m + 1 float
        Ends of the pieces, rising: the score is `scores[k]` from `ends[k]` to `ends[k + 1]`.
    scores : list of m float
    """

    feature: str
    weight: float
    ends: list[float]
    scores: list[float]


def surface_of(problem: TuningProblem, name: str, vector: FloatArray, feature: int) -> Surface:
    """Return the surface along a feature, `name`, whose number is `feature`.

    The window reaches to both sides until the feature alone moves model scores as much as all
    features do. A feature counts by how much it varies within a segment.

    Parameters
    ----------
    vector : (F,)
        The weights.
    """
    size = norm(vector * problem.spread) or 1.0
    free = np.full(len(vector), np.inf)
    line = LineSearch(problem, -free, free)
    steps, values = line.surface(vector, np.array([feature]), np.ones(1))
    reach = size / float(problem.spread[feature])
    weight = float(vector[feature])
    ends, scores = pieces(steps, problem.metric.oriented(values), reach, MOST_PIECES)
    digits = DIGITS - math.ceil(math.log10(ends[-1] - ends[0]))
    return Surface(
        name,
        weight,
        [round(weight + float(end), digits) for end in ends],
        [round(float(score), DIGITS) for score in scores],
    )


def pieces(
    steps: FloatArray, values: FloatArray, reach: float, most: int
) -> tuple[FloatArray, FloatArray]:
    """Return a step function within `reach` of 0, neighbouring pieces of equal values joined.

    Parameters
    ----------
    steps : (n + 1,) float64
        Ends of the pieces, rising; they enclose -reach and reach.
    values : (n,) float64
    most
        At least 2. If there are more pieces, the window becomes narrower on both sides.

    Returns
    -------
    ends : (m + 1,) float64
    values : (m,) float64
    """
    wide = np.flatnonzero(steps[1:] > steps[:-1])
    starts, values = steps[:-1][wide], values[wide]
    changes = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    starts, values = starts[changes], values[changes]
    inner = starts[1:][np.abs(starts[1:]) < reach]
    if len(inner) >= most:
        reach = float(np.sort(np.abs(inner))[most - 1])
    first = int(np.searchsorted(starts, -reach, side="right")) - 1
    last = int(np.searchsorted(starts, reach, side="left"))
    ends = np.concatenate([[-reach], starts[first + 1 : last], [reach]])
    return ends, values[first:last]
