"""Sums up what cross-validation measured, and shows it: sentences, tables and charts."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

import portmert
from portmert.metrics._base import FloatArray, Metric
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
from portmert.tuner.evaluation.formatting import LIKELY, ShownMetric, decimals, p_value
from portmert.tuner.evaluation.significance import corrected_p, holm_in_families

from .cells import FIRST, CrossPlan, MeasuredChoice

LEGEND = (
    "seen: score on the segments learnt from, unseen: on the others; means over splits and "
    "seeds. better: gain over the first row on unseen segments, above 0 is better for any metric, "
    "± its standard error over splits. p: two-sided, corrected for the segments that splits share "
    "(Nadeau & Bengio 2003). first: first hypothesis of each list; only: best by one feature."
)
MORE = {
    "seeds": " seeds: standard deviation of the unseen score over seeds.",
    "estimate": " estimate: the search's own estimate of the unseen score, minus that score, ± "
    "its standard error.",
    "CPU s": " CPU s: CPU time of one search.",
}
"""Meaning of the columns that not all tables have."""
MATRIX = (
    "Scores on unseen segments, means over splits and seeds; *: better than the first row, p "
    "below 0.05 after Holm's correction: of the searches and `first` by the first metric, and of "
    "all others."
)


def as_json(plan: CrossPlan, measured: Sequence[MeasuredChoice]) -> dict[str, Any]:
    """Return all results as plain data. The last choices needed no search."""
    seen, unseen = plan.parts(0)
    ratio = len(unseen) / (len(plan.nbest) - len(unseen))
    verdicts = _verdicts(plan, measured, ratio)
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
            {
                "label": label,
                "signature": judged.signature,
                **asdict(judged.metric.display),
            }
            for label, judged in plan.judges.items()
        ],
        "choices": [
            {
                "name": name,
                "tuned_on": choice.choice and choice.choice.tuned_on,
                "optimizer": choice.choice and choice.choice.by,
                "without": list(choice.choice.without) if choice.choice else [],
                "prior": choice.choice and choice.choice.prior,
                "cpu_seconds": _mean(choice.cpu_seconds),
                "judged": {label: rows[number] for label, rows in verdicts.items()},
            }
            for number, (name, choice) in enumerate(zip(_names(measured), measured, strict=True))
        ],
    }
    return {**results, "headlines": headlines(results)}


def document_of(results: Mapping[str, Any]) -> Document:
    """Return the document of a cross-validation."""
    sizes = (
        f"{counted(results['splits'], 'random split')} of "
        f"{counted(results['segments'], 'segment')}, {counted(results['seeds'], 'seed')} (from "
        f"{results['seed']}): learnt from {counted(results['learnt_from'], 'segment')}, judged on "
        f"{results['judged_on']}."
    )
    signatures = [Paragraph(metric["signature"], "signature") for metric in results["metrics"]]
    blocks = [
        *(Paragraph(line, "headline") for line in results["headlines"]),
        Heading("Seen and unseen segments"),
        Paragraph(sizes).only("page"),
        *_charts(results),
        *_tables(results),
        Heading("Signatures"),
        *on_page(signatures),
    ]
    return Document("Cross-validation", blocks, about=f"portmert {results['portmert']}")


def _verdicts(
    plan: CrossPlan, measured: Sequence[MeasuredChoice], ratio: float
) -> dict[str, list[dict[str, Any]]]:
    """Judge all choices by each metric, see `_verdict`.

    `p_holm` is p corrected within its `family`. Planned are the comparisons that the user asks
    for: of all searches and of the first hypotheses, on the first metric. All else is `further`:
    the rows that are there for comparison, and other metrics.
    """
    rows_by_metric = {
        label: [
            plain(_verdict(judged.metric, label, choice, measured[0], ratio))
            for choice in measured
        ]
        for label, judged in plan.judges.items()
    }
    for number, rows in enumerate(rows_by_metric.values()):
        for choice, row in zip(measured, rows, strict=True):
            is_planned = not number and (choice.choice is not None or choice.name == FIRST)
            family = "planned" if is_planned else "further"
            row["family"] = None if row["p"] is None else family
    holm_in_families(list(itertools.chain(*rows_by_metric.values())), ("p",))
    return rows_by_metric


@np.errstate(invalid="ignore")
def _verdict(
    metric: Metric, label: str, choice: MeasuredChoice, first: MeasuredChoice, ratio: float
) -> dict[str, float | None]:
    """Judge one choice by one metric. Scores and differences are on the metric's own scale.

    Returns
    -------
    seen, unseen
        Means over splits and seeds. Of an error rate also `seen_rate` and `unseen_rate`.
    gain, error
        Gain over the first choice on unseen segments (above 0 is better for any metric), and the
        standard error of that mean over splits. None for the first choice, or with one split.
    p
        Two-sided p of no gain; see `corrected_p`.
    seed_spread
        Standard deviation of the unseen score over seeds, a mean over splits; None with one seed,
        or if no seed changes a score.
    estimate, estimate_error
        The search's estimate for unseen text minus the unseen score, and the standard error over
        splits. None if the search makes no estimate or was tuned on another metric.
    """
    unseen = choice.unseen[label]
    gains = np.asarray(metric.oriented(unseen - first.unseen[label])).mean(axis=1)
    off = (choice.estimate - unseen).mean(axis=1)
    is_estimated = choice.choice is not None and choice.choice.tuned_on == label
    is_estimated = is_estimated and not np.isnan(off).any()
    is_first = choice is first
    means = {"seen": float(choice.seen[label].mean()), "unseen": float(unseen.mean())}
    rates = {f"{name}_rate": metric.display.rate(score) for name, score in means.items()}
    return {
        **means,
        **(rates if metric.is_error_rate else {}),
        "gain": None if is_first else float(gains.mean()),
        "error": None if is_first else _error(gains),
        "p": None if is_first else corrected_p(gains, ratio),
        "seed_spread": _seed_spread(unseen),
        "estimate": float(off.mean()) if is_estimated else None,
        "estimate_error": _error(off) if is_estimated else None,
    }


def _error(values: FloatArray) -> float | None:
    """Return the standard error of the mean of (n,) values; None if none differs."""
    spread = deviation(values)
    return None if spread is None else spread / len(values) ** 0.5


def _seed_spread(scores: FloatArray) -> float | None:
    """Return the mean over splits of the deviation over seeds, for (splits, seeds) scores."""
    spreads = [deviation(of_split) for of_split in scores]
    return float(np.mean([spread or 0.0 for spread in spreads])) if any(spreads) else None


def _mean(values: FloatArray) -> float | None:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else None


def _names(measured: Sequence[MeasuredChoice]) -> list[str]:
    """Name each row: by the optimizer, and by all else that differs between rows."""
    choices = [x.choice for x in measured if x.choice is not None]
    priors, metrics = (len({getattr(c, key) for c in choices}) for key in ("prior", "tuned_on"))
    names = []
    for row in measured:
        name = row.name
        if (choice := row.choice) is not None:
            name = f"{choice.by} on {choice.tuned_on}" if metrics > 1 else choice.by
            name += f", prior {choice.prior:g}" if priors > 1 else ""
            name += f", without {', '.join(choice.without)}" if choice.without else ""
        names.append(name)
    return names


# Sentences and tables.


def headlines(document: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each metric: the best of the searches and `first`, against the other.

    It is called best only if no row of the table is better.
    """
    return [_headline(document, ShownMetric.of(metric)) for metric in document["metrics"]]


