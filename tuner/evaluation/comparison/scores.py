"""Scores all systems: means, spreads, tests, times, and scores under several sets of links.

Results are parts of the document that `compare_systems` returns.
"""

import itertools
import timeit
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from portmert.aligners._agreement import Gold, agreement
from portmert.metrics._base import FloatArray, Metric, Ragged

from ...base.errors import InputError, faults_at
from ...components import registry
from ...texts.corpus import interleaved, make_batch
from ...texts.groups import Groups
from ...texts.statistics import compute_stats, finite_scores
from .. import power
from ..significance import Pair, PairTest, Resampling, correct, systems_tested
from .material import Material
from .report import ORDERING


@dataclass(frozen=True, eq=False)
class Counted:
    """Statistics of all outputs under one metric.

    Parameters
    ----------
    label
        The metric as the user wrote it: name and options.
    stats
        For each system (R, S, K) float64: those of its replicas.
    """

    label: str
    metric: Metric
    stats: Sequence[FloatArray]

    def corpus_scores(self) -> list[float]:
        """Return the score of each system, a mean over replicas."""
        return [float(self.metric.score(stats.sum(axis=1)).mean()) for stats in self.stats]

    def segment_scores(self) -> list[FloatArray]:
        """Return for each system (S,): the score of each segment, a mean over replicas."""
        return [
            self.metric.segment_scores(stats, stats.sum(axis=1, keepdims=True)).mean(axis=0)
            for stats in self.stats
        ]


def count(material: Material, metrics: Mapping[str, Metric]) -> list[Counted]:
    """Compute the statistics of every output under every metric.

    Raises
    ------
    InputError
        The material lacks what a metric needs.
    """
    outputs, segments = sum(material.replicas), len(material)
    offsets = np.arange(segments + 1, dtype=np.int64) * outputs
    batch = make_batch(interleaved(material.texts, outputs), offsets, material.references)
    ends = np.cumsum(material.replicas)[:-1]
    counted = []
    for label, metric in metrics.items():
        stats = compute_stats(metric, batch, outputs=material.names)
        by_output = np.ascontiguousarray(stats.reshape(segments, outputs, -1).swapaxes(0, 1))
        counted.append(Counted(label, metric, np.split(by_output, ends)))
    return counted


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
    names: Sequence[str],
    counted: Sequence[Counted],
    resampling: Resampling,
    groups: Groups | None = None,
) -> list[dict[str, Any]]:
    """Return the score of every system under every metric, metric by metric, with its tests.

    Each has the values of `significance.Spread` and `significance.PairTest`, the smallest
    difference that could be shown (`smallest`), how many segments or groups would show the one
    found (`needed`), and the values of `in_families`: all systems on the first metric are planned
    comparisons. The first system has None for all that compares a system with it.
    """
    scores = rows_of_tests(names, counted, resampling, groups)
    return in_families(scores, [(counted[0].label, name) for name in names[1:]], resampling)


def rows_of_tests(
    names: Sequence[str],
    counted: Sequence[Counted],
    resampling: Resampling,
    groups: Groups | None,
    pairs: Sequence[Pair] = (),
) -> list[dict[str, Any]]:
    """Return rows of `score_systems`, not corrected for their number; or one for each pair.

    Each row of a pair says which system is the `first`.
    """
    tables = list(zip(*(counts.stats for counts in counted), strict=True))
    for name, tables_of_system in zip(names, tables, strict=True):
        for counts, stats in zip(counted, tables_of_system, strict=True):
            with faults_at(name, InputError, InputError):
                finite_scores(counts.metric, stats.sum(axis=1))
    metrics = [x.metric for x in counted]
    spreads, tests = systems_tested(metrics, tables, resampling, groups, pairs)
    units = counted[0].stats[0].shape[1] if groups is None else len(groups)
    untested = dict.fromkeys([*(field.name for field in fields(PairTest)), "smallest", "needed"])
    scores = []
    for counts, of_metric, of_pairs in zip(counted, spreads, tests, strict=True):
        compared: list[tuple[int, int, PairTest | None]] = [] if pairs else [(0, 0, None)]
        every = pairs or [(0, n) for n in range(1, len(names))]
        compared += [(*pair, test) for pair, test in zip(every, of_pairs, strict=True)]
        for first, number, test in compared:
            row = {"metric": counts.label, "system": names[number], **vars(of_metric[number])}
            row = counts.metric.display.with_rates(row | untested)
            if test is not None:
                row |= vars(test)
                row["smallest"] = power.smallest_difference(row, resampling.level)
                row["needed"] = power.units_needed(row["difference"], row, units, resampling.level)
            scores.append({"first": names[first], **row} if pairs else row)
    return scores


