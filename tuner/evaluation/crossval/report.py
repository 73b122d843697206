"""Shows what cross-validation found, as sentences and as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from portmert.tuner.evaluation.comparison.formats import NOTHING, fixed, p_value, shown, signed
from portmert.tuner.ground.errors import counted
from portmert.tuner.ground.tables import Table

LEGEND = (
    "seen: the segments learnt from, unseen: the others; means over splits and seeds. better: "
    "than the first row on unseen segments, above 0 whatever the metric, ± its standard error "
    "over splits. p: two-sided, corrected for the segments that splits share (Nadeau & Bengio "
    "2003)."
)
MORE = {
    "seeds": " seeds: standard deviation of the unseen score over seeds.",
    "estimate": " estimate: the search's own of the unseen score, less that score, ± its standard "
    "error.",
    "CPU s": " CPU s: of one search.",
}
"""Of columns that not all tables have."""
MATRIX = (
    "Scores on unseen segments, means over splits and seeds; *: better than the first row, p "
    "below 0.05."
)
LIKELY = 0.05
"""A p that is below it is taken for more than luck."""


def headlines(document: Mapping[str, Any]) -> list[str]:
    """Return what does best on unseen segments, a sentence for each metric."""
    return [_headline(document, metric) for metric in document["metrics"]]


def _headline(document: Mapping[str, Any], metric: Mapping[str, Any]) -> str:
    label, sign = metric["label"], 1 if metric["higher_is_better"] else -1
    rows = [(choice["name"], choice["judged"][label]) for choice in document["choices"]]
    name, best = max(rows, key=lambda row: sign * row[1]["unseen"])  # of equal ones the first
    text = f"{label}: {name} is best on unseen segments, {shown(best['unseen'], metric)}"
    if best["gain"] is None:
        return f"{text}; neither another choice nor the start weights are better"
    luck = "" if best["p"] is not None and best["p"] < LIKELY else ", which may be luck"
    gain = with_error(best["gain"], best["error"], metric)
    return f"{text}, {gain} against {rows[0][0]} (p {p_value(best['p'])}{luck})"


def tables_of(document: Mapping[str, Any]) -> list[Table]:
    """Return a table for each metric that judges; of several metrics first all side by side."""
    metrics = document["metrics"]
    found = [_judged(document, metric) for metric in metrics]
    found[-1] = replace(found[-1], note=_legend(found))
    return [_matrix(document), *found] if len(metrics) > 1 else found


def _legend(tables: list[Table]) -> str:
    """Return what the columns of tables mean."""
    headers = {header for table in tables for header in table.headers}
    return LEGEND + "".join(text for header, text in MORE.items() if header in headers)


def directed(metric: Mapping[str, Any]) -> str:
    """Return a metric's name with an arrow where lower is better."""
    return str(metric["label"]) + ("" if metric["higher_is_better"] else " ↓")


def _matrix(document: Mapping[str, Any]) -> Table:
    rows = []
    for choice in document["choices"]:
        row = [choice["name"]]
        for metric in document["metrics"]:
            found = choice["judged"][metric["label"]]
            sure = found["p"] is not None and found["gain"] > 0 and found["p"] < LIKELY
            row.append(shown(found["unseen"], metric) + (" *" if sure else ""))
        rows.append(row)
    return Table("Judged by", ["", *map(directed, document["metrics"])], rows, note=MATRIX)


def _judged(document: Mapping[str, Any], metric: Mapping[str, Any]) -> Table:
    rows = []
    for choice in document["choices"]:
        found = choice["judged"][metric["label"]]
        rows.append(
            [
                choice["name"],
                shown(found["seen"], metric),
                shown(found["unseen"], metric),
                with_error(found["gain"], found["error"], metric),
                "" if found["gain"] is None else p_value(found["p"]),
                shown(found["seed_spread"], metric),
                with_error(found["estimate"], found["estimate_error"], metric),
                fixed(choice["cpu_seconds"], 2),
            ]
        )
    headers = ["", "seen", "unseen", "better", "p", "seeds", "estimate", "CPU s"]
    known = [any(row[n] not in ("", NOTHING) for row in rows) for n in range(len(headers))]
    return Table(
        f"{directed(metric)}: learnt from {counted(document['learnt_from'], 'segment')}, judged "
        f"on {document['judged_on']}; {_counted(document, 'split')}, {_counted(document, 'seed')}",
        [
            header
            for header, is_known in zip(headers, known, strict=True)
            if is_known or not header
        ],
        [[cell for n, cell in enumerate(row) if known[n]] for row in rows],
    )


def _counted(document: Mapping[str, Any], noun: str) -> str:
    return counted(document[f"{noun}s"], noun)


def with_error(value: float | None, error: float | None, metric: Mapping[str, Any]) -> str:
    """Return a difference and its standard error; empty where there is none."""
    if value is None:
        return ""
    return signed(value, metric) + ("" if error is None else f" ± {shown(error, metric)}")
