"""Sentences about a comparison: which system is better, by how much, and how sure that is."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from ...base.numbers import shown_p
from ..formatting import ShownMetric, listed, p_or_dash, p_value

Comparison = Mapping[str, Any]
"""A comparison as plain data, as `compare_systems` returns it."""
Row = Mapping[str, Any]

MAX_SENTENCES = 3
"""Systems that get a sentence each, with numbers. More share a sentence for each verdict."""


class ShownComparison:
    """What sentences and tables of a comparison use.

    Parameters
    ----------
    comparison
        Needed are `systems`, `metrics`, `scores`, `confidence` and `tuning_luck_untested`.

    Attributes
    ----------
    names
        The names of the systems; the others are compared with the first.
    metrics
        By their labels.
    scores
        Metric and system -> row of `scores`.
    called
        Name of each system in sentences. Two of the same name keep their own.
    """

    def __init__(self, comparison: Comparison) -> None:
        systems = comparison["systems"]
        self.comparison = comparison
        self.names = [system["name"] for system in systems]
        self.metrics = {x["label"]: ShownMetric.of(x) for x in comparison["metrics"]}
        self.scores = {(row["metric"], row["system"]): row for row in comparison["scores"]}
        self.is_tuned = any(system["tuned_on"] for system in systems)
        by_metric = [called_by_metric(x["name"], x["tuned_on"]) for x in systems]
        self.called = {
            name: name if by_metric.count(called) > 1 else called
            for name, called in zip(self.names, by_metric, strict=True)
        }

    @property
    def has_replicas(self) -> bool:
        """Whether any system has several outputs."""
        return any(system["replicas"] > 1 for system in self.comparison["systems"])

    def change(self, row: Row, p_values: Sequence[str] = ("p", "p_holm")) -> list[str]:
        """Return metric, system, difference, interval and p-values of a row as printed."""
        metric = self.metrics[row["metric"]]
        return [
            metric.directed,
            row["system"],
            metric.shown_change(row["difference"]),
            metric.interval(row["difference_low"], row["difference_high"]),
            *(p_or_dash(row[key]) for key in p_values),
        ]

    def is_significant(self, row: Row) -> bool:
        """Return whether the corrected p of a difference is below 1 - `confidence`."""
        return row["p_holm"] is not None and row["p_holm"] < 1 - self.comparison["confidence"]

    def verdicts(self) -> Iterator[tuple[str, Row, ShownMetric]]:
        """Yield `better`, `worse` or `neither` of each tested difference, its row and metric."""
        for row in self.comparison["scores"]:
            if row["difference"] is not None and row["p_holm"] is not None:
                metric = self.metrics[row["metric"]]
                is_better = (row["difference"] > 0) == metric.higher_is_better
                shown = self.is_significant(row) and row["difference"] != 0
                yield "neither" if not shown else "better" if is_better else "worse", row, metric

    @cached_property
    def verdict_of(self) -> dict[tuple[str, str], str]:
        """Metric and system -> `better`, `worse` or `neither`."""
        return {(row["metric"], row["system"]): verdict for verdict, row, _ in self.verdicts()}

    def untested_luck(self, names: Collection[str]) -> str:
        """Return which of these systems were tuned once, so that chance in tuning is untested."""
        untested = self.comparison["tuning_luck_untested"]
        single = [name for name in names if name in untested]
        if len(single) == len(names):
            return "chance in tuning untested"
        return f"chance in tuning of {', '.join(single)} untested" if single else ""


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
    once, the sentence says that chance in tuning is untested.
    """
    view, lines = ShownComparison(comparison), []
    first = next(iter(view.called.values()), "")
    for verdict, row, metric in view.verdicts():
        system = view.called[row["system"]]
        p, corrected = (_equation(shown_p(row[key])) for key in ("p", "p_holm"))
        change = f"{metric.shown_change(row['difference'])}, p {p}"
        if corrected != p:
            change += f", {corrected.removeprefix('= ')} corrected"
        if untested := view.untested_luck([view.names[0], row["system"]]):
            change += f"; {untested}"
        sentence = f"{system} is {verdict} than {first}"
        if verdict == "neither":
            sentence = f"no difference shown between {system} and {first}"
        lines.append(f"{metric.directed}: {sentence} ({change})")
    return tuple(lines)


def summaries(comparison: Comparison) -> list[str]:
    """Return for each system but the first the metrics on which it is better, worse, neither.

    If there are many, systems with the same verdict share a sentence without numbers.
    """
    view = ShownComparison(comparison)
    others = view.names[1:]
    by_system: dict[str, dict[str, dict[str, str]]] = {
        name: {"better": {}, "worse": {}, "neither": {}} for name in others
    }
    for verdict, row, metric in view.verdicts():
        p = _equation(p_value(row["p_holm"]))
        change = f"{metric.directed} ({metric.signed(row['difference'])}, p {p})"
        by_system[row["system"]][verdict][metric.label] = change
    groups: dict[Any, list[str]] = {}
    for name, verdicts in by_system.items():
        same = tuple(map(tuple, verdicts.values())) if len(others) > MAX_SENTENCES else name
        groups.setdefault(same, []).append(name)
    sentences = (_summary(view, group, by_system[group[0]]) for group in groups.values())
    return list(filter(None, sentences))


def _summary(
    view: ShownComparison, group: Sequence[str], verdicts: Mapping[str, Mapping[str, str]]
) -> str:
    """Return a sentence on systems with one verdict; empty if they were not tested."""
    first, systems = view.called[view.names[0]], listed([view.called[name] for name in group])
    with_numbers = len(view.names) - 1 <= MAX_SENTENCES
    parts = []
    for verdict in ("better", "worse"):
        if changes := verdicts[verdict]:
            described = listed([*(changes.values() if with_numbers else changes)])
            parts.append(f"{verdict} than {first} on {described}")
    undecided = listed([*verdicts["neither"]])
    neither = f"no difference shown on {undecided}" if undecided else ""
    is_one = len(group) == 1
    if parts:
        sentence = f"{systems} {'is' if is_one else 'are'} {', '.join(parts)}"
    elif neither:
        sentence = f"{systems} {'and' if is_one else 'against'} {first}: {neither}"
        neither = ""
    else:
        return ""
    return "; ".join(
        filter(None, (sentence, neither, view.untested_luck([view.names[0], *group])))
    )


def against(comparison: Comparison, name: str) -> list[str]:
    """Return for each metric whether the first system beats the system with that name.

    The planned comparison is the first.
    """
    view, sentences = ShownComparison(comparison), []
    base = view.names[0]
    for verdict, row, metric in sorted(view.verdicts(), key=lambda x: x[1]["family"] != "planned"):
        if row["system"] != name:
            continue
        p = f"p {_equation(shown_p(row['p_holm']))}"
        size = metric.shown_spread(abs(row["difference"]))
        winner, loser = (base, name) if verdict == "worse" else (name, base)
        if verdict == "neither":
            change = f"{metric.shown_change(-row['difference'])} {metric.directed}"
            sentences.append(f"no difference shown between {base} and {name} ({change}, {p})")
        elif metric.lower_is_better:
            sentences.append(f"{winner} beats {loser}: it lowers {metric.label} by {size}, {p}")
        else:
            sentences.append(f"{winner} beats {loser} by {size} {metric.label}, {p}")
    return sentences


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


def _equation(p: str) -> str:
    """Return a p-value behind a sign of equality, or as it is if it is below the least."""
    return f"< {p.lstrip('< ')}" if p.startswith("<") else f"= {p}"
