"""Shows a comparison: sentences, tables and charts.

Every function takes the comparison as plain data, as `compare_request()` returns it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from portmert.metrics._display import Display

from ...base import tables as printed
from ...base.errors import counted
from ...base.numbers import shown_p
from ...base.tables import NOTHING, Table, fold, inert
from ..documents import (
    Chart,
    changed,
    chart,
    charted,
    directed,
    interval,
    listed,
    option,
    p_or_dash,
    p_value,
    shown,
    signed,
    spread,
)

Document = Mapping[str, Any]

ORDERING = ("v", "rho", "tau", "port", "port-rho", "port-tau", "qmean")
"""Tables 8, 9 and 10 of the PORT paper."""
BLANK = ""
"""Stands in a table where nothing belongs."""
MOST_NGRAMS = 5
"""N-grams of each system and direction in these tables; JSON and HTML have more."""
MOST_ACROSS = 4
"""Systems in columns. More stand in rows, so that the table is no wider than a page."""
MOST_SYSTEMS = 3
"""Systems that get a sentence each, with numbers. More share a sentence for each verdict."""
MOST_TOGETHER = 3
"""Systems whose differences share a chart. Of more, one metric at a time is shown."""
EXAMPLES = 1
"""Segments of each metric, system and direction in these tables."""


def as_text(document: Document) -> str:
    """Return the whole comparison as sentences and aligned tables."""
    blocks = []
    if len(document["systems"]) > MOST_SYSTEMS + 1:
        blocks.append("\n".join(fold(inert(line)) for line in summaries(document)))
    elif document["headlines"]:
        blocks.append(inert("\n".join(document["headlines"])))
    if document["notes"]:
        blocks.append("\n".join(fold(inert(f"note: {note}")) for note in document["notes"]))
    blocks.append(printed.as_text(tables(document)))
    blocks.append("\n".join(metric["signature"] for metric in document["metrics"]))
    return "\n\n".join(blocks)


# Sentences.


def spoken(system: str, tuned_on: str | None) -> str:
    """Return a system's name for sentences: `PORT-tuned` if it is named after its metric.

    Parameters
    ----------
    tuned_on
        The signature of the metric it was tuned on, if known.
    """
    metric = (tuned_on or "").partition("|")[0].partition(":")[0]
    return f"{system.upper()}-tuned" if metric and system.lower() == metric else system


def headlines(document: Document) -> tuple[str, ...]:
    """Return a sentence for each metric and each system but the first.

    A difference is shown if its corrected p is below 1 - `confidence`. If a system was tuned
    once, the sentence says that luck of tuning is untested.

    Parameters
    ----------
    document
        Its `systems`, `metrics`, `scores`, `confidence` and `tuning_luck_untested` are enough,
        here and in `summaries`.
    """
    called, by_label, lines = _called(document), _by_label(document), []
    first = next(iter(called.values()), "")
    for row in document["scores"]:
        if row["difference"] is None or row["p"] is None or row["p_holm"] is None:
            continue
        metric, system = by_label[row["metric"]], called[row["system"]]
        p, corrected = (_equation(row[key]) for key in ("p", "p_holm"))
        change = f"{changed(row['difference'], metric)}, p {p}"
        if corrected != p:
            change += f", {corrected.removeprefix('= ')} corrected"
        if untested := untested_luck([first, system], _untested(document, called)):
            change += f"; {untested}"
        verdict = _verdict(row, metric, document)
        said = f"{system} is {verdict} than {first}"
        if verdict == "neither":
            said = f"no difference shown between {system} and {first}"
        lines.append(f"{directed(metric)}: {said} ({change})")
    return tuple(lines)


def summaries(document: Document) -> list[str]:
    """Return for each system but the first the metrics on which it is better, worse, neither.

    If there are many, systems with the same verdict share a sentence without numbers.
    """
    called = _called(document)
    found: dict[str, dict[str, list[str]]] = {}
    for name in list(called)[1:]:
        found[name] = {"better": [], "worse": [], "neither": []}
    for row in document.get("scores", ()):
        if row["system"] in found and row["p_holm"] is not None:
            verdict = _verdict(row, _by_label(document)[row["metric"]], document)
            found[row["system"]][verdict].append(row["metric"])
    groups: dict[Any, list[str]] = {}
    for number, (name, verdicts) in enumerate(found.items()):
        shape = tuple(map(tuple, verdicts.values()))
        groups.setdefault(shape if len(found) > MOST_SYSTEMS else number, []).append(name)
    sentences = (_sentence(document, called, names, found[names[0]]) for names in groups.values())
    return list(filter(None, sentences))


def tuned_apart(document: Document) -> bool:
    """Return whether systems were tuned on different metrics, as far as that is known."""
    return len({one["tuned_on"] for one in document.get("systems", ()) if one["tuned_on"]}) > 1


def against(document: Document, name: str) -> list[str]:
    """Return a sentence for each metric on whether the first system beats the one named.

    The planned comparison stands first.
    """
    metrics, base, found = _by_label(document), document["systems"][0]["name"], []
    for row in sorted(document["scores"], key=lambda row: row["family"] != "planned"):
        if row["system"] != name or row["p_holm"] is None:
            continue
        metric = metrics[row["metric"]]
        verdict = _verdict(row, metric, document)
        p = f"p {_equation(row['p_holm'])}"
        size = spread(abs(row["difference"]), metric)
        winner, loser = (base, name) if verdict == "worse" else (name, base)
        if verdict == "neither":
            change = f"{changed(-row['difference'], metric)} {directed(metric)}"
            found.append(f"no difference shown between {base} and {name} ({change}, {p})")
        elif Display.of(metric).lower_is_better:
            found.append(f"{winner} beats {loser}: it lowers {row['metric']} by {size}, {p}")
        else:
            found.append(f"{winner} beats {loser} by {size} {row['metric']}, {p}")
    return found


def untested_luck(systems: Sequence[str], untested: Collection[str]) -> str:
    """Return which of these systems were tuned once, so that luck of tuning is untested."""
    single = [name for name in systems if name in untested]
    if len(single) == len(systems):
        return "tuning luck untested"
    return f"tuning luck of {', '.join(single)} untested" if single else ""


def _called(document: Document) -> dict[str, str]:
    """Return what sentences call each system. Two of one name keep their own."""
    systems = document.get("systems", ())
    called = {one["name"]: spoken(one["name"], one.get("tuned_on")) for one in systems}
    words = list(called.values())
    return {name: said if words.count(said) == 1 else name for name, said in called.items()}


def _untested(document: Document, called: Mapping[str, str]) -> set[str]:
    return {called[name] for name in document["tuning_luck_untested"]}


def _by_label(document: Document) -> dict[str, Mapping[str, Any]]:
    return {metric["label"]: metric for metric in document["metrics"]}


def _is_shown(row: Mapping[str, Any], document: Document) -> bool:
    return row["p_holm"] is not None and row["p_holm"] < 1 - document["confidence"]


def _verdict(row: Mapping[str, Any], metric: Mapping[str, Any], document: Document) -> str:
    if not _is_shown(row, document) or row["difference"] == 0:
        return "neither"
    return "better" if (row["difference"] > 0) == metric["higher_is_better"] else "worse"


def _equation(p: float) -> str:
    text = shown_p(p)
    return text.replace("<", "< ") if text.startswith("<") else f"= {text}"


def _sentence(
    document: Document, called: Mapping[str, str], names: list[str], found: dict[str, list[str]]
) -> str:
    """Return a sentence on systems with one verdict; nothing if they were not tested."""
    first, systems = next(iter(called.values())), [called[name] for name in names]
    with_numbers = len(called) - 1 <= MOST_SYSTEMS
    rows = {row["metric"]: row for row in document["scores"] if row["system"] == names[0]}
    metrics = _by_label(document)

    def numbers(label: str) -> str:
        p = p_value(rows[label]["p_holm"])
        equation = p if p.startswith("<") else f"= {p}"
        change = signed(rows[label]["difference"], metrics[label])
        return f"{directed(metrics[label])} ({change}, p {equation})"

    parts = [
        f"{way} than {first} on {listed([numbers(x) if with_numbers else x for x in found[way]])}"
        for way in ("better", "worse")
        if found[way]
    ]
    said = f"no difference shown on {listed(found['neither'])}" if found["neither"] else ""
    if parts:
        verb = "is" if len(names) == 1 else "are"
        said = "; ".join(filter(None, (f"{listed(systems)} {verb} {', '.join(parts)}", said)))
    elif said:
        of = (
            f"{systems[0]} and {first}"
            if len(names) == 1
            else f"{listed(systems)} against {first}"
        )
        said = f"{of}: {said}"
    else:
        return ""
    luck = untested_luck([first, *systems], _untested(document, called))
    return "; ".join(filter(None, (said, luck)))


# Tables.


def tables(document: Document) -> list[Table]:
    """Return the tables of a comparison that have rows, for text and LaTeX."""
    where = document["differences"]
    found = (
        _matrix(document),
        _systems(document),
        _scores(document),
        _tests(document),
        similarity_table(document),
        ordering_table(document, "ordering", "Word order", ORDERING[:3]),
        ordering_table(
            document, "port-forms", "PORT with other measures of word order", ORDERING[3:6]
        ),
        ordering_table(document, "qmean-port", "Qmean against PORT", ("qmean", "port")),
        _ngrams(document),
        _links(document),
        agreement_table(document),
        timing_table(document),
        _bucket_table(
            document, "by-length", "Scores by reference length in tokens", "tokens",
            where["by_length"],
        ),
        _bucket_table(
            document, "by-reordering",
            "Scores by the reference's amount of reordering, 1 - v (0: the source's order)",
            "reordering", where["by_reordering"],
        ),
        _ngram_differences(document),
        _segments(document),
    )  # fmt: skip
    return [table for table in found if table is not None and table.rows]


def _matrix(document: Document) -> Table | None:
    """Return the metric each system was tuned on in rows, the metrics that judge in columns."""
    if not tuned_apart(document):
        return None
    scores, level = _score_rows(document), 1 - document["confidence"]
    rows = []
    for system in document["systems"]:
        row = _head(system, document)
        for metric in document["metrics"]:
            found = scores[metric["label"], system["name"]]
            error = "" if found["s_opt"] is None else f" ± {spread(found['s_opt'], metric)}"
            star = " *" if _is_shown(found, document) else ""
            row.append(f"{shown(found['score'], metric)}{error}{star}")
        rows.append(row)
    note = "±: s_opt, standard deviation over replicas; " if _several_replicas(document) else ""
    first = document["systems"][0]["name"]
    return Table(
        _with_luck(document, "Tuned on, and judged by"),
        (*_head_columns(document), *map(_arrowed, document["metrics"])),
        rows,
        label="matrix",
        left=2,
        note=f"{note}*: differs from {first}, corrected p below {level:.2g}.",
    )


def _head_columns(document: Document) -> list[str]:
    tuned_on, has_replicas = _is_tuned(document), _several_replicas(document)
    replicas = ["replicas"] if tuned_on or has_replicas else []
    return ["system", *(["tuned on"] if tuned_on else []), *replicas]


def _head(system: Mapping[str, Any], document: Document) -> list[str]:
    tuned_on = (system["tuned_on"] or BLANK).partition(":")[0]
    cells = {"system": system["name"], "tuned on": tuned_on, "replicas": str(system["replicas"])}
    return [cells[column] for column in _head_columns(document)]


def _is_tuned(document: Document) -> bool:
    """Return whether any system was tuned, as far as that is known."""
    return any(system["tuned_on"] for system in document["systems"])


def _several_replicas(document: Document) -> bool:
    return any(system["replicas"] > 1 for system in document["systems"])


def _with_luck(document: Document, title: str) -> str:
    """Return a title that says whose luck of tuning is untested."""
    names = [system["name"] for system in document["systems"]]
    untested = untested_luck(names, document["tuning_luck_untested"])
    return ", ".join(filter(None, (title, untested)))


def _arrowed(metric: Mapping[str, Any]) -> str:
    return f"{metric['label']} {Display.of(metric).arrow}"


def _score_rows(document: Document) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {(row["metric"], row["system"]): row for row in document["scores"]}


def _systems(document: Document) -> Table:
    rows = []
    for one in document["systems"]:
        tokens, wanted = one["hypothesis_tokens"], one["reference_tokens"]
        ratio = f"{tokens / wanted:.3f}" if wanted else NOTHING
        rows.append([*_head(one, document), f"{tokens:.0f}", ratio])
    columns = [*_head_columns(document), "tokens", "tokens / reference"]
    return Table("Systems", columns, rows, label="systems", left=1 + _is_tuned(document))


def _scores(document: Document) -> Table:
    """Return systems in rows, metrics in columns, with both standard deviations."""
    columns, scores = ["system"], _score_rows(document)
    spreads = ["s_sel", *(["s_opt"] if _several_replicas(document) else [])]
    for metric in document["metrics"]:
        columns += [_arrowed(metric), *spreads]
    rows = []
    for system in document["systems"]:
        row = [system["name"]]
        for metric in document["metrics"]:
            found = scores[metric["label"], system["name"]]
            row.append(shown(found["score"], metric))
            row += (spread(found[key], metric) for key in spreads)
        rows.append(row)
    note = "s_sel: standard deviation over the choice of the test set"
    if len(spreads) > 1:
        note = f"Means over replicas; {note}, s_opt: over replicas"
    note += "; ↑ higher is better, ↓ lower is better."
    return Table("Scores", columns, rows, label="scores", note=note)


def correction(document: Document) -> str:
    """Return for which comparisons p is corrected: of the planned ones, and of the others."""
    rows = [row for row in document["scores"] if row["difference"] is not None]
    planned = [row for row in rows if row["family"] == "planned"]
    if len(planned) in (0, len(rows)):
        return "corrected for all rows"
    names = dict.fromkeys(row["system"] for row in planned)
    who = listed([*names]) if len(names) <= MOST_SYSTEMS else f"{len(names)} systems"
    return f"corrected for the planned rows ({who} on {planned[0]['metric']}), and for all others"


def _tests(document: Document) -> Table:
    several, metrics = _several_replicas(document), _by_label(document)
    keys = ("p", "p_holm", "p_randomization", "p_bootstrap")
    names = ("p", "Holm", "p rand.", "p boot.")
    if not several:
        keys = ("p", "p_holm", "p_bootstrap", "p_bootstrap_holm")
        names = ("p rand.", "Holm", "p boot.", "Holm")
    rows = []
    for row in document["scores"]:
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
    both = "p: t-test of luck of the test set and of tuning, as the interval; "
    note = (
        f"{both if several else ''}p rand.: approximate randomization, stratified over segments"
        f"{' and replicas' if several else ''}; p boot.: paired bootstrap; all two-sided, "
        f"{counted(document['samples'], 'sample')} each, seed {document['seed']}. Holm: "
        f"{correction(document)}."
    )
    return Table(
        _with_luck(document, f"Differences from {document['systems'][0]['name']}"),
        ["metric", "system", "difference", f"{100 * document['confidence']:g} % interval", *names],
        rows,
        label="tests",
        left=2,
        note=note,
    )


def similarity_table(document: Document) -> Table:
    """Return how alike the outputs of every two systems are."""
    rows = [
        (
            pair["first"],
            "its replicas" if pair["first"] == pair["second"] else pair["second"],
            _percent(pair["identical"]),
            _percent(1.0 - pair["one_minus_ter"]),
        )
        for pair in document["similarity"]
    ]
    columns = ("system", "against", "identical %", "TER % ↓")
    return Table("Similarity of outputs", columns, rows, label="similarity", left=2)


def ordering_table(
    document: Document, label: str, title: str, names: Sequence[str] = ORDERING
) -> Table:
    """Return some scores of word order."""
    rows = [
        (one["system"], *(_percent(one["scores"][name]) for name in names))
        for one in document["ordering"]
    ]
    return Table(title, ("system", *names), rows, label=label)


def _ngrams(document: Document) -> Table:
    penalties = ("brevity_penalty", "strict_brevity_penalty", "strict_redundancy_penalty")
    rows = [
        (
            one["system"],
            *(f"{order['matched']:.0f}/{order['total']:.0f}" for order in one["orders"]),
            *(f"{one[penalty]:.3f}" for penalty in penalties),
        )
        for one in document["ngrams"]
    ]
    orders = [f"{order['order']}-gram" for order in document["ngrams"][0]["orders"]]
    means = ", means over replicas" if _several_replicas(document) else ""
    note = (
        f"Matched / total n-grams{means}. BP: BLEU's brevity penalty; SBP, SRP: PORT's strict "
        f"brevity and redundancy penalties."
    )
    columns = ("system", *orders, "BP", "SBP", "SRP")
    return Table("N-grams and length penalties", columns, rows, label="ngrams", note=note)


def _links(document: Document) -> Table | None:
    found = document["alignments"]
    if found is None:
        return None
    scores = {
        (one["links"], one["system"], one["metric"]): one["score"] for one in found["scores"]
    }
    linked = {one["metric"] for one in found["scores"]}
    metrics = [metric for metric in document["metrics"] if metric["label"] in linked]
    if not metrics:
        return None
    rows = [
        (
            links,
            system["name"],
            *(shown(scores[links, system["name"], one["label"]], one) for one in metrics),
        )
        for links in found["sets"]
        for system in document["systems"]
    ]
    columns = ("alignment", "system", *map(directed, metrics))
    return Table("Scores under several word alignments", columns, rows, label="alignments", left=2)


def agreement_table(document: Document) -> Table | None:
    """Return how far the sets of reference links disagree."""
    if document["alignments"] is None:
        return None
    rows = [
        (pair["first"], pair["second"], _percent(pair["aer"]))
        for pair in document["alignments"]["agreement"]
    ]
    title = "Disagreement of the alignments of the references"
    return Table(title, ("alignment", "against", "AER %"), rows, label="agreement", left=2)


def timing_table(document: Document) -> Table:
    """Return how long each metric takes."""
    rows = [
        (one["metric"], f"{1000 * one['seconds']:.1f}", f"{one['ratio']:.2f}")
        for one in document["timing"]
    ]
    columns = ("metric", "milliseconds", "ratio to bleu")
    return Table("Time to count one output", columns, rows, label="timing")


def _bucket_table(
    document: Document, key: str, title: str, what: str, buckets: Sequence[Mapping[str, Any]]
) -> Table:
    names = [system["name"] for system in document["systems"]]
    if len(names) > MOST_ACROSS:
        columns = ["metric", "system", *(f"{one['label']} ({one['segments']})" for one in buckets)]
        rows = [
            (
                directed(metric),
                name,
                *(shown(bucket["scores"][metric["label"]][place], metric) for bucket in buckets),
            )
            for metric in document["metrics"]
            for place, name in enumerate(names)
        ]
        note = f"Columns: {what}, in brackets the number of segments."
        return Table(title, columns, rows if buckets else [], label=key, left=2, note=note)
    rows = [
        (
            directed(metric),
            bucket["label"],
            str(bucket["segments"]),
            *(shown(score, metric) for score in bucket["scores"][metric["label"]]),
        )
        for metric in document["metrics"]
        for bucket in buckets
    ]
    return Table(title, ["metric", what, "segments", *names], rows, label=key, left=2)


def _ngram_differences(document: Document) -> Table:
    first, rows = document["systems"][0]["name"], []
    for system in document["systems"][1:]:
        found = [x for x in document["differences"]["ngrams"] if x["system"] == system["name"]]
        gains = [x for x in found if x["system_matched"] > x["first_matched"]]
        losses = [x for x in found if x["system_matched"] < x["first_matched"]]
        rows += [
            (
                system["name"],
                one["ngram"],
                _mean_count(one["system_matched"]),
                _mean_count(one["first_matched"]),
                str(int(one["reference"])),
            )
            for one in (*gains[:MOST_NGRAMS], *losses[-MOST_NGRAMS:])
        ]
    columns = ("system", "n-gram", "right", f"right in {first}", "in references")
    title = f"N-grams right more, or less, often than in {first}"
    return Table(title, columns, rows, label="ngram-differences", left=2)


def _segments(document: Document) -> Table:
    names = [system["name"] for system in document["systems"]]
    rows = []
    shown_ones = [
        (metric, system, number)
        for metric in document["metrics"]
        for system in names[1:]
        for number in _examples(document, metric, system)
    ]
    for metric, system, number in shown_ones:
        segment, label = document["segments"][number], metric["label"]
        references = segment["references"]
        for place, reference in enumerate(references):
            name = "reference" if len(references) == 1 else f"reference {place + 1}"
            head = (BLANK, BLANK) if place else (directed(metric), str(number + 1))
            rows.append((*head, name, reference["text"], BLANK))
        for place in (0, names.index(system)):
            text, score = segment["outputs"][place]["text"], segment["scores"][label][place]
            rows.append((BLANK, BLANK, names[place], text, shown(score, metric)))
    columns = ("metric", "line", "", "text", "score")
    title = "Segments with the largest differences"
    return Table(title, columns, rows, label="segments", left=4, prose=(3,))


def _examples(document: Document, metric: Mapping[str, Any], system: str) -> list[int]:
    """Return the segments of the best gains and the largest losses."""
    own = [
        one
        for one in document["differences"]["segments"]
        if one["metric"] == metric["label"] and one["system"] == system
    ]
    higher = metric["higher_is_better"]
    gains = [one["segment"] for one in own if (one["difference"] > 0) == higher]
    losses = [one["segment"] for one in own if (one["difference"] > 0) != higher]
    return [*gains[:EXAMPLES], *losses[-EXAMPLES:]]


def _mean_count(value: float) -> str:
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"


def _percent(value: float) -> str:
    return f"{100.0 * value:.2f}"


# Charts.


def charts(document: Document) -> Iterator[Chart]:
    """Yield differences from the first system, and scores of groups of segments."""
    systems = [system["name"] for system in document.get("systems", ())]
    if len(systems) > 1:
        yield _difference_chart(document, systems)
    for name, title, axis in (
        ("by-length", "By length of the reference", "tokens of the reference"),
        ("by-reordering", "By reordering of the reference", "reordering (1 - v)"),
    ):
        buckets = (document.get("differences") or {}).get(name.replace("-", "_")) or []
        categories = [f"{one['label']} ({one['segments']})" for one in buckets]
        choices = []
        for metric in document.get("metrics", ()) if buckets else ():
            label, nothing = metric["label"], [None] * len(systems)
            scores = zip(*(one["scores"].get(label) or nothing for one in buckets), strict=True)
            series = [
                {
                    "name": system,
                    "system": number,
                    "values": [charted(value, metric) for value in values],
                }
                for number, (system, values) in enumerate(zip(systems, scores, strict=True))
            ]
            label += " (lower is better)" if Display.of(metric).lower_is_better else ""
            percents = metric["in_percent"]
            choices.append(option(label, series, in_percent=percents, categories=categories))
        caption = "Score of the segments of each group by itself; in brackets, how many."
        yield chart(name, "where", "columns", title, choices, caption=caption, x=axis, y="score")


def _difference_chart(document: Document, systems: Sequence[str]) -> Chart:
    """Return differences from the first system with intervals, on metrics in percent.

    Right is better: where lower scores are better, signs are turned.
    """
    metrics = [metric for metric in document["metrics"] if metric["in_percent"]]
    rows = _score_rows(document)
    series: list[dict[str, Any]] = []
    ends = {
        "values": ("difference", "difference"),
        "low": ("difference_low", "difference_high"),
        "high": ("difference_high", "difference_low"),
    }
    for number, name in enumerate(systems[1:], 1):
        found = [rows.get((metric["label"], name), {}) for metric in metrics]
        if any(row.get("difference") is not None for row in found):
            gains: dict[str, list[float | None]] = {key: [] for key in ends}
            for metric, row in zip(metrics, found, strict=True):
                higher = metric["higher_is_better"]
                for key, (own, turned) in ends.items():
                    value = row.get(own if higher else turned)
                    gains[key].append(value if higher or value is None else -value)
            series.append({"name": name, "system": number, **gains})
    labels = [
        metric["label"] + (" (sign turned)" if Display.of(metric).lower_is_better else "")
        for metric in metrics
    ]
    choices = [option("", series, in_percent=True, categories=labels, marker=0)]
    if len(series) > MOST_TOGETHER:
        choices = [
            option(
                label,
                [
                    {
                        "name": label,
                        "system": 0,
                        "systems": [one["system"] for one in series],
                        **{key: [one[key][place] for one in series] for key in ends},
                    }
                ],
                categories=[one["name"] for one in series],
                in_percent=True,
                marker=0,
            )
            for place, label in enumerate(labels)
        ]
    lines = len(series) * (len(labels) if len(choices) == 1 else 1)
    lower = any(Display.of(metric).lower_is_better for metric in metrics)
    turned = " Where lower is better, a difference is drawn with its sign turned." if lower else ""
    return chart(
        "differences",
        "scores",
        "intervals",
        f"Difference from {systems[0]}",
        choices if series and labels else [],
        caption=f"In points, with {100 * document['confidence']:g} % intervals; right of the "
        f"dashed line is better.{turned}",
        x="gain (points)",
        tall=80 + 26 * max(lines, len(labels)),
    )