def _headline(document: Mapping[str, Any], metric: ShownMetric) -> str:
    sign = 1 if metric.higher_is_better else -1
    rows = [(choice["name"], choice["judged"][metric.label]) for choice in document["choices"]]
    searched = {choice["name"] for choice in document["choices"] if choice["optimizer"]} | {FIRST}
    scored = [row for row in rows if row[1]["unseen"] is not None]
    candidates = [row for row in scored if row[0] in searched]
    if not candidates:
        return f"{metric.directed}: no score on unseen segments is a finite number"
    by_score = partial(max, key=lambda row: sign * row[1]["unseen"])  # of equal ones the first
    (name, best), (leader, highest) = by_score(candidates), by_score(scored)
    opponent_name, opponent = rows[0][0], best
    if best is rows[0][1]:  # its gain over `first` stands there
        opponent_name, opponent = FIRST, dict(rows)[FIRST]
    most = "lowest" if metric.lower_is_better else "highest"
    is_topped = sign * highest["unseen"] > sign * best["unseen"]
    top = f"; {most} on unseen segments is {leader}, {metric.shown(highest['unseen'])}"
    ending, value = top if is_topped else "", metric.shown(best["unseen"])
    if opponent["gain"] is None:
        verb = "has" if is_topped else "is best on unseen segments,"
        return (
            f"{metric.directed}: {name} {verb} {value}; a score of {opponent_name} is not a "
            f"finite number{ending}"
        )
    size, p = abs(opponent["gain"]), opponent["p_holm"]
    gain = _gains(metric).with_error(-size if metric.lower_is_better else size, opponent["error"])
    if p is not None and p < LIKELY:
        verb = f"beats {opponent_name}" if is_topped else "is best on unseen segments"
        text = f"{name} {verb}, {value}"
    elif is_topped:
        text = f"no difference shown: {name} has {value}"
    else:
        text = f"no difference shown: {most} on unseen segments is {name}, {value}"
    verdicts = [row for choice in document["choices"] for row in choice["judged"].values()]
    count = sum(row["family"] == opponent["family"] for row in verdicts)
    many = f", corrected for {count} comparisons" if p is not None and count > 1 else ""
    against = f"{gain} against {opponent_name} (p {p_value(p)}{many})"
    return f"{metric.directed}: {text}, {against}{ending}"


