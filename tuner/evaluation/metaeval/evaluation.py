"""Evaluates several metrics against human scores, on one test set or on several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from portmert.metrics._base import FloatArray
from portmert.tuner.evaluation.correlation import VARIANTS, pearson, rounded, spearman, williams
from portmert.tuner.evaluation.metaeval.accuracies import SoftAccuracy, calibrated
from portmert.tuner.evaluation.metaeval.data import Judged, MetricScores
from portmert.tuner.evaluation.metaeval.differences import (
    Block,
    Permuted,
    metric_pairs,
    permute,
    permute_rows,
)
from portmert.tuner.evaluation.metaeval.intervals import (
    Draws,
    PearsonSums,
    Resampled,
    correct_pairs,
    interval,
    pair_correlations,
    pair_sums,
    pearson_sums,
    row_correlations,
    system_samples,
)
from portmert.tuner.ground import streams

PEARSONS = (
    "pearson",
    "pearson_weighted",
    "pearson_mean_removed",
    "pearson_mean_removed_weighted",
)
SYSTEMS = tuple(f"system.{name}" for name in ("spearman", "pearson", "pairwise", "soft_pairwise"))
KENDALLS = tuple(f"segment.{name}" for name in (*VARIANTS, "acc_eq"))
SEGMENTS = tuple(f"segment.{name}" for name in (*PEARSONS, "pearson_by_item"))
DOCUMENTS = tuple(f"document.{name}" for name in PEARSONS)
LIKENESS = ("likeness.king", "likeness.orange")
MEASURES = (*SYSTEMS, *KENDALLS, *SEGMENTS, *DOCUMENTS, *LIKENESS)
"""Level and correlation; those that the data are enough for."""


@dataclass(frozen=True)
class Settings:
    """Says how uncertainty is estimated.

    Parameters
    ----------
    samples
        Bootstrap samples, and permutations.
    level
        Share of the samples within an interval.
    resampled
        What a bootstrap sample is drawn from.
    seed
        Of both.
    """

    samples: int = 1000
    level: float = 0.95
    resampled: Resampled = "both"
    seed: int = 1


@dataclass(frozen=True)
class Estimate:
    """Holds one correlation and its bootstrap interval; None where there is nothing to compute."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Agreement:
    """Says how well one metric agrees with people.

    Parameters
    ----------
    system_scores
        (M,) higher is better.
    correlations
        For each of `MEASURES` that the data are enough for.
    documents
        (D,) Spearman's rho of the systems' scores on each document.
    epsilon
        What the accuracy with ties is calibrated to; None of one system.
    """

    label: str
    signature: str
    system_scores: tuple[float, ...]
    correlations: dict[str, Estimate]
    documents: tuple[float, ...]
    epsilon: float | None


@dataclass(frozen=True)
class Difference:
    """Holds two metrics under one measure.

    Parameters
    ----------
    value
        The first one's correlation less the second one's.
    tested
        The same as the permutation test sees it, with system scores that are means of segment
        scores.
    p_perm_both, p_corrected
        Two-sided, of permutations, as it is and corrected for the number of pairs of metrics.
    p_williams
        Two-sided; None where the test does not apply.
    """

    value: float
    tested: float
    p_perm_both: float
    p_corrected: float
    p_williams: float | None


Differences = dict[tuple[int, int], dict[str, Difference]]


@dataclass(frozen=True, eq=False)
class MetaEvaluation:
    """Holds all that is found on one test set.

    Parameters
    ----------
    differences
        (i, j), i < j -> measure -> difference of metrics i and j.
    better, at_least
        (n, n): on which share of the documents the first metric's rho is higher than the second
        one's, or as high; None without documents.
    segment_scores
        (n, S, M) of the metrics; for charts.
    name
        Of the test set, where there are several.
    """

    judged: Judged
    settings: Settings
    agreements: tuple[Agreement, ...]
    differences: Differences
    better: FloatArray | None
    at_least: FloatArray | None
    segment_scores: FloatArray = field(repr=False)
    name: str = ""


