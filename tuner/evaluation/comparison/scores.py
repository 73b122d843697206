"""Scores all systems: means, spreads, tests, times, and scores under several sets of links."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from portmert.metrics._base import FloatArray, Metric, Ragged
from portmert.tuner.components import registry
from portmert.tuner.evaluation.comparison.material import Material
from portmert.tuner.evaluation.comparison.model import (
    Alignments,
    ComparedMetric,
    LinksAgreement,
    LinksScore,
    NgramCounts,
    OrderCounts,
    OrderingScores,
    SystemScore,
    Timing,
)
from portmert.tuner.evaluation.comparison.report import ORDERING
from portmert.tuner.evaluation.significance import Resampling, holm, systems_tested
from portmert.tuner.executors.team import Team
from portmert.tuner.texts.statistics import compute_stats


@dataclass(frozen=True, eq=False)
class Counted:
    """Statistics of all outputs under one metric.

    Parameters
    ----------
    label
        The metric as the user wrote it: name and options.
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
    """Return a metric as reports describe it."""
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


def ordering_scores(
    names: Sequence[str], material: Material, counted: Sequence[Counted]
) -> tuple[OrderingScores, ...]:
    """Return Tables 8, 9 and 10; `counted` has the metrics of `ORDERING`."""
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


ROUNDS = 3
"""Rounds of a measurement. The fastest counts: other work only makes a round slower."""


def time_metrics(material: Material, metrics: Mapping[str, Metric]) -> tuple[Timing, ...]:
    """Time the statistics of the first output, on one thread.

    The metrics have been computed before, so their code is compiled and loaded.
    """
    bleu = _seconds(material, registry.metric("bleu"))
    return tuple(
        Timing(label, seconds, seconds / bleu)
        for label, metric in metrics.items()
        for seconds in [bleu if label == "bleu" else _seconds(material, metric)]
    )


def _seconds(material: Material, metric: Metric) -> float:
    fastest = float("inf")
    for _ in range(ROUNDS):
        batch = material.batch(0)  # a new one: a batch caches results
        begin = time.perf_counter()
        compute_stats(metric, batch)
        fastest = min(fastest, time.perf_counter() - begin)
    return fastest


def alignments(materials: Sequence[Material], scores: Sequence[LinksScore]) -> Alignments | None:
    """Return Table 7; None without two sets of links."""
    if len(materials) < 2:
        return None
    agreement = []
    for one, other in itertools.combinations(materials, 2):
        first, second = one.references.texts.links, other.references.texts.links
        assert first is not None  # noqa: S101
        assert second is not None  # noqa: S101
        agreement.append(
            LinksAgreement(str(one.links), str(other.links), error_rate(first, second))
        )
    return Alignments(
        sets=tuple(str(material.links) for material in materials),
        scores=tuple(scores),
        agreement=tuple(agreement),
    )


def error_rate(first: Ragged, second: Ragged) -> float:
    """Return the alignment error rate of two sets of links of the same texts.

    All links are taken as sure, so the rate is the same in both directions:
    1 - 2 |A n B| / (|A| + |B|) (Och and Ney 2003); 0 if both are empty.
    """
    one, other = _keys(first), _keys(second)
    if not len(one) + len(other):
        return 0.0
    return 1.0 - 2.0 * len(np.intersect1d(one, other)) / (len(one) + len(other))


def _keys(links: Ragged) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return a number for each link, of its text, source position and target position."""
    values = links.values[links.offsets[0] : links.offsets[-1]].astype(np.int64).reshape(-1, 2)
    rows = np.repeat(np.arange(len(links), dtype=np.int64), links.lengths)
    return np.unique((rows << 40) | (values[:, 0] << 20) | values[:, 1])
