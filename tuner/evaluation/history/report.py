"""Shows how runs went: sentences, text and charts.

A run is given as plain data, as `read_history` returns it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import portmert
from portmert.metrics._display import Display

from ...base.tables import NOTHING, Table, fold, inert
from ..documents import Chart, chart, charted, option, shown

Run = Mapping[str, Any]

COLUMNS = (
    "dev: score of the decoder's own best output under the iteration's weights. projected: score "
    "of the weights then found, on the lists so far; compare it with the next dev score. oracle: "
    "score of the best choice of hypotheses from these lists. change: distance of the weights "
    "from the next ones, 0 to 2."
)
"""The meaning of the columns of an iteration."""
MOST_FEATURES = 40
"""Features in a chart of weights; the table beside it has all."""


def document_of(run: Run, test: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a document of a run, as `page.render` takes it.

    Parameters
    ----------
    test
        The scores of the run's output of its test set, as a comparison of one system, if known.
    """
    alone = {"kind": "run", "portmert": portmert.__version__, "headlines": headlines(run)}
    return {"notes": [], **(test or {}), **alone, "runs": [run]}


def headlines(run: Run) -> list[str]:
    """Return one sentence on the run; while it has no result, one on each replica."""
    replicas = run["replicas"]
    if not replicas:
        return [f"{run['name']}: nothing has been scored yet"]
    if run["result"] and run["result"]["dev"] is not None:
        line = _gain(run, _start(run), run["result"]["dev"])
        test, untuned = run["result"]["test"], run["result"].get("start_test")
        line += "" if test is None else f", {shown(test, run)} on test"
        remark = "" if test is None or untuned is None else f"untuned {shown(untuned, run)}; "
        if len(replicas) > 1:
            return [f"{line} ({remark}averaged weights of {len(replicas)} replicas)"]
        return [f"{line} ({remark}{_place(replicas[0])})"]
    if len(replicas) == 1:
        return [_progress(run, replicas[0])]
    done = sum(replica["state"] == "finished" for replica in replicas)
    return [
        f"{run['name']}: {run['state']}, {done} of {len(replicas)} replicas finished",
        *(_progress(run, replica) for replica in replicas),
    ]


def _gain(named: Mapping[str, Any], start: float, best: float, run: Run | None = None) -> str:
    run = run or named
    gain = f"{shown(start, run)} → {shown(best, run)}"
    return f"{named['name']}: {tuned_on(run)} {gain} on dev"


def _start(run: Run) -> float:
    """Return the dev score under the start weights, which all replicas share."""
    return float(run["replicas"][0]["passes"][0]["dev_score"])


def tuned_on(run: Run) -> str:
    """Return the metric tuned on, with an arrow where lower is better."""
    return Display.of(run).labelled(run["metric"])


def _place(replica: Mapping[str, Any]) -> str:
    scored = [one for one in replica["passes"] if one["dev_score"] is not None]
    return f"iteration {replica['best']} of {len(scored)}"


def _progress(run: Run, replica: Mapping[str, Any]) -> str:
    """Return how far one tuning came."""
    scored = [one for one in replica["passes"] if one["dev_score"] is not None]
    if not scored or replica["best"] is None:
        return f"{replica['name']}: {replica['state']}, nothing scored yet"
    best = replica["passes"][replica["best"] - 1]
    gain = _gain(replica, scored[0]["dev_score"], best["dev_score"], run)
    return f"{gain} ({_place(replica)}, {replica['state']})"


def as_text(run: Run) -> str:
    """Return the run as sentences and aligned tables."""
    blocks = ["\n".join(headlines(run)), *(_replica(run, one) for one in run["replicas"])]
    blocks.append(fold(COLUMNS))
    if run["weights"]:
        title, columns = (
            "weights, absolute values adding to 1",
            {"start": "start", "mean": "tuned"},
        )
        if len(run["replicas"]) > 1:
            title += "; s: standard deviation over replicas"
            columns = {"start": "start", "mean": "mean", "sd": "s"}
        rows = [
            [one["feature"], *(NOTHING if one[key] is None else f"{one[key]:.4f}"
                               for key in columns)]
            for one in run["weights"]
        ]  # fmt: skip
        blocks.append(Table(title, ["feature", *columns.values()], rows).text())
    blocks += [f"note: {note}" for note in run["notes"]]
    return inert("\n\n".join(blocks))


