"""Combines test sets: by means over them, and by pooling their data points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from portmert.metrics._base import FloatArray
from portmert.tuner.evaluation.standard_errors import t_interval, t_test
from portmert.tuner.texts.groups import Groups

from . import evaluation, measures
from .measures import Differences, Estimate, MetricDifference

EVERYTHING = "all"
"""Name of the group of all test sets."""
POOLED = evaluation.KENDALLS
"""Measures whose rows of several test sets are taken together as they are."""
K = TypeVar("K")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Column:
    """Results of a group of test sets, or of one.

    Parameters
    ----------
    name
        Name of the group.
    kind
        `mean` if correlations are means over the sets, `pooled` if of all data points; empty: of
        one set.
    sets
        Names of the test sets.
    correlations
        For each metric: measure -> estimate.
    """

    name: str
    kind: str
    sets: tuple[str, ...]
    correlations: tuple[dict[str, Estimate], ...]
    differences: Differences


def column_of(part: evaluation.MetaEvaluation) -> Column:
    """Return the results of one test set."""
    correlations = tuple(metric.correlations for metric in part.agreements)
    return Column(part.name, "", (part.name,), correlations, part.differences)


@dataclass(frozen=True, eq=False)
class Scenario:
    """One of several scenarios, in their order.

    Parameters
    ----------
    correlations
        For each metric: measure -> mean over the scenario's test sets.
    drops
        For each metric: measure -> drop from the scenario before. Empty for the first.
    """

    name: str
    sets: tuple[str, ...]
    correlations: tuple[dict[str, Estimate], ...]
    drops: tuple[dict[str, Estimate], ...]


@dataclass(frozen=True, eq=False)
class Combined:
    """Results of several test sets, single and combined.

    Parameters
    ----------
    parts
        The results of each test set.
    columns
        For each group and for all sets: first means, then pooled data points.
    scenarios
        In the order of the test sets; empty if none is named.
    values
        Measure -> (sets, n): value of each metric on each test set, of measures that all have.
    """

    parts: tuple[evaluation.MetaEvaluation, ...]
    columns: tuple[Column, ...]
    scenarios: tuple[Scenario, ...]
    values: dict[str, FloatArray]


def combine(
    measured: Sequence[evaluation.MetaEvaluation],
    *,
    groups: Sequence[str],
    scenarios: Sequence[str],
) -> Combined:
    """Combine test sets.

    Parameters
    ----------
    groups, scenarios
        For each set the name of its group and of its scenario; may be empty.
    """
    members: dict[str, list[evaluation.MetaEvaluation]] = {}
    for part, group in zip(measured, groups, strict=True):
        if group:
            members.setdefault(group, []).append(part)
    columns = []
    for name, parts in [*members.items(), (EVERYTHING, measured)]:
        if len(parts) > 1:
            sets = tuple(part.name for part in parts)
            columns.append(Column(name, "mean", sets, _means(parts), _mean_differences(parts)))
            columns.append(Column(name, "pooled", sets, *_pooled(parts)))
    names = list(_of_all([part.agreements[0].correlations for part in measured]))
    values = {
        name: np.array(
            [[x.correlations[name].value for x in part.agreements] for part in measured],
            dtype=np.float64,
        )
        for name in names
    }
    return Combined(
        tuple(measured),
        tuple(columns),
        _scenarios(measured, scenarios),
        {name: each for name, each in values.items() if not np.isnan(each).any()},
    )


def _of_all(parts: Sequence[Mapping[K, T]]) -> dict[K, list[T]]:
    """Return what all parts have under one name."""
    return {
        name: [part[name] for part in parts]
        for name in parts[0]
        if all(name in part for part in parts)
    }


def _joined(name: str, value: float, each: Sequence[Estimate], level: float) -> Estimate:
    """Return an estimate with the errors of independent test sets."""
    errors = [(x.error or 0.0, x.degrees) for x in each if x.degrees is not None]
    return measures.estimated(name, value, errors if len(errors) == len(each) else [], level)


def _mean(name: str, each: Sequence[Estimate], level: float) -> Estimate:
    value = float(np.mean([np.nan if x.value is None else x.value for x in each]))
    shares = [replace(x, error=x.error and x.error / len(each)) for x in each]
    return _joined(name, value, shares, level)


def _means(parts: Sequence[evaluation.MetaEvaluation]) -> tuple[dict[str, Estimate], ...]:
    """Return for each metric means over test sets, of measures that all sets have."""
    level = parts[0].resampling.level
    return tuple(
        {
            name: _mean(name, each, level)
            for name, each in _of_all([x.correlations for x in of_metric]).items()
        }
        for of_metric in zip(*(part.agreements for part in parts), strict=True)
    )


def _mean_differences(parts: Sequence[evaluation.MetaEvaluation]) -> Differences:
    """Return the differences of means over test sets, tested by the errors of the sets."""
    level, by_measure = (
        parts[0].resampling.level,
        dict[str, dict[tuple[int, int], MetricDifference]](),
    )
    pairs = _of_all([part.differences for part in parts])
    for pair, of_pair in pairs.items():
        for name, each in _of_all(of_pair).items():
            value = float(np.mean([x.value for x in each]))
            error, degrees = measures.joined_errors(
                [((x.error or 0.0) / len(each), x.degrees) for x in each]
            )
            low, high, p = None, None, max(x.p for x in each)
            if error:
                low, high = t_interval(value, error, degrees, level)
                p = t_test(value, error, degrees)
            tested = MetricDifference(value, low, high, p, 1.0, error or None, degrees)
            by_measure.setdefault(name, {})[pair] = tested
    differences: Differences = {pair: {} for pair in pairs}
    for name, row in by_measure.items():
        for pair, difference in measures.corrected(row).items():
            differences[pair][name] = difference
    return differences


def _pooled(
    parts: Sequence[evaluation.MetaEvaluation],
) -> tuple[tuple[dict[str, Estimate], ...], Differences]:
    """Return the correlations and differences of the data points of all sets."""
    resampling, count = parts[0].resampling, len(parts[0].agreements)
    estimates: tuple[dict[str, Estimate], ...] = tuple({} for _ in range(count))
    differences: Differences = {}
    for name, levels in _of_all([part.levels for part in parts]).items():
        rows: list[measures.Rows] = []
        for metric in range(count):
            tables = _of_all([level.rows[metric] for level in levels])
            of_pairs = {n: np.concatenate(x) for n, x in tables.items() if n in POOLED}
            blocks = [(level.points, level.scores[metric]) for level in levels]
            rows.append(of_pairs | evaluation.pearsons_of(name, blocks))
        labels = [  # groups of different sets are different groups
            f"{number} {level.groups.names[k]}"
            for number, level in enumerate(levels)
            for k in level.groups.of_segment
        ]
        tested = measures.tested(rows, resampling, Groups.of(labels, ""))
        for estimates_of, values, errors in zip(
            estimates, tested.values, tested.errors, strict=True
        ):
            for measure, value in values.items():
                of_rows = [errors[measure]] if measure in errors else []
                estimates_of[measure] = measures.estimated(
                    measure, value, of_rows, resampling.level
                )
        for pair, row in tested.differences.items():
            differences.setdefault(pair, {}).update(row)
    return estimates, differences


def _scenarios(
    measured: Sequence[evaluation.MetaEvaluation], names: Sequence[str]
) -> tuple[Scenario, ...]:
    scenario_list: list[Scenario] = []
    level = measured[0].resampling.level
    for name in dict.fromkeys(name for name in names if name):
        parts = [part for part, scenario in zip(measured, names, strict=True) if scenario == name]
        means = _means(parts)
        drops: tuple[dict[str, Estimate], ...] = tuple({} for _ in means)
        if scenario_list:
            before = scenario_list[-1].correlations
            drops = tuple(
                {key: _drop(key, *x, level=level) for key, x in _of_all(pair).items()}
                for pair in zip(before, means, strict=True)
            )
        scenario_list.append(Scenario(name, tuple(x.name for x in parts), means, drops))
    return tuple(scenario_list)


def _drop(name: str, before: Estimate, now: Estimate, *, level: float) -> Estimate:
    """Return by how much a mean is lower than that of the scenario before."""
    if before.value is None or now.value is None:
        return Estimate(None)
    value = before.value - now.value
    drop = _joined(name, value, [before, now], level)
    if drop.error and drop.degrees:  # a difference, on no scale of its own
        low, high = t_interval(value, drop.error, drop.degrees, level)
        return replace(drop, low=low, high=high)
    return drop
