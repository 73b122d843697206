"""The tables of a meta-evaluation, of one test set and of several."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from portmert.metrics._base import FloatArray
from portmert.metrics._display import NOTHING
from portmert.tuner.base.numbers import shown_p
from portmert.tuner.base.tables import Table
from portmert.tuner.evaluation.formatting import decimals

from . import evaluation
from .combined import Combined, column_of
from .measures import Differences, Estimate

SCENARIO = ("system.spearman", "segment.acc_eq", "segment.pearson", "likeness.king")
"""Measures in tables of scenarios, if the data are enough for them."""
OF_PAPER = (evaluation.MEASURES[0], "segment.wmt10")
"""Measures of the PORT paper."""
NAMES = {
    "system.spearman": "Spearman",
    "system.pearson": "Pearson",
    "system.pairwise": "pairwise",
    "system.soft_pairwise": "soft pairwise",
    "system.soft_pairwise_segments": "soft of segments",
    "segment.wmt10": "tau WMT10",
    "segment.wmt13": "tau WMT13",
    "segment.wmt14": "tau WMT14",
    "segment.consistency": "consistency",
    "segment.acc_eq": "acc_eq",
    "segment.pearson_by_item": "by item",
    "pearson": "Pearson",
    "pearson_weighted": "weighted",
    "pearson_mean_removed": "mean removed",
    "pearson_mean_removed_weighted": "both",
    "pearson_deltas": "deltas",
    "likeness.king": "KING",
    "likeness.orange": "ORANGE",
}

Row = Mapping[str, Estimate]
"""The correlations of one metric: measure -> estimate."""


def measure_name(measure: str) -> str:
    """Return the name of a measure in tables."""
    return NAMES.get(measure) or NAMES[measure.partition(".")[2]]


def with_level(measure: str) -> str:
    """Return a measure's level and name: `Systems, Spearman`."""
    return f"{measure.partition('.')[0].capitalize()}s, {measure_name(measure)}"


def shown(value: float | None) -> str:
    """Return a correlation as it is printed."""
    return decimals(value, 3)


def with_interval(estimate: Estimate) -> str:
    """Return a correlation and its interval as they are printed."""
    if estimate.low is None or estimate.high is None:
        return shown(estimate.value)
    return f"{shown(estimate.value)} ({shown(estimate.low)} to {shown(estimate.high)})"


def tables(measured: evaluation.MetaEvaluation) -> list[Table]:
    """Return all tables of one test set, the PORT paper's first."""
    labels = [metric.label for metric in measured.agreements]
    there = measured.agreements[0].correlations
    tables_of_set = _system_tables(measured) if len(measured.judged.systems) > 1 else []
    for names in (evaluation.SEGMENTS, evaluation.DOCUMENTS, evaluation.GROUPS):
        measures = [name for name in names if name in there]
        if measures:
            unit, _, last = measures[-1].partition(".")
            each = {
                "pearson_by_item": ", mean of each segment's own",
                "pearson_deltas": ", differences of pairs of systems",
            }.get(last, "")
            title = (
                f"{unit.capitalize()}s, Pearson: plain, weighted by length, the mean of each "
                f"{unit} removed, both{each};"
            )
            tables_of_set.append(_with_intervals(measured, title, measures))
    if evaluation.LIKENESS[0] in there:
        title = "Human likeness: references held out, among the systems;"
        tables_of_set.append(_with_intervals(measured, title, evaluation.LIKENESS))
    for level in measured.judged.partitions:
        if len(values := measured.spearman(level)):
            tables_of_set.append(share_table(f"{level}s", labels, values))
    if measured.differences:
        tables_of_set.append(_difference_table(labels, measured.differences))
    if not measured.name:
        return tables_of_set
    return [replace(table, title=f"{measured.name}: {table.title}") for table in tables_of_set]


def _with_intervals(
    measured: evaluation.MetaEvaluation, title: str, measures: Sequence[str]
) -> Table:
    """Return metrics in rows, measures in columns; and epsilon beside the accuracy with ties."""
    headers = ["metric", *map(measure_name, measures)]
    rows = [
        [metric.label, *(with_interval(metric.correlations[name]) for name in measures)]
        for metric in measured.agreements
    ]
    if evaluation.KENDALLS[-1] in measures:
        headers.append("epsilon")
        for row, metric in zip(rows, measured.agreements, strict=True):
            row.append(f"{metric.epsilon or 0:.4g}")
    return Table(f"{title} with {100 * measured.resampling.level:g} % intervals", headers, rows)


def _system_tables(measured: evaluation.MetaEvaluation) -> list[Table]:
    """Return the tables that need two systems or more."""
    metrics, systems = measured.agreements, measured.judged.systems
    human = measured.judged.system_scores
    scores = [[x.display.of_oriented(score) for score in x.system_scores] for x in metrics]
    return [
        Table(
            "Correlations with human judgment: Spearman of systems, Kendall (WMT10) of segments",
            ["metric", "sys.", "seg."],
            [
                [metric.label, *(shown(metric.correlations[name].value) for name in OF_PAPER)]
                for metric in metrics
            ],
        ),
        Table(
            "Scores of systems (↓ lower is better)",
            ["system", "human", *(metric.display.labelled(metric.label) for metric in metrics)],
            [
                [
                    systems[m],
                    shown(float(human[m])),
                    *(shown(of_metric[m]) for of_metric in scores),
                ]
                for m in np.argsort(-human, kind="stable").tolist()
            ],
        ),
        _with_intervals(measured, "Systems,", evaluation.SYSTEMS),
        _with_intervals(measured, "Segments, Kendall,", evaluation.KENDALLS[:-1]),
        _with_intervals(
            measured, "Segments, accuracy with ties calibrated,", evaluation.KENDALLS[-1:]
        ),
    ]


