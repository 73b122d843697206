"""Charts what a comparison found: differences from the first system, groups of segments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from portmert.tuner.evaluation.page._chart import Chart, chart

TURNED = " Of metrics of which lower is better the difference is drawn with its sign turned."

MOST_TOGETHER = 3
"""Systems whose differences share a chart; of more, one metric at a time is shown."""


def difference_chart(document: Mapping[str, Any]) -> Chart | None:
    """Return differences from the first system with intervals, on metrics in percent.

    Right is better: where lower scores are, signs are turned.
    """
    systems = [system["name"] for system in document.get("systems", ())]
    if len(systems) < 2:
        return None
    metrics = [metric for metric in document["metrics"] if metric["in_percent"]]
    rows = {(row["metric"], row["system"]): row for row in document["scores"]}
    series = []
    for number, name in enumerate(systems[1:], 1):
        found = [rows.get((metric["label"], name), {}) for metric in metrics]
        if not any(row.get("difference") is not None for row in found):
            continue
        series.append(
            {
                "name": name,
                "system": number,
                "values": _gains(metrics, found, "difference", "difference"),
                "low": _gains(metrics, found, "difference_low", "difference_high"),
                "high": _gains(metrics, found, "difference_high", "difference_low"),
            }
        )
    labels = [
        metric["label"] + ("" if metric["higher_is_better"] else " (sign turned)")
        for metric in metrics
    ]
    choices = [{"label": "", "series": series, "categories": labels, "percent": True, "marker": 0}]
    if len(series) > MOST_TOGETHER:
        choices = [_one_metric(label, place, series) for place, label in enumerate(labels)]
    lines = len(series) * (len(labels) if len(choices) == 1 else 1)
    confidence = f"{100 * document['confidence']:g}"
    return chart(
        "differences",
        "scores",
        "intervals",
        f"Difference from {systems[0]}",
        caption=f"In points, with {confidence} % intervals; right of the dashed line is better."
        + ("" if all(m["higher_is_better"] for m in metrics) else TURNED),
        x="gain (points)",
        tall=80 + 26 * max(lines, len(labels)),
        choices=choices if series and labels else [],
    )


def _gains(
    metrics: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
    higher: str,
    lower: str,
) -> list[float | None]:
    """Return `higher` of metrics of which that is better, else `lower` with its sign turned."""
    found: list[float | None] = []
    for metric, row in zip(metrics, rows, strict=True):
        better = metric["higher_is_better"]
        value = row.get(higher if better else lower)
        found.append(value if better or value is None else -value)
    return found


def _one_metric(label: str, place: int, series: Sequence[Mapping[str, Any]]) -> Chart:
    """Return the choice that shows all systems under one metric, a row each."""
    return {
        "label": label,
        "categories": [one["name"] for one in series],
        "percent": True,
        "marker": 0,
        "series": [
            {
                "name": label,
                "system": 0,
                "systems": [one["system"] for one in series],
                **{key: [one[key][place] for one in series] for key in ("values", "low", "high")},
            }
        ],
    }


def _with_direction(metric: Mapping[str, Any]) -> str:
    return str(metric["label"]) + ("" if metric["higher_is_better"] else " (lower is better)")


def group_charts(document: Mapping[str, Any]) -> Iterable[Chart]:
    """Yield the scores of groups of segments: by length, by reordering."""
    systems = [system["name"] for system in document.get("systems", ())]
    differences = document.get("differences") or {}
    for name, title, axis in (
        ("by_length", "By length of the reference", "tokens of the reference"),
        ("by_reordering", "By reordering of the reference", "reordering (1 - v)"),
    ):
        buckets = differences.get(name) or []
        choices = [
            {
                "label": _with_direction(metric),
                "percent": metric["in_percent"],
                "categories": [f"{bucket['label']} ({bucket['segments']})" for bucket in buckets],
                "series": [
                    {
                        "name": system,
                        "system": number,
                        "values": [
                            (bucket["scores"].get(metric["label"]) or [None] * len(systems))[
                                number
                            ]
                            for bucket in buckets
                        ],
                    }
                    for number, system in enumerate(systems)
                ],
            }
            for metric in document.get("metrics", ())
        ]
        yield chart(
            name.replace("_", "-"),
            "where",
            "columns",
            title,
            caption="Score of the segments of each group by itself; in brackets, how many.",
            x=axis,
            y="score",
            choices=choices if buckets else [],
        )
