"""Builds the document of a comparison: its sentences, tables and charts."""

from collections.abc import Iterator, Sequence

from portmert.metrics._display import NOTHING

from ...base.errors import counted
from ...base.tables import Block, Form, Table
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
from ..formatting import ShownMetric, decimals
from ..power import POWER
from ..significance import MOST_UNITS
from .answers import tables_of
from .sentences import (
    MAX_SENTENCES,
    Comparison,
    Row,
    ShownComparison,
    correction,
    summaries,
)

ORDERING = ("v", "rho", "tau", "port", "port-rho", "port-tau", "qmean")
"""Tables 8, 9 and 10 of the PORT paper."""
MAX_NGRAMS = 5
"""N-grams of each system and direction in the table; JSON has more."""
MAX_TOGETHER = 3
"""Systems whose differences share a chart. Of more, one metric at a time is shown."""
EXAMPLES = 1
"""Segments of each metric, system and direction in the table."""


def document_of(comparison: Comparison, first: Sequence[Block] = ()) -> Document:
    """Return the document of a comparison.

    Parameters
    ----------
    first
        What the page shows below the planned answers. Other sentences are notes then.
    """
    names = [system["name"] for system in comparison["systems"]]
    title = " / ".join(names)
    if len(names) > MAX_SENTENCES + 1:
        title = f"{names[0]} and {len(names) - 1} other choices"
    is_long = len(names) > MAX_SENTENCES + 1
    with_summary: tuple[Form, ...] = ("page", "text", "long") if is_long else ("page",)
    answers = comparison.get("answers", ())
    headlines = () if is_long else comparison["headlines"][len(answers) :]
    blocks = [
        *(Paragraph(line, "headline") for line in answers),
        *on_page(first),
        *(
            Paragraph(line, "note" if first else "summary").only(*with_summary)
            for line in summaries(comparison)
        ),
        *(Paragraph(line, "headline").only("text", "long") for line in headlines),
        *(Paragraph(line, "note") for line in comparison["notes"]),
        *blocks_of(comparison),
    ]
    return Document(title, blocks, about=about(comparison), systems=names)


def about(comparison: Comparison) -> str:
    """Return what the results of a comparison depend on."""
    parts = [f"{counted(comparison['samples'], 'sample')}, seed {comparison['seed']}"]
    if count := _count(comparison):
        segments = counted(count, "segment")
        if groups := comparison.get("groups"):
            segments += f" in {counted(groups['count'], 'group')}"
        references = ", ".join(comparison.get("references", ()))
        parts.insert(0, f"{segments} of {references}" if references else segments)
    if comparison.get("reference_links"):
        parts.append(f"word links: {comparison['reference_links']}")
    return " · ".join([*parts, f"portmert {comparison['portmert']}"])


def _count(comparison: Comparison) -> int:
    """Return the number of segments; 0 if it is not known."""
    return int(comparison.get("tested") or len(comparison.get("segments", ())))


def blocks_of(comparison: Comparison) -> list[Block]:
    """Return the tables and charts of a comparison, without those that are empty."""
    view = ShownComparison(comparison)
    blocks: list[Block | None] = [
        Heading("Scores"),
        _difference_chart(view),
        _paper(view),
        _on_page(view),
        _matrix(view),
        _systems(view) if "ngrams" in comparison else None,
        _scores(view).only("text", "long", "latex"),
        _tests(view),
        _power(view),
        *tables_of(view),
    ]
    if comparison.get("segments"):
        blocks += [Heading("Segments"), SegmentBrowser(comparison).only("page")]
    if "differences" in comparison:  # texts were compared, not only scores
        differences = comparison["differences"]
        reordering = (
            "Scores by the reference's amount of reordering, 1 - v (0: the source's order)"
        )
        blocks += [
            Heading("Inside the scores"),
            _similarity(comparison),
            *_ordering(comparison),
            _ngrams(view),
            *_alignments(view),
            _timing(comparison),
            Heading("Where they differ" if len(view.names) > 1 else "By kind of segment"),
            *_buckets(
                view,
                (
                    "by-length",
                    "Scores by reference length in tokens",
                    "tokens",
                    differences["by_length"],
                ),
                ("by-reordering", reordering, "reordering", differences["by_reordering"]),
            ),
            _ngram_differences(view),
            _segments(view),
        ]
    blocks.append(Heading("Signatures"))
    blocks += [Paragraph(metric["signature"], "signature") for metric in comparison["metrics"]]
    return [
        block for block in blocks
        if block is not None and (not isinstance(block, Table) or block.rows)
    ]  # fmt: skip


