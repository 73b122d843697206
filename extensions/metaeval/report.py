"""Builds the document of a meta-evaluation: a summary, tables and charts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

import portmert
from portmert.tuner.base.errors import counted
from portmert.tuner.base.tables import Block, Form, Table
from portmert.tuner.evaluation.document import (
    Chart,
    ChartChoice,
    Document,
    Heading,
    Paragraph,
    Series,
)
from portmert.tuner.evaluation.formatting import LIKELY

from . import evaluation
from .combined import Column, Combined, column_of
from .measures import Estimate
from .tables import Row, combined_tables, measure_name, scenario_table, shown, tables, with_level

MAX_ROWS = 15
"""Metrics in a table of the summary. `--all` shows the others."""
MAX_NAMES = 5
"""Metrics that a sentence names."""
MAX_POINTS = 1000
"""Points of a scatter plot. If there are more segments, evenly spaced ones are drawn."""
MAX_SCATTERED = 16
"""Metrics with scatter plots: those that agree best."""
MAX_SETS = 6
"""Test sets side by side in the chart of agreements; a table has all."""
MAX_BARS = 8
"""Metrics in the chart of scenarios: those that agree best."""
BOTH = ("system.soft_pairwise", "segment.acc_eq")
"""Metrics are sorted by the mean of these, as in the shared task of 2024."""
COMPARED = ("system.pairwise", "segment.acc_eq", "segment.pearson_mean_removed", "segment.pearson")
"""Measures by which sentences compare metrics."""
SUMMARY = (
    "system.spearman", "system.pairwise", "system.soft_pairwise", "segment.wmt10",
    "segment.acc_eq", "segment.pearson", "segment.pearson_mean_removed", "likeness.king",
)  # fmt: skip
"""Measures in the table of the summary."""
_HEADERS = {
    "system.soft_pairwise": "soft",
    "segment.wmt10": "tau",
    "segment.pearson": "r",
    "segment.pearson_mean_removed": "removed",
}
"""Shorter names of measures in the table of the summary."""
_LEGEND = {
    "agreement": "agreement: mean of soft pairwise accuracy (systems) and acc_eq (segments), as "
    "in WMT 2024",
    "tau": "tau: Kendall's, WMT10",
    "r": "r: Pearson's of segments",
    "removed": "removed: the same without the mean of each segment",
    "beats": "beats: how many others it beats beyond chance on {measure}, corrected p below 0.05",
}
_ON_SCREEN: tuple[Form, ...] = ("text", "long", "page")
_NOTE = (
    "Higher agreement is better, of error rates too. Soft pairwise tests corpus scores; soft of "
    "segments adds up segment scores, as the official code of WMT does."
)


def document_of(
    parts: Sequence[evaluation.MetaEvaluation],
    together: Combined | None,
    signatures: Sequence[str],
    published: Iterable[Table] = (),
) -> Document:
    """Return the document of a meta-evaluation.

    Parameters
    ----------
    parts
        The results on each test set.
    together
        The same combined; None with one test set.
    published
        Tables of a paper, with our correlations.
    """
    first, groups = parts[0], _groups(parts, together)
    labels = [metric.label for metric in first.agreements]
    sizes = [": ".join(filter(None, (part.name, part.judged.sizes))) for part in parts]
    everything = tables(first) if together is None else combined_tables(together)
    blocks: list[Block] = [
        Paragraph(_headline(labels, groups[0]), "headline").only("page"),
        *(Paragraph(line, "headline").only("text", "long") for line in sizes),
        Heading("Agreement"),
        Paragraph(f"{'; '.join(sizes)}. {_NOTE}").only("page"),
        *summary(parts, together),
        *published,
        *_charts(parts, together, groups),
        Heading("All tables"),
        *(table.only("long", "latex", "page") for table in everything),
        Heading("Signatures"),
        *(Paragraph(line, "signature").only("long", "page") for line in signatures),
    ]
    about = f"{counted(first.resampling.samples, 'sample')}, seed {first.resampling.seed}"
    return Document(
        "Metrics against people", blocks, about=f"{about} · portmert {portmert.__version__}"
    )


def _groups(parts: Sequence[evaluation.MetaEvaluation], together: Combined | None) -> list[Column]:
    """Return the correlations to show, those to sort metrics by first: the mean of all sets."""
    groups = [column_of(part) for part in parts]
    if together is None:
        return groups
    columns = [replace(x, name=f"{x.name}, {x.kind}") for x in together.columns]
    return columns[-2:-1] + columns[:-2] + columns[-1:] + groups


def summary(parts: Sequence[evaluation.MetaEvaluation], together: Combined | None) -> list[Block]:
    """Return the metrics sorted by agreement, and which beat which; then groups and scenarios."""
    labels = [metric.label for metric in parts[0].agreements]
    columns = () if together is None else together.columns
    means = [column for column in columns if column.kind == "mean"]
    if not means or together is None:
        (group, *_) = _groups(parts, None)
        return _best("Agreement with people, best first", labels, group)
    sets = counted(len(means[-1].sets), "test set")
    title = f"Agreement with people, means over {sets}, best first"
    group = replace(means[-1], name="")
    blocks = _best(title, labels, group)
    pooled = [column for column in columns if column.kind == "pooled"]
    if len(pooled) > 1:  # the tables of the EDPM draft
        name = "segment.pearson_mean_removed"
        if name not in pooled[-1].correlations[0]:
            name = "segment.pearson"
        rows = [
            [label, *(shown(column.correlations[metric][name].value) for column in pooled)]
            for metric, label in enumerate(labels[:MAX_ROWS])
        ]
        title = f"{with_level(name)}: data points of each group together"
        headers = ["metric", *(column.name for column in pooled)]
        blocks.append(Table(title, headers, rows, forms=_ON_SCREEN))
    scenarios = (
        scenario_table(together, labels[:MAX_ROWS], name)
        for name in ("segment.acc_eq", "segment.pearson")
    )
    blocks += [x.only(*_ON_SCREEN) for x in filter(None, scenarios)][:1]
    return blocks


def agreement(row: Row) -> float | None:
    """Return the value to sort metrics by; with one system the correlation of segments."""
    if not any(name in row for name in BOTH):
        return row["segment.pearson"].value
    values = [row[name].value for name in BOTH if name in row]
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None


def _main_measure(group: Column) -> str:
    """Return the measure by which metrics are compared."""
    return BOTH[1] if BOTH[1] in group.correlations[0] else "segment.pearson"


def _by_agreement(group: Column) -> list[int]:
    """Return the indices of metrics, the best agreement first. Equal ones keep their order."""
    values = [agreement(row) for row in group.correlations]
    return sorted(
        range(len(values)),
        key=lambda metric: (values[metric] is None, -round(values[metric] or 0.0, 12)),
    )


def _beaten(group: Column, measure: str) -> dict[int, list[int]]:
    """Return for each metric the metrics that it beats beyond chance."""
    beaten: dict[int, list[int]] = defaultdict(list)
    for (i, j), row in group.differences.items():
        difference = row.get(measure)
        if difference is not None and difference.p_corrected < LIKELY:
            better, worse = (i, j) if difference.value > 0 else (j, i)
            beaten[better].append(worse)
    return beaten


def _headline(labels: Sequence[str], group: Column) -> str:
    """Return which metric agrees best, and whether that may be chance."""
    best, measure = _by_agreement(group)[0], _main_measure(group)
    if agreement(group.correlations[best]) is None:
        return "No agreement can be computed: scores are constant, or there is one segment only."
    count, worse = len(labels) - 1, len(_beaten(group, measure)[best])
    if count and not worse:
        return f"No metric is shown to agree best with people; {labels[best]} is highest."
    beats = f", and beats {worse} of {count} others" if count else ""
    return f"{labels[best]} agrees best with people{beats}."


def _best(title: str, labels: Sequence[str], group: Column) -> list[Block]:
    """Return the table of metrics, and a sentence for each measure: which metrics beat which."""
    has_systems = BOTH[1] in group.correlations[0]
    measures = [name for name in SUMMARY if name in group.correlations[0]]
    measure = _main_measure(group)
    beaten, order = _beaten(group, measure), _by_agreement(group)
    headers = ["metric", *(["agreement"] if has_systems else [])]
    headers += [_HEADERS.get(name) or measure_name(name) for name in measures]
    headers += ["beats"] if group.differences else []
    rows = []
    for metric in order[:MAX_ROWS]:
        estimates = group.correlations[metric]
        row = [labels[metric], *([shown(agreement(estimates))] if has_systems else [])]
        row += [shown(estimates[name].value) for name in measures]
        rows.append(row + ([str(len(beaten[metric]))] if group.differences else []))
    notes = [
        line.format(measure=measure_name(measure))
        for header, line in _LEGEND.items()
        if header in headers
    ]
    if len(order) > MAX_ROWS:
        notes.append(f"{len(order) - MAX_ROWS} more metrics: --all")
    note = "; ".join(notes) + "." if notes else ""
    table = Table(title, headers, rows, note=note, forms=_ON_SCREEN)
    if not group.differences:
        return [table]
    compared = [name for name in COMPARED if name in group.correlations[0]]
    return [table, *(_sentence(labels, group, order, name) for name in compared)]


def _sentence(
    labels: Sequence[str], group: Column, order: Sequence[int], measure: str
) -> Paragraph:
    """Return which metrics beat which on a measure."""
    beaten, parts = _beaten(group, measure), []
    for metric in [metric for metric in order if metric in beaten][:MAX_NAMES]:
        worse = beaten[metric]
        names = ", ".join(labels[loser] for loser in worse[:MAX_NAMES])
        rest_of_names = f" and {len(worse) - MAX_NAMES} more" if len(worse) > MAX_NAMES else ""
        parts.append(f"{labels[metric]} beats {names}{rest_of_names}")
    line = with_level(measure)
    line = f"{line[0].lower()}{line[1:]}: {'; '.join(parts) or 'no metric beats another'}"
    return Paragraph(f"Beyond chance, {line}.", forms=_ON_SCREEN)


# Charts.


def _charts(
    parts: Sequence[evaluation.MetaEvaluation],
    together: Combined | None,
    groups: Sequence[Column],
) -> Iterator[Chart]:
    """Yield the agreement of metrics with intervals, scatter plots, and scenarios."""
    labels, order = [x.label for x in parts[0].agreements], _by_agreement(groups[0])
    measures = list(dict.fromkeys(name for group in groups for name in group.correlations[0]))
    yield Chart(
        "agreement",
        "intervals",
        "Agreement with people",
        [
            ChartChoice(
                with_level(measure),
                _agreements(groups[:MAX_SETS], order, measure),
                categories=[labels[metric] for metric in order],
                marker=0,
            )
            for measure in measures
            if any(measure in group.correlations[0] for group in groups[:MAX_SETS])
        ],
        f"With {100 * parts[0].resampling.level:g} % intervals.",
        x="agreement",
    )
    yield Chart(
        "scatter",
        "scatter",
        "Metric against people",
        [
            ChartChoice(f"{_display_label(parts, metric)}, {unit}", series)
            for unit in ("systems", "segments")
            for metric in order[:MAX_SCATTERED]
            if (series := _scatter(parts, metric, unit))
        ],
        "Each point is a system, or an output of a segment (some of them, if there are many).",
        x="human score",
        y="metric (↓ lower is better)",
    )
    if together is not None and len(together.scenarios) > 1:
        yield _scenarios(together, labels, order[:MAX_BARS], measures)


def _agreements(groups: Sequence[Column], order: Sequence[int], measure: str) -> list[Series]:
    """Return the agreement of each metric on each group of test sets."""
    series = []
    for colour, group in enumerate(groups):
        nothing = Estimate(None, None, None)
        estimates = [group.correlations[metric].get(measure, nothing) for metric in order]
        if any(estimate.value is not None for estimate in estimates):
            values, low, high = (
                [getattr(estimate, end) for estimate in estimates]
                for end in ("value", "low", "high")
            )
            name = group.name or with_level(measure)
            series.append(Series(name, values, low=low, high=high, colour=colour))
    return series


def _display_label(parts: Sequence[evaluation.MetaEvaluation], metric: int) -> str:
    agreement = parts[0].agreements[metric]
    return agreement.display.labelled(agreement.label)


def _scatter(
    parts: Sequence[evaluation.MetaEvaluation], metric: int, unit: Literal["systems", "segments"]
) -> list[Series]:
    """Return people's score and the metric's, of each system or of some outputs of segments."""
    series = []
    for colour, part in enumerate(parts):
        value, judged = part.agreements[metric].display.of_oriented, part.judged
        if unit == "systems":
            human, scores = judged.system_scores, np.array(part.agreements[metric].system_scores)
        else:
            is_judged = judged.points.counts.ravel() > 0
            human = judged.points.human.ravel()[is_judged]
            scores = part.levels["segment"].scores[metric].ravel()[is_judged]
            drawn = np.unique(np.linspace(0, len(human) - 1, MAX_POINTS).astype(np.int64))
            human, scores = human[drawn], scores[drawn]
        if unit == "segments" or len(judged.systems) > 1:
            # Charts need points in rising order.
            points = np.stack([human, value(scores)]).round(5)
            x, y = points[:, np.lexsort(points[::-1])].tolist()
            name = part.name or _display_label(parts, metric)
            series.append(Series(name, y, x, colour=colour))
    return series


def _scenarios(
    together: Combined, labels: Sequence[str], metrics: Sequence[int], measures: Sequence[str]
) -> Chart:
    """Return the agreement of the best metrics in each scenario."""
    scenarios = together.scenarios
    choices = [
        ChartChoice(
            with_level(measure),
            [
                Series(
                    labels[metric],
                    [x.correlations[metric][measure].value for x in scenarios],
                    colour=colour,
                )
                for colour, metric in enumerate(metrics)
            ],
            categories=[scenario.name for scenario in scenarios],
        )
        for measure in measures
        if all(measure in scenario.correlations[0] for scenario in scenarios)
    ]
    caption = f"The {MAX_BARS} metrics that agree best." if len(labels) > MAX_BARS else ""
    return Chart("scenarios", "bars", "By scenario", choices, caption, x="agreement")
