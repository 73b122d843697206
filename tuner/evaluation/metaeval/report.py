"""Shows what a meta-evaluation found: tables, JSON, and a summary for the screen."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from portmert.metrics._base import FloatArray

from ...base.errors import counted
from ...base.numbers import shown_p
from ...base.tables import NOTHING, Table, fold
from ..documents import LIKELY
from . import evaluation
from .combined import Combined

_DECIMALS = 10
"""Decimals of numbers in JSON. Further ones depend on the processor."""
SCENARIO = ("system.spearman", "segment.acc_eq", "segment.pearson", "likeness.king")
"""Measures in tables of scenarios, if they are known."""
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
    "likeness.king": "KING",
    "likeness.orange": "ORANGE",
}


def named(measure: str) -> str:
    """Return the name of a measure in tables."""
    return NAMES.get(measure) or NAMES[measure.partition(".")[2]]


def tables(found: evaluation.MetaEvaluation) -> list[Table]:
    """Return all tables of one test set, that of the PORT paper first."""
    level = f"with {100 * found.settings.level:g} % intervals"
    judged, each = found.judged, found.agreements
    labels, there = [one.label for one in each], list(each[0].correlations)

    def of_level(title: str, names: Sequence[str]) -> Table:
        rows = [
            [one.label, *(with_interval(one.correlations[name]) for name in names)] for one in each
        ]
        return Table(f"{title} {level}", ["metric", *map(named, names)], rows)

    listed = []
    if len(judged.systems) > 1:
        human = judged.system_scores
        values = [[one.display.of_oriented(x) for x in one.system_scores] for one in each]
        of_paper = (evaluation.MEASURES[0], "segment.wmt10")
        with_ties = of_level("Segments, accuracy with ties calibrated,", evaluation.KENDALLS[-1:])
        epsilons = [f"{one.epsilon or 0:.4g}" for one in each]
        listed += [
            Table(
                "Correlations with human judgment: Spearman of systems, Kendall (WMT10) of "
                "segments",
                ["metric", "sys.", "seg."],
                [
                    [one.label, *(shown(one.correlations[name].value) for name in of_paper)]
                    for one in each
                ],
            ),
            Table(
                "Scores of systems (↓ lower is better)",
                ["system", "human", *(one.display.labelled(one.label) for one in each)],
                [
                    [judged.systems[m], shown(float(human[m])), *(shown(one[m]) for one in values)]
                    for m in np.argsort(-human, kind="stable").tolist()
                ],
            ),
            of_level("Systems,", evaluation.SYSTEMS),
            of_level("Segments, Kendall,", evaluation.KENDALLS[:-1]),
            Table(
                with_ties.title,
                [*with_ties.headers, "epsilon"],
                [[*row, x] for row, x in zip(with_ties.rows, epsilons, strict=True)],
            ),
        ]
    for unit, names in (("segment", evaluation.SEGMENTS), ("document", evaluation.DOCUMENTS)):
        kept = [name for name in names if name in there]
        if kept:
            own = ", mean of each segment's own" if evaluation.SEGMENTS[-1] in kept else ""
            title = (
                f"{unit.capitalize()}s, Pearson: plain, weighted by length, the mean of each "
                f"{unit} removed, both{own};"
            )
            listed.append(of_level(title, kept))
    if evaluation.LIKENESS[0] in there:
        title = "Human likeness: references held out, among the systems;"
        listed.append(of_level(title, evaluation.LIKENESS))
    if len(found.document_values):
        listed.append(share_table("documents", labels, found.document_values))
    if found.differences:
        listed.append(difference_table(labels, found.differences))
    if not found.name:
        return listed
    return [replace(one, title=f"{found.name}: {one.title}") for one in listed]


def share_table(
    units: str,
    labels: Sequence[str],
    values: FloatArray,
    measure: str = "systems' Spearman correlation",
) -> Table:
    """Return the share of units on which each metric is better than the others, and than each.

    Parameters
    ----------
    values : (D, n) float64
        For each unit (a document, a test set) and metric.
    """
    better, at_least = evaluation.shares(values)
    others = ~np.eye(len(better), dtype=np.bool_)
    return Table(
        f"Share of {units} on which the {measure} is better (>) or not worse (>=) than that of "
        f"the other metrics, and than that of each (Popovic & Ney 2009, Tables 2 and 4)",
        ["metric", "mean", "rank>", "rank>=", *(f"> {label}" for label in labels)],
        [
            [
                label,
                shown(_mean(values[:, number])),
                *(
                    f"{100 * table[number][others[number]].mean():.0f} %"
                    if len(better) > 1
                    else NOTHING
                    for table in (better, at_least)
                ),
                *(
                    "" if other == number else f"{100 * better[number, other]:.0f} %"
                    for other in range(len(better))
                ),
            ]
            for number, label in enumerate(labels)
        ],
    )


def _mean(values: FloatArray) -> float | None:
    """Return the mean of the values that there are."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def difference_table(labels: Sequence[str], differences: evaluation.Differences) -> Table:
    """Return the differences of all pairs of metrics with their p."""
    return Table(
        "Is one metric's correlation better than another's? Two-sided p; PERM-BOTH takes means of "
        "segment scores as scores of systems; corrected: for the number of pairs of metrics",
        [
            "metric", "other", "level", "correlation", "difference", "p PERM-BOTH", "corrected",
            "p Williams",
        ],
        [
            [
                labels[i],
                labels[j],
                name.partition(".")[0],
                named(name),
                shown(one.value),
                shown_p(one.p_perm_both),
                shown_p(one.p_corrected),
                NOTHING if one.p_williams is None else shown_p(one.p_williams),
            ]
            for (i, j), row in differences.items()
            for name, one in row.items()
        ],
        left=4,
    )  # fmt: skip


