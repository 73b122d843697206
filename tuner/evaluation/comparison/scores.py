"""Scores of all systems, their spread, and what is shown by the differences: Table 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from portmert.metrics._base import FloatArray, Metric
from portmert.tuner.evaluation.comparison.material import Material
from portmert.tuner.evaluation.comparison.model import (
    ComparedMetric,
    LinksScore,
    NgramCounts,
    OrderCounts,
    OrderingScores,
    SystemScore,
)
from portmert.tuner.evaluation.comparison.summary import untested_luck
from portmert.tuner.evaluation.significance import Resampling, holm, systems_tested
from portmert.tuner.executors.team import Team
from portmert.tuner.ground.numbers import shown_p
from portmert.tuner.texts.statistics import compute_stats

ORDERING = ("v", "rho", "tau", "port", "port-rho", "port-tau", "qmean")
"""Tables 8, 9 and 10 of the PORT paper."""


@dataclass(frozen=True, eq=False)
class Counted:
    """Statistics of all outputs under one metric.

    Parameters
    ----------
    label
        What was asked for: name and options.
    stats : (N, S, K) float64
    """

    label: str
    metric: Metric
    stats: FloatArray

    def of_system(self, material: Material, system: int) -> FloatArray:
        """Return (R, S, K): the statistics of a system's replicas."""
        return self.stats[material.members(system)]

    def corpus_scores(self) -> FloatArray:
        """Return (N,): the score of each output."""
        return self.metric.score(self.stats.sum(axis=1))

    def segment_scores(self, material: Material) -> list[FloatArray]:
        """Return for each system (S,): the score of each segment, a mean over replicas."""
        each = self.metric.score(self.stats)
        return [
            each[material.members(system)].mean(axis=0) for system in range(len(material.replicas))
        ]


def count(material: Material, metrics: Mapping[str, Metric], *, threads: int) -> list[Counted]:
    """Compute the statistics of every output under every metric.

    Raises
    ------
    InputError
        The material lacks what a metric needs.
    """
    batch = material.batch_of_all()
    shape = (len(material), len(material.outputs), -1)
    return [
        Counted(
            label,
            metric,
            compute_stats(metric, batch, threads=threads).reshape(shape).transpose(1, 0, 2),
        )
        for label, metric in metrics.items()
    ]


def describe_metric(label: str, metric: Metric, signature: str) -> ComparedMetric:
    """Return what the reports say of a metric."""
    return ComparedMetric(
        label=label,
        name=metric.name(),
        signature=signature,
        source=metric.source,
        higher_is_better=metric.higher_is_better,
        in_percent=metric.in_percent,
    )


def score_systems(
    names: Sequence[str],
    material: Material,
    counted: Sequence[Counted],
    resampling: Resampling,
    team: Team | None = None,
) -> tuple[SystemScore, ...]:
    """Return the score of every system under every metric, metric by metric, with its tests."""
    spreads, differences = systems_tested(
        [one.metric for one in counted],
        [[one.of_system(material, system) for one in counted] for system in range(len(names))],
        resampling,
        team,
    )
    flat = [found for of_metric in differences for found in of_metric]
    tests = ("p", "p_randomization", "p_bootstrap")
    corrected = iter(zip(*(holm([getattr(f, p) for f in flat]) for p in tests), strict=True))
    scores = []
    for one, of_metric, changes in zip(counted, spreads, differences, strict=True):
        for number, (name, spread) in enumerate(zip(names, of_metric, strict=True)):
            known = {"metric": one.label, "system": name, **vars(spread)}
            if number:
                ps = dict(zip(tests, next(corrected), strict=True))
                known |= vars(changes[number - 1])
                known |= {f"{test}_holm": p for test, p in ps.items()}
            scores.append(SystemScore(**known))
    return tuple(scores)


