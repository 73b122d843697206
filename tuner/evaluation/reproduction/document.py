"""Writes the document of a reproduction: the paper's tables, ours beside the published."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tuner.tables import aligned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuner.evaluation.comparison.model import ComparedMetric, Comparison
    from tuner.evaluation.reproduction.published import Published

Rows = list[list[str]]

MISSING = "n/a"


class Table(NamedTuple):
    """Holds one table of the paper: its number, what it shows, and how ours is made."""

    number: int
    caption: str
    rows: Callable[[Comparison], tuple[list[str], Rows]]


def document(comparison: Comparison, published: Published, *, origin: str) -> str:
    """Return the document.

    Parameters
    ----------
    comparison
        Of the tuned systems, the one tuned on BLEU first.
    published
        What the paper reports.
    origin
        How the systems were made, one paragraph.
    """
    parts = ["# The tables of the PORT paper, with our own systems", origin]
    if published.citation:
        parts.append(f"The paper: {published.citation}.")
    if without := [str(table.number) for table in TABLES if not published.find(table.number)]:
        parts.append(f"The paper's own figures are not at hand for table {', '.join(without)}.")
    parts.append(_systems(comparison))
    if comparison.headlines:
        parts.append("\n".join(f"- {_cell(line)}" for line in comparison.headlines))
    if comparison.notes:
        parts.append("Notes:\n\n" + "\n".join(f"- {_cell(line)}" for line in comparison.notes))
    for table in TABLES:
        parts.append(f"## Table {table.number}: {table.caption}")
        headers, rows = table.rows(comparison)
        parts.append(_markdown(headers, rows) if rows else "Nothing to show: links are not known.")
        if found := published.find(table.number):
            parts.append(f"In the paper: {_cell(found.caption)}")
            parts.append(_markdown(list(found.headers), [list(row) for row in found.rows]))
    shown = {table.number for table in TABLES}
    for one in published.table:
        if one.number not in shown:
            parts.append(f"## Table {one.number}, published only: {_cell(one.caption)}")
            parts.append(_markdown(list(one.headers), [list(row) for row in one.rows]))
    return "\n\n".join(parts) + "\n"


def _systems(comparison: Comparison) -> str:
    headers = ["system", "tuned on", "replicas", "output tokens", "reference tokens"]
    rows = [
        [
            system.name,
            system.tuned_on or MISSING,
            str(system.replicas),
            f"{system.hypothesis_tokens:.1f}",
            f"{system.reference_tokens:.1f}",
        ]
        for system in comparison.systems
    ]
    return _markdown(headers, rows)


def _markdown(headers: Sequence[str], rows: Rows) -> str:
    escaped = [[_cell(cell) for cell in row] for row in rows]
    return aligned([_cell(header) for header in headers], escaped, style="pipe")


def _cell(text: str) -> str:
    """Return text that Markdown shows as it is."""
    for sign in "\\|<>`*_[]":
        text = text.replace(sign, "\\" + sign)
    return text.replace("\n", " ")


def _shown(value: float | None, metric: ComparedMetric | None = None) -> str:
    if value is None:
        return MISSING
    in_percent = metric is None or metric.in_percent
    return f"{100 * value:.2f}" if in_percent else f"{value:.4f}"


def _similarity(comparison: Comparison) -> tuple[list[str], Rows]:
    rows = [
        [f"{one.first} / {one.second}", _shown(one.identical), _shown(one.one_minus_ter)]
        for one in comparison.similarity
    ]
    return ["systems", "identical segments %", "1-TER %"], rows


def _scores(comparison: Comparison) -> tuple[list[str], Rows]:
    metrics = {metric.label: metric for metric in comparison.metrics}
    headers = [
        "metric", "system", "score", "s_sel", "s_opt", "difference",
        "p", "Holm", "p (randomization)", "p (bootstrap)",
    ]  # fmt: skip
    rows = [
        [
            one.metric,
            one.system,
            _shown(one.score, metrics[one.metric]),
            _shown(one.s_sel, metrics[one.metric]),
            _shown(one.s_opt, metrics[one.metric]),
            "" if one.difference is None else _signed(one.difference, metrics[one.metric]),
            *(
                "" if p is None else f"{p:.4f}"
                for p in (
                    one.p,
                    one.p_holm,
                    one.p_randomization,
                    one.p_bootstrap,
                )
            ),
        ]
        for one in comparison.scores
    ]
    return headers, rows


def _signed(value: float, metric: ComparedMetric) -> str:
    shown = _shown(value, metric)
    return shown if value < 0 else f"+{shown}"


def _timing(comparison: Comparison) -> tuple[list[str], Rows]:
    rows = [
        [one.metric, f"{1000 * one.seconds:.2f}", f"{one.ratio:.2f}"] for one in comparison.timing
    ]
    return ["metric", "milliseconds", "ratio to BLEU"], rows


def _ordering(*names: str) -> Callable[[Comparison], tuple[list[str], Rows]]:
    def rows(comparison: Comparison) -> tuple[list[str], Rows]:
        found = [
            [one.system, *(_shown(one.scores[name]) for name in names)]
            for one in comparison.ordering
        ]
        return ["system", *names], found

    return rows


def _ngrams(comparison: Comparison) -> tuple[list[str], Rows]:
    orders = [order.order for order in comparison.ngrams[0].orders]
    headers = ["system", *(f"{n}-grams matched" for n in orders)]
    headers += [*(f"{n}-grams in all" for n in orders), "BP", "SBP", "SRP"]
    rows = [
        [
            one.system,
            *(f"{order.matched:.1f}" for order in one.orders),
            *(f"{order.total:.1f}" for order in one.orders),
            *(
                f"{penalty:.4f}"
                for penalty in (
                    one.brevity_penalty,
                    one.strict_brevity_penalty,
                    one.strict_redundancy_penalty,
                )
            ),
        ]
        for one in comparison.ngrams
    ]
    return headers, rows


TABLES = (
    Table(3, "how alike the outputs are", _similarity),
    Table(4, "scores of the tuned systems on the test set", _scores),
    Table(6, "time to compute a metric's statistics", _timing),
    Table(8, "tuning on Qmean and on PORT", _ordering("qmean", "port")),
    Table(9, "PORT with v, rho and tau", _ordering("port", "port-rho", "port-tau")),
    Table(10, "word order of the outputs", _ordering("v", "rho", "tau")),
    Table(11, "n-grams and length penalties", _ngrams),
)
