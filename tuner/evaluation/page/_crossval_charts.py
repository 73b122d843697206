"""Charts what cross-validation found: how much better each choice is on unseen segments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from portmert.tuner.evaluation.page._chart import Chart, chart


def crossval_charts(document: Mapping[str, Any]) -> Iterable[Chart]:
    """Yield differences from the first choice, and the scores on both halves, metric by metric."""
    found = document.get("crossval")
    if not found or len(found["choices"]) < 2:
        return
    names = [choice["name"] for choice in found["choices"]]
    yield chart(
        "gains",
        "crossval",
        "intervals",
        f"Better on unseen segments than {names[0]}",
        caption="In points, with one standard error over splits; right of the dashed line is "
        "better, also of metrics of which lower is better.",
        x="gain (points)",
        wide=True,
        tall=80 + 26 * len(names),
        choices=[_gains(found["choices"][1:], metric) for metric in found["metrics"]],
    )
    yield chart(
        "halves",
        "crossval",
        "bars",
        "Seen and unseen",
        caption="Scores on the segments learnt from, and on the others.",
        x="score",
        wide=True,
        tall=80 + 34 * len(names),
        choices=[_halves(found["choices"], metric) for metric in found["metrics"]],
    )


def _gains(choices: list[Mapping[str, Any]], metric: Mapping[str, Any]) -> dict[str, Any]:
    rows = [choice["judged"][metric["label"]] for choice in choices]
    return {
        **_of(metric, choices),
        "marker": 0,
        "series": [
            {
                "name": metric["label"],
                "system": 0,
                "values": [row["gain"] for row in rows],
                "low": [row["gain"] - (row["error"] or 0) for row in rows],
                "high": [row["gain"] + (row["error"] or 0) for row in rows],
            }
        ],
    }


def _halves(choices: list[Mapping[str, Any]], metric: Mapping[str, Any]) -> dict[str, Any]:
    rows = [choice["judged"][metric["label"]] for choice in choices]
    return {
        **_of(metric, choices),
        "series": [
            {"name": half, "system": number, "values": [row[half] for row in rows]}
            for number, half in enumerate(("seen", "unseen"))
        ],
    }


def _of(metric: Mapping[str, Any], choices: list[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "label": metric["label"],
        "percent": metric["in_percent"],
        "categories": [choice["name"] for choice in choices],
    }
