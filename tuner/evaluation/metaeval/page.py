"""The page of a meta-evaluation: plain data, and charts of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import portmert

from ..documents import Chart, chart, option
from . import report
from .combined import Combined
from .evaluation import MetaEvaluation

MOST_POINTS = 1000
"""Points of a scatter plot. If there are more segments, evenly spaced ones are drawn."""
MOST_SCATTERED = 16
"""Metrics with scatter plots: those that agree best."""
MOST_COLUMNS = 6
"""Test sets side by side in the chart of agreements; the table below it has all."""
MOST_BARS = 8
"""Metrics in the chart of scenarios: those that agree best."""


def page_data(
    parts: Sequence[MetaEvaluation], together: Combined | None, signatures: Sequence[str]
) -> dict[str, Any]:
    """Return what the page of one or more test sets shows."""
    labels = [one.label for one in parts[0].agreements]
    columns = [
        (part.name, [one.correlations for one in part.agreements], part.differences)
        for part in parts
    ]
    scenarios = []
    if together is not None:
        whole = [
            (f"{one.name}, {one.kind}", list(one.correlations), one.differences)
            for one in together.columns
        ]
        columns = whole[-2:-1] + whole[:-2] + whole[-1:] + columns
        scenarios = [
            {"name": one.name, "metrics": report.of_metrics(labels, one.correlations)}
            for one in together.scenarios
        ]
    name, rows, differences = columns[0]
    order, measure = report.by_agreement(rows), report.main_measure(rows)
    beaten = report.winners(differences, measure)
    measures = dict.fromkeys(key for _, rows, _ in columns for key in rows[0])
    settings = parts[0].settings
    return {
        "kind": "metaeval",
        "portmert": portmert.__version__,
        "samples": settings.samples,
        "seed": settings.seed,
        "headlines": [
            _headline(labels, order[0], beaten.get(order[0], []), measure)
            if report.agreement(rows[order[0]]) is not None
            else "No agreement can be computed: scores are constant, or there is one segment only."
        ],
        "agreement": {
            "name": name,
            "confidence": settings.level,
            "order": order,
            "labels": labels,
            "measures": [
                {"name": key, "level": key.partition(".")[0], "title": _title(key)}
                for key in measures
            ],
            "sizes": [{"name": part.name, "text": part.judged.sizes} for part in parts],
            "columns": [
                {"name": title, "metrics": report.of_metrics(labels, found)}
                for title, found, _ in columns
            ],
            "scenarios": scenarios,
            "scatter": [
                {
                    "label": parts[0].agreements[place].display.labelled(labels[place]),
                    "sets": [{"name": part.name, **_points(part, place)} for part in parts],
                }
                for place in order[:MOST_SCATTERED]
            ],
            "beats": [
                {"label": labels[place], "others": [labels[one] for one in beaten[place]]}
                for place in order
                if place in beaten
            ],
            "measure": report.named(measure),
            "signatures": list(signatures),
        },
    }


def _title(measure: str) -> str:
    level = {"system": "Systems", "segment": "Segments", "document": "Documents"}
    return f"{level.get(measure.partition('.')[0], 'Likeness')}, {report.named(measure)}"


def _points(part: MetaEvaluation, place: int) -> dict[str, Any]:
    """Return people's score and the metric's, of each system, and of some segments."""
    judged = part.judged
    known = judged.points.counts.ravel() > 0
    human = judged.points.human.ravel()[known]
    metric = part.blocks["segment"].scores[place].ravel()[known]
    kept = np.unique(np.linspace(0, len(human) - 1, MOST_POINTS).astype(np.int64))
    agreement = part.agreements[place]
    value = agreement.display.of_oriented
    systems = np.stack([judged.system_scores, value(np.array(agreement.system_scores))])
    return {
        "systems": _rising(systems) if len(judged.systems) > 1 else [],
        "segments": _rising(np.stack([human[kept], value(metric[kept])])),
    }


def _rising(sides: Any) -> list[list[float]]:
    """Return rounded points in rising order, which charts need."""
    return sorted([round(float(x), 5), round(float(y), 5)] for x, y in sides.T)


def _headline(labels: Sequence[str], best: int, worse: Sequence[int], measure: str) -> str:
    line, others = f"{labels[best]} agrees best with people", len(labels) - 1
    if worse:
        line += (
            f"; beyond chance it beats {len(worse)} of {others} others on {report.named(measure)}"
        )
    elif others:
        line += f", which may be luck: on {report.named(measure)} it beats no other beyond chance"
    return f"{line}."


# Charts.


def charts(document: Mapping[str, Any]) -> Iterator[Chart]:
    """Yield the agreement of metrics with intervals, scatter plots, and scenarios."""
    found = document.get("agreement")
    if not found:
        return
    order, columns = found["order"], found["columns"][:MOST_COLUMNS]
    options = (_agreements(found, columns, measure) for measure in found["measures"])
    yield chart(
        "agreement",
        "agreement",
        "intervals",
        "Agreement with people",
        [one for one in options if one["series"]],
        caption=f"With {100 * found['confidence']:g} % intervals.",
        x="agreement",
        wide=True,
        tall=80 + max(24, 15 * len(columns)) * len(order),
    )
    yield chart(
        "scatter",
        "agreement",
        "scatter",
        "Metric against people",
        [
            option(
                f"{one['label']}, {what}",
                [
                    {"name": part["name"] or one["label"], "system": number, "points": part[what]}
                    for number, part in enumerate(one["sets"])
                    if part[what]
                ],
            )
            for what in ("systems", "segments")
            for one in found["scatter"]
            if any(part[what] for part in one["sets"])
        ],
        caption="Each point is a system, or an output of a segment (some of them, if there are "
        "many).",
        x="human score",
        y="value of the metric (↓ lower is better)",
        wide=True,
    )
    scenarios = found["scenarios"]
    if len(scenarios) > 1:
        best = found["order"][:MOST_BARS]
        yield chart(
            "scenarios",
            "agreement",
            "columns",
            "By scenario",
            [
                option(
                    measure["title"],
                    [
                        {
                            "name": found["labels"][place],
                            "system": number,
                            "values": [_value(one, place, measure)["value"] for one in scenarios],
                        }
                        for number, place in enumerate(best)
                    ],
                    categories=[one["name"] for one in scenarios],
                )
                for measure in found["measures"]
                if all(measure["name"] in one["metrics"][0]["correlations"] for one in scenarios)
            ],
            caption=f"The {MOST_BARS} metrics that agree best."
            if len(found["order"]) > MOST_BARS
            else "",
            x="scenario",
            y="agreement",
            wide=True,
        )


def _agreements(
    found: Mapping[str, Any], columns: Sequence[Mapping[str, Any]], measure: Mapping[str, Any]
) -> dict[str, Any]:
    series = []
    for number, column in enumerate(columns):
        cells = [_value(column, place, measure) for place in found["order"]]
        if any(cell["value"] is not None for cell in cells):
            ends = {key: [cell[key] for cell in cells] for key in ("low", "high")}
            values = [cell["value"] for cell in cells]
            name = column["name"] or measure["title"]
            series.append({"name": name, "system": number, "values": values, **ends})
    labels = [found["labels"][place] for place in found["order"]]
    return option(measure["title"], series, categories=labels, marker=0)


def _value(
    column: Mapping[str, Any], place: int, measure: Mapping[str, Any]
) -> dict[str, float | None]:
    nothing = {"value": None, "low": None, "high": None}
    found: dict[str, float | None] = column["metrics"][place]["correlations"].get(
        measure["name"], nothing
    )
    return found
