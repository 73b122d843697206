"""Combines test sets: by means over them, and by pooling their data points."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from portmert.metrics._base import FloatArray
from portmert.tuner.base import streams

from . import evaluation
from .differences import Permuted, permute_all
from .intervals import pair_correlations

EVERYTHING = "all"
"""Name of the group of all test sets."""


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
    correlations: tuple[dict[str, evaluation.Estimate], ...]
    differences: evaluation.Differences


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
    correlations: tuple[dict[str, evaluation.Estimate], ...]
    drops: tuple[dict[str, evaluation.Estimate], ...]


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
    settings: evaluation.Settings,
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
    for number, (name, parts) in enumerate([*members.items(), (EVERYTHING, measured)]):
        if len(parts) > 1:
            sets = tuple(part.name for part in parts)
            of_parts = [part.permuted for part in parts if part.permuted is not None]
            every = len(of_parts) == len(parts)
            mean = _means(parts), Permuted.mean(of_parts) if every else None
            pooled = _pooled(parts, settings, number)
            for kind, (samples, permuted) in (("mean", mean), ("pooled", pooled)):
                estimates = _estimates(samples, parts)
                tests = evaluation.differences_of(samples, permuted)
                columns.append(Column(name, kind, sets, estimates, tests))
    first = [part.agreements[0].samples for part in measured]
    names = [name for name in first[0] if all(name in samples for samples in first)]
    values = {
        name: np.array(
            [[metric.samples[name][0] for metric in part.agreements] for part in measured]
        )
        for name in names
    }
    return Combined(
        tuple(measured),
        tuple(columns),
        _scenarios(measured, scenarios, settings),
        {name: each for name, each in values.items() if not np.isnan(each).any()},
    )


def _estimates(
    samples: Sequence[dict[str, FloatArray]], parts: Sequence[evaluation.MetaEvaluation]
) -> tuple[dict[str, evaluation.Estimate], ...]:
    """Return the estimates of each metric; a test set adds its units, less one for its mean."""
    settings = parts[0].settings
    each = [part.judged.units(settings.resampled) for part in parts]
    levels = [level for level in each[0] if all(level in of_set for of_set in each)]
    units = {level: 1 + sum(of_set[level] - 1 for of_set in each) for level in levels}
    return tuple(evaluation.estimates(of_metric, settings.level, units) for of_metric in samples)


def _means(parts: Sequence[evaluation.MetaEvaluation]) -> list[dict[str, FloatArray]]:
    """Return for each metric samples of means over test sets, for measures that all sets have."""
    return [
        {
            name: np.mean([agreement.samples[name] for agreement in of_metric], axis=0)
            for name in of_metric[0].samples
            if all(name in agreement.samples for agreement in of_metric)
        }
        for of_metric in zip(*(part.agreements for part in parts), strict=True)
    ]


def _pooled(
    parts: Sequence[evaluation.MetaEvaluation], settings: evaluation.Settings, number: int
) -> tuple[list[dict[str, FloatArray]], Permuted | None]:
    """Return samples of the data points of all sets for each metric, and their permutations."""
    levels = [level for level in parts[0].blocks if all(level in part.blocks for part in parts)]
    systems = max(len(part.judged.systems) for part in parts)
    samples: list[dict[str, FloatArray]] = []
    for place, of_metric in enumerate(zip(*(part.agreements for part in parts), strict=True)):
        pooled: dict[str, FloatArray] = {}
        for level in levels:
            points = [
                (part.blocks[level].points, part.blocks[level].scores[place], part.draws[level])
                for part in parts
            ]
            pooled |= evaluation.pearsons_of(level, points, systems=systems)
        pairs = [agreement.pairs for agreement in of_metric if agreement.pairs is not None]
        if len(pairs) == len(parts):
            pooled |= evaluation.by_measure("segment", pair_correlations(np.sum(pairs, axis=0)))
        samples.append(pooled)
    permuted = None
    if len(samples) > 1 and settings.samples > 1:
        permuted = permute_all(
            [part.blocks for part in parts], [part.rows for part in parts], settings.samples,
            partial(streams.pooled_permutations, settings.seed, number),
        )  # fmt: skip
    return samples, permuted


def _scenarios(
    measured: Sequence[evaluation.MetaEvaluation],
    names: Sequence[str],
    settings: evaluation.Settings,
) -> tuple[Scenario, ...]:
    scenario_list: list[Scenario] = []
    before: list[dict[str, FloatArray]] | None = None
    for name in dict.fromkeys(name for name in names if name):
        parts = [part for part, scenario in zip(measured, names, strict=True) if scenario == name]
        samples = _means(parts)
        drops = [
            {key: previous[key] - current[key] for key in current if key in previous}
            for previous, current in zip(before or samples, samples, strict=True)
        ]
        level, sets = settings.level, tuple(part.name for part in parts)
        of_drops = tuple(evaluation.estimates(x, level) if before else {} for x in drops)
        scenario_list.append(Scenario(name, sets, _estimates(samples, parts), of_drops))
        before = samples
    return tuple(scenario_list)
