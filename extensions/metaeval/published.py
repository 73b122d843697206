"""Puts what a paper reports of metrics beside our own correlations."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from portmert.metrics._base import Metric
from portmert.metrics._display import NOTHING
from portmert.tuner.base.errors import InputError, PortmertError, suggest
from portmert.tuner.base.numbers import shown_p
from portmert.tuner.base.tables import Table
from portmert.tuner.components import registry
from portmert.tuner.evaluation.published import Published, read_published

from . import evaluation
from .combined import Column, Combined, column_of
from .tables import measure_name, with_interval, with_level

USUAL = (
    "system.spearman", "segment.wmt10", "segment.pearson", "segment.pearson_mean_removed",
    "document.pearson_mean_removed",
)  # fmt: skip
"""Measures beside a table of metrics that says none."""
UNSAID = " The file does not say which correlation the table has, as measures = [...] would."


def read(path: Path, metrics: Mapping[str, Metric]) -> Published:
    """Read the tables of agreements with people.

    Raises
    ------
    InputError
        There is none, none has one of the metrics, or a table names a measure that we lack.
    """
    published = read_published(path)
    tables = tuple(x for x in published.table if x.measures or x.headers[:1] == ("metric",))
    if not tables:
        raise InputError(
            f"{path}: {published.citation or 'a paper without a name'}: no table of metrics, with "
            f'"metric" as its first header; `portmert reproduce` reads tables of tuned systems'
        )
    for table in tables:
        for measure in set(table.measures) - set(evaluation.MEASURES):
            near = suggest(measure, evaluation.MEASURES)
            raise InputError(f"{path}: table {table.number}: no measure '{measure}'{near}")
    names = list(dict.fromkeys(row[0] for table in tables for row in table.rows))
    if all(_place(name, metrics) is None for name in names):
        raise InputError(f"{path}: no table has one of --metric, only {', '.join(names)}")
    return Published(published.citation, tables)


def _place(name: str, metrics: Mapping[str, Metric]) -> int | None:
    """Return the place of the metric that a paper calls `name` among ours, or None.

    A plain name as BLEU or METEOR fits the only one of ours with that name and other options.
    """
    try:
        metric = registry.metric(name)
    except PortmertError:
        metric = None
    ours = list(enumerate(metrics.items()))
    same = [n for n, (label, x) in ours if name == label or x == metric]
    if not same and metric is not None and name.isalnum():
        same = [n for n, (_, x) in ours if type(x) is type(metric)]
        same = same if len(same) == 1 else []
    return next(iter(same), None)


def tables(
    published: Published,
    metrics: Mapping[str, Metric],
    parts: Sequence[evaluation.MetaEvaluation],
    together: Combined | None,
) -> Iterator[Table]:
    """Yield the paper's tables, our correlations beside its own, with a test of differences.

    Ours are of each group of test sets and of all: means over sets for systems, else of all data
    points. The metrics are by their labels, in the order of the results.
    """
    columns = list(together.columns if together else ()) or [column_of(part) for part in parts]
    for theirs in published.table:
        headers, rows = [*theirs.headers], [[*row] for row in theirs.rows]
        places = [_place(row[0], metrics) for row in rows]
        first = next((place for place in places if place is not None), None)
        if first is None:
            continue
        headers.append("here")
        for row, place in zip(rows, places, strict=True):
            row.append(NOTHING if place is None else list(metrics)[place])
        there = [name for name in USUAL if any(name in x.correlations[0] for x in columns)]
        for measure in theirs.measures or there:
            kind = "mean" if measure.startswith("system.") else "pooled"
            for column in (column for column in columns if column.kind in ("", kind)):
                shown = measure_name(measure) if theirs.measures else with_level(measure)
                name = " ".join(filter(None, ("ours:", column.name, shown)))
                headers += [name, "p"]
                for row, place in zip(rows, places, strict=True):
                    row.extend(_cells(column, measure, place, first))
        yield Table(
            f"Table {theirs.number} of {published.citation}: {theirs.caption}",
            headers,
            rows,
            note="p: of the difference from the first of our metrics, corrected for the number of "
            "pairs of metrics. Ours are above 0 where a metric agrees with people, of error rates "
            "too." + ("" if theirs.measures else UNSAID),
        )


def _cells(column: Column, measure: str, place: int | None, first: int) -> tuple[str, str]:
    """Return our correlation of the metric at a place, and p of its difference from the first."""
    if place is None:
        return NOTHING, ""
    estimate = column.correlations[place].get(measure)
    pair = min(place, first), max(place, first)
    difference = column.differences.get(pair, {}).get(measure)
    return (
        NOTHING if estimate is None else with_interval(estimate),
        "" if difference is None else shown_p(difference.p_corrected),
    )
