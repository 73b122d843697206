"""Evaluates several metrics against human scores."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from tuner import streams
from tuner.evaluation.correlation import (
    VARIANTS,
    Pairs,
    kendall,
    mean_removed,
    pearson,
    rounded,
    spearman,
    williams,
)
from tuner.evaluation.metaeval.differences import permutation_tests
from tuner.evaluation.metaeval.intervals import (
    Draws,
    Resampled,
    interval,
    kendall_samples,
    pearson_samples,
    system_samples,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metrics._base import FloatArray
    from tuner.evaluation.metaeval.data import Judged, MetricScores

PEARSONS = (
    "pearson",
    "pearson_weighted",
    "pearson_mean_removed",
    "pearson_mean_removed_weighted",
)
MEASURES = (
    "system.spearman",
    "system.pearson",
    *(f"segment.{name}" for name in (*VARIANTS, *PEARSONS)),
    *(f"document.{name}" for name in PEARSONS),
)
"""Level and correlation; those of documents only where documents are known."""


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
        For each of `MEASURES`.
    documents
        (D,) Spearman's rho of the systems' scores on each document.
    """

    label: str
    signature: str
    system_scores: tuple[float, ...]
    correlations: dict[str, Estimate]
    documents: tuple[float, ...]


@dataclass(frozen=True)
class Difference:
    """Holds two metrics under one measure.

    Parameters
    ----------
    value
        The first one's correlation less the second one's.
    tested
        The same as PERM-BOTH sees it, with system scores that are means of segment scores.
    p_perm_both, p_williams
        Two-sided; None where a test does not apply.
    """

    value: float
    tested: float | None
    p_perm_both: float | None
    p_williams: float | None


@dataclass(frozen=True, eq=False)
class MetaEvaluation:
    """Holds all that is found.

    Parameters
    ----------
    differences
        (i, j), i < j -> measure -> difference of metrics i and j.
    better, at_least
        (n, n): on which share of the documents the first metric's rho is higher than the second
        one's, or as high; None without documents.
    """

    judged: Judged
    settings: Settings
    agreements: tuple[Agreement, ...]
    differences: dict[tuple[int, int], dict[str, Difference]]
    better: FloatArray | None
    at_least: FloatArray | None


def evaluate(
    data: Judged, scores: Sequence[MetricScores], settings: Settings = Settings()
) -> MetaEvaluation:
    """Correlate the metrics' scores with people's, and compare the metrics.

    Raises
    ------
    ValueError
        No metric.
    """
    if not scores:
        raise ValueError("at least one metric is needed")
    segments, systems = data.human.shape
    draws = {
        level: _draw(count, systems, settings, stream=stream)
        for stream, (level, count) in enumerate(
            (("segment", segments), ("document", len(data.document_names)))
        )
        if count > 1  # one row alone can not be resampled
    }
    agreements = tuple(_agreement(data, one, draws, settings.level) for one in scores)
    better = at_least = None
    if data.documents is not None:
        rho = np.round([one.documents for one in agreements], 12)
        better = (rho[:, None] > rho).mean(axis=-1)
        at_least = (rho[:, None] >= rho).mean(axis=-1)
    return MetaEvaluation(
        data, settings, agreements, _differences(data, scores, agreements, settings),
        better, at_least,
    )  # fmt: skip


def _agreement(
    data: Judged, scores: MetricScores, draws: Mapping[str, Draws], level: float
) -> Agreement:
    values = {
        "system.spearman": spearman(rounded(scores.system_scores), rounded(data.system_scores)),
        "system.pearson": pearson(scores.system_scores, data.system_scores),
        **_kendalls(data, scores.segment_scores),
        **_pearsons("segment", data.human, scores.segment_scores, data.lengths),
    }
    samples = _samples(data, scores, draws)
    documents: list[float] = []
    if data.documents is not None:
        human, metric = data.by_document(data.human), data.by_document(scores.segment_scores)
        values |= _pearsons("document", human, metric, data.document_lengths)
        documents = [
            float(
                spearman(
                    rounded(scores.oriented(scores.stats[part].sum(axis=0))),
                    rounded(data.human[part].mean(axis=0)),
                )
            )
            for part in (data.documents == number for number in range(len(data.document_names)))
        ]
    return Agreement(
        scores.label,
        scores.signature,
        tuple(scores.system_scores.tolist()),
        {
            name: _estimate(float(values[name]), samples.get(name), level)
            for name in MEASURES
            if name in values
        },
        tuple(documents),
    )


