"""How Moses' `mert` searches lists: its starts, columns and constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from portmert.metrics._base import FloatArray, Metric
from portmert.tuner.base import errors, numbers, streams
from portmert.tuner.base.files import read_lines
from portmert.tuner.components import registry
from portmert.tuner.nbest import moses_dat
from portmert.tuner.search import constraints, weight_search
from portmert.tuner.search.optimizers._base import Optimizer
from portmert.tuner.search.problem import TuningProblem
from portmert.tuner.search.stat_table import StatTable
from portmert.tuner.weights.feature_weights import FeatureNames, FeatureWeights

DEFAULT_RANGE = (0.0, 1.0)


@dataclass(frozen=True)
class Starts:
    """Where a search begins.

    Parameters
    ----------
    points : tuple of (F,) float64
        The first is the weights that the last list was made with.
    lowest, highest : (F,) float64
        Range of random starting weights.
    """

    points: tuple[FloatArray, ...]
    lowest: FloatArray
    highest: FloatArray


def read_starts(path: str | Path, width: int) -> Starts:
    """Read init.opt: a line of weights, the lowest and the highest ones.

    Raises
    ------
    InputError
        The file cannot be read, has too few numbers or others than numbers.
    """
    tokens, count = " ".join(read_lines(path)).split(), 3 * width
    if len(tokens) < count:
        raise errors.InputError(
            f"{path}: {errors.counted(len(tokens), 'number')}, expected {count}: weights, lowest "
            f"and highest ones"
        )
    values = []
    for token in tokens[:count]:
        if (value := numbers.parse_finite(token)) is None:
            raise errors.InputError(f"{path}: '{token}' is not a number")
        values.append(value)
    point, lowest, highest = np.array(values).reshape(3, width)
    return Starts((point,), lowest, highest)


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


def check_columns(searched: Sequence[str], names: FeatureNames) -> None:
    """Raise `InputError` if one of these columns is none of the features'."""
    columns = column_names(names)
    for name in searched:
        if name not in columns:
            raise errors.InputError(f"there is no feature {name}{errors.suggest(name, columns)}")


def setup_as_mert(
    lists: moses_dat.DatLists,
    metric: Metric,
    optimizer: Optimizer,
    starts: Starts,
    *,
    active: Sequence[str] = (),
    positive: Sequence[str] = (),
    sparse: FeatureWeights | None = None,
    seed: int = 0,
) -> weight_search.Setup:
    """Return how to search as mert does.

    Parameters
    ----------
    active
        Columns that are searched; empty: all. The others keep the weights of the first start.
    positive
        Columns whose weights must not be negative.
    sparse
        Weights of sparse features; those that it does not name are 0.

    Raises
    ------
    InputError
        The lists have other features than is said.
    """
    names = lists.feature_names
    check_columns((*active, *positive), names)
    extra = {} if sparse is None else dict(sparse.values)
    return weight_search.Setup(
        optimizer=optimizer,
        starts=tuple(
            FeatureWeights({**FeatureWeights.from_vector(names, point).values, **extra})
            for point in _points(lists, metric, starts, optimizer.restarts, seed)
        ),
        constraints=constraints_of(names, active, positive),
        seed=seed,
    )


def constraints_of(
    names: FeatureNames, active: Sequence[str], positive: Sequence[str]
) -> constraints.Constraints:
    """Return the constraints of the options: other columns than the active ones are fixed."""
    fixed = tuple(name for name in column_names(names) if active and name not in active)
    signed = (name for name in positive if name not in fixed)
    return constraints.Constraints(fixed, bounds=dict.fromkeys(signed, constraints.SIGNS["+"]))


def sized(weights: FeatureWeights, names: FeatureNames) -> FeatureWeights:
    """Return weights of which those of the names have absolute values that add to 1."""
    size = float(np.abs(weights.vector(names)).sum()) or 1.0
    rows = weights.values.items()
    return FeatureWeights({name: tuple(v / size for v in row) for name, row in rows})


def _points(
    lists: moses_dat.DatLists, metric: Metric, starts: Starts, restarts: int, seed: int
) -> list[FloatArray]:
    """Return where restarts begin: the first start, the best of the others, random ones."""
    first, *later_starts = starts.points
    points = [first]
    if later_starts:
        stats = StatTable(lists.stats)
        problem = TuningProblem(lists.features.T, lists.offsets, stats, metric, lists.unlisted)
        values = [problem.objective(point) for point in later_starts]
        order = np.argsort(-np.array(values), kind="stable")[: max(restarts - 1, 0)]
        points += [later_starts[k] for k in sorted(order.tolist())]
    (low, high), count = DEFAULT_RANGE, restarts - len(points)
    if count > 0 and ((starts.lowest != low) | (starts.highest != high)).any():
        rng = streams.whole(seed)
        points += list(rng.uniform(starts.lowest, starts.highest, size=(count, len(first))))
    return points
