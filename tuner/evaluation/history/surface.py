"""Cuts slices of the error surface: the score along one weight, exactly, over all lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from portmert.metrics._base import FloatArray, Metric, rows_taken
from portmert.tuner.evaluation.history.dev_set import DevSet, Kept, all_segments
from portmert.tuner.evaluation.history.model import Slice
from portmert.tuner.ground.files import file_digest
from portmert.tuner.nbest.merge import merge
from portmert.tuner.nbest.model import NBest, model_scores
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.search.line_search import LineSearch
from portmert.tuner.search.problem import NOTHING, TuningProblem
from portmert.tuner.weights.feature_weights import FeatureWeights

MOST_PIECES = 1200
"""Of a slice; where the window has more, the window is narrower, never the function coarser."""

MOST_SLICES = 40
"""Of those features that move model scores most."""

DIGITS = 6
"""To which ends and scores are written: finer than any screen."""


def slices(
    dev: DevSet, metric: Metric, lists: Sequence[Path], weights: FeatureWeights, *, origin: Path
) -> tuple[Slice, ...]:
    """Return the surface along each dense feature around `weights`.

    The window reaches so far to both sides that the feature alone weighs as much as all do at
    `weights`, each measured by how much it varies within a segment.

    Parameters
    ----------
    lists
        N-best lists of the iterations so far, in order.
    origin
        The file of the weights.
    """
    kept = Kept(dev, "surface.json")
    key = dev.key(metric)
    if key is not None:
        key += f"|{[file_digest(path) for path in lists]}|{weights.to_json()}"
    found = kept.get(key)
    if found is None:
        found = _found(dev, metric, lists, weights, origin)
        if key is not None:
            kept = kept.emptied()  # those of fewer lists are of no use any more
        kept.put(key, found)
        kept.write()
    return tuple(
        Slice(name, weight, tuple(ends), tuple(scores)) for name, weight, ends, scores in found
    )


def _found(
    dev: DevSet, metric: Metric, lists: Sequence[Path], weights: FeatureWeights, origin: Path
) -> list[tuple[str, float, list[float], list[float]]]:
    _ = dev.references  # the first thing that the vocabulary sees
    segments = len(dev.sources)
    pool = merge([read_nbest([path], dev.vocabulary, segments=segments) for path in lists])
    problem = _problem(dev, metric, pool, weights)
    vector = weights.vector(pool.feature_names, origin=str(origin))
    names = feature_names(dict(pool.feature_names))
    size = float(np.linalg.norm(vector * problem.spread)) or 1.0
    shares = np.abs(vector * problem.spread)
    chosen = sorted(sorted(range(len(names)), key=lambda f: -shares[f])[:MOST_SLICES])
    free = np.full(len(names), np.inf)
    line = LineSearch(problem, -free, free)
    made = []
    for feature in chosen:
        steps, values = line.surface(vector, np.array([feature]), np.ones(1))
        reach = size / float(problem.spread[feature])
        weight = float(vector[feature])
        ends, scores = pieces(steps, metric.oriented(values), reach, MOST_PIECES)
        digits = DIGITS - math.ceil(math.log10(ends[-1] - ends[0]))
        made.append(
            (
                names[feature],
                weight,
                [round(weight + float(end), digits) for end in ends],
                [round(float(score), DIGITS) for score in scores],
            )
        )
    return made


def _problem(dev: DevSet, metric: Metric, pool: NBest, weights: FeatureWeights) -> TuningProblem:
    """Return what the optimizer saw: the segments tuned on; sparse features move nothing."""
    stats = dev.stats(metric, pool)
    fixed = NOTHING
    if pool.sparse is not None:
        dense = {name: (0.0,) * size for name, size in pool.feature_names}
        fixed = model_scores(pool, FeatureWeights({**weights.values, **dense}))
    segments = all_segments(dev)
    rows, offsets = rows_taken(pool.offsets, segments)
    return TuningProblem(
        np.ascontiguousarray(pool.features[rows].T),
        offsets,
        stats,
        metric,
        fixed[rows] if fixed.size else fixed,
        rows,
    )


def pieces(
    steps: FloatArray, values: FloatArray, reach: float, most: int
) -> tuple[FloatArray, FloatArray]:
    """Return a step function within `reach` of 0: neighbouring pieces of equal values are one.

    Parameters
    ----------
    steps : (n + 1,) float64
        Ends of the pieces, rising; they enclose -reach and reach.
    values : (n,) float64
    most
        At least 2. If there are more pieces, the window is narrower to both sides.

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


def feature_names(sizes: dict[str, int]) -> list[str]:
    """Return a name for each weight: `TM0[2]` is the second one of TM0."""
    return [
        name if size == 1 else f"{name}[{number}]"
        for name, size in sizes.items()
        for number in range(1, size + 1)
    ]