def as_json(found: evaluation.MetaEvaluation) -> dict[str, Any]:
    """Return all results on one test set as the JSON object of `portmert metaeval --json`."""
    judged, settings = found.judged, found.settings
    document: dict[str, Any] = {
        **({"name": found.name} if found.name else {}),
        "segments": len(judged.human),
        "systems": list(judged.systems),
        "documents": list(judged.document_names),
        "human": judged.system_scores.tolist(),
        "settings": {
            key: getattr(settings, key) for key in ("samples", "level", "resampled", "seed")
        },
        "metrics": [
            {
                "label": one.label,
                "signature": one.signature,
                "system_scores": list(one.system_scores),
                **(
                    {"system_rates": [one.display.of_oriented(x) for x in one.system_scores]}
                    if one.display.is_error_rate
                    else {}
                ),
                "correlations": {name: asdict(value) for name, value in one.correlations.items()},
                "document_spearman": list(one.documents),
                "epsilon": one.epsilon,
            }
            for one in found.agreements
        ],
        "differences": _listed([one.label for one in found.agreements], found.differences),
    }
    if len(found.document_values):
        better, at_least = evaluation.shares(found.document_values)
        document |= {"documents_better": better.tolist(), "documents_at_least": at_least.tolist()}
    if judged.each is not None:
        document["judgments"] = len(judged.each.scores)
    return {key: _rounded(item) for key, item in document.items()}


def _listed(labels: Sequence[str], differences: evaluation.Differences) -> list[dict[str, Any]]:
    return [
        {
            "metric": labels[i],
            "other": labels[j],
            "correlations": {name: asdict(one) for name, one in row.items()},
        }
        for (i, j), row in differences.items()
    ]


def of_metrics(
    labels: Sequence[str], rows: Sequence[Mapping[str, evaluation.Estimate]]
) -> list[dict[str, Any]]:
    """Return the correlations of each metric as plain data."""
    return [
        {"label": label, "correlations": {key: asdict(value) for key, value in row.items()}}
        for label, row in zip(labels, rows, strict=True)
    ]


def combined_as_json(found: Combined) -> dict[str, Any]:
    """Return all results on several test sets as a JSON object."""
    labels = [one.label for one in found.parts[0].agreements]
    shares = {name: evaluation.shares(values) for name, values in found.values.items()}
    document = {
        "sets": [as_json(part) for part in found.parts],
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "sets": list(column.sets),
                "metrics": of_metrics(labels, column.correlations),
                "differences": _listed(labels, column.differences),
            }
            for column in found.columns
        ],
        "scenarios": [
            {
                "name": one.name,
                "sets": list(one.sets),
                "metrics": of_metrics(labels, one.correlations),
                "drops": of_metrics(labels, one.drops),
            }
            for one in found.scenarios
        ],
        "sets_better": {name: better.tolist() for name, (better, _) in shares.items()},
        "sets_at_least": {name: at_least.tolist() for name, (_, at_least) in shares.items()},
    }
    return {key: _rounded(item) for key, item in document.items()}


