"""Sums up what cross-validation measured, and shows it: sentences, tables and a chart."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

import portmert
from portmert.metrics._base import FloatArray
from portmert.metrics._display import NOTHING
from portmert.tuner.base.errors import counted
from portmert.tuner.base.json_toml import plain
from portmert.tuner.base.samples import deviation
from portmert.tuner.base.tables import Table
from portmert.tuner.evaluation.document import (
    Chart,
    ChartChoice,
    Document,
    Heading,
    Paragraph,
    Series,
    on_page,
)
from portmert.tuner.evaluation.formatting import LIKELY, ShownMetric, p_value
from portmert.tuner.evaluation.significance import corrected_p, holm_in_families

from .cells import FIRST, CrossPlan, Row

LEGEND = (
    "seen: score on the segments learnt from, unseen: on the others; means over splits and "
    "seeds. better: gain over the first row on unseen segments, above 0 is better for any metric, "
    "± its standard error over splits. p: two-sided, corrected for the segments that splits share "
    "(Nadeau & Bengio 2003). first: first hypothesis of each list; only: best by one feature."
)


def as_json(plan: CrossPlan, rows: Sequence[Row], signatures: Mapping[str, str]) -> dict[str, Any]:
    """Return all results as plain data.

    `p_holm` is p corrected within its `family`. Planned are the comparisons that the user asks
    for: of all searches and of the first hypotheses, on the first metric. All else is `further`.
    """
    seen, unseen = plan.parts(0)
    choices: list[dict[str, Any]] = [
        {
            "name": row.name,
            "tuned_on": row.choice and row.choice.tuned_on,
            "optimizer": row.choice and row.choice.by,
            "without": list(row.choice.without) if row.choice else [],
            "prior": row.choice and row.choice.prior,
            "judged": {label: _judged(plan, label, row, rows[0]) for label in plan.metrics},
        }
        for row in rows
    ]
    first_metric = next(iter(plan.metrics))
    for choice in choices:
        for label, judged in choice["judged"].items():
            is_planned = choice["optimizer"] is not None or choice["name"] == FIRST
            family = "planned" if is_planned and label == first_metric else "further"
            judged["family"] = None if judged["p"] is None else family
    holm_in_families([x["judged"][label] for label in plan.metrics for x in choices], ("p",))
    results = {
        "kind": "crossval",
        "portmert": portmert.__version__,
        "segments": len(plan.nbest),
        "learnt_from": len(seen),
        "judged_on": len(unseen),
        "splits": plan.splits,
        "seeds": plan.seeds,
        "seed": plan.seed,
        "metrics": [
            {"label": label, "signature": signatures[label], **asdict(metric.display)}
            for label, metric in plan.metrics.items()
        ],
        "choices": choices,
    }
    return {**results, "headlines": headlines(results)}


@np.errstate(invalid="ignore")
def _judged(plan: CrossPlan, label: str, row: Row, first: Row) -> dict[str, Any]:
    """Judge a row by a metric: means on its own scale, the gain over the first row, and its p."""
    metric, (seen, unseen) = plan.metrics[label], row.scores[label]
    gains = np.asarray(metric.oriented(unseen - first.scores[label][1])).mean(axis=1)
    means = {"seen": float(seen.mean()), "unseen": float(unseen.mean())}
    rates = {f"{name}_rate": metric.display.rate(score) for name, score in means.items()}
    half = len(plan.nbest) // 2
    ratio = (len(plan.nbest) - half) / half
    is_first = row is first
    judged: dict[str, Any] = plain(
        {
            **means,
            **(rates if metric.is_error_rate else {}),
            "gain": None if is_first else float(gains.mean()),
            "error": None if is_first else _error(gains),
            "p": None if is_first else corrected_p(gains, ratio),
        }
    )
    return judged


def _error(values: FloatArray) -> float | None:
    """Return the standard error of the mean of (n,) values; None if none differs."""
    spread = deviation(values)
    return None if spread is None else spread / len(values) ** 0.5


def headlines(document: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each metric: the best of the searches and `first`, against the other.

    It is called best only if no row of the table is better.
    """
    return [_headline(document, ShownMetric.of(metric)) for metric in document["metrics"]]