@dataclass(frozen=True, eq=False)
class Measured:
    """Holds what one test set gives, and what several are put together from.

    Parameters
    ----------
    found : MetaEvaluation
    samples : tuple of dict
        Of each metric: measure -> (B,), the data itself first.
    pearsons : tuple of dict
        Of each metric: level -> sums.
    pairs : tuple of (B, 5) float64
        Of each metric, as of `pair_sums`; empty of one system.
    blocks : dict
        Level -> the data points.
    rows : dict
        Measure -> (n, N) values of rows, and (N,) their weights.
    permuted : Permuted
    """

    found: MetaEvaluation
    samples: tuple[dict[str, FloatArray], ...]
    pearsons: tuple[dict[str, PearsonSums], ...]
    pairs: tuple[FloatArray, ...]
    blocks: dict[str, Block]
    rows: dict[str, tuple[FloatArray, FloatArray]]
    permuted: Permuted | None


def evaluate(
    data: Judged, scores: Sequence[MetricScores], settings: Settings = Settings()
) -> MetaEvaluation:
    """Correlate the metrics' scores with people's, and compare the metrics.

    Raises
    ------
    ValueError
        No metric.
    """
    return measure(data, scores, settings).found


def measure(
    data: Judged,
    scores: Sequence[MetricScores],
    settings: Settings,
    *,
    name: str = "",
    number: int = 1,
) -> Measured:
    """Evaluate metrics on one test set, and keep what it is put together with others from.

    Parameters
    ----------
    name, number
        Of the test set, numbers from 1.

    Raises
    ------
    ValueError
        No metric.
    """
    if not scores:
        raise ValueError("at least one metric is needed")
    seed = streams.test_set(settings.seed, number)
    draws = {
        level: Draws.draw(
            count,
            len(data.systems),
            samples=settings.samples,
            resampled=settings.resampled,
            rng=streams.agreement_bootstrap(seed, stream),
        )
        for stream, (level, count) in enumerate(
            (("segment", len(data.human)), ("document", len(data.document_names)))
        )
        if count
    }
    soft = None
    if len(data.systems) > 1:
        soft = SoftAccuracy(data, draws["segment"], settings, seed=seed)
    levels = _levels(data, scores)
    each = [_of_metric(data, place, one, draws, levels, soft) for place, one in enumerate(scores)]
    samples = tuple(one.samples for one in each)
    epsilons = [one.epsilon for one in each]
    rows = _rows(data, scores, epsilons)
    permuted = _permuted(levels, rows, settings, seed) if len(scores) > 1 else None
    documents = _document_correlations(data, scores)
    agreements = tuple(
        Agreement(
            one.label,
            one.signature,
            tuple(one.system_scores.tolist()),
            estimates(own, settings.level),
            tuple(documents[:, place].tolist()),
            epsilon,
        )
        for place, (one, own, epsilon) in enumerate(zip(scores, samples, epsilons, strict=True))
    )
    better = at_least = None
    if len(documents):
        better, at_least = shares(documents)
    differences = differences_of(samples, permuted)
    if differences:
        differences = _with_williams(data, scores, agreements, differences)
    found_here = MetaEvaluation(
        data, settings, agreements, differences, better, at_least,
        np.stack([one.segment_scores for one in scores]), name,
    )  # fmt: skip
    pairs = tuple(one.pairs for one in each if one.pairs is not None)
    pearsons = tuple(one.pearsons for one in each)
    return Measured(found_here, samples, pearsons, pairs, levels, rows, permuted)


class _OfMetric(NamedTuple):
    """Holds of one metric what `Measured` and `Agreement` hold of all."""

    samples: dict[str, FloatArray]
    pearsons: dict[str, PearsonSums]
    pairs: FloatArray | None
    epsilon: float | None


