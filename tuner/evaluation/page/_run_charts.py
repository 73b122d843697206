"""Charts how runs went: weights, scores, lists, the error surface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from portmert.tuner.evaluation.page._chart import Chart, chart

MOST_FEATURES = 40
"""In a chart of weights; the table beside it has all."""


def run_colours(document: Mapping[str, Any]) -> list[int]:
    """Return the colour of each run: that of the system of its name."""
    colours = {system["name"]: n for n, system in enumerate(document.get("systems", ()))}
    return [colours.get(run["name"], n) for n, run in enumerate(document.get("runs") or ())]


def run_charts(document: Mapping[str, Any]) -> Iterable[Chart]:
    """Yield what shows how runs went, all runs in one chart but their error surfaces."""
    numbered = list(zip(run_colours(document), document.get("runs") or (), strict=True))
    if not numbered:
        return
    yield _weights(numbered)
    yield _dev_scores(numbered)
    yield _projected(numbered)
    yield _lines(
        "hypotheses",
        "Growth of the n-best lists",
        "hypotheses",
        caption="Distinct hypotheses of all lists so far.",
        choices=_one_choice(numbered, lambda one: one["hypotheses"]),
    )
    yield _lines(
        "change",
        "How far the weights moved",
        "change of weights",
        caption="From each iteration to the next, each vector scaled to absolute values that add "
        "to 1; 2 would be all of it.",
        choices=_one_choice(numbered, lambda one: one["change"]),
    )
    yield _annotations(numbered)
    for number, run in numbered:
        yield _surface(number, run)


def _lines(name: str, title: str, y: str, *, caption: str, choices: Any) -> Chart:
    """Return a chart over the iterations of runs."""
    more = {"caption": caption, "x": "iteration", "y": y, "whole": True}
    return chart(name, "runs", "lines", title, choices=choices, **more)


def _series(number: int, run: Mapping[str, Any], value: Any) -> list[dict[str, Any]]:
    """Return one series a replica of what `value` says of a pass."""
    found = []
    for dash, replica in enumerate(run["replicas"]):
        points = [[one["number"], value(one)] for one in replica["passes"]]
        points = [point for point in points if point[1] is not None]
        if points:
            found.append(
                {
                    "name": _name(run, replica),
                    "system": number,
                    "dash": dash,
                    "points": points,
                }
            )
    return found


def _name(run: Mapping[str, Any], replica: Mapping[str, Any]) -> str:
    return run["name"] if len(run["replicas"]) == 1 else f"{run['name']}, {replica['name']}"


def _one_choice(
    numbered: Sequence[tuple[int, Mapping[str, Any]]], value: Any
) -> list[dict[str, Any]]:
    series = [line for number, run in numbered for line in _series(number, run, value)]
    return [{"label": "", "percent": False, "series": series}] if series else []


def _weights(numbered: Sequence[tuple[int, Mapping[str, Any]]]) -> Chart:
    """Return weights side by side, the spread over replicas as a whisker."""
    sizes: dict[str, float] = {}
    for _, run in numbered:
        for weight in run["weights"]:
            name = weight["feature"]
            sizes[name] = max(sizes.get(name, 0.0), abs(weight["mean"]), abs(weight["start"]))
    kept = set(sorted(sizes, key=lambda name: -sizes[name])[:MOST_FEATURES])
    features = [name for name in sizes if name in kept]
    series = []
    for number, run in numbered:
        found = {weight["feature"]: weight for weight in run["weights"]}
        means = [found[name]["mean"] if name in found else None for name in features]
        spreads = [found[name]["sd"] if name in found else None for name in features]
        series.append(
            {
                "name": run["name"],
                "system": number,
                "values": means,
                "low": _moved(means, spreads, -1),
                "high": _moved(means, spreads, 1),
            }
        )
    return chart(
        "weights",
        "runs",
        "bars",
        "Weights",
        caption="Each vector scaled to absolute values that add to 1; mean and standard deviation "
        "over replicas."
        + (
            "" if len(features) == len(sizes) else f" The {MOST_FEATURES} largest of {len(sizes)}."
        ),
        x="weight",
        wide=True,
        tall=70 + len(features) * max(24, 17 * len(numbered)),
        choices=[
            {
                "label": "",
                "percent": False,
                "categories": features,
                "series": series,
                "marker": 0,
            }
        ]
        if features
        else [],
    )


def _moved(
    means: Sequence[float | None], spreads: Sequence[float | None], sign: int
) -> list[float | None]:
    return [
        None if mean is None or spread is None else mean + sign * spread
        for mean, spread in zip(means, spreads, strict=True)
    ]


def _dev_scores(numbered: Sequence[tuple[int, Mapping[str, Any]]]) -> Chart:
    """Return the dev score of each iteration on the metric tuned on and on all others."""
    labels = dict.fromkeys(
        label
        for _, run in numbered
        for replica in run["replicas"]
        for one in replica["passes"]
        for label in one["scores"] or {}
    )
    tuned_on = {run["metric"] for _, run in numbered}
    choices = []
    for label in sorted(labels, key=lambda label: label not in tuned_on):
        series = [
            line
            for number, run in numbered
            for line in _series(
                number, run, lambda one, label=label: (one["scores"] or {}).get(label)
            )
        ]
        percent = any((run["percents"] or {}).get(label, True) for _, run in numbered)
        choices.append({"label": label, "percent": percent, "series": series})
    for name in dict.fromkeys(run["metric"] for _, run in numbered):
        same = [(number, run) for number, run in numbered if run["metric"] == name]
        if name in labels or not same:
            continue
        series = [
            line for n, run in same for line in _series(n, run, lambda one: one["dev_score"])
        ]
        percent = same[0][1]["in_percent"]
        choices.append({"label": f"{name} (tuned on)", "percent": percent, "series": series})
    held = [
        line for n, run in numbered for line in _series(n, run, lambda one: one["held_out_score"])
    ]
    if held:
        percent = numbered[0][1]["in_percent"]
        choices.append({"label": "held out", "percent": percent, "series": held})
    return _lines(
        "dev",
        "Dev score of each iteration",
        "dev score",
        caption="Of the decoder's own best output under the weights of that iteration.",
        choices=[choice for choice in choices if choice["series"]],
    )


def _projected(numbered: Sequence[tuple[int, Mapping[str, Any]]]) -> Chart:
    """Return for each replica what was promised, what came, what the lists would allow."""
    choices = []
    for number, run in numbered:
        for replica in run["replicas"]:
            passes = replica["passes"]
            lines = (
                ("real", 0, [[p["number"], p["dev_score"]] for p in passes]),
                ("projected", 1, [[p["number"] + 1, p["optimized_score"]] for p in passes]),
                ("oracle of the lists", 2, [[p["number"], p["oracle_score"]] for p in passes]),
            )
            series = [
                {
                    "name": name,
                    "system": number,
                    "dash": dash,
                    "points": [point for point in points if point[1] is not None],
                }
                for name, dash, points in lines
            ]
            series = [line for line in series if line["points"]]
            if series:
                label = f"{_name(run, replica)} ({run['metric']})"
                choices.append({"label": label, "percent": run["in_percent"], "series": series})
    return _lines(
        "projected",
        "Projected, real, possible",
        "dev score",
        caption="Projected: the score that the weights of an iteration had over the lists they "
        "were found on. Real: what the decoder then made of them. Oracle: one hypothesis a "
        "segment chosen by score alone; what lies between is headroom.",
        choices=choices,
    )


def _annotations(numbered: Sequence[tuple[int, Mapping[str, Any]]]) -> Chart:
    """Return how much of each iteration's texts the annotator's cache had."""
    choices = []
    for key, label in (
        ("hits", "from the cache"),
        ("misses", "annotated"),
        ("failed", "without a parse"),
    ):
        found = _one_choice(numbered, lambda one, key=key: (one["annotations"] or {}).get(key))
        choices += [{**choice, "label": label} for choice in found]
    return _lines(
        "annotations",
        "Annotation",
        "sentences",
        caption="Distinct sentences that the metric had annotated in each iteration.",
        choices=choices,
    )


def _surface(number: int, run: Mapping[str, Any]) -> Chart:
    return chart(
        f"surface-{number}",
        "surface",
        "steps",
        f"{run['name']}: {run['metric']} along one weight",
        caption="The score of the best hypotheses of all lists as one weight moves and the "
        "others stay: the exact function, every step of it. The dashed line is where tuning "
        "ended"
        + (f" ({run['sliced']})." if len(run["replicas"]) > 1 else ".")
        + " Weights are the decoder's own, not scaled.",
        x="weight",
        y=f"dev {run['metric']}",
        choices=[
            {
                "label": piece["feature"],
                "percent": run["in_percent"],
                "marker": piece["weight"],
                "low": piece["ends"][0],
                "high": piece["ends"][-1],
                "series": [
                    {
                        "name": run["metric"],
                        "system": number,
                        "dash": 0,
                        "points": [
                            *(
                                [x, y]
                                for x, y in zip(piece["ends"], piece["scores"], strict=False)
                            ),
                            [piece["ends"][-1], piece["scores"][-1]],
                        ],
                    }
                ],
            }
            for piece in run["slices"]
        ],
    )