def combined_tables(found: Combined) -> list[Table]:
    """Return all tables of several test sets: first combined, then those of each."""
    labels = [one.label for one in found.parts[0].agreements]
    level = f"{100 * found.parts[0].settings.level:g} %"
    made = [
        *(_across(found, labels, name, level) for name in evaluation.MEASURES),
        *(scenario_table(found, labels, name) for name in SCENARIO),
    ]
    listed = [table for table in made if table is not None]
    for name in (evaluation.MEASURES[0], "segment.wmt10"):
        if name in found.values and len(found.parts) > 1:
            what = f"{name.partition('.')[0]}s' {named(name)}"
            listed.append(share_table("test sets", labels, found.values[name], what))
    documents = np.concatenate([part.document_values for part in found.parts])
    if len(documents):
        listed.append(share_table("documents of all sets", labels, documents))
    for column in found.columns:
        if column.differences:
            table = difference_table(labels, column.differences)
            listed.append(replace(table, title=f"{column.name}, {column.kind}: {table.title}"))
    return listed + [table for part in found.parts for table in tables(part)]


def _across(found: Combined, labels: Sequence[str], name: str, level: str) -> Table | None:
    """Return one measure on each test set and on several together."""
    columns = [
        (part.name, [one.correlations.get(name) for one in part.agreements])
        for part in found.parts
    ]
    columns += [
        (f"{one.name}, {one.kind}", [row.get(name) for row in one.correlations])
        for one in found.columns
    ]
    kept = [(title, cells) for title, cells in columns if any(cells)]
    if not kept:
        return None
    return Table(
        f"{name.partition('.')[0].capitalize()}s, {named(name)}, with {level} intervals",
        ["metric", *(title for title, _ in kept)],
        [
            [label, *(NOTHING if cell is None else with_interval(cell) for cell in row)]
            for label, *row in zip(labels, *(cells for _, cells in kept), strict=True)
        ],
    )


def scenario_table(found: Combined, labels: Sequence[str], name: str) -> Table | None:
    """Return one measure over scenarios, with the drop from one to the next."""
    if len(found.scenarios) < 2 or any(name not in one.correlations[0] for one in found.scenarios):
        return None
    headers = ["metric"]
    for number, one in enumerate(found.scenarios):
        headers += [one.name, *(["drop"] if number else [])]
    rows = []
    for place, label in enumerate(labels):
        row = [label]
        for number, one in enumerate(found.scenarios):
            row.append(shown(one.correlations[place][name].value))
            if number:
                row.append(with_interval(one.drops[place][name]))
        rows.append(row)
    what = f"{name.partition('.')[0].capitalize()}s, {named(name)}"
    return Table(f"{what}: over scenarios, and what it drops from one to the next", headers, rows)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return None if np.isnan(value) else round(value, _DECIMALS) + 0.0
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value


def shown(value: float | None) -> str:
    """Return a correlation as it is printed."""
    # Adding 0 makes -0 a 0.
    return NOTHING if value is None else f"{round(value, 3) + 0.0:.3f}"


def with_interval(one: evaluation.Estimate) -> str:
    """Return a correlation and its interval as they are printed."""
    if one.low is None or one.high is None:
        return shown(one.value)
    return f"{shown(one.value)} ({shown(one.low)} to {shown(one.high)})"


# The summary.

MOST_ROWS = 15
"""Metrics in a table of the summary. `--all` shows the others."""
MOST_NAMED = 5
"""Metrics that a sentence names."""
BOTH = ("system.soft_pairwise", "segment.acc_eq")
"""Metrics are sorted by the mean of these, as in the shared task of 2024."""
COMPARED = ("system.pairwise", "segment.acc_eq", "segment.pearson_mean_removed", "segment.pearson")
"""Measures by which sentences compare metrics."""
SHOWN = (
    "system.spearman", "system.pairwise", "system.soft_pairwise", "segment.wmt10",
    "segment.acc_eq", "segment.pearson", "segment.pearson_mean_removed", "likeness.king",
)  # fmt: skip
_HEADERS = {
    "system.soft_pairwise": "soft",
    "segment.wmt10": "tau",
    "segment.pearson": "r",
    "segment.pearson_mean_removed": "removed",
}
"""Shorter names of measures in the table of the summary."""
_LEGEND = {
    "agreement": "agreement: mean of soft pairwise accuracy (systems) and acc_eq (segments), as "
    "in WMT 2024",
    "tau": "tau: Kendall's, WMT10",
    "r": "r: Pearson's of segments",
    "removed": "removed: the same without the mean of each segment",
    "beats": "beats: how many others it beats beyond chance on {measure}, corrected p below 0.05",
}


