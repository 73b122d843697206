"""Scores all systems: means, spreads, tests, times, and scores under several sets of links.

Results are parts of the document that `compare_systems` returns.
"""

import itertools
import timeit
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from portmert.metrics._base import FloatArray, Metric, Ragged

from ...base.errors import InputError, faults_at
from ...components import registry
from ...texts.statistics import compute_stats, finite_scores
from ..significance import PairTest, Resampling, holm_in_families, systems_tested
from .material import Material
from .report import ORDERING


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


def count(material: Material, metrics: Mapping[str, Metric]) -> list[Counted]:
    """Compute the statistics of every output under every metric.

    Raises
    ------
    InputError
        The material lacks what a metric needs.
    """
    batch = material.batch_of_all()
    shape = (len(material), len(material.outputs), -1)
    stats = {
        label: compute_stats(metric, batch, outputs=material.names)
        for label, metric in metrics.items()
    }
    return [
        Counted(label, metric, stats[label].reshape(shape).transpose(1, 0, 2))
        for label, metric in metrics.items()
    ]


def described(counted: Counted, signature: str) -> dict[str, Any]:
    """Return what a comparison says of a metric."""
    metric = counted.metric
    return {
        "label": counted.label,
        "name": metric.name(),
        "signature": signature,
        "source": metric.source,
        "higher_is_better": metric.higher_is_better,
        "in_percent": metric.in_percent,
        "is_error_rate": metric.is_error_rate,
    }


def score_systems(
    names: Sequence[str], material: Material, counted: Sequence[Counted], resampling: Resampling
) -> list[dict[str, Any]]:
    """Return the score of every system under every metric, metric by metric, with its tests.

    Each has the values of `significance.Spread` and `significance.PairTest`, and those of
    `in_families`: all systems on the first metric are planned comparisons. The first system has
    None for all that compares a system with it.
    """
    for system, name in enumerate(names):
        for counts in counted:
            with faults_at(name, InputError, InputError):
                finite_scores(counts.metric, counts.of_system(material, system).sum(axis=1))
    spreads, differences = systems_tested(
        [counts.metric for counts in counted],
        [
            [counts.of_system(material, system) for counts in counted]
            for system in range(len(names))
        ],
        resampling,
    )
    untested = dict.fromkeys(field.name for field in fields(PairTest))
    scores = []
    for counts, of_metric, changes in zip(counted, spreads, differences, strict=True):
        for number, (name, spread) in enumerate(zip(names, of_metric, strict=True)):
            row = {"metric": counts.label, "system": name, **vars(spread), **untested}
            row = counts.metric.display.with_rates(row)
            scores.append(row | (vars(changes[number - 1]) if number else {}))
    return in_families(scores, [(counted[0].label, name) for name in names[1:]])


def in_families(
    rows: Sequence[Mapping[str, Any]], planned: Collection[tuple[str, str]]
) -> list[dict[str, Any]]:
    """Return scores of systems with corrected p-values: `p_holm` and so on.

    Planned comparisons are corrected for their own number only, all others for the number of
    these. So a planned comparison has the same p whatever else is reported.

    Parameters
    ----------
    rows
        As `score_systems` returns them.
    planned
        The metric and the system of each planned comparison. The row's `family` is then
        `planned`, else `further`; None where nothing is compared.
    """
    scores: list[dict[str, Any]] = [{**row, "family": None} for row in rows]
    for row in scores:
        if row["difference"] is not None:
            is_planned = (row["metric"], row["system"]) in planned
            row["family"] = "planned" if is_planned else "further"
    holm_in_families(scores, ("p", "p_randomization", "p_bootstrap"))
    return scores


def ordering_scores(
    names: Sequence[str], material: Material, counted: Sequence[Counted]
) -> list[dict[str, Any]]:
    """Return Tables 8, 9 and 10: for each system the metrics of `ORDERING`, in `counted`."""
    scores = {counts.label: counts.corpus_scores() for counts in counted}
    return [
        {
            "system": name,
            "scores": {label: scores[label][material.members(n)].mean() for label in ORDERING},
        }
        for n, name in enumerate(names)
    ]