def in_families(
    rows: Sequence[Mapping[str, Any]],
    planned: Collection[tuple[str, str]],
    resampling: Resampling | None = None,
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
    return correct(scores, ("p", "p_randomization", "p_bootstrap"), resampling)


def ordering_scores(names: Sequence[str], counted: Sequence[Counted]) -> list[dict[str, Any]]:
    """Return Tables 8, 9 and 10: for each system the metrics of `ORDERING`, if counted."""
    scores = {counts.label: counts.corpus_scores() for counts in counted}
    return [
        {"system": name, "scores": {label: scores[label][number] for label in ORDERING}}
        for number, name in enumerate(names if scores else ())
    ]


def part_scores(
    names: Sequence[str],
    counted: Sequence[Counted],
    of_order: Sequence[Counted],
    parts: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Return the scores of every system on each test set, by its number of segments."""
    ends = np.cumsum([0, *parts.values()])
    scores = []
    for name, first, end in zip(parts, ends[:-1], ends[1:], strict=True):
        part, order = (
            [replace(x, stats=[stats[:, first:end] for stats in x.stats]) for x in several]
            for several in (counted, of_order)
        )
        rows = [
            {"metric": counts.label, "system": system, "score": score}
            for counts in part
            for system, score in zip(names, counts.corpus_scores(), strict=True)
        ]
        scores.append({"name": name, "scores": rows, "ordering": ordering_scores(names, order)})
    return scores


def ngram_counts(names: Sequence[str], *, qmean: Counted, bleu: Counted) -> list[dict[str, Any]]:
    """Return Table 11: n-grams of each order and the length penalties, means over replicas.

    `brevity_penalty` is BLEU's, the strict ones are PORT's.
    """
    keys = {
        "matched": "matched_", "total": "total_", "reference_total": "ref_total_",
        "precision": "p", "recall": "r",
    }  # fmt: skip
    tables = []
    for system, name in enumerate(names):
        of_qmean, of_bleu = (
            [counts.metric.parts(row) for row in counts.stats[system].sum(axis=1)]
            for counts in (qmean, bleu)
        )
        parts = {key: sum(row[key] for row in of_qmean) / len(of_qmean) for key in of_qmean[0]}
        tables.append(
            {
                "system": name,
                "orders": [
                    {"order": n, **{key: parts[f"{part}{n}"] for key, part in keys.items()}}
                    for n in range(1, 5)
                ],
                "brevity_penalty": sum(row["BP"] for row in of_bleu) / len(of_bleu),
                "strict_brevity_penalty": parts["SBP"],
                "strict_redundancy_penalty": parts["SRP"],
            }
        )
    return tables


ROUNDS = 3
"""Rounds of a measurement. The fastest counts: other work only makes a round slower."""


def time_metrics(material: Material, metrics: Mapping[str, Metric]) -> list[dict[str, Any]]:
    """Time the statistics of the first output, in this process, on one thread: Table 6.

    The metrics have been computed before, so their code is compiled and loaded. `ratio` is
    relative to BLEU.
    """

    def seconds_of(material: Material, metric: Metric) -> float:
        # A batch caches results.
        batches = [material.batch(material.outputs[0][0]) for _ in range(ROUNDS)]
        return min(
            timeit.repeat(lambda: compute_stats(metric, batches.pop()), repeat=ROUNDS, number=1)
        )

    bleu = seconds_of(material.in_words(), registry.metric("bleu"))
    return [
        {"metric": label, "seconds": seconds, "ratio": seconds / bleu}
        for label, metric in metrics.items()
        for seconds in [bleu if label == "bleu" else seconds_of(material, metric)]
    ]


def alignments(materials: Sequence[Material], counted: Sequence[Counted]) -> dict[str, Any] | None:
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
    scores, rates = [], []
    for material in materials:
        linked_counts = [counts for counts in counted if counts.label in linked]
        if material is not materials[0]:
            linked_counts = count(material, linked)
        scores += [
            {
                "links": material.links,
                "system": name,
                "metric": counts.label,
                "score": score,
            }
            for counts in linked_counts
            for name, score in zip(material.systems, counts.corpus_scores(), strict=True)
        ]
    for first_material, second_material in itertools.combinations(materials, 2):
        first = first_material.references.texts.links
        second = second_material.references.texts.links
        assert first is not None  # noqa: S101
        assert second is not None  # noqa: S101
        aer = error_rate(first, second)
        rates.append({"first": first_material.links, "second": second_material.links, "aer": aer})
    sets = [material.links for material in materials]
    return {"sets": sets, "scores": scores, "agreement": rates}


def error_rate(first: Ragged, second: Ragged) -> float:
    """Return the alignment error rate of two sets of links of the same texts; 0 if both are empty.

    All links are taken as sure, so the rate is the same in both directions.
    """
    rows, others = (
        [frozenset((i, j) for i, j in links.row(k).tolist()) for k in range(len(links))]
        for links in (first, second)
    )
    return agreement(list(map(list, rows)), [Gold(row, row) for row in others]).error_rate or 0.0
