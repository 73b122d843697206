"""Sentences about a comparison: which system is better, by how much, and how sure that is.

Every function takes the comparison as plain data, as `compare_systems` returns it.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from portmert.metrics._display import Display

from ...base.numbers import shown_p
from ..formatting import changed, directed, listed, p_value, signed, spread

Comparison = Mapping[str, Any]

MAX_SENTENCES = 3
"""Systems that get a sentence each, with numbers. More share a sentence for each verdict."""


def called_by_metric(system: str, tuned_on: str | None) -> str:
    """Return a system's name for sentences: `PORT-tuned` if it is named after its metric.

    Parameters
    ----------
    tuned_on
        The signature of the metric it was tuned on, if known.
    """
    metric = (tuned_on or "").partition("|")[0].partition(":")[0]
    return f"{system.upper()}-tuned" if metric and system.lower() == metric else system


def headlines(comparison: Comparison) -> tuple[str, ...]:
    """Return a sentence for each metric and each system but the first.

    A difference is shown if its corrected p is below 1 - `confidence`. If a system was tuned
    once, the sentence says that luck of tuning is untested.

    Parameters
    ----------
    comparison
        Its `systems`, `metrics`, `scores`, `confidence` and `tuning_luck_untested` are enough,
        here and in `summaries`.
    """
    names, metrics, lines = _names_in_sentences(comparison), metrics_by_label(comparison), []
    first = next(iter(names.values()), "")
    for row in comparison["scores"]:
        if row["difference"] is None or row["p"] is None or row["p_holm"] is None:
            continue
        metric, system = metrics[row["metric"]], names[row["system"]]
        p, corrected = (_equation(row[key]) for key in ("p", "p_holm"))
        change = f"{changed(row['difference'], metric)}, p {p}"
        if corrected != p:
            change += f", {corrected.removeprefix('= ')} corrected"
        if untested := untested_luck([first, system], _untested(comparison, names)):
            change += f"; {untested}"
        verdict = _verdict(row, metric, comparison)
        sentence = f"{system} is {verdict} than {first}"
        if verdict == "neither":
            sentence = f"no difference shown between {system} and {first}"
        lines.append(f"{directed(metric)}: {sentence} ({change})")
    return tuple(lines)


def summaries(comparison: Comparison) -> list[str]:
    """Return for each system but the first the metrics on which it is better, worse, neither.

    If there are many, systems with the same verdict share a sentence without numbers.
    """
    names, metrics = _names_in_sentences(comparison), metrics_by_label(comparison)
    verdicts: dict[str, dict[str, list[str]]] = {
        name: {"better": [], "worse": [], "neither": []} for name in list(names)[1:]
    }
    for row in comparison["scores"]:
        if row["system"] in verdicts and row["p_holm"] is not None:
            verdict = _verdict(row, metrics[row["metric"]], comparison)
            verdicts[row["system"]][verdict].append(row["metric"])
    groups: dict[Any, list[str]] = {}
    for number, (name, by_verdict) in enumerate(verdicts.items()):
        same = tuple(map(tuple, by_verdict.values()))
        groups.setdefault(same if len(verdicts) > MAX_SENTENCES else number, []).append(name)
    sentences = (
        _summary(comparison, names, group, verdicts[group[0]]) for group in groups.values()
    )
    return list(filter(None, sentences))


def against(comparison: Comparison, name: str) -> list[str]:
    """Return for each metric whether the first system beats the system with that name.

    The planned comparison is the first.
    """
    metrics, base, sentences = metrics_by_label(comparison), comparison["systems"][0]["name"], []
    for row in sorted(comparison["scores"], key=lambda row: row["family"] != "planned"):
        if row["system"] != name or row["p_holm"] is None:
            continue
        metric = metrics[row["metric"]]
        verdict = _verdict(row, metric, comparison)
        p = f"p {_equation(row['p_holm'])}"
        size = spread(abs(row["difference"]), metric)
        winner, loser = (base, name) if verdict == "worse" else (name, base)
        if verdict == "neither":
            change = f"{changed(-row['difference'], metric)} {directed(metric)}"
            sentences.append(f"no difference shown between {base} and {name} ({change}, {p})")
        elif Display.of(metric).lower_is_better:
            sentences.append(f"{winner} beats {loser}: it lowers {row['metric']} by {size}, {p}")
        else:
            sentences.append(f"{winner} beats {loser} by {size} {row['metric']}, {p}")
    return sentences


def untested_luck(systems: Sequence[str], untested: Collection[str]) -> str:
    """Return which of these systems were tuned once, so that luck of tuning is untested."""
    single = [name for name in systems if name in untested]
    if len(single) == len(systems):
        return "tuning luck untested"
    return f"tuning luck of {', '.join(single)} untested" if single else ""


def correction(comparison: Comparison) -> str:
    """Return for which comparisons p is corrected: the planned ones, and all others."""
    rows = [row for row in comparison["scores"] if row["difference"] is not None]
    planned = [row for row in rows if row["family"] == "planned"]
    if len(planned) in (0, len(rows)):
        return "corrected for all rows"
    names = list(dict.fromkeys(row["system"] for row in planned))
    systems = listed(names) if len(names) <= MAX_SENTENCES else f"{len(names)} systems"
    metric = planned[0]["metric"]
    return f"corrected for the planned rows ({systems} on {metric}), and for all others"


def is_significant(row: Mapping[str, Any], comparison: Comparison) -> bool:
    """Return whether the corrected p of a difference is below 1 - `confidence`."""
    return row["p_holm"] is not None and row["p_holm"] < 1 - comparison["confidence"]


def metrics_by_label(comparison: Comparison) -> dict[str, Mapping[str, Any]]:
    """Return the metrics of a comparison by their labels."""
    return {metric["label"]: metric for metric in comparison["metrics"]}


def _names_in_sentences(comparison: Comparison) -> dict[str, str]:
    """Return the name of each system in sentences. Two of the same name keep their own."""
    names = {x["name"]: called_by_metric(x["name"], x["tuned_on"]) for x in comparison["systems"]}
    in_sentences = list(names.values())
    return {
        name: name if in_sentences.count(by_metric) > 1 else by_metric
        for name, by_metric in names.items()
    }


def _untested(comparison: Comparison, names: Mapping[str, str]) -> set[str]:
    return {names[name] for name in comparison["tuning_luck_untested"]}


def _verdict(row: Mapping[str, Any], metric: Mapping[str, Any], comparison: Comparison) -> str:
    if not is_significant(row, comparison) or row["difference"] == 0:
        return "neither"
    return "better" if (row["difference"] > 0) == metric["higher_is_better"] else "worse"


def _equation(p: float) -> str:
    p_text = shown_p(p)
    return p_text.replace("<", "< ") if p_text.startswith("<") else f"= {p_text}"


def _summary(
    comparison: Comparison,
    names: Mapping[str, str],
    group: list[str],
    metrics_by_verdict: dict[str, list[str]],
) -> str:
    """Return a sentence on systems with one verdict; empty if they were not tested."""
    first, systems = next(iter(names.values())), listed([names[name] for name in group])
    with_numbers = len(names) - 1 <= MAX_SENTENCES
    rows = {row["metric"]: row for row in comparison["scores"] if row["system"] == group[0]}
    metrics = metrics_by_label(comparison)

    def with_change(label: str) -> str:
        p = p_value(rows[label]["p_holm"])
        equation = p if p.startswith("<") else f"= {p}"
        change = signed(rows[label]["difference"], metrics[label])
        return f"{directed(metrics[label])} ({change}, p {equation})"

    parts = []
    for verdict in ("better", "worse"):
        if labels := metrics_by_verdict[verdict]:
            described = listed([*map(with_change, labels)] if with_numbers else labels)
            parts.append(f"{verdict} than {first} on {described}")
    undecided = metrics_by_verdict["neither"]
    neither = f"no difference shown on {listed(undecided)}" if undecided else ""
    is_one = len(group) == 1
    if parts:
        sentence = f"{systems} {'is' if is_one else 'are'} {', '.join(parts)}"
        sentence = "; ".join(filter(None, (sentence, neither)))
    elif neither:
        sentence = f"{systems} {'and' if is_one else 'against'} {first}: {neither}"
    else:
        return ""
    luck = untested_luck([first, *(names[name] for name in group)], _untested(comparison, names))
    return "; ".join(filter(None, (sentence, luck)))
