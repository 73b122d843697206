"""How Moses' `mert` searches lists: its starts, columns and constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from portmert.metrics._base import FloatArray, Metric
from portmert.tuner.base import errors, streams
from portmert.tuner.components import registry
from portmert.tuner.nbest.model import NBest
from portmert.tuner.search import constraints, weight_search
from portmert.tuner.search.optimizers._base import Optimizer
from portmert.tuner.search.problem import TuningProblem
from portmert.tuner.search.stat_table import StatTable
from portmert.tuner.weights.feature_weights import FeatureNames, FeatureWeights

DEFAULT_RANGE = (0.0, 1.0)


def optimizer_of_type(kind: str, options: Mapping[str, str]) -> Optimizer:
    """Return the optimizer of a value of --type, which is Moses' name or ours.

    Raises
    ------
    ConfigError
        There is none.
    """
    try:
        ours = {"powell": "mert", "random-direction": "random-directions"}.get(kind, kind)
        return registry.optimizer(ours, options)
    except errors.ConfigError as error:
        raise errors.ConfigError(f"--type {errors.shown(kind)}: {error}") from None


def column_names(names: FeatureNames) -> list[str]:
    """Return the name of each column as mert-moses.pl counts them: `TM0_0`, `TM0_1`, `LM0_0`."""
    return [f"{name}_{k}" for name, size in names for k in range(size)]


def setup_as_mert(
    lists: NBest,
    metric: Metric,
    optimizer: Optimizer,
    points: Sequence[FloatArray],
    ranges: tuple[FloatArray, FloatArray],
    *,
    limits: constraints.Constraints,
    sparse: Mapping[str, tuple[float, ...]] | None = None,
    seed: int = 0,
) -> weight_search.Setup:
    """Return how to search as mert does.

    Parameters
    ----------
    points : (F,) float64 each
        Where to begin. The first is the weights that the last list was made with; what is fixed
        keeps them.
    ranges : two (F,) float64
        The lowest and the highest random starting weights.
    sparse
        Weights of sparse features; those that it does not name are 0.
    """
    names, extra = lists.feature_names, dict(sparse or {})
    first, *later = points
    starts = [first]
    if later:
        stats = StatTable(lists.counted.rows)
        problem = TuningProblem(lists.features.T, lists.offsets, stats, metric, lists.unlisted)
        values = [problem.objective(point) for point in later]
        order = np.argsort(-np.array(values), kind="stable")[: max(optimizer.restarts - 1, 0)]
        starts += [later[k] for k in sorted(order.tolist())]
    (low, high), (lowest, highest) = DEFAULT_RANGE, ranges
    count = optimizer.restarts - len(starts)
    if count > 0 and ((lowest != low) | (highest != high)).any():
        starts += list(streams.whole(seed).uniform(lowest, highest, size=(count, len(first))))
    return weight_search.Setup(
        optimizer=optimizer,
        starts=tuple(
            FeatureWeights({**FeatureWeights.from_vector(names, point).values, **extra})
            for point in starts
        ),
        constraints=limits,
        seed=seed,
    )


def constraints_of(
    names: FeatureNames, active: Sequence[str], positive: Sequence[str] = ()
) -> constraints.Constraints:
    """Return the constraints of the options.

    Parameters
    ----------
    active
        Columns that are searched, the others are fixed; empty: all.
    positive
        Columns whose weights must not be negative.

    Raises
    ------
    InputError
        A column is none of the features'.
    """
    columns = column_names(names)
    for name in (*active, *positive):
        if name not in columns:
            raise errors.InputError(f"there is no feature {name}{errors.suggest(name, columns)}")
    fixed = tuple(name for name in columns if active and name not in active)
    signed = (name for name in positive if name not in fixed)
    return constraints.Constraints(fixed, bounds=dict.fromkeys(signed, constraints.SIGNS["+"]))


def sized(weights: FeatureWeights, names: FeatureNames) -> FeatureWeights:
    """Return weights of which those of the names have absolute values that add to 1."""
    size = float(np.abs(weights.vector(names)).sum()) or 1.0
    rows = weights.values.items()
    return FeatureWeights({name: tuple(v / size for v in row) for name, row in rows})
