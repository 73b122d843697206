"""Makes one optimization as Moses' `mert` is asked for one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from portmert.metrics._base import FloatArray, Metric
from portmert.tuner.components import registry
from portmert.tuner.executors.team import Team
from portmert.tuner.ground import streams
from portmert.tuner.ground.errors import ConfigError, InputError, shown, suggest
from portmert.tuner.nbest.model import best_hypotheses, model_scores, without_texts
from portmert.tuner.nbest.moses_dat import DatLists
from portmert.tuner.search.averaging import step_share
from portmert.tuner.search.constraints import SIGNS, Constraints
from portmert.tuner.search.optimization import Setup, optimize_dat
from portmert.tuner.search.optimizers._base import Optimizer
from portmert.tuner.search.problem import StatTable, TuningProblem
from portmert.tuner.search.stat_tables import moses_stats
from portmert.tuner.weights.feature_weights import FeatureNames, FeatureWeights

TYPES = {"powell": "mert", "random-direction": "random-directions"}
"""Moses' names of optimizers -> ours."""

DEFAULT_RANGE = (0.0, 1.0)


@dataclass(frozen=True)
class Starts:
    """Says where to begin.

    Parameters
    ----------
    points : tuple of (F,) float64
        The first are the weights that the last list was made with.
    lowest, highest : (F,) float64
        Range of random starting weights.
    """

    points: tuple[FloatArray, ...]
    lowest: FloatArray
    highest: FloatArray

    @property
    def has_ranges(self) -> bool:
        """Whether somebody asked for others than 0..1."""
        low, high = DEFAULT_RANGE
        return bool((self.lowest != low).any() or (self.highest != high).any())


def optimizer_of_type(kind: str, options: Mapping[str, str]) -> Optimizer:
    """Return the optimizer that Moses, or we, call `kind`: a value of --type.

    Raises
    ------
    ConfigError
        There is none.
    """
    try:
        return registry.optimizer(TYPES.get(kind, kind), options)
    except ConfigError as error:
        raise ConfigError(f"--type {shown(kind)}: {error}") from None


def column_names(names: FeatureNames) -> list[str]:
    """Return the name of each column as mert-moses.pl counts them: `TM0_0`, `TM0_1`, `LM0_0`."""
    return [f"{name}_{k}" for name, size in names for k in range(size)]


def check_columns(wanted: Sequence[str], names: FeatureNames) -> None:
    """Raise `InputError` if one of these columns is none of the features'."""
    columns = column_names(names)
    for name in wanted:
        if name not in columns:
            raise InputError(f"there is no feature {name}{suggest(name, columns)}")


def search(
    lists: DatLists,
    metric: Metric,
    optimizer: Optimizer,
    starts: Starts,
    *,
    active: Sequence[str] = (),
    positive: Sequence[str] = (),
    sparse: FeatureWeights | None = None,
    step: tuple[int, FeatureWeights] | None = None,
    seed: int = 0,
    threads: int = 1,
    team: Team | None = None,
    notice: Callable[[str], None],
) -> tuple[FeatureWeights, float]:
    """Find weights; return them, as mert prints them, and their score on the metric's scale.

    Parameters
    ----------
    active
        Columns that are searched; empty: all. The others keep the first start's weights. Only if
        all are searched, the absolute values of the dense ones add to 1.
    positive
        Columns whose weights must not be negative.
    sparse
        Weights of sparse features, 0 where it says nothing.
    step
        Number of an iteration and its weights: go from these a share of the way to those found.

    Raises
    ------
    InputError, ConfigError
        The lists have other features than is said.
    """
    lists = replace(lists, score_name=metric.name())  # what it is called was looked at before
    names = lists.feature_names
    columns = column_names(names)
    check_columns((*active, *positive), names)
    points = list(starts.points[:1]) + _best(lists, metric, starts.points[1:], optimizer.restarts)
    if starts.has_ranges and len(points) < optimizer.restarts:
        rng = streams.whole(seed)
        count = optimizer.restarts - len(points)
        points += list(rng.uniform(starts.lowest, starts.highest, size=(count, len(columns))))
    extra = {} if sparse is None else dict(sparse.values)
    found = optimize_dat(
        lists,
        metric,
        Setup(
            optimizer=optimizer,
            starts=tuple(
                FeatureWeights({**FeatureWeights.from_vector(names, point).values, **extra})
                for point in points
            ),
            constraints=Constraints(
                fixed=tuple(name for name in columns if active and name not in active),
                bounds=dict.fromkeys(positive, SIGNS["+"]),
            ),
            seed=seed,
            threads=threads,
            team=team,
        ),
        notice=notice,
    )

    def sized(weights: FeatureWeights) -> FeatureWeights:
        size = 1.0 if active else float(np.abs(weights.vector(names)).sum()) or 1.0
        return FeatureWeights(
            {name: tuple(v / size for v in values) for name, values in weights.values.items()}
        )

    if step is None:
        return sized(found.weights), found.final_score
    number, before, to = step[0], sized(step[1]), sized(found.weights)
    weights = sized(before.towards(to, step_share(number, before, to)))
    nbest = without_texts(lists.features, lists.offsets, names, lists.sparse)
    best = best_hypotheses(nbest, model_scores(nbest, weights))
    return weights, float(metric.score(StatTable(moses_stats(lists, metric)).total(best)))


def _best(
    lists: DatLists, metric: Metric, points: Sequence[FloatArray], restarts: int
) -> list[FloatArray]:
    """Return the best of some starts, as many as there are restarts beside the first."""
    if not points:
        return []
    problem = TuningProblem(lists.features.T, lists.offsets, StatTable(lists.stats), metric)
    values = [problem.value(problem.model_scores(point)) for point in points]
    order = np.argsort(-np.array(values), kind="stable")[: max(restarts - 1, 0)]
    return [points[k] for k in sorted(order.tolist())]
