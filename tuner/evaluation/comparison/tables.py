"""Lays a comparison out as titled tables, the same for text and LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from portmert.tuner.evaluation.comparison.model import (
    Bucket,
    ComparedMetric,
    Comparison,
    SystemScore,
)
from portmert.tuner.evaluation.comparison.scores import ORDERING, shown
from portmert.tuner.evaluation.comparison.summary import tuned_apart, untested_luck
from portmert.tuner.ground.errors import counted
from portmert.tuner.ground.numbers import shown_p
from portmert.tuner.ground.tables import Table

NOTHING = ""
"""What stands for a value that is not known."""
MOST_NGRAMS = 5
"""N-grams of each system and direction in these tables; JSON and HTML have more."""
MOST_ACROSS = 4
"""Systems in columns; more stand in rows, so that the table is not wider than a page."""
EXAMPLES = 1
"""Segments of each metric, system and direction in these tables."""


def all_tables(comparison: Comparison) -> list[Table]:
    """Return the tables of a comparison that have something to say."""
    order, buckets = partial(_order_table, comparison), partial(_bucket_table, comparison)
    differences = comparison.differences
    tables = (
        _matrix(comparison),
        _systems(comparison),
        _scores(comparison),
        _tests(comparison),
        _similarity(comparison),
        order("ordering", "Word order", ORDERING[:3]),
        order("port-forms", "PORT with other measures of word order", ORDERING[3:6]),
        order("qmean-port", "Qmean against PORT", ("qmean", "port")),
        _ngrams(comparison),
        _links(comparison),
        _agreement(comparison),
        _timing(comparison),
        buckets(
            "by-length", "Scores by reference length in tokens", "tokens", differences.by_length
        ),
        buckets(
            "by-reordering",
            "Scores by the reference's amount of reordering, 1 - v (0: the source's order)",
            "reordering",
            differences.by_reordering,
        ),
        _ngram_differences(comparison),
        _segments(comparison),
    )
    return [table for table in tables if table is not None and table.rows]


def _matrix(comparison: Comparison) -> Table | None:
    """Return what each system was tuned on down, by what it is judged across."""
    if not tuned_apart([system.tuned_on for system in comparison.systems]):
        return None
    rows = []
    for system in comparison.systems:
        row = [system.name, (system.tuned_on or NOTHING).partition(":")[0], str(system.replicas)]
        for metric in comparison.metrics:
            found = _score_of(comparison, metric, system.name)
            spread = "" if found.s_opt is None else f" ± {shown(found.s_opt, metric)}"
            differs = found.p_holm is not None and found.p_holm < 1 - comparison.confidence
            row.append(f"{shown(found.score, metric)}{spread}{' *' if differs else ''}")
        rows.append(row)
    names, replicas = _luck(comparison)
    several = "±: s_opt, standard deviation over replicas; " if max(replicas.values()) > 1 else ""
    note = several + (
        f"*: differs from {comparison.systems[0].name}, corrected p below "
        f"{1 - comparison.confidence:.2g}."
    )
    luck = untested_luck(names, replicas)
    title = ", ".join(filter(None, ("Tuned on, and judged by", luck)))
    columns = ("system", "tuned on", "replicas", *map(_directed, comparison.metrics))
    return Table(title, columns, rows, label="matrix", left=2, note=note)


def _luck(comparison: Comparison) -> tuple[list[str], dict[str, int]]:
    """Return the systems, and how many replicas each has."""
    replicas = {system.name: system.replicas for system in comparison.systems}
    return list(replicas), replicas


def _directed(metric: ComparedMetric) -> str:
    return f"{metric.label} {'↑' if metric.higher_is_better else '↓'}"


def _systems(comparison: Comparison) -> Table:
    rows = [
        (
            system.name,
            (system.tuned_on or NOTHING).partition(":")[0],
            str(system.replicas),
            f"{system.hypothesis_tokens:.0f}",
            f"{_ratio(system.hypothesis_tokens, system.reference_tokens):.3f}",
        )
        for system in comparison.systems
    ]
    columns = ("system", "tuned on", "replicas", "tokens", "tokens / reference")
    return Table("Systems", columns, rows, label="systems", left=2)


def _scores(comparison: Comparison) -> Table:
    """Return systems down, metrics across, with both standard deviations."""
    columns = ["system"]
    for metric in comparison.metrics:
        columns += [_directed(metric), "s_sel", "s_opt"]
    rows = []
    for system in comparison.systems:
        row = [system.name]
        for metric in comparison.metrics:
            found = _score_of(comparison, metric, system.name)
            row += [
                shown(found.score, metric),
                shown(found.s_sel, metric),
                NOTHING if found.s_opt is None else shown(found.s_opt, metric),
            ]
        rows.append(tuple(row))
    note = (
        "Means over replicas; s_sel: standard deviation over the choice of the test set, s_opt: "
        "over replicas; ↑ higher is better, ↓ lower is better."
    )
    return Table("Scores", columns, rows, label="scores", note=note)


def _tests(comparison: Comparison) -> Table:
    level = f"{100 * comparison.confidence:g} %"
    names, replicas = _luck(comparison)
    several = max(replicas.values()) > 1
    columns = ["metric", "system", "difference", f"{level} interval"]
    columns += (
        ["p", "Holm", "p rand.", "p boot."] if several else ["p rand.", "Holm", "p boot.", "Holm"]
    )
    by_label = {metric.label: metric for metric in comparison.metrics}
    rows = []
    for score in comparison.scores:
        if score.difference is None:
            continue
        metric = by_label[score.metric]
        low, high = score.difference_low or 0.0, score.difference_high or 0.0
        ps = (
            (score.p, score.p_holm, score.p_randomization, score.p_bootstrap)
            if several
            else (score.p, score.p_holm, score.p_bootstrap, score.p_bootstrap_holm)
        )
        rows.append(
            (
                score.metric,
                score.system,
                shown(score.difference, metric, sign=True),
                f"{shown(low, metric, sign=True)}..{shown(high, metric, sign=True)}",
                *(NOTHING if p is None else shown_p(p) for p in ps),
            )
        )
    both = "p: t-test, two-sided, of luck of the test set and of tuning, as the interval; "
    note = (both if several else "") + (
        "p rand.: approximate randomization, two-sided, stratified over segments and replicas; "
        "p boot.: paired bootstrap, one-sided for better than "
        f"{comparison.systems[0].name}; {counted(comparison.samples, 'sample')} each, seed "
        f"{comparison.seed}. Holm: corrected for all rows of this table."
    )
    luck = untested_luck(names, replicas)
    title = ", ".join(filter(None, (f"Differences from {comparison.systems[0].name}", luck)))
    return Table(title, columns, rows, label="tests", left=2, note=note)


def _similarity(comparison: Comparison) -> Table:
    rows = [
        (
            pair.first,
            "its replicas" if pair.first == pair.second else pair.second,
            _percent(pair.identical),
            _percent(pair.one_minus_ter),
        )
        for pair in comparison.similarity
    ]
    columns = ("system", "against", "identical %", "1-TER %")
    return Table("Similarity of outputs", columns, rows, label="similarity", left=2)


def _order_table(comparison: Comparison, key: str, title: str, names: Sequence[str]) -> Table:
    rows = [
        (one.system, *(_percent(one.scores[name]) for name in names))
        for one in comparison.ordering
    ]
    return Table(title, ("system", *names), rows, label=key)


def _ngrams(comparison: Comparison) -> Table:
    orders = [order.order for order in comparison.ngrams[0].orders]
    columns = ("system", *(f"{n}-gram" for n in orders), "BP", "SBP", "SRP")
    rows = []
    for one in comparison.ngrams:
        penalties = (
            one.brevity_penalty,
            one.strict_brevity_penalty,
            one.strict_redundancy_penalty,
        )
        rows.append(
            (
                one.system,
                *(f"{order.matched:.0f}/{order.total:.0f}" for order in one.orders),
                *(f"{penalty:.3f}" for penalty in penalties),
            )
        )
    note = (
        "Matched / total n-grams, means over replicas. BP: BLEU's brevity penalty; SBP, SRP: "
        "PORT's strict brevity and redundancy penalties."
    )
    title = "N-grams and length penalties"
    return Table(title, columns, rows, label="ngrams", note=note)


def _links(comparison: Comparison) -> Table | None:
    found = comparison.alignments
    if found is None:
        return None
    scores = {(one.links, one.system, one.metric): one.score for one in found.scores}
    linked = {one.metric for one in found.scores}
    by_label = {metric.label: metric for metric in comparison.metrics if metric.label in linked}
    if not by_label:
        return None
    rows = [
        (
            links,
            system.name,
            *(
                shown(scores[links, system.name, label], metric)
                for label, metric in by_label.items()
            ),
        )
        for links in found.sets
        for system in comparison.systems
    ]
    title = "Scores under several word alignments"
    columns = ("alignment", "system", *by_label)
    return Table(title, columns, rows, label="alignments", left=2)


def _agreement(comparison: Comparison) -> Table | None:
    if comparison.alignments is None:
        return None
    rows = [
        (pair.first, pair.second, _percent(pair.aer)) for pair in comparison.alignments.agreement
    ]
    title = "Disagreement of the alignments of the references"
    columns = ("alignment", "against", "AER %")
    return Table(title, columns, rows, label="agreement", left=2)


def _timing(comparison: Comparison) -> Table:
    rows = [
        (one.metric, f"{1000 * one.seconds:.1f}", f"{one.ratio:.2f}") for one in comparison.timing
    ]
    columns = ("metric", "milliseconds", "ratio to bleu")
    title = "Time to count one output"
    return Table(title, columns, rows, label="timing")


def _bucket_table(
    comparison: Comparison, key: str, title: str, what: str, buckets: Sequence[Bucket]
) -> Table:
    names = [system.name for system in comparison.systems]
    if len(names) > MOST_ACROSS:
        columns = ["metric", "system", *(f"{one.label} ({one.segments})" for one in buckets)]
        rows = [
            (
                metric.label,
                name,
                *(shown(bucket.scores[metric.label][place], metric) for bucket in buckets),
            )
            for metric in comparison.metrics
            for place, name in enumerate(names)
        ]
        note = f"Columns: {what}, in brackets the number of segments."
        return Table(title, columns, rows if buckets else [], label=key, left=2, note=note)
    columns = ["metric", what, "segments", *names]
    rows = [
        (
            metric.label,
            bucket.label,
            str(bucket.segments),
            *(shown(score, metric) for score in bucket.scores[metric.label]),
        )
        for metric in comparison.metrics
        for bucket in buckets
    ]
    return Table(title, columns, rows, label=key, left=2)


def _ngram_differences(comparison: Comparison) -> Table:
    first = comparison.systems[0].name
    rows = []
    for system in comparison.systems[1:]:
        found = [one for one in comparison.differences.ngrams if one.system == system.name]
        gains = [one for one in found if one.system_matched > one.first_matched]
        losses = [one for one in found if one.system_matched < one.first_matched]
        rows += [
            (
                system.name,
                one.ngram,
                _mean_count(one.system_matched),
                _mean_count(one.first_matched),
                str(int(one.reference)),
            )
            for one in (*gains[:MOST_NGRAMS], *losses[-MOST_NGRAMS:])
        ]
    columns = ("system", "n-gram", "right", f"right in {first}", "in references")
    title = f"N-grams right more, or less, often than in {first}"
    return Table(title, columns, rows, label="ngram-differences", left=2)


def _segments(comparison: Comparison) -> Table:
    by_label = {metric.label: metric for metric in comparison.metrics}
    places = {system.name: place for place, system in enumerate(comparison.systems)}
    first = comparison.systems[0].name
    rows = []
    for one in _examples(comparison):
        segment, metric = comparison.segments[one[2]], by_label[one[0]]
        scores = segment.scores[one[0]]
        place = places[one[1]]
        head = (one[0], str(one[2] + 1))
        for number, reference in enumerate(segment.references, 1):
            name = "reference" if len(segment.references) == 1 else f"reference {number}"
            rows.append(
                (*(head if number == 1 else (NOTHING,) * 2), name, reference.text, NOTHING)
            )
        for name, number in ((first, 0), (one[1], place)):
            text = segment.outputs[number].text
            rows.append((NOTHING, NOTHING, name, text, shown(scores[number], metric)))
    columns = ("metric", "line", "", "text", "score")
    title = "Segments with the largest differences"
    return Table(title, columns, rows, label="segments", left=4, prose=(3,))


def _examples(comparison: Comparison) -> Iterator[tuple[str, str, int]]:
    """Yield (metric, system, segment) of the best gains and the largest losses."""
    found = comparison.differences.segments
    for metric in comparison.metrics:
        for system in comparison.systems[1:]:
            own = [o for o in found if o.metric == metric.label and o.system == system.name]
            gains = [o for o in own if (o.difference > 0) == metric.higher_is_better]
            losses = [o for o in own if (o.difference > 0) != metric.higher_is_better]
            yield from (
                (metric.label, system.name, o.segment)
                for o in (*gains[:EXAMPLES], *losses[-EXAMPLES:])
            )


def _score_of(comparison: Comparison, metric: ComparedMetric, system: str) -> SystemScore:
    return next(
        score
        for score in comparison.scores
        if score.metric == metric.label and score.system == system
    )


def _mean_count(value: float) -> str:
    return f"{value:.0f}" if value.is_integer() else f"{value:.1f}"


def _percent(value: float) -> str:
    return f"{100.0 * value:.2f}"


def _ratio(a: float, b: float) -> float:
    return a / b if b else 0.0
