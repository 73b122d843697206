"""Tuned choices against choices that need no tuning: planned comparisons, answers, one table."""

from collections.abc import Collection, Mapping
from typing import Any

from ...base.tables import Table
from ..formatting import ShownMetric, p_or_dash
from .scores import in_families
from .sentences import against, correction, headlines

FIRST, START, EQUAL, SINGLE = "first", "start", "equal weights", "best single"
"""What a reader would use in place of tuned weights: the system's own order, the weights in use
now, no learning at all, and one feature (the best on the lists tuned on)."""


def answered(
    document: Mapping[str, Any], rivals: Collection[str], label: str = ""
) -> dict[str, Any]:
    """Return a comparison that answers whether the first choice beats the others.

    The `answers` are the first of its `headlines`: on the strongest rival, then on `first`.

    Parameters
    ----------
    rivals
        The comparisons with these are planned, on one metric, and corrected for their number.
    label
        The metric. Default: the first.
    """
    label = label or document["metrics"][0]["label"]
    more_is_better = {x["label"]: x["higher_is_better"] for x in document["metrics"]}[label]
    gains = {
        row["system"]: row["score"] if more_is_better else -row["score"]
        for row in document["scores"]
        if row["metric"] == label and row["system"] in rivals and row["score"] is not None
    }
    planned = [(label, name) for name in rivals]
    tested = {**document, "scores": in_families(document["scores"], planned)}
    strongest = max(gains, key=lambda name: gains[name])
    answers = against(tested, strongest)
    if strongest != FIRST and FIRST in gains:
        answers = [*answers[:1], *against(tested, FIRST)]
    return {**tested, "answers": answers, "headlines": [*answers, *headlines(tested)]}


def choices_table(document: Mapping[str, Any], title: str, score: str, note: str) -> Table:
    """Return the scores of all choices, and their differences from the first.

    Scores on the segments tuned on stand beside them if the document has them (`seen`).

    Parameters
    ----------
    score
        The name of the column of scores.
    note
        What the first rows are.
    """
    metrics = {x["label"]: ShownMetric.of(x) for x in document["metrics"]}
    first = document["systems"][0]["name"]
    columns = ["", "metric", score, f"from {first}"]
    columns += [f"{100 * document['confidence']:g} % interval", "p"]
    if "seen" in document:
        columns.insert(2, "seen")
    rows = []
    for row in document["scores"]:
        metric = metrics[row["metric"]]
        cells = [row["system"], metric.directed]
        if "seen" in document:
            cells.append(metric.shown(document["seen"][row["metric"]].get(row["system"])))
        cells += [metric.with_spread(row), "", "", ""]
        if row["difference"] is not None:
            cells[-3:] = [
                metric.shown_change(row["difference"]),
                metric.interval(row["difference_low"], row["difference_high"]),
                p_or_dash(row["p_holm"]),
            ]
        rows.append(cells)
    note += (
        f"{_explained(document)}p: two-sided; counts chance in the segments and in the search; "
        f"{correction(document)} (Holm)."
    )
    return Table(title, columns, rows, left=2, note=note)


def _explained(document: Mapping[str, Any]) -> str:
    """Return what the rows are that not all comparisons have."""
    by = "scores" if document.get("references") is None else "references"
    texts = {
        FIRST: "of each list",
        START: "by the weights that the search begins at",
        EQUAL: "all features count the same, each divided by its spread",
        SINGLE: "the feature that scores best where weights are tuned",
        "only": "best by one feature",
        "votes": "most frequent answer",
        "weighted votes": "by the averaged weights",
        "oracle": f"chosen with the {by}",
    }
    names = {system["name"] for system in document["systems"]}
    for kind in (SINGLE, "only"):
        if any(name.startswith(kind) for name in names):
            names.add(kind)
    return "; ".join(f"{name}: {text}" for name, text in texts.items() if name in names) + ". "
