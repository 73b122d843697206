"""Average the weights of several searches, each scaled to the same size first.

The scale of weights does not change which hypothesis wins, and searches leave it to chance. In a
plain average the largest weights would count most.
"""

from collections.abc import Sequence

import numpy as np

from portmert.metrics._base import FloatArray

from ..base.variation import deviation
from ..nbest.model import NBest, model_scores
from ..weights.feature_weights import FeatureWeights, absolute_size, columns_by_name
from .constraints import Constraints
from .problem import within_segment_spread


def spread_size(weights: FeatureWeights, nbest: NBest, *, origin: str) -> float:
    """Return the root mean square deviation of model scores from the mean of their segment.

    0 if all hypotheses of each segment have one model score.

    A feature counts by how much it moves the model scores on these lists, whatever its unit.

    Raises
    ------
    InputError
        The lists have a dense feature that the weights do not name; `origin` names the weights.
    """
    scores = model_scores(nbest, weights, origin=origin)
    return float(within_segment_spread(scores[np.newaxis], nbest.offsets, if_constant=0.0)[0])


def stacked(
    weights: Sequence[FeatureWeights], sizes: Sequence[float] | None = None
) -> tuple[dict[str, int], FloatArray]:
    """Return name -> number of values, and (N, F) weights of size 1; 0 where one lacks a name.

    Parameters
    ----------
    sizes
        The divisor of each vector, unless it is 0. Default: its sum of absolute values.
    """
    sizes = [absolute_size(vector) for vector in weights] if sizes is None else sizes
    names: dict[str, int] = {}
    for vector in weights:
        for name, numbers in vector.values.items():
            names.setdefault(name, len(numbers))
    rows = [
        [
            number / (size or 1.0)
            for name, width in names.items()
            for number in vector.values.get(name, (0.0,) * width)
        ]
        for vector, size in zip(weights, sizes, strict=True)
    ]
    return names, np.array(rows, dtype=np.float64)


def weight_change(before: FeatureWeights, after: FeatureWeights) -> float:
    """Return how far weights moved, 0..2: summed differences, both scaled to |w| summing to 1.

    The scale of weights does not change which hypothesis wins, so it does not count.
    """
    _, rows = stacked([before, after])
    return float(np.abs(rows[0] - rows[1]).sum())


def averaged(
    weights: Sequence[FeatureWeights],
    sizes: Sequence[float] | None = None,
    *,
    constraints: Constraints | None = None,
) -> FeatureWeights:
    """Return the mean of weights scaled to size 1, scaled to their mean size.

    Parameters
    ----------
    sizes
        See `stacked`.
    constraints
        Kept by all weights, and by the mean. Where they constrain the size of weights it is not
        left to chance: the mean is a plain one.
    """
    if constraints is not None and constraints.are_absolute:
        sizes = [1.0] * len(weights)
    sizes = [absolute_size(vector) for vector in weights] if sizes is None else sizes
    names, rows = stacked(weights, sizes)
    mean = FeatureWeights.from_vector(tuple(names.items()), rows.mean(axis=0) * np.mean(sizes))
    return mean if constraints is None else constraints.allowed(mean, mean.names)


def weight_spreads(weights: Sequence[FeatureWeights]) -> dict[str, dict[str, list[float | None]]]:
    """Return mean and standard deviation of each weight, scaled to |w| adding to 1."""
    names, rows = stacked(weights)
    return {
        name: {
            "mean": rows[:, columns].mean(axis=0).tolist(),
            "sd": [deviation(column) for column in rows[:, columns].T],
        }
        for name, columns in columns_by_name(names.items()).items()
    }