def _replica(run: Run, replica: Mapping[str, Any]) -> str:
    """Return a row for each iteration of one tuning."""
    displays = run["displays"] or {}
    labels = [label for label in displays if label != run["metric"]]
    held_out = any(p["held_out_score"] is not None for r in run["replicas"] for p in r["passes"])
    scores = {
        f"dev {tuned_on(run)}": "dev_score",
        **({"held out": "held_out_score"} if held_out else {}),
        "projected": "optimized_score",
        "oracle": "oracle_score",
    }
    rows = []
    for one in replica["passes"]:
        others = (_known((one["scores"] or {}).get(x), displays[x]) for x in labels)
        rows.append(
            [
                str(one["number"]),
                *("" if one[key] is None else str(one[key]) for key in ("hypotheses", "new")),
                *(_known(one[key], run) for key in scores.values()),
                "" if one["change"] is None else f"{one['change']:.4f}",
                *others,
            ]
        )
    state = replica["stopped"] or replica["doing"]
    title = f"{replica['name']}: {replica['state']}" + (f" ({state})" if state else "")
    columns = ["iteration", "hypotheses", "new", *scores, "change"]
    return Table(
        title,
        [*columns, *(f"dev {Display.of(displays[x]).labelled(x)}" for x in labels)],
        rows,
        left=0,
    ).text()


def _known(score: float | None, display: Mapping[str, Any]) -> str:
    return "" if score is None else shown(score, display)


# Charts.


def run_colours(document: Mapping[str, Any]) -> list[int]:
    """Return the colour of each run: that of the system with its name."""
    colours = {system["name"]: n for n, system in enumerate(document.get("systems", ()))}
    return [colours.get(run["name"], n) for n, run in enumerate(document.get("runs") or ())]


Numbered = Sequence[tuple[int, Run]]
"""Runs, each with its colour."""


def charts(document: Mapping[str, Any]) -> Iterator[Chart]:
    """Yield how runs went: all runs share a chart, but each has its own error surfaces."""
    runs = list(zip(run_colours(document), document.get("runs") or (), strict=True))
    if not runs:
        return
    yield _weights(runs)
    yield _lines(
        "dev", "Dev score of each iteration", "dev score", _dev_choices(runs),
        "Score of the decoder's own best output under the weights of that iteration.",
    )  # fmt: skip
    yield _lines(
        "projected", "Projected, real, possible", "dev score", _projected_choices(runs),
        "Projected: score of an iteration's weights on the lists they were found on. Real: score "
        "of the decoder's output under these weights. Oracle: one hypothesis a segment, chosen by "
        "score alone; the gap between real and oracle is headroom.",
    )  # fmt: skip
    yield _lines(
        "hypotheses", "Growth of the n-best lists", "hypotheses",
        _one_choice(runs, lambda one: one["hypotheses"]),
        "Number of distinct hypotheses of all lists so far.",
    )  # fmt: skip
    yield _lines(
        "change", "How far the weights moved", "change of weights",
        _one_choice(runs, lambda one: one["change"]),
        "Distance from each iteration to the next. Absolute values of a vector add to 1, so the "
        "largest distance is 2.",
    )  # fmt: skip
    for number, run in runs:
        yield _surface(number, run)


def _lines(name: str, title: str, y: str, choices: Any, caption: str) -> Chart:
    """Return a chart over the iterations of runs."""
    more = {"caption": caption, "x": "iteration", "y": y, "whole": True}
    return chart(name, "runs", "lines", title, choices, **more)


def _line(name: str, system: int, dash: int, points: Sequence[Any]) -> list[dict[str, Any]]:
    """Return a series of the points that have a value, if there are any."""
    known = [point for point in points if point[1] is not None]
    return [{"name": name, "system": system, "dash": dash, "points": known}] if known else []


def _series(runs: Numbered, value: Callable[[Mapping[str, Any]], Any]) -> list[dict[str, Any]]:
    """Return a series for each replica: `value` of every iteration."""
    return [
        line
        for number, run in runs
        for dash, replica in enumerate(run["replicas"])
        for line in _line(
            _name(run, replica), number, dash,
            [[one["number"], value(one)] for one in replica["passes"]],
        )
    ]  # fmt: skip


def _name(run: Run, replica: Mapping[str, Any]) -> str:
    return run["name"] if len(run["replicas"]) == 1 else f"{run['name']}, {replica['name']}"


def _one_choice(runs: Numbered, value: Callable[[Mapping[str, Any]], Any]) -> list[Any]:
    series = _series(runs, value)
    return [option("", series)] if series else []