def _of_metric(
    data: Judged,
    place: int,
    scores: MetricScores,
    draws: Mapping[str, Draws],
    levels: Mapping[str, Block],
    soft: SoftAccuracy | None,
) -> _OfMetric:
    """Compute every measure of the metric that is `place` among the scores of `levels`."""
    found: dict[str, FloatArray] = {}
    pearsons = {}
    pairs = epsilon = None
    if soft is not None:
        found |= _named("system", system_samples(data, scores, draws["segment"]))
        found["system.soft_pairwise"] = soft.samples(scores)
        epsilon = calibrated(data.pairs, scores.segment_scores)
        pairs = pair_sums(data, scores.segment_scores, draws["segment"], epsilon=epsilon)
        found |= _named("segment", pair_correlations(pairs))
    for level, block in levels.items():
        pearsons[level] = pearson_sums(block.points, block.scores[place], draws[level])
        kept = pearsons[level].correlations(systems=len(data.systems))
        if level == "document":
            kept.pop("pearson_by_item", None)
        found |= _named(level, kept)
    if scores.likeness is not None:
        found |= _named("likeness", scores.likeness.samples(draws["segment"]))
    _forget_single_rows(found, draws)
    return _OfMetric(found, pearsons, pairs, epsilon)


def _forget_single_rows(samples: Mapping[str, FloatArray], draws: Mapping[str, Draws]) -> None:
    """Leave of levels with one row the data alone: there is nothing to resample."""
    for name, values in samples.items():
        level = name.partition(".")[0]
        if draws.get(level, draws["segment"]).rows.shape[1] == 1:
            values[1:] = np.nan