def _matrix(view: ShownComparison) -> Table | None:
    """Return the metric each system was tuned on in rows, the metrics that judge in columns."""
    systems = view.comparison["systems"]
    if len({x["tuned_on"] for x in systems if x["tuned_on"]}) < 2:
        return None
    columns, heads = _heads(view)
    for label, metric in view.metrics.items():
        columns.append(f"{label} {metric.arrow}")
        for name, row in zip(view.names, heads, strict=True):
            score = view.scores[label, name]
            row.append(metric.with_spread(score) + " *" * view.is_significant(score))
    note = "±: s_opt, standard deviation over replicas; " if view.has_replicas else ""
    level = 1 - view.comparison["confidence"]
    return Table(
        _with_luck(view, "Tuned on, and judged by"),
        columns,
        heads,
        label="matrix",
        left=2,
        note=f"{note}*: differs from {view.names[0]}, corrected p below {level:.2g}.",
    )


IN_PAPERS = {
    "bleu": "BLEU", "cder": "CDER", "cer": "CER", "chrf": "chrF", "meteor": "METEOR",
    "nist": "NIST", "port": "PORT", "qmean": "Qmean", "ribes": "RIBES", "ter": "TER",
    "terp": "TERp", "wer": "WER",
}  # fmt: skip
"""Names of metrics as papers write them."""


def _paper(view: ShownComparison) -> Table:
    """Return the one table for a paper: systems by metrics, the best of each metric in bold."""
    columns, rows = ["system"], [[name] for name in view.names]
    bold = []
    for column, (label, metric) in enumerate(view.metrics.items(), 1):
        columns.append(f"{IN_PAPERS.get(label, label)} {metric.arrow}")
        scores = [view.scores[label, name] for name in view.names]
        values = [score["score"] for score in scores if score["score"] is not None]
        best = (max if metric.higher_is_better else min)(values, default=None)
        for place, (score, row) in enumerate(zip(scores, rows, strict=True)):
            row.append(metric.with_spread(score) + "†" * view.is_significant(score))
            if score["score"] == best and best is not None and len(rows) > 1:
                bold.append((place, column))
    signatures = "; ".join(metric["signature"] for metric in view.comparison["metrics"])
    level = 1 - view.comparison["confidence"]
    spread = " ±: standard deviation over replicas." if view.has_replicas else ""
    compared = (
        f" †: differs from {view.names[0]} (p < {level:.2g}, {correction(view.comparison)})."
        if len(rows) > 1
        else ""
    )
    note = f"Best in bold.{compared}{spread} Signatures: {signatures}"
    title = _with_luck(view, "Scores on the test set")
    return Table(title, columns, rows, label="scores", note=note, bold=bold).only("paper")


def _heads(view: ShownComparison) -> tuple[list[str], list[list[str]]]:
    """Return the first columns of a table of systems, and its rows so far."""
    replicas = ["replicas"] if view.is_tuned or view.has_replicas else []
    columns = ["system", *(["tuned on"] if view.is_tuned else []), *replicas]
    rows = []
    for system in view.comparison["systems"]:
        tuned_on = (system["tuned_on"] or "").partition(":")[0]
        cells = {**system, "system": system["name"], "tuned on": tuned_on}
        rows.append([str(cells[column]) for column in columns])
    return columns, rows


