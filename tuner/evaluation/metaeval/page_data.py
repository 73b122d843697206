"""Selects from a meta-evaluation what its page shows, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import portmert
from portmert.tuner.evaluation.metaeval.combined import Combined
from portmert.tuner.evaluation.metaeval.evaluation import Differences, Estimate, MetaEvaluation
from portmert.tuner.evaluation.metaeval.report import named
from portmert.tuner.evaluation.metaeval.summary import by_agreement, main_measure, winners

MOST_POINTS = 1000
"""Of a scatter plot; of more segments evenly spaced ones are drawn."""
MOST_SCATTERED = 16
"""Metrics with scatter plots, those that agree best."""

Row = dict[str, "Estimate"]


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
            {"name": one.name, "metrics": _metrics(labels, one.correlations)}
            for one in together.scenarios
        ]
    name, rows, differences = columns[0]
    order = by_agreement(rows)
    measures = list(dict.fromkeys(key for _, rows, _ in columns for key in rows[0]))
    settings = parts[0].settings
    return {
        "kind": "metaeval",
        "portmert": portmert.__version__,
        "samples": settings.samples,
        "seed": settings.seed,
        "headlines": _headlines(labels, rows, differences, order),
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
                {"name": title, "metrics": _metrics(labels, of_metrics)}
                for title, of_metrics, _ in columns
            ],
            "scenarios": scenarios,
            "scatter": [
                {
                    "label": labels[place],
                    "sets": [
                        {"name": part.name, **_points(part, place)} for part in parts
                    ],
                }
                for place in order[:MOST_SCATTERED]
            ],
            "beats": [
                {"label": labels[place], "others": [labels[one] for one in worse]}
                for place, worse in sorted(
                    winners(differences, main_measure(rows)).items(),
                    key=lambda item: order.index(item[0]),
                )
            ],
            "measure": named(main_measure(rows)),
            "signatures": list(signatures),
        },
    }  # fmt: skip


def _title(measure: str) -> str:
    level = {"system": "Systems", "segment": "Segments", "document": "Documents"}
    return f"{level.get(measure.partition('.')[0], 'Likeness')}, {named(measure)}"


def _metrics(labels: Sequence[str], rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        {
            "label": label,
            "correlations": {
                key: {"value": one.value, "low": one.low, "high": one.high}
                for key, one in row.items()
            },
        }
        for label, row in zip(labels, rows, strict=True)
    ]


def _points(part: MetaEvaluation, place: int) -> dict[str, Any]:
    """Return people's score and the metric's, of each system, and of some segments."""
    judged = part.judged
    known = judged.points.counts.ravel() > 0
    human = judged.points.human.ravel()[known]
    metric = part.segment_scores[place].ravel()[known]
    kept = np.unique(np.linspace(0, len(human) - 1, MOST_POINTS).astype(np.int64))
    systems = np.stack([judged.system_scores, np.array(part.agreements[place].system_scores)])
    return {
        "systems": _listed(systems) if len(judged.systems) > 1 else [],
        "segments": _listed(np.stack([human[kept], metric[kept]])),
    }


def _listed(sides: Any) -> list[list[float]]:
    # Charts want rising points.
    return sorted([round(float(x), 5), round(float(y), 5)] for x, y in sides.T)


def _headlines(
    labels: Sequence[str],
    rows: Sequence[Mapping[str, Estimate]],
    differences: Differences,
    order: Sequence[int],
) -> list[str]:
    best = order[0]
    measure = main_measure(rows)
    worse = winners(differences, measure).get(best, [])
    others = len(labels) - 1
    line = f"{labels[best]} agrees best with people"
    if worse:
        line += f"; beyond chance it beats {len(worse)} of {others} others on {named(measure)}"
    elif others:
        line += f", which may be luck: on {named(measure)} it beats no other beyond chance"
    return [f"{line}."]