def headlines(
    scores: Sequence[SystemScore],
    metrics: Sequence[ComparedMetric],
    called: Mapping[str, str],
    *,
    confidence: float,
) -> tuple[str, ...]:
    """Return a sentence for each system but the first and each metric: what was shown.

    A difference is shown if its corrected p is below 1 - `confidence`. Of systems with one replica
    the sentence says that it may be luck of tuning.

    Parameters
    ----------
    called
        Name of each system, the first one first -> what sentences call it.
    """
    replicas = {called[score.system]: len(score.replica_scores) for score in scores}
    by_label = {metric.label: metric for metric in metrics}
    first, lines = next(iter(called.values())), []
    for score in scores:
        if score.difference is None or score.p is None or score.p_holm is None:
            continue
        metric = by_label[score.metric]
        p, corrected = (_equation(value) for value in (score.p, score.p_holm))
        change = f"{shown(score.difference, metric, sign=True)}, p {p}"
        if corrected != p:
            change += f", {corrected.removeprefix('= ')} corrected"
        if untested := untested_luck([first, called[score.system]], replicas):
            change += f"; {untested}"
        if score.p_holm >= 1 - confidence:
            lines.append(
                f"{score.metric}: no difference shown between {called[score.system]} and {first} "
                f"({change})"
            )
            continue
        is_better = (score.difference > 0) == metric.higher_is_better
        word = "better" if is_better else "worse"
        lines.append(f"{score.metric}: {called[score.system]} is {word} than {first} ({change})")
    return tuple(lines)


def _equation(p: float) -> str:
    text = shown_p(p)
    return text.replace("<", "< ") if text.startswith("<") else f"= {text}"


def shown(score: float, metric: ComparedMetric, *, sign: bool = False) -> str:
    """Return a score as it is printed: in percent, or as it is if it is no share."""
    plus = "+" if sign else ""
    return f"{100.0 * score:{plus}.2f}" if metric.in_percent else f"{score:{plus}.4f}"


def ordering_scores(
    names: Sequence[str], material: Material, counted: Sequence[Counted]
) -> tuple[OrderingScores, ...]:
    """Return Tables 8, 9 and 10; `counted` holds the metrics of `ORDERING`."""
    scores = {one.label: one.corpus_scores() for one in counted}
    return tuple(
        OrderingScores(
            name,
            {label: float(scores[label][material.members(system)].mean()) for label in ORDERING},
        )
        for system, name in enumerate(names)
    )


def ngram_counts(
    names: Sequence[str], material: Material, *, qmean: Counted, bleu: Counted
) -> tuple[NgramCounts, ...]:
    """Return Table 11: n-grams of each order and the length penalties, means over replicas."""
    tables = []
    for system, name in enumerate(names):
        members = material.members(system)
        parts = _mean_parts(qmean, members)
        tables.append(
            NgramCounts(
                system=name,
                orders=tuple(
                    OrderCounts(
                        order=n,
                        matched=parts[f"matched_{n}"],
                        total=parts[f"total_{n}"],
                        reference_total=parts[f"ref_total_{n}"],
                        precision=parts[f"p{n}"],
                        recall=parts[f"r{n}"],
                    )
                    for n in range(1, 5)
                ),
                brevity_penalty=_mean_parts(bleu, members)["BP"],
                strict_brevity_penalty=parts["SBP"],
                strict_redundancy_penalty=parts["SRP"],
            )
        )
    return tuple(tables)


def links_scores(
    names: Sequence[str], material: Material, counted: Sequence[Counted]
) -> list[LinksScore]:
    """Return the scores under one set of links: a part of Table 7."""
    assert material.links is not None  # noqa: S101
    return [
        LinksScore(
            material.links,
            name,
            one.label,
            float(one.corpus_scores()[material.members(system)].mean()),
        )
        for one in counted
        for system, name in enumerate(names)
    ]


def _mean_parts(counted: Counted, members: Sequence[int]) -> dict[str, float]:
    rows = [counted.metric.parts(row) for row in counted.stats[list(members)].sum(axis=1)]
    return {key: sum(row[key] for row in rows) / len(rows) for key in rows[0]}