def _gains(metric: ShownMetric) -> ShownMetric:
    """Return how gains are shown on a metric: above 0 is better."""
    return ShownMetric(in_percent=metric.in_percent)


def _tables(document: Mapping[str, Any]) -> list[Table]:
    """Return a table for each metric. If there are several, one of all side by side is first."""
    metrics = [ShownMetric.of(metric) for metric in document["metrics"]]
    tables = [_judged(document, metric) for metric in metrics]
    headers = {header for table in tables for header in table.headers}
    note = LEGEND + "".join(text for header, text in MORE.items() if header in headers)
    tables[-1] = replace(tables[-1], note=note)
    if len(metrics) < 2:
        return tables
    rows = []
    for choice in document["choices"]:
        row = [choice["name"]]
        for metric in metrics:
            verdict = choice["judged"][metric.label]
            p = verdict["p_holm"]
            star = " *" if p is not None and verdict["gain"] > 0 and p < LIKELY else ""
            row.append(metric.shown(verdict["unseen"]) + star)
        rows.append(row)
    columns = ["", *(metric.directed for metric in metrics)]
    return [Table("Judged by", columns, rows, note=MATRIX), *tables]


def _judged(document: Mapping[str, Any], metric: ShownMetric) -> Table:
    rows = []
    for number, choice in enumerate(document["choices"]):
        verdict = choice["judged"][metric.label]
        gain = _gains(metric).with_error(verdict["gain"], verdict["error"]) or NOTHING
        rows.append(
            [
                choice["name"],
                metric.shown(verdict["seen"]),
                metric.shown(verdict["unseen"]),
                gain if number else "",
                p_value(verdict["p"]) if number else "",
                metric.shown_spread(verdict["seed_spread"]),
                metric.with_error(verdict["estimate"], verdict["estimate_error"]),
                decimals(choice["cpu_seconds"], 2),
            ]
        )
    headers = ["", "seen", "unseen", "better", "p", "seeds", "estimate", "CPU s"]
    judged = [choice["judged"][metric.label] for choice in document["choices"]]
    filled = [
        place for place in range(len(headers))
        if place < 3 or any(row[place] not in ("", NOTHING) for row in rows)
    ]  # fmt: skip
    splits, seeds = (counted(document[f"{noun}s"], noun) for noun in ("split", "seed"))
    return Table(
        f"{metric.directed}: learnt from {counted(document['learnt_from'], 'segment')}, judged "
        f"on {document['judged_on']}; {splits}, {seeds}",
        [headers[place] for place in filled],
        [[row[place] for place in filled] for row in rows],
        tones={(number, 3): _tone(verdict) for number, verdict in enumerate(judged)},
    )


def _tone(verdict: Mapping[str, Any]) -> str:
    """Return whether a choice is better than the first, worse, or neither beyond chance."""
    if verdict["p_holm"] is None or verdict["p_holm"] >= LIKELY:
        return "neither"
    return "better" if verdict["gain"] > 0 else "worse"


def _charts(results: Mapping[str, Any]) -> list[Chart]:
    """Return differences from the first choice, and the scores on both halves, by metric."""
    names = [choice["name"] for choice in results["choices"]]
    if len(names) < 2:
        return []
    gains, halves = [], []
    for metric in map(ShownMetric.of, results["metrics"]):
        rows = [choice["judged"][metric.label] for choice in results["choices"]]
        low, high = (
            [
                None if row["gain"] is None or row["error"] is None
                else row["gain"] + sign * row["error"]
                for row in rows[1:]
            ]
            for sign in (-1, 1)
        )  # fmt: skip
        gain = Series(
            metric.label, [row["gain"] for row in rows[1:]], low=low, high=high,
            tones=list(map(_tone, rows[1:])),
        )  # fmt: skip
        gains.append(ChartChoice(metric.label, [gain], metric.in_percent, names[1:], marker=0))
        series = [
            Series(half, [metric.charted(row[half]) for row in rows], colour=number)
            for number, half in enumerate(("seen", "unseen"))
        ]
        halves.append(ChartChoice(metric.label, series, metric.in_percent, names))
    return [
        Chart(
            "gains",
            "intervals",
            f"Better on unseen segments than {names[0]}",
            gains,
            "In points, with one standard error over splits; right of the dashed line is better, "
            "for any metric.",
            x="gain (points)",
        ),
        Chart(
            "halves",
            "intervals",
            "Seen and unseen",
            halves,
            "Scores on the segments learnt from (seen), and on the others (unseen).",
            x="score",
        ),
    ]
