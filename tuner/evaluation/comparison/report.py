"""Builds the document of a comparison: its sentences, tables and charts.

Every function takes the comparison as plain data, as `compare_systems` returns it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from portmert.metrics._display import Display

from ...base.errors import counted
from ...base.tables import NOTHING, Block, Table
from ..document import (
    Chart,
    ChartChoice,
    Document,
    Heading,
    Paragraph,
    SegmentBrowser,
    Series,
    on_page,
)
from ..formatting import changed, charted, directed, interval, p_or_dash, shown, span, spread
from ..history import report as history
from .sentences import (
    MAX_SENTENCES,
    Comparison,
    correction,
    is_significant,
    metrics_by_label,
    summaries,
    untested_luck,
)

Row = Mapping[str, Any]

ORDERING = ("v", "rho", "tau", "port", "port-rho", "port-tau", "qmean")
"""Tables 8, 9 and 10 of the PORT paper."""
MAX_NGRAMS = 5
"""N-grams of each system and direction in the table; JSON has more."""
MAX_TOGETHER = 3
"""Systems whose differences share a chart. Of more, one metric at a time is shown."""
EXAMPLES = 1
"""Segments of each metric, system and direction in the table."""


def document_of(comparison: Comparison) -> Document:
    """Return the document of a comparison."""
    names = _names(comparison)
    runs = history.blocks_of_runs(comparison.get("runs", ()), names)
    blocks = [*_lead(comparison), *blocks_of(comparison), *on_page(runs)]
    return Document(" / ".join(names), blocks, about=about(comparison), systems=names)


def document_of_run(report: Mapping[str, Any]) -> Document:
    """Return the document of a run of `tune`, and on the page the scores of its test output.

    Parameters
    ----------
    report
        `history.report.as_json`.
    """
    (run,) = report["runs"]
    blocks: list[Block] = [Paragraph(line, "headline") for line in report["headlines"]]
    blocks += history.blocks_of_runs([run])
    line = f"portmert {report['portmert']}"
    if "systems" in report:
        line = about(report)
        blocks += on_page([Paragraph(note, "note") for note in report["notes"]])
        blocks += on_page(blocks_of(report))
    return Document(run["name"], blocks, about=line, systems=[run["name"]])


def about(comparison: Comparison) -> str:
    """Return what the results of a comparison depend on."""
    parts = [f"{counted(comparison['samples'], 'sample')}, seed {comparison['seed']}"]
    if "segments" in comparison:
        references = ", ".join(comparison["references"])
        segments = counted(len(comparison["segments"]), "segment")
        parts.insert(0, f"{segments} of {references}" if references else segments)
    if comparison.get("reference_links"):
        parts.append(f"word links: {comparison['reference_links']}")
    return " · ".join([*parts, f"portmert {comparison['portmert']}"])


def _lead(comparison: Comparison) -> Iterator[Block]:
    """Yield the sentences: with few systems a text has a line for each metric and system."""
    is_long = len(comparison["systems"]) > MAX_SENTENCES + 1
    for answer in comparison.get("answers", ()):
        yield Paragraph(answer, "headline")
    for line in summaries(comparison):
        yield Paragraph(line, "summary").only("page", *(("text", "long") if is_long else ()))
    for line in () if is_long else comparison["headlines"]:
        yield Paragraph(line, "headline").only("text", "long")
    for note in comparison["notes"]:
        yield Paragraph(note, "note")


def blocks_of(comparison: Comparison) -> list[Block]:
    """Return the tables and charts of a comparison, without those that are empty."""
    blocks: list[Block | None] = [
        Heading("Scores"),
        Paragraph("Shares are in percent. s_sel: luck of the test set; s_opt: luck of tuning.")
        .only("page"),
        _matrix(comparison),
        _systems(comparison) if "ngrams" in comparison else None,
        _scores(comparison),
        _intervals(comparison),
        _tests(comparison),
        _difference_chart(comparison),
    ]  # fmt: skip
    if "differences" in comparison:  # texts were compared, not only scores
        blocks += [*_inside(comparison), *_where(comparison)]
    blocks.append(Heading("Signatures"))
    blocks += [Paragraph(metric["signature"], "signature") for metric in comparison["metrics"]]
    if comparison.get("segments"):
        blocks += [Heading("Segments"), SegmentBrowser(comparison).only("page")]
    return [
        block for block in blocks
        if block is not None and (not isinstance(block, Table) or block.rows)
    ]  # fmt: skip


def _inside(comparison: Comparison) -> list[Block | None]:
    """Return tables of the parts of scores."""
    return [
        Heading("Inside the scores"),
        _similarity(comparison),
        _ordering(comparison, "ordering", "Word order", ORDERING[:3]),
        _ordering(
            comparison, "port-forms", "PORT with other measures of word order", ORDERING[3:6]
        ),
        _ordering(comparison, "qmean-port", "Qmean against PORT", ("qmean", "port")),
        _ngrams(comparison),
        _scores_by_links(comparison),
        _agreement_of_links(comparison),
        _timing(comparison),
    ]


def _where(comparison: Comparison) -> list[Block | None]:
    """Return tables and charts of groups of segments, n-grams, and single segments."""
    differences = comparison["differences"]
    groups = (
        ("by-length", "Scores by reference length in tokens", "tokens", differences["by_length"]),
        (
            "by-reordering",
            "Scores by the reference's amount of reordering, 1 - v (0: the source's order)",
            "reordering",
            differences["by_reordering"],
        ),
    )
    return [
        Heading("Where they differ" if len(comparison["systems"]) > 1 else "By kind of segment"),
        *(_bucket_chart(comparison, *group) for group in groups if group[-1]),
        *(_bucket_table(comparison, *group) for group in groups),
        _ngram_differences(comparison),
        _segments(comparison),
    ]


def _names(comparison: Comparison) -> list[str]:
    return [system["name"] for system in comparison["systems"]]


def _score_rows(comparison: Comparison) -> dict[tuple[str, str], Row]:
    return {(row["metric"], row["system"]): row for row in comparison["scores"]}


def _matrix(comparison: Comparison) -> Table | None:
    """Return the metric each system was tuned on in rows, the metrics that judge in columns."""
    if len({x["tuned_on"] for x in comparison["systems"] if x["tuned_on"]}) < 2:
        return None
    scores, level = _score_rows(comparison), 1 - comparison["confidence"]
    rows = []
    for system in comparison["systems"]:
        row = _head(system, comparison)
        for metric in comparison["metrics"]:
            score = scores[metric["label"], system["name"]]
            error = "" if score["s_opt"] is None else f" ± {spread(score['s_opt'], metric)}"
            star = " *" if is_significant(score, comparison) else ""
            row.append(f"{shown(score['score'], metric)}{error}{star}")
        rows.append(row)
    note = "±: s_opt, standard deviation over replicas; " if _has_replicas(comparison) else ""
    first = comparison["systems"][0]["name"]
    return Table(
        _with_luck(comparison, "Tuned on, and judged by"),
        (*_head_columns(comparison), *map(_arrowed, comparison["metrics"])),
        rows,
        label="matrix",
        left=2,
        note=f"{note}*: differs from {first}, corrected p below {level:.2g}.",
    )


def _head_columns(comparison: Comparison) -> list[str]:
    is_tuned, has_replicas = _is_tuned(comparison), _has_replicas(comparison)
    replicas = ["replicas"] if is_tuned or has_replicas else []
    return ["system", *(["tuned on"] if is_tuned else []), *replicas]


def _head(system: Row, comparison: Comparison) -> list[str]:
    tuned_on = (system["tuned_on"] or "").partition(":")[0]
    cells = {"system": system["name"], "tuned on": tuned_on, "replicas": str(system["replicas"])}
    return [cells[column] for column in _head_columns(comparison)]


def _is_tuned(comparison: Comparison) -> bool:
    """Return whether any system was tuned, as far as that is known."""
    return any(system["tuned_on"] for system in comparison["systems"])


def _has_replicas(comparison: Comparison) -> bool:
    return any(system["replicas"] > 1 for system in comparison["systems"])


def _with_luck(comparison: Comparison, title: str) -> str:
    """Return a title that says whose luck of tuning is untested."""
    untested = untested_luck(_names(comparison), comparison["tuning_luck_untested"])
    return ", ".join(filter(None, (title, untested)))


def _arrowed(metric: Row) -> str:
    return f"{metric['label']} {Display.of(metric).arrow}"


def _systems(comparison: Comparison) -> Table:
    rows = []
    for system in comparison["systems"]:
        tokens, reference_tokens = system["hypothesis_tokens"], system["reference_tokens"]
        ratio = f"{tokens / reference_tokens:.3f}" if reference_tokens else NOTHING
        rows.append([*_head(system, comparison), f"{tokens:.0f}", ratio])
    columns = [*_head_columns(comparison), "tokens", "tokens / reference"]
    return Table("Systems", columns, rows, label="systems", left=1 + _is_tuned(comparison))


def _scores(comparison: Comparison) -> Table:
    """Return systems in rows, metrics in columns, with both standard deviations."""
    columns, scores = ["system"], _score_rows(comparison)
    spreads = ["s_sel", *(["s_opt"] if _has_replicas(comparison) else [])]
    for metric in comparison["metrics"]:
        columns += [_arrowed(metric), *spreads]
    rows = []
    for name in _names(comparison):
        row = [name]
        for metric in comparison["metrics"]:
            score = scores[metric["label"], name]
            row.append(shown(score["score"], metric))
            row += (spread(score[key], metric) for key in spreads)
        rows.append(row)
    note = "s_sel: standard deviation over the choice of the test set"
    if len(spreads) > 1:
        note = f"Means over replicas; {note}, s_opt: over replicas"
    note += "; ↑ higher is better, ↓ lower is better."
    return Table("Scores", columns, rows, label="scores", note=note)


def _intervals(comparison: Comparison) -> Table:
    """Return the interval of each score, for the page."""
    rows = []
    for metric in comparison["metrics"]:
        for row in comparison["scores"]:
            if row["metric"] == metric["label"] and row["low"] is not None:
                low, high = (shown(x, metric) for x in span(row["low"], row["high"], metric))
                score = shown(row["score"], metric)
                rows.append([directed(metric), row["system"], score, f"{low} to {high}"])
    title = f"Scores with {100 * comparison['confidence']:g} % bootstrap intervals over segments"
    columns = ("metric", "system", "score", "interval")
    return Table(title, columns, rows, left=2).only("page")


def _tests(comparison: Comparison) -> Table:
    has_replicas, metrics = _has_replicas(comparison), metrics_by_label(comparison)
    keys = ("p", "p_holm", "p_randomization", "p_bootstrap")
    headers = ("p", "Holm", "p rand.", "p boot.")
    if not has_replicas:
        keys = ("p", "p_holm", "p_bootstrap", "p_bootstrap_holm")
        headers = ("p rand.", "Holm", "p boot.", "Holm")
    rows = []
    for row in comparison["scores"]:
        if row["difference"] is not None:
            metric = metrics[row["metric"]]
            rows.append(
                (
                    directed(metric),
                    row["system"],
                    changed(row["difference"], metric),
                    interval(row["difference_low"], row["difference_high"], metric),
                    *(p_or_dash(row[key]) for key in keys),
                )
            )
    t_test = "p: t-test of luck of the test set and of tuning, as the interval; "
    note = (
        f"{t_test if has_replicas else ''}p rand.: approximate randomization, stratified over "
        f"segments{' and replicas' if has_replicas else ''}; p boot.: paired bootstrap; all "
        f"two-sided, {counted(comparison['samples'], 'sample')} each, seed {comparison['seed']}. "
        f"Holm: {correction(comparison)}."
    )
    level = f"{100 * comparison['confidence']:g} % interval"
    return Table(
        _with_luck(comparison, f"Differences from {comparison['systems'][0]['name']}"),
        ["metric", "system", "difference", level, *headers],
        rows,
        label="tests",
        left=2,
        note=note,
    )


def _similarity(comparison: Comparison) -> Table:
    rows = [
        (
            pair["first"],
            "its replicas" if pair["first"] == pair["second"] else pair["second"],
            _percent(pair["identical"]),
            _percent(1.0 - pair["one_minus_ter"]),
        )
        for pair in comparison["similarity"]
    ]
    columns = ("system", "against", "identical %", "TER % ↓")
    return Table("Similarity of outputs", columns, rows, label="similarity", left=2)


def _ordering(comparison: Comparison, label: str, title: str, metrics: Sequence[str]) -> Table:
    rows = [
        (row["system"], *(_percent(row["scores"][metric]) for metric in metrics))
        for row in comparison["ordering"]
    ]
    return Table(title, ("system", *metrics), rows, label=label)


def _ngrams(comparison: Comparison) -> Table:
    penalties = ("brevity_penalty", "strict_brevity_penalty", "strict_redundancy_penalty")
    rows = [
        (
            row["system"],
            *(f"{order['matched']:.0f}/{order['total']:.0f}" for order in row["orders"]),
            *(f"{row[penalty]:.3f}" for penalty in penalties),
        )
        for row in comparison["ngrams"]
    ]
    orders = [f"{order['order']}-gram" for order in comparison["ngrams"][0]["orders"]]
    means = ", means over replicas" if _has_replicas(comparison) else ""
    note = (
        f"Matched / total n-grams{means}. BP: BLEU's brevity penalty; SBP, SRP: PORT's strict "
        f"brevity and redundancy penalties."
    )
    columns = ("system", *orders, "BP", "SBP", "SRP")
    return Table("N-grams and length penalties", columns, rows, label="ngrams", note=note)


def _scores_by_links(comparison: Comparison) -> Table | None:
    alignments = comparison["alignments"]
    if alignments is None:
        return None
    scores = {(x["links"], x["system"], x["metric"]): x["score"] for x in alignments["scores"]}
    linked = {row["metric"] for row in alignments["scores"]}
    metrics = [metric for metric in comparison["metrics"] if metric["label"] in linked]
    if not metrics:
        return None
    rows = [
        (links, name, *(shown(scores.get((links, name, x["label"])), x) for x in metrics))
        for links in alignments["sets"]
        for name in _names(comparison)
    ]
    columns = ("alignment", "system", *map(directed, metrics))
    return Table("Scores under several word alignments", columns, rows, label="alignments", left=2)


def _agreement_of_links(comparison: Comparison) -> Table | None:
    """Return how far the sets of reference links disagree."""
    if comparison["alignments"] is None:
        return None
    rows = [
        (pair["first"], pair["second"], _percent(pair["aer"]))
        for pair in comparison["alignments"]["agreement"]
    ]
    title = "Disagreement of the alignments of the references"
    return Table(title, ("alignment", "against", "AER %"), rows, label="agreement", left=2)


def _timing(comparison: Comparison) -> Table:
    rows = [
        (row["metric"], f"{1000 * row['seconds']:.1f}", f"{row['ratio']:.2f}")
        for row in comparison["timing"]
    ]
    columns = ("metric", "milliseconds", "ratio to bleu")
    return Table("Time to count one output", columns, rows, label="timing")


def _bucket_table(
    comparison: Comparison, label: str, title: str, unit: str, buckets: Sequence[Row]
) -> Table:
    rows = [
        (
            directed(metric),
            name,
            *(shown(bucket["scores"][metric["label"]][number], metric) for bucket in buckets),
        )
        for metric in comparison["metrics"]
        for number, name in enumerate(_names(comparison))
    ]
    columns = ["metric", "system", *map(_bucket_label, buckets)]
    note = f"Columns: {unit}, in brackets the number of segments."
    return Table(title, columns, rows if buckets else [], label=label, left=2, note=note)


def _bucket_label(bucket: Row) -> str:
    return f"{bucket['label']} ({bucket['segments']})"


def _ngram_differences(comparison: Comparison) -> Table:
    first, rows = comparison["systems"][0]["name"], []
    for system in _names(comparison)[1:]:
        ngrams = [x for x in comparison["differences"]["ngrams"] if x["system"] == system]
        gains = [x for x in ngrams if x["system_matched"] > x["first_matched"]]
        losses = [x for x in ngrams if x["system_matched"] < x["first_matched"]]
        rows += [
            (
                system,
                ngram["ngram"],
                _mean_count(ngram["system_matched"]),
                _mean_count(ngram["first_matched"]),
                str(int(ngram["reference"])),
            )
            for ngram in (*gains[:MAX_NGRAMS], *losses[-MAX_NGRAMS:])
        ]
    columns = ("system", "n-gram", "right", f"right in {first}", "in references")
    title = f"N-grams right more, or less, often than in {first}"
    return Table(title, columns, rows, label="ngram-differences", left=2)


def _segments(comparison: Comparison) -> Table:
    """Return examples of segments, for text and LaTeX; the page has all segments."""
    names = _names(comparison)
    rows = []
    for metric in comparison["metrics"]:
        for number, system in enumerate(names[1:], 1):
            for place in _examples(comparison, metric, system):
                segment = comparison["segments"][place]
                for n, reference in enumerate(segment["references"]):
                    name = f"reference {n + 1}" if segment["references"][1:] else "reference"
                    head = ("", "") if n else (directed(metric), str(place + 1))
                    rows.append((*head, name, reference["text"], ""))
                for output in (0, number):
                    score = shown(segment["scores"][metric["label"]][output], metric)
                    rows.append(("", "", names[output], segment["outputs"][output]["text"], score))
    columns = ("metric", "line", "", "text", "score")
    title = "Segments with the largest differences"
    table = Table(title, columns, rows, label="segments", left=4, prose=(3,))
    return table.only("text", "long", "latex")


def _examples(comparison: Comparison, metric: Row, system: str) -> list[int]:
    """Return the segments of the best gains and the largest losses."""
    gains: list[int] = []
    losses: list[int] = []
    for row in comparison["differences"]["segments"]:
        if (row["metric"], row["system"]) == (metric["label"], system):
            is_gain = (row["difference"] > 0) == metric["higher_is_better"]
            (gains if is_gain else losses).append(row["segment"])
    return [*gains[:EXAMPLES], *losses[-EXAMPLES:]]


def _mean_count(value: float) -> str:
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"


def _percent(value: float) -> str:
    return f"{100.0 * value:.2f}"


# Charts.


def _bucket_chart(
    comparison: Comparison, name: str, title: str, unit: str, buckets: Sequence[Row]
) -> Chart:
    """Return the scores of groups of segments."""
    choices = []
    for metric in comparison["metrics"]:
        series = [
            Series(
                system,
                [charted(x["scores"][metric["label"]][number], metric) for x in buckets],
                colour=number,
            )
            for number, system in enumerate(_names(comparison))
        ]
        choices.append(
            ChartChoice(
                directed(metric), series, metric["in_percent"], [*map(_bucket_label, buckets)]
            )
        )
    caption = "Score of the segments of each group by itself; in brackets, how many."
    return Chart(name, "bars", title, choices, caption, x="score", y=unit)


def _difference_chart(comparison: Comparison) -> Chart | None:
    """Return differences from the first system with intervals, on metrics in percent."""
    first, *systems = _names(comparison)
    metrics, rows = [x for x in comparison["metrics"] if x["in_percent"]], _score_rows(comparison)
    if not systems or not metrics:
        return None
    labels = [f"{x['label']} (sign turned)" if _is_lower(x) else x["label"] for x in metrics]
    gains = [[_gain(rows[x["label"], name], x) for name in systems] for x in metrics]
    if len(systems) <= MAX_TOGETHER:
        series = [
            _gain_series(name, [of_metric[n] for of_metric in gains], n + 1)
            for n, name in enumerate(systems)
        ]
        choices = [ChartChoice("", series, in_percent=True, categories=labels, marker=0)]
    else:
        choices = [
            ChartChoice(
                label, [_gain_series(label, of_metric)], in_percent=True, categories=systems,
                marker=0,
            )
            for label, of_metric in zip(labels, gains, strict=True)
        ]  # fmt: skip
    lower = any(map(_is_lower, metrics))
    turned = " Where lower is better, a difference is drawn with its sign turned." if lower else ""
    caption = (
        f"In points, with {100 * comparison['confidence']:g} % intervals; right of the dashed "
        f"line is better.{turned}"
    )
    title = f"Difference from {first}"
    return Chart("differences", "intervals", title, choices, caption, x="gain (points)")


def _is_lower(metric: Row) -> bool:
    return Display.of(metric).lower_is_better


def _gain(row: Row, metric: Row) -> list[float | None]:
    """Return a difference between the ends of its interval; a higher value is better."""
    values = [row[key] for key in ("difference_low", "difference", "difference_high")]
    if metric["higher_is_better"]:
        return values
    return [None if value is None else -value for value in reversed(values)]


def _gain_series(name: str, gains: Sequence[list[float | None]], colour: int = 0) -> Series:
    low, values, high = zip(*gains, strict=True)
    return Series(name, values, low=low, high=high, colour=colour)