def _kendalls(data: Judged, scores: FloatArray) -> dict[str, FloatArray]:
    pairs = Pairs.of(data.human)
    concordant, discordant = (counts.sum() for counts in pairs.outcomes(scores))
    total = np.asarray(float(pairs.count))
    return {f"segment.{name}": kendall(concordant, discordant, total, name) for name in VARIANTS}


def _pearsons(
    level: str, human: FloatArray, metric: FloatArray, lengths: FloatArray
) -> dict[str, FloatArray]:
    weights = np.repeat(lengths, human.shape[1])
    found = {}
    for name, (x, y) in (
        ("pearson", (metric, human)),
        ("pearson_mean_removed", (mean_removed(metric), mean_removed(human))),
    ):
        found[f"{level}.{name}"] = pearson(x.ravel(), y.ravel())
        found[f"{level}.{name}_weighted"] = pearson(x.ravel(), y.ravel(), weights=weights)
    return found


def _samples(
    data: Judged, scores: MetricScores, draws: Mapping[str, Draws]
) -> dict[str, FloatArray]:
    """Return (B,) of each measure that can be resampled; the same draws for all metrics."""
    found: dict[str, FloatArray] = {}
    if "segment" in draws:
        drawn, metric = draws["segment"], scores.segment_scores
        for level, samples in (
            ("system", system_samples(data, scores, drawn)),
            ("segment", kendall_samples(data, metric, drawn)),
            ("segment", pearson_samples(data.human, metric, data.lengths, drawn)),
        ):
            found |= {f"{level}.{name}": values for name, values in samples.items()}
    if "document" in draws:
        samples = pearson_samples(
            data.by_document(data.human),
            data.by_document(scores.segment_scores),
            data.document_lengths,
            draws["document"],
        )
        found |= {f"document.{name}": values for name, values in samples.items()}
    return found


def _draw(rows: int, systems: int, settings: Settings, *, stream: int) -> Draws:
    return Draws.draw(
        rows,
        systems,
        samples=settings.samples,
        resampled=settings.resampled,
        rng=streams.agreement_bootstrap(settings.seed, stream),
    )


def _estimate(value: float, samples: FloatArray | None, level: float) -> Estimate:
    bounds = None if samples is None else interval(samples, level)
    low, high = bounds or (None, None)
    return Estimate(None if np.isnan(value) else value, low, high)


def _differences(
    data: Judged,
    scores: Sequence[MetricScores],
    agreements: Sequence[Agreement],
    settings: Settings,
) -> dict[tuple[int, int], dict[str, Difference]]:
    permuted = permutation_tests(
        data.human,
        [one.segment_scores for one in scores],
        permutations=settings.samples,
        rng=streams.agreement_permutations(settings.seed),
    )
    found: dict[tuple[int, int], dict[str, Difference]] = {}
    for i, j in combinations(range(len(scores)), 2):
        vectors = {
            "system.pearson": (scores[i].system_scores, scores[j].system_scores),
            "segment.pearson": (scores[i].segment_scores, scores[j].segment_scores),
        }
        row = {}
        for name in ("system.pearson", "system.spearman", "segment.pearson", "segment.wmt10"):
            first, second = (agreements[k].correlations[name].value for k in (i, j))
            if first is None or second is None:  # people tied all systems on all segments
                continue
            tested, p = permuted[i, j][name]
            p_williams = None
            if name in vectors:
                a, b = (side.ravel() for side in vectors[name])
                p_williams = williams(first, second, float(pearson(a, b)), count=a.size)
            row[name] = Difference(
                first - second, tested, p,
                None if p_williams is None or np.isnan(p_williams) else p_williams,
            )  # fmt: skip
        found[i, j] = row
    return found