def _weights(runs: Numbered) -> Chart:
    """Return weights side by side, the spread over replicas as a whisker."""
    sizes: dict[str, float] = {}
    for _, run in runs:
        for weight in run["weights"]:
            name = weight["feature"]
            sizes[name] = max(sizes.get(name, 0.0), abs(weight["mean"]), abs(weight["start"]))
    kept = set(sorted(sizes, key=lambda name: -sizes[name])[:MOST_FEATURES])
    features = [name for name in sizes if name in kept]
    series = []
    for number, run in runs:
        found = {weight["feature"]: weight for weight in run["weights"]}
        rows = [found.get(name, {"mean": None, "sd": None}) for name in features]
        ends = {
            key: [None if one["sd"] is None else one["mean"] + sign * one["sd"] for one in rows]
            for key, sign in (("low", -1), ("high", 1))
        }
        values = [one["mean"] for one in rows]
        series.append({"name": run["name"], "system": number, "values": values, **ends})
    more = "" if len(features) == len(sizes) else f" The {MOST_FEATURES} largest of {len(sizes)}."
    return chart(
        "weights",
        "runs",
        "bars",
        "Weights",
        [option("", series, categories=features, marker=0)] if features else [],
        caption="Absolute values of each vector add to 1. Mean and standard deviation over "
        f"replicas.{more}",
        x="weight",
        wide=True,
        tall=70 + len(features) * max(24, 17 * len(runs)),
    )


def _dev_choices(runs: Numbered) -> list[dict[str, Any]]:
    """Return the dev score of each iteration on the metric tuned on and on all others."""
    passes = [one for _, run in runs for replica in run["replicas"] for one in replica["passes"]]
    labels = dict.fromkeys(label for one in passes for label in one["scores"] or {})
    names = dict.fromkeys(run["metric"] for _, run in runs)
    displays = {
        label: display for _, run in runs for label, display in (run["displays"] or {}).items()
    }

    def by(label: str, one: Mapping[str, Any]) -> float | None:
        return (one["scores"] or {}).get(label)

    found = [
        _choice(label, runs, displays.get(label, {}), partial(by, label))
        for label in sorted(labels, key=lambda label: label not in names)
    ]
    for name in names:
        same = [(number, run) for number, run in runs if run["metric"] == name]
        if name not in labels:
            label = f"{name} (tuned on)"
            found.append(_choice(label, same, same[0][1], lambda one: one["dev_score"]))
    found.append(_choice("held out", runs, runs[0][1], lambda one: one["held_out_score"]))
    return [one for one in found if one["series"]]


def _choice(
    label: str,
    runs: Numbered,
    display: Mapping[str, Any],
    score: Callable[[Mapping[str, Any]], float | None],
) -> dict[str, Any]:
    """Return one metric's scores of all iterations, as they are shown."""
    series = _series(runs, lambda one: charted(score(one), display))
    in_percent = Display.of(display).in_percent
    return option(Display.of(display).labelled(label), series, in_percent=in_percent)


def _projected_choices(runs: Numbered) -> list[dict[str, Any]]:
    """Return for each replica what was promised, what came, and what the lists would allow."""
    found = []
    for number, run in runs:
        for replica in run["replicas"]:
            series = [
                line
                for dash, (name, key, later) in enumerate(
                    (
                        ("real", "dev_score", 0),
                        ("projected", "optimized_score", 1),
                        ("oracle of the lists", "oracle_score", 0),
                    )
                )
                for line in _line(
                    name,
                    number,
                    dash,
                    [[p["number"] + later, charted(p[key], run)] for p in replica["passes"]],
                )
            ]
            if series:
                label = f"{_name(run, replica)} ({tuned_on(run)})"
                found.append(option(label, series, in_percent=run["in_percent"]))
    return found


def _surface(number: int, run: Run) -> Chart:
    def values(piece: Mapping[str, Any]) -> list[float | None]:
        return [charted(score, run) for score in (*piece["scores"], piece["scores"][-1])]

    ended = f" ({run['sliced']})." if len(run["replicas"]) > 1 else "."
    return chart(
        f"surface-{number}",
        "surface",
        "steps",
        f"{run['name']}: {tuned_on(run)} along one weight",
        [
            option(
                piece["feature"],
                _line(
                    run["metric"], number, 0,
                    [*map(list, zip(piece["ends"], values(piece), strict=True))],
                ),
                in_percent=run["in_percent"],
                marker=piece["weight"],
                low=piece["ends"][0],
                high=piece["ends"][-1],
            )
            for piece in run["slices"]
        ],
        caption="Score of the best hypotheses of all lists as one weight changes and the others "
        "stay fixed: the exact function. The dashed line marks the weight after tuning"
        f"{ended} Weights are the decoder's own, not scaled.",
        x="weight",
        y=f"dev {tuned_on(run)}",
    )  # fmt: skip
