"""Shows how runs went: sentences, tables and charts.

A run is plain data, as `read_history` returns it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import portmert
from portmert.metrics._display import NOTHING
from portmert.tuner.base.tables import Block, Table
from portmert.tuner.evaluation.comparison.report import about, blocks_of
from portmert.tuner.evaluation.document import (
    Chart,
    ChartChoice,
    Document,
    Heading,
    Paragraph,
    Series,
    on_page,
)
from portmert.tuner.evaluation.formatting import ShownMetric

Run = Mapping[str, Any]
Replica = Mapping[str, Any]
Iteration = Mapping[str, Any]
Colored = Sequence[tuple[int, Run]]
"""Runs, each with the number of its colour."""

COLUMNS = (
    "dev: score of the decoder's own best output under the iteration's weights. projected: score "
    "of the weights then found, on the lists so far; compare it with the next dev score. oracle: "
    "score of the best choice of hypotheses from these lists. change: distance of the weights "
    "from the next ones, 0 to 2."
)
"""The meaning of the columns of an iteration."""
MAX_FEATURES = 40
"""Features in a chart of weights; the table below it has all."""


def as_json(runs: Sequence[Run], test: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the JSON object of `portmert report`.

    Parameters
    ----------
    test
        The scores of one run's output of its test set, as a comparison of one system, if known.
    """
    lines = [line for run in runs for line in headlines(run)]
    alone = {"kind": "run", "portmert": portmert.__version__, "headlines": lines}
    return {"notes": [], **(test or {}), **alone, "runs": list(runs)}


def document_of_run(report: Mapping[str, Any]) -> Document:
    """Return the document of runs of `tune`, and on the page the scores of one's test output.

    Parameters
    ----------
    report
        `as_json`.
    """
    names = [run["name"] for run in report["runs"]]
    blocks: list[Block] = [Paragraph(line, "headline") for line in report["headlines"]]
    blocks += blocks_of_runs(report["runs"])
    line = f"portmert {report['portmert']}"
    if "systems" in report:
        line = about(report)
        blocks += on_page([Paragraph(note, "note") for note in report["notes"]])
        blocks += on_page(blocks_of(report))
    return Document(" / ".join(names), blocks, about=line, systems=names)


def headlines(run: Run) -> list[str]:
    """Return one sentence on the run; while it has no result, one on each replica."""
    replicas, result = run["replicas"], run["result"]
    if not replicas:
        return [f"{run['name']}: nothing has been scored yet"]
    if result and result["dev"] is not None:
        line = _gain(run["name"], run, replicas[0]["passes"][0]["dev_score"], result["dev"])
        test, untuned = result["test"], result.get("start_test")
        shown = _metric(run).shown
        line += "" if test is None else f", {shown(test)} on test"
        remark = "" if test is None or untuned is None else f"untuned {shown(untuned)}; "
        if len(replicas) > 1:
            return [f"{line} ({remark}averaged weights of {len(replicas)} replicas)"]
        return [f"{line} ({remark}{_best_iteration(replicas[0])})"]
    if len(replicas) == 1:
        return [_progress(run, replicas[0])]
    finished = sum(replica["state"] == "finished" for replica in replicas)
    return [
        f"{run['name']}: {run['state']}, {finished} of {len(replicas)} replicas finished",
        *(_progress(run, replica) for replica in replicas),
    ]


def _gain(name: str, run: Run, start: float, best: float) -> str:
    metric = _metric(run)
    return f"{name}: {metric.directed} {metric.shown(start)} → {metric.shown(best)} on dev"


def _metric(run: Run) -> ShownMetric:
    """Return the metric tuned on."""
    return ShownMetric.of({**run, "label": run["metric"]})


def _scored(replica: Replica) -> list[Iteration]:
    return [x for x in replica["passes"] if x["dev_score"] is not None]


def _best_iteration(replica: Replica) -> str:
    return f"iteration {replica['best']} of {len(_scored(replica))}"


def _progress(run: Run, replica: Replica) -> str:
    """Return how far one tuning came."""
    scored = _scored(replica)
    if not scored or replica["best"] is None:
        return f"{replica['name']}: {replica['state']}, nothing scored yet"
    best = replica["passes"][replica["best"] - 1]["dev_score"]
    gain = _gain(replica["name"], run, scored[0]["dev_score"], best)
    return f"{gain} ({_best_iteration(replica)}, {replica['state']})"