def _with_luck(view: ShownComparison, title: str) -> str:
    """Return a title that says for which systems chance in tuning is untested."""
    return ", ".join(filter(None, (title, view.untested_luck(view.names))))


def _systems(view: ShownComparison) -> Table:
    columns, rows = _heads(view)
    for system, row in zip(view.comparison["systems"], rows, strict=True):
        tokens, reference_tokens = system["hypothesis_tokens"], system["reference_tokens"]
        ratio = f"{tokens / reference_tokens:.3f}" if reference_tokens else NOTHING
        row += [f"{tokens:.0f}", ratio]
    columns += ["tokens", "tokens / reference"]
    return Table("Systems", columns, rows, label="systems", left=1 + view.is_tuned)


def _scores(view: ShownComparison) -> Table:
    """Return systems in rows, metrics in columns, with both standard deviations."""
    columns, rows = ["system"], [[name] for name in view.names]
    spreads = ["s_sel", "s_opt"][: 1 + view.has_replicas]
    alone = len(rows) == 1  # it has no difference with an interval
    level = f"{100 * view.comparison['confidence']:g} % interval"
    for label, metric in view.metrics.items():
        columns += [f"{label} {metric.arrow}", *([level] if alone else []), *spreads]
        for name, row in zip(view.names, rows, strict=True):
            score = view.scores[label, name]
            row.append(metric.shown(score["score"]))
            if alone:
                row.append(metric.interval_of_score(score["low"], score["high"]))
            row += [metric.shown_spread(score[key]) for key in spreads]
    note = "s_sel: standard deviation over the choice of the test set"
    if view.has_replicas:
        note = f"Means over replicas; {note}, s_opt: over replicas"
    note += "; ↑ higher is better, ↓ lower is better."
    return Table("Scores", columns, rows, label="scores", note=note)


def _on_page(view: ShownComparison) -> Table:
    """Return systems by metrics for the page: intervals on demand, colours of what was shown."""
    tones, rows = {}, [[name] for name in view.names]
    for column, (label, metric) in enumerate(view.metrics.items(), 1):
        for place, (name, row) in enumerate(zip(view.names, rows, strict=True)):
            score = view.scores[label, name]
            cell = metric.with_spread(score)
            if score["low"] is not None:
                cell += f" ({metric.interval_of_score(score['low'], score['high'])})"
            row.append(cell)
            tones[place, column] = view.verdict_of.get((label, name), "")
    columns = ["system", *(f"{label} {metric.arrow}" for label, metric in view.metrics.items())]
    note = "↑ higher is better, ↓ lower is better."
    if len(rows) > 1:
        note += f" Green, red: better, worse than {view.names[0]}, beyond chance."
    note += " ±: standard deviation over replicas." if view.has_replicas else ""
    level = 100 * view.comparison["confidence"]
    how = "jackknife over groups" if view.comparison.get("groups") else "bootstrap over segments"
    note += f" Intervals: {level:g} %, by {how}."
    return Table("Scores", columns, rows, note=note, label="scores", tones=tones).only("page")


def _tests(view: ShownComparison) -> Table:
    """Return the differences from the first system and their p; the note says which tests."""
    comparison, has_replicas = view.comparison, view.has_replicas
    keys = ("p", "p_holm", "p_randomization", "p_bootstrap")
    headers = ("p", "Holm", "p rand.", "p boot.")
    if not has_replicas:
        keys = ("p", "p_holm", "p_bootstrap", "p_bootstrap_holm")
        headers = ("p rand.", "Holm", "p boot.", "Holm")
    rows: list[list[str]] = []
    tones = {}
    for row in comparison["scores"]:
        if row["difference"] is not None:
            tones[len(rows), 2] = view.verdict_of.get((row["metric"], row["system"]), "")
            rows.append(view.change(row, keys))
    t_test = "p: t-test of chance in the test set and in tuning, as the interval; "
    groups, of = comparison.get("groups"), "segments"
    if _count(comparison) > MOST_UNITS:
        of = f"{MOST_UNITS} random blocks of segments"
    if groups:
        of = (
            f"{groups['count']} groups of {groups['smallest']} to {groups['largest']} segments "
            f"({groups['of']})"
        )
        t_test = "p: t-test of chance in groups and in tuning, as the interval; "
        if not has_replicas:
            t_test = "interval: jackknife over groups, Student's t, so it may disagree with p; "
    note = (
        f"{t_test if has_replicas or groups else ''}p rand.: approximate randomization, "
        f"stratified over {of}{' and replicas' if has_replicas else ''}; p boot.: paired "
        f"bootstrap; all two-sided, {counted(comparison['samples'], 'sample')} each, seed "
        f"{comparison['seed']}. "
        f"Holm: {correction(comparison)}."
    )
    return Table(
        _with_luck(view, f"Differences from {view.names[0]}"),
        [
            "metric", "system", "difference",
            f"{100 * comparison['confidence']:g} % interval", *headers,
        ],
        rows,
        label="tests",
        left=2,
        note=note,
        tones=tones,
    )  # fmt: skip