def _named(level: str, found: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    return {f"{level}.{name}": values for name, values in found.items()}


def _levels(data: Judged, scores: Sequence[MetricScores]) -> dict[str, Block]:
    """Return the data points of segments and, where they are known, of documents."""
    segments = np.stack([one.segment_scores for one in scores])
    several = len(data.systems) > 1
    found = {"segment": Block(data.points, segments, data.pairs if several else None)}
    if data.documents is not None:
        points = data.points
        judged = (points.counts > 0).astype(np.float64)
        weights = data.by_document(judged)
        found["document"] = Block(
            data.document_points,
            np.stack(
                [
                    data.by_document(judged * one) / np.where(weights > 0, weights, 1.0)
                    for one in segments
                ]
            ),
        )
    return found


def _rows(
    data: Judged, scores: Sequence[MetricScores], epsilons: Sequence[float | None]
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return (n, S) values of rows and (S,) their weights, of measures that are means of rows."""
    found = {}
    if len(data.systems) > 1:
        values = np.stack([row_correlations(data.points, one.segment_scores) for one in scores])
        found["segment.pearson_by_item"] = values, data.points.varies.astype(np.float64)
        pairs = data.pairs
        total = (pairs.better + pairs.worse + pairs.tied).sum(axis=1)
        right = [
            correct_pairs(pairs, one.segment_scores, epsilon or 0.0).sum(axis=1)
            for one, epsilon in zip(scores, epsilons, strict=True)
        ]
        found["segment.acc_eq"] = (
            np.stack(right) / np.maximum(total, 1.0), (total > 0).astype(np.float64),
        )  # fmt: skip
    likeness = [one.likeness for one in scores if one.likeness is not None]
    if likeness:
        whole = np.ones(len(data.human))
        found["likeness.king"] = np.stack([one.king for one in likeness]), whole
        orange = np.stack([one.orange.mean(axis=1) for one in likeness])
        found["likeness.orange"] = orange, whole
    return found


def _permuted(
    levels: Mapping[str, Block],
    rows: Mapping[str, tuple[FloatArray, FloatArray]],
    settings: Settings,
    seed: int,
) -> Permuted:
    observed: dict[str, FloatArray] = {}
    samples: dict[str, FloatArray] = {}
    for stream, (level, block) in enumerate(levels.items()):
        rng = streams.agreement_permutations(seed, stream)
        found = permute([block], level, permutations=settings.samples, rng=rng)
        observed |= found.observed
        samples |= found.samples
    rng = streams.agreement_permutations(seed, 2)
    for name, one in rows.items():
        observed[name], samples[name] = permute_rows([one], permutations=settings.samples, rng=rng)
    return Permuted(observed, samples)


def _document_correlations(data: Judged, scores: Sequence[MetricScores]) -> FloatArray:
    """Return (D, n): Spearman's rho of the systems' scores on each document, under each metric."""
    if data.documents is None or len(data.systems) < 2:
        return np.zeros((0, len(scores)))
    count = len(data.document_names)
    points = data.points
    judged, human = np.zeros((2, count, len(data.systems)))
    np.add.at(judged, data.documents, points.counts)
    np.add.at(human, data.documents, points.counts * points.human)
    of_metrics = []
    for one in scores:
        totals = np.zeros((count, *one.stats.shape[1:]))
        np.add.at(totals, data.documents, one.stats)
        of_metrics.append(rounded(one.oriented(totals)))
    stacked = np.stack(of_metrics)  # (n, D, M)
    human = rounded(human / np.maximum(judged, 1.0))
    found = np.zeros((count, len(scores)))
    for number, known in enumerate(judged > 0):
        found[number] = spearman(stacked[:, number, known], human[number, known])
    return found


def shares(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (n, n): on which share of units the first metric's value is higher, or as high.

    Parameters
    ----------
    values : (D, n) float64
        Of each unit (a document, a test set) and metric.
    """
    near = np.round(values, 12).T
    return (near[:, None] > near).mean(axis=-1), (near[:, None] >= near).mean(axis=-1)


def estimates(samples: Mapping[str, FloatArray], level: float) -> dict[str, Estimate]:
    """Return value and interval of each measure from its samples, the data itself first."""
    found = {}
    for name in MEASURES:
        if name not in samples:
            continue
        value = float(samples[name][0])
        low, high = interval(samples[name][1:], level) or (None, None)
        found[name] = Estimate(None if np.isnan(value) else value, low, high)
    return found


def differences_of(
    samples: Sequence[Mapping[str, FloatArray]], permuted: Permuted | None
) -> Differences:
    """Return differences of all pairs of metrics under each measure that can be tested."""
    found: Differences = {}
    if permuted is None:
        return found
    pairs = [(int(i), int(j)) for i, j in metric_pairs(len(samples))]
    p_values = permuted.p_values()
    names = [name for name in MEASURES if name in p_values]
    corrected = permuted.corrected()
    for place, (i, j) in enumerate(pairs):
        row = found[i, j] = {}
        for name in names:
            value = float(samples[i][name][0] - samples[j][name][0])
            if np.isnan(value):  # people tied all systems on all segments
                continue
            row[name] = Difference(
                value,
                float(permuted.observed[name][place]),
                float(p_values[name][place]),
                float(corrected[name][place]),
                None,
            )
    return found


def _with_williams(
    data: Judged,
    scores: Sequence[MetricScores],
    agreements: Sequence[Agreement],
    differences: Differences,
) -> Differences:
    """Return the differences with Williams' test where it applies."""
    points = data.points
    vectors = {"segment.pearson": np.stack([one.segment_scores.ravel() for one in scores])}
    weights = {"segment.pearson": points.counts.ravel()}
    if len(data.systems) > 1:
        vectors["system.pearson"] = np.stack([one.system_scores for one in scores])
        weights["system.pearson"] = np.ones(len(data.systems))
    between = {
        name: np.stack([pearson(one, rows, weights=weights[name]) for one in rows])
        for name, rows in vectors.items()
    }
    found: Differences = {}
    for (i, j), row in differences.items():
        found[i, j] = dict(row)
        for name in vectors:
            first, second = (agreements[k].correlations[name].value for k in (i, j))
            if name not in row or first is None or second is None:
                continue
            count = int(weights[name].sum())
            p = williams(first, second, float(between[name][i, j]), count=count)
            if not np.isnan(p):
                found[i, j][name] = replace(row[name], p_williams=p)
    return found