def summary(found: evaluation.MetaEvaluation) -> str:
    """Return the metrics sorted by agreement on one test set, and which beat which."""
    labels = [one.label for one in found.agreements]
    rows = [one.correlations for one in found.agreements]
    return _best("Agreement with people, best first", labels, rows, found.differences)


def combined_summary(found: Combined) -> str:
    """Summarise several test sets: means over all, then groups and scenarios."""
    labels = [one.label for one in found.parts[0].agreements]
    means = [column for column in found.columns if column.kind == "mean"]
    if means:
        whole = means[-1]
        sets = counted(len(whole.sets), "test set")
        title = f"Agreement with people, means over {sets}, best first"
        parts = [_best(title, labels, whole.correlations, whole.differences)]
    else:
        parts = [summary(found.parts[0])]
    pooled = [column for column in found.columns if column.kind == "pooled"]
    if len(pooled) > 1:  # the tables of the EDPM draft
        name = "segment.pearson_mean_removed"
        if name not in pooled[-1].correlations[0]:
            name = "segment.pearson"
        groups = Table(
            f"Segments, {named(name)}: data points of each group together",
            ["metric", *(column.name for column in pooled)],
            [
                [label, *(shown(column.correlations[place][name].value) for column in pooled)]
                for place, label in enumerate(labels[:MOST_ROWS])
            ],
        )
        parts.append(groups.text())
    for name in ("segment.acc_eq", "segment.pearson"):
        table = scenario_table(found, labels[:MOST_ROWS], name)
        if table is not None:
            parts.append(table.text())
            break
    return "\n\n".join(parts)


def agreement(row: Mapping[str, evaluation.Estimate]) -> float | None:
    """Return the value to sort metrics by; with one system the correlation of segments."""
    if any(name in row for name in BOTH):
        values = [row[name].value for name in BOTH if name in row]
        known = [value for value in values if value is not None]
        return float(np.mean(known)) if known else None
    return row["segment.pearson"].value


def main_measure(rows: Sequence[Mapping[str, evaluation.Estimate]]) -> str:
    """Return the measure by which metrics are compared."""
    return BOTH[1] if BOTH[1] in rows[0] else "segment.pearson"


def by_agreement(rows: Sequence[Mapping[str, evaluation.Estimate]]) -> list[int]:
    """Return the indices of metrics, the best agreement first. Equal ones keep their order."""
    values = [agreement(row) for row in rows]
    return sorted(
        range(len(rows)),
        key=lambda place: (values[place] is None, -round(values[place] or 0.0, 12)),
    )


def winners(differences: evaluation.Differences, measure: str) -> dict[int, list[int]]:
    """Return for each metric those it beats beyond chance."""
    found: dict[int, list[int]] = defaultdict(list)
    for (i, j), row in differences.items():
        one = row.get(measure)
        if one is not None and one.p_corrected < LIKELY:
            better, worse = (i, j) if one.value > 0 else (j, i)
            found[better].append(worse)
    return found


def _best(
    title: str,
    labels: Sequence[str],
    rows: Sequence[Mapping[str, evaluation.Estimate]],
    differences: evaluation.Differences,
) -> str:
    """Return the table of metrics, and a sentence for each measure: which metrics beat which."""
    several = BOTH[1] in rows[0]
    names = [name for name in SHOWN if name in rows[0]]
    measure = main_measure(rows)
    beats = winners(differences, measure)
    order = by_agreement(rows)
    headers = ["metric", *(["agreement"] if several else [])]
    headers += [_HEADERS.get(name) or named(name) for name in names]
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
    text = Table(title, headers, cells, note="; ".join(notes) + "." if notes else "").text()
    if not differences:
        return text
    compared = [measure for measure in COMPARED if measure in rows[0]]
    sentences = (_sentence(labels, winners(differences, one), order, one) for one in compared)
    return text + "\n\n" + "\n".join(sentences)


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