def _headline(document: Mapping[str, Any], metric: ShownMetric) -> str:
    sign = 1 if metric.higher_is_better else -1
    judged = {choice["name"]: choice["judged"][metric.label] for choice in document["choices"]}
    searched = {choice["name"] for choice in document["choices"] if choice["optimizer"]} | {FIRST}
    scored = [name for name, row in judged.items() if row["unseen"] is not None]
    scored.sort(key=lambda name: -sign * judged[name]["unseen"])  # of equal ones the first
    name = next((name for name in scored if name in searched), None)
    if name is None:
        return f"{metric.directed}: no score on unseen segments is a finite number"
    best, highest = judged[name], judged[scored[0]]
    opponent, row = next(iter(judged)), best
    if name == opponent:  # its gain over `first` stands there
        opponent, row = FIRST, judged[FIRST]
    most = "lowest" if metric.lower_is_better else "highest"
    value, is_topped = metric.shown(best["unseen"]), highest["unseen"] != best["unseen"]
    ending = ""
    if is_topped:
        ending = f"; {most} on unseen segments is {scored[0]}, {metric.shown(highest['unseen'])}"
    if row["gain"] is None:
        verb = "has" if is_topped else "is best on unseen segments,"
        return (
            f"{metric.directed}: {name} {verb} {value}; a score of {opponent} is not a finite "
            f"number{ending}"
        )
    p, size = row["p_holm"], abs(row["gain"])
    shown = ShownMetric(in_percent=metric.in_percent)  # above 0 is better
    gain = shown.with_error(-size if metric.lower_is_better else size, row["error"])
    if p is not None and p < LIKELY:
        verb = f"beats {opponent}" if is_topped else "is best on unseen segments"
        text = f"{name} {verb}, {value}"
    elif is_topped:
        text = f"no difference shown: {name} has {value}"
    else:
        text = f"no difference shown: {most} on unseen segments is {name}, {value}"
    every = [x for choice in document["choices"] for x in choice["judged"].values()]
    count = sum(x["family"] == row["family"] for x in every)
    many = f", corrected for {count} comparisons" if p is not None and count > 1 else ""
    return f"{metric.directed}: {text}, {gain} against {opponent} (p {p_value(p)}{many}){ending}"


def document_of(results: Mapping[str, Any]) -> Document:
    """Return the document of a cross-validation."""
    metrics = [ShownMetric.of(metric) for metric in results["metrics"]]
    tables = [_table(results, metric) for metric in metrics]
    tables[-1] = replace(tables[-1], note=LEGEND)
    blocks = [
        *(Paragraph(line, "headline") for line in results["headlines"]),
        Heading("Seen and unseen segments"),
        *([_chart(results, metrics)] if len(results["choices"]) > 1 else []),
        *tables,
        Heading("Signatures"),
        *on_page([Paragraph(metric["signature"], "signature") for metric in results["metrics"]]),
    ]
    return Document("Cross-validation", blocks, about=f"portmert {results['portmert']}")


def _table(document: Mapping[str, Any], metric: ShownMetric) -> Table:
    shown = ShownMetric(in_percent=metric.in_percent)
    rows, tones = [], {}
    for number, choice in enumerate(document["choices"]):
        judged = choice["judged"][metric.label]
        gain = shown.with_error(judged["gain"], judged["error"]) or NOTHING
        scores = (metric.shown(judged[half]) for half in ("seen", "unseen"))
        versus = (gain, p_value(judged["p"])) if number else ("", "")
        rows.append([choice["name"], *scores, *versus])
        tones[number, 3] = _tone(judged)
    splits, seeds = (counted(document[f"{noun}s"], noun) for noun in ("split", "seed"))
    has_p = any(row[4] not in ("", NOTHING) for row in rows)
    has_gain = any(row[3] not in ("", NOTHING) for row in rows)
    width = 5 if has_p else 4 if has_gain else 3
    return Table(
        f"{metric.directed}: learnt from {counted(document['learnt_from'], 'segment')}, judged "
        f"on {document['judged_on']}; {splits}, {seeds}",
        ["", "seen", "unseen", "better", "p"][:width],
        [row[:width] for row in rows],
        tones=tones,
    )


def _tone(judged: Mapping[str, Any]) -> str:
    """Return whether a choice is better than the first, worse, or neither beyond chance."""
    if judged["p_holm"] is None or judged["p_holm"] >= LIKELY:
        return "neither"
    return "better" if judged["gain"] > 0 else "worse"


def _chart(results: Mapping[str, Any], metrics: Sequence[ShownMetric]) -> Chart:
    """Return differences from the first choice, by metric."""
    first, *names = [choice["name"] for choice in results["choices"]]
    choices = []
    for metric in metrics:
        rows = [choice["judged"][metric.label] for choice in results["choices"]][1:]
        low, high = (
            [
                None if None in (row["gain"], row["error"]) else row["gain"] + sign * row["error"]
                for row in rows
            ]
            for sign in (-1, 1)
        )
        series = Series(metric.label, [row["gain"] for row in rows], low=low, high=high,
                        tones=list(map(_tone, rows)))  # fmt: skip
        choices.append(ChartChoice(metric.label, [series], metric.in_percent, names, marker=0))
    return Chart(
        "gains", "intervals", f"Better on unseen segments than {first}", choices,
        "In points, with one standard error over splits; right of the dashed line is better, for "
        "any metric.",
        x="gain (points)",
    )  # fmt: skip