def _power(view: ShownComparison) -> Table:
    """Return what the test set could show, and how large it must be for what was found."""
    groups = view.comparison.get("groups")
    units = "groups" if groups else "segments"
    columns = ["metric", "system", "standard error", "smallest difference", f"{units} needed"]
    columns += ["intraclass r", "design effect"] if groups else []
    rows = []
    for row in view.comparison["scores"]:
        if row.get("error") is None:
            continue
        metric = view.metrics[row["metric"]]
        cells = [
            metric.directed,
            row["system"],
            metric.shown_spread(row["error"]),
            metric.shown_spread(row["smallest"]),
            NOTHING if row["needed"] is None else str(row["needed"]),
        ]
        if groups:
            cells += [decimals(row["intraclass"], 2), decimals(row["design_effect"], 2)]
        rows.append(cells)
    level = 1 - view.comparison["confidence"]
    note = (
        f"smallest difference: shown on {100 * POWER:g} % of such test sets (p < {level:.2g}, not "
        f"corrected); {units} needed: to show the difference found as often."
    )
    if view.has_replicas:
        note += f" {NOTHING}: replicas differ too much, more {units} alone do not help."
    if groups:
        note += " design effect: variance, divided by that of independent segments."
    title = f"What the test set can show against {view.names[0]}"
    return Table(title, columns, rows, label="power", left=2, note=note)


def _similarity(comparison: Comparison) -> Table:
    """Return how alike outputs are; of many systems each with the first."""
    names = [system["name"] for system in comparison["systems"]]
    rows = [
        (
            pair["first"],
            "its replicas" if pair["first"] == pair["second"] else pair["second"],
            _percent(pair["identical"]),
            _percent(1.0 - pair["one_minus_ter"]),
        )
        for pair in comparison["similarity"]
        if len(names) <= MAX_SENTENCES + 1 or pair["first"] == names[0]
    ]
    columns = ("system", "against", "identical %", "TER % ↓")
    return Table("Similarity of outputs", columns, rows, label="similarity", left=2)


def _ordering(comparison: Comparison) -> Iterator[Table]:
    """Yield tables 8, 9 and 10 of the PORT paper."""
    for label, title, metrics in (
        ("ordering", "Word order", ORDERING[:3]),
        ("port-forms", "PORT with other measures of word order", ORDERING[3:6]),
        ("qmean-port", "Qmean against PORT", ("qmean", "port")),
    ):
        rows = [
            (row["system"], *(_percent(row["scores"][metric]) for metric in metrics))
            for row in comparison["ordering"]
        ]
        yield Table(title, ("system", *metrics), rows, label=label)


