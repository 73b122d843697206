"""Shows the answers to more questions to a comparison: sentences and tables."""

from collections.abc import Iterator, Mapping
from typing import Any

from portmert.metrics._display import NOTHING

from ...base.numbers import shown_p
from ...base.tables import Table
from .. import power
from ..formatting import p_or_dash
from .sentences import ShownComparison


def tables_of(view: ShownComparison) -> Iterator[Table]:
    """Yield the tables of all answers."""
    document, confidence = view.comparison, f"{100 * view.comparison['confidence']:g} %"
    if "pairs" in document:
        rows = [[row["first"], *view.change(row)] for row in document["pairs"]]
        columns = ["from", "metric", "system", "difference", f"{confidence} interval", "p", "Holm"]
        note = f"Holm: corrected for all {len(rows)} rows."
        yield Table("All pairs", columns, rows, label="pairs", left=3, note=note)
    if "subsets" in document:
        rows = []
        for row in document["subsets"]:
            metric = view.metrics[row["metric"]]
            _, system, *test = view.change(row)
            score = metric.shown(row["score"])
            size = str(row["segments"])
            rows.append([row["subset"], size, metric.directed, system, score, *test])
        columns = ["subset", "segments", "metric", "system", "score", "difference"]
        columns += [f"{confidence} interval", "p", "Holm"]
        tested = sum(row["p"] is not None for row in document["subsets"])
        note = f"difference: from {view.names[0]}. Holm: corrected for all {tested} tests."
        yield Table("Subsets", columns, rows, label="subsets", left=1, note=note)
    yield from _of_margin(view)
    if "plan" in document:
        units = "groups" if document.get("groups") else "segments"
        rows = []
        for row in document["plan"]:
            metric, needed = view.metrics[row["metric"]], row["needed"]
            shown = NOTHING if needed is None else str(needed)
            rows.append([metric.directed, row["system"], f"{row['difference']:g}", shown])
        note = (
            f"{units} that show a true difference of this size on {100 * power.POWER:g} % of the "
            f"test sets (p < {1 - document['confidence']:.2g}, not corrected), if they vary as "
            f"these do. {NOTHING}: it cannot be told, or replicas differ too much."
        )
        columns = ["metric", "system", "difference", f"{units} needed"]
        yield Table(
            f"Plan against {view.names[0]}", columns, rows, label="plan", left=2, note=note
        )


def _of_margin(view: ShownComparison) -> Iterator[Table]:
    document = view.comparison
    if "margins" not in document:
        return
    rows = [
        [view.metrics[row["metric"]].directed, row["system"]]
        + [p_or_dash(row[key]) for key in ("p_no_worse", "p_equivalent")]
        for row in document["margins"]
    ]
    note = (
        f"p of two one-sided t-tests with the margin {document['margin']:g}: no worse by as much; "
        f"neither worse nor better by as much. {NOTHING}: nothing varies, or nothing can be drawn."
    )
    title = f"Equivalence with {view.names[0]}, margin {document['margin']:g}"
    columns = ["metric", "system", "p no worse", "p equivalent"]
    yield Table(title, columns, rows, label="margins", left=2, note=note)


def margin_lines(document: Mapping[str, Any]) -> list[str]:
    """Return a sentence on each test of a margin."""
    view, lines = ShownComparison(document), []
    first, alpha = next(iter(view.called.values())), 1 - document["confidence"]
    for row in document.get("margins", ()):
        if row["p_no_worse"] is None:
            continue
        system, label = view.called[row["system"]], view.metrics[row["metric"]].directed
        margin = f"{document['margin']:g}"
        key = "p_equivalent" if row["p_equivalent"] < alpha else "p_no_worse"
        verdict = f"{system} and {first} differ by less than {margin}"
        if key == "p_no_worse":
            is_shown = "is" if row[key] < alpha else "is not shown to be"
            verdict = f"{system} {is_shown} less than {margin} worse than {first}"
        p = shown_p(row[key])
        lines.append(f"{label}: {verdict} (p {p if p.startswith('<') else f'= {p}'})")
    return lines
