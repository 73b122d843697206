"""Charts how well metrics agree with people: with intervals, as scatter plots, by scenario."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from portmert.tuner.evaluation.page._chart import Chart, chart

MOST_COLUMNS = 6
"""Test sets side by side in the chart of agreements; the table below it has all."""
MOST_BARS = 8
"""Metrics of the chart of scenarios, those that agree best."""


def agreement_charts(document: Mapping[str, Any]) -> Iterable[Chart]:
    """Yield the agreement of metrics with intervals, scatter plots, and scenarios."""
    found = document.get("agreement")
    if not found:
        return
    order = found["order"]
    labels = [found["labels"][place] for place in order]
    columns = found["columns"][:MOST_COLUMNS]
    yield chart(
        "agreement",
        "agreement",
        "intervals",
        "Agreement with people",
        caption=f"With {100 * found['confidence']:g} % intervals.",
        x="agreement",
        wide=True,
        tall=80 + max(24, 15 * len(columns)) * len(labels),
        choices=[
            choice
            for measure in found["measures"]
            if (choice := _agreements(columns, labels, order, measure)) is not None
        ],
    )
    yield chart(
        "scatter",
        "agreement",
        "scatter",
        "Metric against people",
        caption="Each point a system, or an output of a segment (some of them, where there are "
        "many).",
        x="human score",
        y="score of the metric, higher is better",
        wide=True,
        choices=[
            {
                "label": f"{one['label']}, {what}",
                "percent": False,
                "series": [
                    {"name": part["name"] or one["label"], "system": number, "points": part[what]}
                    for number, part in enumerate(one["sets"])
                    if part[what]
                ],
            }
            for what in ("systems", "segments")
            for one in found["scatter"]
            if any(part[what] for part in one["sets"])
        ],
    )
    scenarios = found["scenarios"]
    if len(scenarios) < 2:
        return
    yield chart(
        "scenarios",
        "agreement",
        "columns",
        "By scenario",
        caption=f"The {MOST_BARS} metrics that agree best." if len(labels) > MOST_BARS else "",
        x="scenario",
        y="agreement",
        wide=True,
        choices=[
            {
                "label": measure["title"],
                "percent": False,
                "categories": [one["name"] for one in scenarios],
                "series": [
                    {
                        "name": found["labels"][place],
                        "system": number,
                        "values": [_value(one, place, measure)["value"] for one in scenarios],
                    }
                    for number, place in enumerate(order[:MOST_BARS])
                ],
            }
            for measure in found["measures"]
            if all(measure["name"] in one["metrics"][0]["correlations"] for one in scenarios)
        ],
    )


def _agreements(
    columns: Sequence[Mapping[str, Any]],
    labels: Sequence[str],
    order: Sequence[int],
    measure: Mapping[str, Any],
) -> dict[str, Any] | None:
    series = []
    for number, column in enumerate(columns):
        cells = [_value(column, place, measure) for place in order]
        if any(cell["value"] is not None for cell in cells):
            ends = {key: [cell[key] for cell in cells] for key in ("low", "high")}
            values = [cell["value"] for cell in cells]
            name = column["name"] or measure["title"]
            series.append({"name": name, "system": number, "values": values, **ends})
    if not series:
        return None
    return {
        "label": measure["title"], "percent": False, "categories": labels, "marker": 0,
        "series": series,
    }  # fmt: skip


def _value(
    column: Mapping[str, Any], place: int, measure: Mapping[str, Any]
) -> dict[str, float | None]:
    correlations: Mapping[str, Any] = column["metrics"][place]["correlations"]
    found: dict[str, float | None] = correlations.get(
        measure["name"], {"value": None, "low": None, "high": None}
    )
    return found