def _ngrams(view: ShownComparison) -> Table:
    ngrams = view.comparison["ngrams"]
    penalties = ("brevity_penalty", "strict_brevity_penalty", "strict_redundancy_penalty")
    rows = [
        (
            row["system"],
            *(f"{order['matched']:.0f}/{order['total']:.0f}" for order in row["orders"]),
            *(f"{row[penalty]:.3f}" for penalty in penalties),
        )
        for row in ngrams
    ]
    orders = [f"{order['order']}-gram" for order in ngrams[0]["orders"]]
    means = ", means over replicas" if view.has_replicas else ""
    note = (
        f"Matched / total n-grams{means}. BP: BLEU's brevity penalty; SBP, SRP: PORT's strict "
        f"brevity and redundancy penalties."
    )
    columns = ("system", *orders, "BP", "SBP", "SRP")
    return Table("N-grams and length penalties", columns, rows, label="ngrams", note=note)


def _alignments(view: ShownComparison) -> Iterator[Table]:
    """Yield scores under several sets of links, and how far those of references disagree."""
    alignments = view.comparison["alignments"]
    if alignments is None:
        return
    scores = {(x["links"], x["system"], x["metric"]): x["score"] for x in alignments["scores"]}
    linked = {row["metric"] for row in alignments["scores"]}
    metrics = [metric for label, metric in view.metrics.items() if label in linked]
    rows = [
        (links, name, *(x.shown(scores.get((links, name, x.label))) for x in metrics))
        for links in alignments["sets"] if metrics
        for name in view.names
    ]  # fmt: skip
    columns = ["alignment", "system", *(metric.directed for metric in metrics)]
    title = "Scores under several word alignments"
    yield Table(title, columns, rows, label="alignments", left=2)
    rows = [(x["first"], x["second"], _percent(x["aer"])) for x in alignments["agreement"]]
    title = "Disagreement of the alignments of the references"
    yield Table(title, ("alignment", "against", "AER %"), rows, label="agreement", left=2)


def _timing(comparison: Comparison) -> Table:
    rows = [
        (row["metric"], f"{1000 * row['seconds']:.1f}", f"{row['ratio']:.2f}")
        for row in comparison["timing"]
    ]
    columns = ("metric", "milliseconds", "ratio to bleu")
    return Table("Time to count one output", columns, rows, label="timing")


def _buckets(
    view: ShownComparison, *groups: tuple[str, str, str, Sequence[Row]]
) -> list[Chart | Table]:
    """Return the scores of groups of segments: a chart and a table for each grouping.

    A grouping is a label, a title, a unit and its groups.
    """
    charts, tables = [], []
    for label, title, unit, buckets in groups:
        columns = [f"{bucket['label']} ({bucket['segments']})" for bucket in buckets]
        choices, rows = [], []
        for metric in view.metrics.values():
            series = []
            for number, name in enumerate(view.names):
                scores = [bucket["scores"][metric.label][number] for bucket in buckets]
                if number <= MAX_TOGETHER:
                    series.append(Series(name, list(map(metric.charted, scores)), colour=number))
                rows.append([metric.directed, name, *map(metric.shown, scores)])
            choices.append(ChartChoice(metric.directed, series, metric.in_percent, columns))
        if buckets:
            caption = "Score of the segments of each group by itself; in brackets, how many."
            if len(view.names) > MAX_TOGETHER + 1:
                caption += f" The first {MAX_TOGETHER + 1} systems; the table has all."
            charts.append(Chart(label, "bars", title, choices, caption, x="score", y=unit))
            note = f"Columns: {unit}, in brackets the number of segments."
            headers = ["metric", "system", *columns]
            tables.append(Table(title, headers, rows, label=label, left=2, note=note))
    return [*charts, *tables]


def _ngram_differences(view: ShownComparison) -> Table:
    first, rows = view.names[0], []
    for system in view.names[1:]:
        ngrams = [
            x for x in view.comparison["differences"]["ngrams"] if x["system"] == system
        ]  # fmt: skip
        gains = [x for x in ngrams if x["system_matched"] > x["first_matched"]]
        losses = [x for x in ngrams if x["system_matched"] < x["first_matched"]]
        for ngram in (*gains[:MAX_NGRAMS], *losses[-MAX_NGRAMS:]):
            means = [ngram[key] for key in ("system_matched", "first_matched")]
            counts = [f"{mean:.{1 if mean % 1 else 0}f}" for mean in means]
            rows.append([system, ngram["ngram"], *counts, str(int(ngram["reference"]))])
    columns = ("system", "n-gram", "right", f"right in {first}", "in references")
    title = f"N-grams right more, or less, often than in {first}"
    return Table(title, columns, rows, label="ngram-differences", left=2)