def ngram_counts(
    names: Sequence[str], material: Material, *, qmean: Counted, bleu: Counted
) -> list[dict[str, Any]]:
    """Return Table 11: n-grams of each order and the length penalties, means over replicas.

    `brevity_penalty` is BLEU's, the strict ones are PORT's.
    """
    tables = []
    for system, name in enumerate(names):
        members = material.members(system)
        parts = _mean_parts(qmean, members)
        keys = {
            "matched": "matched_", "total": "total_", "reference_total": "ref_total_",
            "precision": "p", "recall": "r",
        }  # fmt: skip
        tables.append(
            {
                "system": name,
                "orders": [
                    {"order": n, **{key: parts[f"{part}{n}"] for key, part in keys.items()}}
                    for n in range(1, 5)
                ],
                "brevity_penalty": _mean_parts(bleu, members)["BP"],
                "strict_brevity_penalty": parts["SBP"],
                "strict_redundancy_penalty": parts["SRP"],
            }
        )
    return tables


def _mean_parts(counted: Counted, members: Sequence[int]) -> dict[str, float]:
    rows = [counted.metric.parts(row) for row in counted.stats[list(members)].sum(axis=1)]
    return {key: sum(row[key] for row in rows) / len(rows) for key in rows[0]}


ROUNDS = 3
"""Rounds of a measurement. The fastest counts: other work only makes a round slower."""


def time_metrics(material: Material, metrics: Mapping[str, Metric]) -> list[dict[str, Any]]:
    """Time the statistics of the first output, in this process, on one thread: Table 6.

    The metrics have been computed before, so their code is compiled and loaded. `ratio` is
    relative to BLEU.
    """
    bleu = _seconds(material.in_words(), registry.metric("bleu"))
    return [
        {"metric": label, "seconds": seconds, "ratio": seconds / bleu}
        for label, metric in metrics.items()
        for seconds in [bleu if label == "bleu" else _seconds(material, metric)]
    ]


def _seconds(material: Material, metric: Metric) -> float:
    batches = [material.batch(0) for _ in range(ROUNDS)]  # a batch caches results
    return min(
        timeit.repeat(lambda: compute_stats(metric, batches.pop()), repeat=ROUNDS, number=1)
    )


def alignments(
    names: Sequence[str], materials: Sequence[Material], counted: Sequence[Counted]
) -> dict[str, Any] | None:
    """Return Table 7: the same outputs under several sets of links; None without two sets.

    Its `agreement` has the alignment error rate (`aer`) of each two sets of reference links.

    Parameters
    ----------
    counted
        Statistics of the first material. Metrics that need no links are left out: they have the
        same scores under any links.
    """
    if len(materials) < 2:
        return None
    linked = {counts.label: counts.metric for counts in counted if "links" in counts.metric.needs}
    scores, agreement = [], []
    for material in materials:
        linked_counts = [counts for counts in counted if counts.label in linked]
        if material is not materials[0]:
            linked_counts = count(material, linked)
        scores += [
            {
                "links": material.links,
                "system": name,
                "metric": counts.label,
                "score": counts.corpus_scores()[material.members(system)].mean(),
            }
            for counts in linked_counts
            for system, name in enumerate(names)
        ]
    for first_material, second_material in itertools.combinations(materials, 2):
        first = first_material.references.texts.links
        second = second_material.references.texts.links
        assert first is not None  # noqa: S101
        assert second is not None  # noqa: S101
        aer = error_rate(first, second)
        agreement.append(
            {"first": first_material.links, "second": second_material.links, "aer": aer}
        )
    sets = [material.links for material in materials]
    return {"sets": sets, "scores": scores, "agreement": agreement}


def error_rate(first: Ragged, second: Ragged) -> float:
    """Return the alignment error rate of two sets of links of the same texts.

    All links are taken as sure, so the rate is the same in both directions:
    1 - 2 |A n B| / (|A| + |B|) (Och and Ney 2003); 0 if both are empty.
    """
    keys = []  # a number for each link, of its text, source position and target position
    for links in (first, second):
        values = links.alone().values.astype(np.int64).reshape(-1, 2)
        rows = np.repeat(np.arange(len(links), dtype=np.int64), links.lengths)
        keys.append(np.unique((rows << 40) | (values[:, 0] << 20) | values[:, 1]))
    first_keys, second_keys = keys
    both = len(first_keys) + len(second_keys)
    return 1.0 - 2.0 * len(np.intersect1d(first_keys, second_keys)) / both if both else 0.0
