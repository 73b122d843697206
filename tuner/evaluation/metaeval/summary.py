"""Summarises a meta-evaluation on a screen: metrics by agreement, and what beats what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from portmert.tuner.evaluation.metaeval.combined import Column, Combined
from portmert.tuner.evaluation.metaeval.evaluation import Differences, Estimate, MetaEvaluation
from portmert.tuner.evaluation.metaeval.report import named, scenario_table, shown
from portmert.tuner.ground.errors import counted
from portmert.tuner.ground.tables import Table, fold

MOST_ROWS = 15
"""Metrics of a table of the summary; `--all` has the others."""
MOST_NAMED = 5
"""Metrics that a sentence names."""
LIKELY = 0.05
"""A corrected p that is below it is taken for more than chance."""
BOTH = ("system.soft_pairwise", "segment.acc_eq")
"""What is averaged to sort metrics, as in the shared task of 2024."""
COMPARED = ("system.pairwise", "segment.acc_eq", "segment.pearson_mean_removed", "segment.pearson")
"""What sentences say who beats whom on."""
SHOWN = (
    "system.spearman", "system.pairwise", "system.soft_pairwise", "segment.wmt10",
    "segment.acc_eq", "segment.pearson", "segment.pearson_mean_removed", "likeness.king",
)  # fmt: skip
_LEGEND = {
    "agreement": "agreement: mean of soft pairwise accuracy (systems) and acc_eq (segments), as "
    "in WMT 2024",
    "tau": "tau: Kendall's, WMT10",
    "r": "r: Pearson's of segments",
    "removed": "removed: the same without the mean of each segment",
    "beats": "beats: how many others it beats beyond chance on {measure}, corrected p below 0.05",
}


def summary(found: MetaEvaluation) -> str:
    """Return metrics by agreement, and what beats what beyond chance, on one test set."""
    labels = [one.label for one in found.agreements]
    rows = [one.correlations for one in found.agreements]
    return "\n\n".join(
        [
            _ranking("Agreement with people, best first", labels, rows, found.differences).text(),
            *_beaten(labels, found.differences, rows),
        ]
    )


def combined_summary(found: Combined) -> str:
    """Return the same of several test sets: means over all, then groups and scenarios."""
    labels = [one.label for one in found.parts[0].agreements]
    means = [column for column in found.columns if column.kind == "mean"]
    whole = means[-1] if means else None
    parts = [] if whole is not None else [summary(found.parts[0])]
    if whole is not None:
        title = (
            f"Agreement with people, means over {counted(len(whole.sets), 'test set')}, best first"
        )
        parts.append(_ranking(title, labels, whole.correlations, whole.differences).text())
        parts += _beaten(labels, whole.differences, whole.correlations)
    groups = _groups(found.columns, labels)
    if groups is not None:
        parts.append(groups.text())
    for name in ("segment.acc_eq", "segment.pearson"):
        table = scenario_table(found, labels[:MOST_ROWS], name)
        if table is not None:
            parts.append(table.text())
            break
    return "\n\n".join(parts)


def agreement(row: Mapping[str, Estimate]) -> float | None:
    """Return what metrics are sorted by; of one system the correlation of segments."""
    if any(name in row for name in BOTH):
        values = [row[name].value for name in BOTH if name in row]
        known = [value for value in values if value is not None]
        return float(np.mean(known)) if known else None
    return row["segment.pearson"].value


def main_measure(rows: Sequence[Mapping[str, Estimate]]) -> str:
    """Return the measure that metrics are compared on."""
    return BOTH[1] if BOTH[1] in rows[0] else "segment.pearson"


def by_agreement(rows: Sequence[Mapping[str, Estimate]]) -> list[int]:
    """Return the places of metrics, those that agree best first; of equal ones the first."""
    values = [agreement(row) for row in rows]
    return sorted(
        range(len(rows)),
        key=lambda place: (values[place] is None, -round(values[place] or 0.0, 12)),
    )


def winners(differences: Differences, measure: str) -> dict[int, list[int]]:
    """Return for each metric those it beats beyond chance."""
    found: dict[int, list[int]] = defaultdict(list)
    for (i, j), row in differences.items():
        one = row.get(measure)
        if one is not None and one.p_corrected < LIKELY:
            better, worse = (i, j) if one.value > 0 else (j, i)
            found[better].append(worse)
    return found


def _ranking(
    title: str,
    labels: Sequence[str],
    rows: Sequence[Mapping[str, Estimate]],
    differences: Differences,
) -> Table:
    several = BOTH[1] in rows[0]
    names = [name for name in SHOWN if name in rows[0]]
    measure = main_measure(rows)
    beats = winners(differences, measure)
    order = by_agreement(rows)
    headers = ["metric", *(["agreement"] if several else []), *map(_short, names)]
    headers += ["beats"] if differences else []
    cells = []
    for place in order[:MOST_ROWS]:
        row = [labels[place], *([shown(agreement(rows[place]))] if several else [])]
        row += [shown(rows[place][name].value) for name in names]
        cells.append(row + ([str(len(beats[place]))] if differences else []))
    notes = [
        text.format(measure=named(measure)) for key, text in _LEGEND.items() if key in headers
    ]
    if len(order) > MOST_ROWS:
        notes.append(f"{len(order) - MOST_ROWS} more metrics: --all")
    return Table(title, headers, cells, note="; ".join(notes) + "." if notes else "")


def _short(name: str) -> str:
    return {
        "system.soft_pairwise": "soft",
        "segment.wmt10": "tau",
        "segment.pearson": "r",
        "segment.pearson_mean_removed": "removed",
    }.get(name) or named(name)


def _beaten(
    labels: Sequence[str], differences: Differences, rows: Sequence[Mapping[str, Estimate]]
) -> list[str]:
    """Return what beats what, a sentence for each measure that metrics are compared on."""
    if not differences:
        return []
    return [
        "\n".join(
            _sentence(labels, winners(differences, measure), by_agreement(rows), measure)
            for measure in COMPARED
            if measure in rows[0]
        )
    ]


def _sentence(
    labels: Sequence[str], beats: Mapping[int, list[int]], order: Sequence[int], measure: str
) -> str:
    lines: list[str] = []
    for place in order:
        worse = beats.get(place, [])
        if worse and len(lines) < MOST_NAMED:
            more = len(worse) - MOST_NAMED
            listed = ", ".join(labels[one] for one in worse[:MOST_NAMED])
            lines.append(
                f"{labels[place]} beats {listed}{f' and {more} more' if more > 0 else ''}"
            )
    found = "; ".join(lines) or "no metric beats another"
    return fold(f"Beyond chance, {measure.partition('.')[0]}s, {named(measure)}: {found}.")


def _groups(columns: Sequence[Column], labels: Sequence[str]) -> Table | None:
    """Return the pooled correlations of groups and of all, those of the EDPM draft's tables."""
    pooled = [column for column in columns if column.kind == "pooled"]
    if len(pooled) < 2:
        return None
    name = "segment.pearson_mean_removed"
    if name not in pooled[-1].correlations[0]:
        name = "segment.pearson"
    return Table(
        f"Segments, {named(name)}: data points of each group together",
        ["metric", *(column.name for column in pooled)],
        [
            [label, *(shown(column.correlations[place][name].value) for column in pooled)]
            for place, label in enumerate(labels[:MOST_ROWS])
        ],
    )