def _segments(view: ShownComparison) -> Table:
    """Return examples of segments, for text and LaTeX; the page has all segments."""
    rows: list[Sequence[str]] = []
    for metric in view.metrics.values():
        for number, system in enumerate(view.names[1:], 1):
            for place in _examples(view.comparison, metric, system):
                segment = view.comparison["segments"][place]
                for n, reference in enumerate(segment["references"]):
                    name = f"reference {n + 1}" if segment["references"][1:] else "reference"
                    head = ("", "") if n else (metric.directed, str(place + 1))
                    rows.append((*head, name, reference["text"], ""))
                for output in (0, number):
                    score = metric.shown(segment["scores"][metric.label][output])
                    text = segment["outputs"][output]["text"]
                    rows.append(("", "", view.names[output], text, score))
    columns = ("metric", "line", "", "text", "score")
    title = "Segments with the largest differences"
    table = Table(title, columns, rows, label="segments", left=4, prose=(3,))
    return table.only("text", "long", "latex")


def _examples(comparison: Comparison, metric: ShownMetric, system: str) -> list[int]:
    """Return the segments of the best gains and the largest losses."""
    gains: list[int] = []
    losses: list[int] = []
    for row in comparison["differences"]["segments"]:
        if (row["metric"], row["system"]) == (metric.label, system):
            is_gain = (row["difference"] > 0) == metric.higher_is_better
            (gains if is_gain else losses).append(row["segment"])
    return [*gains[:EXAMPLES], *losses[-EXAMPLES:]]


def _percent(value: float) -> str:
    return f"{100.0 * value:.2f}"


def _difference_chart(view: ShownComparison) -> Chart | None:
    """Return differences from the first system with intervals, on metrics in percent."""
    first, *systems = view.names
    metrics = [metric for metric in view.metrics.values() if metric.in_percent]
    if not systems or not metrics:
        return None
    named = {
        x.label: f"{x.label} (sign turned)" if x.lower_is_better else x.label for x in metrics
    }
    groups: dict[str, list[tuple[ShownMetric, str]]] = {}
    for metric in metrics:
        group = named[metric.label] if len(systems) > MAX_TOGETHER else ""
        groups.setdefault(group, []).extend((metric, name) for name in systems)
    choices = []
    for group, rows in groups.items():
        gains = [_gain(view.scores[metric.label, name], metric) for metric, name in rows]
        low, values, high = zip(*gains, strict=True)
        tones = [view.verdict_of.get((metric.label, name), "neither") for metric, name in rows]
        categories = [
            name if group else named[metric.label] if len(systems) < 2
            else f"{named[metric.label]}, {name}"
            for metric, name in rows
        ]  # fmt: skip
        series = Series("difference", values, low=low, high=high, tones=tones)
        choices.append(
            ChartChoice(group, [series], in_percent=True, categories=categories, marker=0)
        )
    lower = any(metric.lower_is_better for metric in metrics)
    turned = " Where lower is better, a difference is drawn with its sign turned." if lower else ""
    caption = (
        f"In points, with {100 * view.comparison['confidence']:g} % intervals; right of the "
        f"dashed line is better.{turned}"
    )
    title = f"Difference from {first}"
    return Chart("differences", "intervals", title, choices, caption, x="gain (points)")


def _gain(row: Row, metric: ShownMetric) -> list[float | None]:
    """Return a difference between the ends of its interval; a higher value is better."""
    values = [row[key] for key in ("difference_low", "difference", "difference_high")]
    if metric.higher_is_better:
        return values
    return [None if value is None else -value for value in reversed(values)]