def blocks_of_runs(runs: Sequence[Run], systems: Sequence[str] = ()) -> list[Block]:
    """Return tables and charts of how runs went; the charts are shared.

    Parameters
    ----------
    systems
        Names of systems; a run has the colour of the system with its name.
    """
    if not runs:
        return []
    colored = [
        (systems.index(run["name"]) if run["name"] in systems else number, run)
        for number, run in enumerate(runs)
    ]
    blocks: list[Block] = [Heading("Tuning"), *_charts(colored)]
    for run in runs:
        if run["state"] == "running":
            note = f"{run['name']} is still running; this page was made meanwhile."
            blocks.append(Paragraph(note, "note").only("page"))
        blocks += [_named(_iterations(run, replica), run, runs) for replica in run["replicas"]]
    blocks.append(Paragraph(COLUMNS))
    blocks += [_named(_weights(run), run, runs) for run in runs if run["weights"]]
    return blocks


def _named(table: Table, run: Run, runs: Sequence[Run]) -> Table:
    """Return a table that says which of several runs it is of."""
    is_said = len(runs) == 1 or table.title.startswith(run["name"])
    return table if is_said else replace(table, title=f"{run['name']}, {table.title}")


def _iterations(run: Run, replica: Replica) -> Table:
    """Return a row for each iteration of one tuning."""
    tuned_on = _metric(run)
    held_out = any(p["held_out_score"] is not None for r in run["replicas"] for p in r["passes"])
    scores = {
        f"dev {tuned_on.directed}": "dev_score",
        **({"held out": "held_out_score"} if held_out else {}),
        "projected": "optimized_score",
        "oracle": "oracle_score",
    }
    rows = [
        [
            str(iteration["number"]),
            *("" if iteration[x] is None else str(iteration[x]) for x in ("hypotheses", "new")),
            *(_shown_or_blank(iteration[key], tuned_on) for key in scores.values()),
            "" if iteration["change"] is None else f"{iteration['change']:.4f}",
        ]
        for iteration in replica["passes"]
    ]
    state = replica["stopped"] or replica["doing"]
    headers = ["iteration", "hypotheses", "new", *scores, "change"]
    title = f"{replica['name']}: {replica['state']}" + (f" ({state})" if state else "")
    return Table(title, headers, rows, left=0)


def _shown_or_blank(score: float | None, metric: ShownMetric) -> str:
    return "" if score is None else metric.shown(score)


def _weights(run: Run) -> Table:
    title, columns = "weights, absolute values adding to 1", {"start": "start", "mean": "tuned"}
    if len(run["replicas"]) > 1:
        title += "; s: standard deviation over replicas"
        columns = {"start": "start", "mean": "mean", "sd": "s"}
    rows = [
        [row["feature"], *(NOTHING if row[x] is None else f"{row[x]:.4f}" for x in columns)]
        for row in run["weights"]
    ]
    return Table(title, ["feature", *columns.values()], rows, label=f"weights-{run['name']}")


# Charts.


def _charts(runs: Colored) -> Iterator[Chart]:
    """Yield the charts that all runs share."""
    charts = (
        _weights_chart(runs),
        _lines(
            "dev", "Dev score of each iteration", "dev score", _dev_choices(runs),
            "Score of the decoder's own best output under the weights of that iteration.",
        ),
        _lines(
            "projected", "Projected, real, possible", "dev score", _projected_choices(runs),
            "Projected: score of an iteration's weights on the lists they were found on. Real: "
            "score of the decoder's output under these weights. Oracle: one hypothesis a segment, "
            "chosen by score alone; the gap between real and oracle is headroom.",
        ),
        _lines(
            "hypotheses", "Growth of the n-best lists", "hypotheses",
            [ChartChoice("", _series(runs, lambda iteration: iteration["hypotheses"]))],
            "Number of distinct hypotheses of all lists so far.",
        ),
        _lines(
            "change", "How far the weights moved", "change of weights",
            [ChartChoice("", _series(runs, lambda iteration: iteration["change"]))],
            "Distance from each iteration to the next. Absolute values of a vector add to 1, so "
            "the largest distance is 2.",
        ),
    )  # fmt: skip
    return (chart for chart in charts if any(choice.series for choice in chart.choices))