def share_table(
    units: str,
    labels: Sequence[str],
    values: FloatArray,
    measure: str = "systems' Spearman correlation",
) -> Table:
    """Return the share of units on which each metric is better than all others, and than each.

    Parameters
    ----------
    values : (D, n) float64
        For each unit (a document, a test set) and metric.
    """
    better, at_least = evaluation.shares(values)
    different = ~np.eye(len(better), dtype=np.bool_)

    def mean_share(table: FloatArray, metric: int) -> str:
        shares = table[metric][different[metric]]
        return f"{100 * shares.mean():.0f} %" if shares.size else NOTHING

    rows = []
    for i, label in enumerate(labels):
        defined = values[:, i][~np.isnan(values[:, i])]
        mean = shown(float(defined.mean()) if defined.size else None)
        each = ["" if i == j else f"{100 * better[i, j]:.0f} %" for j in range(len(labels))]
        rows.append([label, mean, mean_share(better, i), mean_share(at_least, i), *each])
    return Table(
        f"Share of {units} on which the {measure} is better (>) or not worse (>=) than that of "
        f"the other metrics, and than that of each (Popovic & Ney 2009, Tables 2 and 4)",
        ["metric", "mean", "rank>", "rank>=", *(f"> {label}" for label in labels)],
        rows,
    )


def _difference_table(labels: Sequence[str], differences: Differences) -> Table:
    """Return the differences of all pairs of metrics with their p."""
    headers = [
        "metric", "other", "level", "correlation", "difference", "interval", "p", "Holm",
        "p Williams",
    ]  # fmt: skip
    rows = [
        [
            labels[i],
            labels[j],
            name.partition(".")[0],
            measure_name(name),
            shown(difference.value),
            NOTHING
            if difference.low is None
            else f"{shown(difference.low)} to {shown(difference.high)}",
            shown_p(difference.p),
            shown_p(difference.p_corrected),
            NOTHING if difference.p_williams is None else shown_p(difference.p_williams),
        ]
        for (i, j), by_measure in differences.items()
        for name, difference in by_measure.items()
    ]
    return Table(
        "Is one metric's correlation better than another's? Two-sided p of exchanges of whole "
        "segments, or documents; Holm: corrected for the number of pairs of metrics",
        headers,
        rows,
        left=4,
    )


def combined_tables(together: Combined) -> list[Table]:
    """Return all tables of several test sets: first combined, then of each."""
    return [
        *_means_and_shares(together),
        *(table for part in together.parts for table in tables(part)),
    ]


def _means_and_shares(together: Combined) -> Iterator[Table]:
    """Yield the tables of all test sets together."""
    labels = [metric.label for metric in together.parts[0].agreements]
    yield from filter(None, (_across(together, labels, name) for name in evaluation.MEASURES))
    yield from filter(None, (scenario_table(together, labels, name) for name in SCENARIO))
    for name in OF_PAPER:
        if name in together.values and len(together.parts) > 1:
            measure = f"{name.partition('.')[0]}s' {measure_name(name)}"
            yield share_table("test sets", labels, together.values[name], measure)
    for level in evaluation.PARTITIONS:
        values = np.concatenate([part.spearman(level) for part in together.parts])
        if len(values):
            yield share_table(f"{level}s of all sets", labels, values)
    for column in together.columns:
        if column.differences:
            table = _difference_table(labels, column.differences)
            yield replace(table, title=f"{column.name}, {column.kind}: {table.title}")


def _across(together: Combined, labels: Sequence[str], name: str) -> Table | None:
    """Return one measure on each test set and on several together."""
    columns = {}
    for column in (*map(column_of, together.parts), *together.columns):
        estimates = [row.get(name) for row in column.correlations]
        if any(estimates):
            columns[", ".join(filter(None, (column.name, column.kind)))] = estimates
    if not columns:
        return None
    rows = [
        [label, *(NOTHING if estimate is None else with_interval(estimate) for estimate in row)]
        for label, *row in zip(labels, *columns.values(), strict=True)
    ]
    level = 100 * together.parts[0].resampling.level
    title = f"{with_level(name)}, with {level:g} % intervals"
    return Table(title, ["metric", *columns], rows)


def scenario_table(together: Combined, labels: Sequence[str], name: str) -> Table | None:
    """Return one measure over scenarios, with the drop from one to the next."""
    scenarios = together.scenarios
    if len(scenarios) < 2 or any(name not in x.correlations[0] for x in scenarios):
        return None
    headers = ["metric", scenarios[0].name]
    for scenario in scenarios[1:]:
        headers += [scenario.name, "drop"]
    rows = []
    for metric, label in enumerate(labels):
        row = [label, shown(scenarios[0].correlations[metric][name].value)]
        for scenario in scenarios[1:]:
            row.append(shown(scenario.correlations[metric][name].value))
            row.append(with_interval(scenario.drops[metric][name]))
        rows.append(row)
    title = f"{with_level(name)}: over scenarios, and what it drops from one to the next"
    return Table(title, headers, rows)