def _lines(name: str, title: str, y: str, choices: Sequence[ChartChoice], caption: str) -> Chart:
    """Return a chart over the iterations of runs."""
    return Chart(name, "lines", title, choices, caption, x="iteration", y=y)


def _line(
    name: str, colour: int, dash: int, points: Sequence[tuple[float, float | None]]
) -> list[Series]:
    """Return a series of the points that have a value, if there are any."""
    points = [point for point in points if point[1] is not None]
    x, values = [x for x, _ in points], [y for _, y in points]
    return [Series(name, values, x, colour=colour, dash=dash)] if points else []


def _series(runs: Colored, value: Callable[[Iteration], float | None]) -> list[Series]:
    """Return a series for each replica: `value` of every iteration."""
    series = []
    for colour, run in runs:
        for dash, replica in enumerate(run["replicas"]):
            points = [(x["number"], value(x)) for x in replica["passes"]]
            series += _line(_name(run, replica), colour, dash, points)
    return series


def _name(run: Run, replica: Replica) -> str:
    return run["name"] if len(run["replicas"]) == 1 else f"{run['name']}, {replica['name']}"


def _weights_chart(runs: Colored) -> Chart:
    """Return weights side by side, the spread over replicas as a whisker."""
    sizes: dict[str, float] = {}
    for _, run in runs:
        for row in run["weights"]:
            size = max(abs(row["mean"]), abs(row["start"]))
            sizes[row["feature"]] = max(sizes.get(row["feature"], 0.0), size)
    largest = set(sorted(sizes, key=lambda name: -sizes[name])[:MAX_FEATURES])
    features = [name for name in sizes if name in largest]
    series = []
    for colour, run in runs:
        by_feature = {row["feature"]: row for row in run["weights"]}
        rows = [by_feature.get(name, {"mean": None, "sd": None}) for name in features]
        low, high = (
            [None if row["sd"] is None else row["mean"] + sign * row["sd"] for row in rows]
            for sign in (-1, 1)
        )
        means = [row["mean"] for row in rows]
        series.append(Series(run["name"], means, low=low, high=high, colour=colour))
    caption = "Absolute values of each vector add to 1. Mean and standard deviation over replicas."
    if len(features) < len(sizes):
        caption += f" The {MAX_FEATURES} largest of {len(sizes)}."
    choices = [ChartChoice("", series if features else [], categories=features, marker=0)]
    return Chart("weights", "bars", "Weights", choices, caption, x="weight")


def _dev_choices(runs: Colored) -> list[ChartChoice]:
    """Return the dev score of each iteration on each metric tuned on, and held out."""
    choices = []
    for name in dict.fromkeys(run["metric"] for _, run in runs):
        same = [(colour, run) for colour, run in runs if run["metric"] == name]
        choices += [_choice(name, same, "dev_score"), _choice("held out", same, "held_out_score")]
    return [choice for choice in choices if choice.series]


def _choice(label: str, runs: Colored, key: str) -> ChartChoice:
    metric = ShownMetric.of({**runs[0][1], "label": label})
    series = _series(runs, lambda iteration: metric.charted(iteration[key]))
    return ChartChoice(metric.directed, series, metric.in_percent)


def _projected_choices(runs: Colored) -> list[ChartChoice]:
    """Return for each replica the projected scores, the real ones and those of the oracle."""
    choices = []
    kinds = (
        ("real", "dev_score", 0),
        ("projected", "optimized_score", 1),  # of the weights of the next iteration
        ("oracle of the lists", "oracle_score", 0),
    )
    for colour, run in runs:
        metric = _metric(run)
        for replica in run["replicas"]:
            series: list[Series] = []
            for dash, (name, key, later) in enumerate(kinds):
                points = [(x["number"] + later, metric.charted(x[key])) for x in replica["passes"]]
                series += _line(name, colour, dash, points)
            label = f"{_name(run, replica)} ({metric.directed})"
            choices.append(ChartChoice(label, series, run["in_percent"]))
    return [choice for choice in choices if choice.series]
