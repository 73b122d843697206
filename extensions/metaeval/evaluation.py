"""Evaluates several metrics against human scores, on one test set or on several.

Reference: Deutsch, Foster & Freitag, "Ties Matter", EMNLP 2023, for the accuracy with ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from portmert.metrics._base import FloatArray
from portmert.metrics._display import Display
from portmert.tuner.base.variation import TIE
from portmert.tuner.evaluation.significance import Resampling
from portmert.tuner.evaluation.standard_errors import jackknife_variance
from portmert.tuner.texts.groups import Groups

from . import correlation, measures
from .data import Judged, MetricScores, Points, Resampled, each_alone
from .measures import Differences, Estimate, Rows
from .soft_accuracy import SoftAccuracy

PARTITIONS = ("document", "group")
PEARSONS = ("pearson", "pearson_weighted", "pearson_mean_removed", "pearson_mean_removed_weighted")
SYSTEMS = tuple(
    f"system.{name}"
    for name in ("spearman", "pearson", "pairwise", "soft_pairwise", "soft_pairwise_segments")
)
KENDALLS = tuple(f"segment.{name}" for name in (*correlation.VARIANTS, "acc_eq"))
SEGMENTS = tuple(f"segment.{name}" for name in (*PEARSONS, "pearson_by_item"))
DOCUMENTS, GROUPS = (
    tuple(f"{level}.{name}" for name in (*PEARSONS, "pearson_deltas")) for level in PARTITIONS
)
LIKENESS = ("likeness.king", "likeness.orange")
MEASURES = (*SYSTEMS, *KENDALLS, *SEGMENTS, *DOCUMENTS, *GROUPS, *LIKENESS)
"""Level and correlation. The data may be enough for some of them only."""


RESAMPLING = Resampling()


@dataclass(frozen=True, eq=False)
class MetricAgreement:
    """How well one metric agrees with people.

    Parameters
    ----------
    display
        How values of the metric are shown.
    system_scores
        (M,), higher is better.
    correlations
        Measure -> correlation, for those of `MEASURES` that the data are enough for.
    spearman
        Level -> (D,) Spearman's rho of the systems' scores on each document or group; None where
        it has none.
    epsilon
        Largest difference that counts as a tie in the accuracy with ties; None with one system.
    """

    label: str
    signature: str
    display: Display
    system_scores: tuple[float, ...]
    correlations: dict[str, Estimate]
    spearman: dict[str, tuple[float | None, ...]]
    epsilon: float | None


class Level(NamedTuple):
    """The data points of a level: segments, documents or groups.

    Parameters
    ----------
    scores : (n, N, M) float64
        Scores by n metrics.
    rows
        For each metric the rows of its measures.
    groups
        What is drawn: the documents of segments.
    """

    points: Points
    scores: FloatArray
    rows: list[Rows]
    groups: Groups


@dataclass(frozen=True, eq=False)
class MetaEvaluation:
    """All results on one test set, and the parts by which test sets are combined.

    Parameters
    ----------
    differences
        (i, j), i < j -> measure -> difference of metrics i and j.
    name
        Name of the test set, if there are several.
    """

    judged: Judged
    resampling: Resampling
    resampled: Resampled
    agreements: tuple[MetricAgreement, ...]
    differences: Differences
    levels: dict[str, Level] = field(repr=False)
    name: str = ""

    def spearman(self, level: str) -> FloatArray:
        """Return (D, n): Spearman's rho of systems on each document and metric; NaN if none."""
        rows = [agreement.spearman.get(level, ()) for agreement in self.agreements]
        return np.array(rows, dtype=np.float64).T


def evaluate(
    data: Judged,
    scores: Sequence[MetricScores],
    resampling: Resampling = RESAMPLING,
    resampled: Resampled = "both",
    *,
    name: str = "",
) -> MetaEvaluation:
    """Correlate the metrics' scores with people's on one test set, and compare the metrics.

    Parameters
    ----------
    resampled
        Whether intervals are for other segments, for other systems, or for both.
    name
        Name of the test set.

    Raises
    ------
    ValueError
        No metric.
    """
    if not scores:
        raise ValueError("at least one metric is needed")
    several = len(data.systems) > 1
    epsilons = [calibrated(data.pairs, x.unrounded_scores) if several else 0.0 for x in scores]
    levels = levels_of(data, scores, epsilons)
    parts = [measures.tested(x.rows, resampling, x.groups) for x in levels.values()]
    differences: Differences = {}
    for part in parts:
        for pair, row in part.differences.items():
            differences.setdefault(pair, {}).update(row)
    soft = SoftAccuracy(data, resampling) if several else None
    left_out = range(len(data.systems) if several else 0)
    without = [values_without(data, scores, epsilons, system) for system in left_out]
    agreements = []
    for place, metric in enumerate(scores):
        values = {n: value for part in parts for n, value in part.values[place].items()}
        of_rows = {n: error for part in parts for n, error in part.errors[place].items()}
        of_systems = {n: np.array([rest[place][n] for rest in without]) for n in values}
        if soft is not None:
            for measure, (value, rest) in soft.agreements(metric).items():
                values[measure], of_systems[measure], of_rows[measure] = value, rest, (0.0, 1.0)
        correlations = {
            n: measures.estimated(
                n, values[n], _errors(of_rows.get(n), of_systems[n], resampled), resampling.level
            )
            for n in MEASURES
            if n in values
        }
        agreements.append(
            MetricAgreement(
                metric.label,
                metric.signature,
                metric.metric.display,
                tuple(metric.system_scores.tolist()),
                correlations,
                {level: _rank_correlations(levels[level], place) for level in data.partitions},
                epsilons[place] if several else None,
            )
        )
    _add_williams(data, scores, agreements, differences)
    return MetaEvaluation(
        data, resampling, resampled, tuple(agreements), differences, levels, name
    )


def values_without(
    data: Judged, scores: Sequence[MetricScores], epsilons: Sequence[float], system: int
) -> list[dict[str, float]]:
    """Return the value of each measure for each metric without a system; NaN if there is none."""
    rest = data.without(system)
    levels = levels_of(rest, [metric.without(system) for metric in scores], epsilons)
    values = [dict.fromkeys(MEASURES, np.nan) for _ in scores]
    for level in levels.values():
        for place, of_level in enumerate(measures.measured(level.rows)):
            values[place] |= of_level
    return values


def _errors(
    of_rows: tuple[float, float] | None, of_systems: FloatArray, resampled: Resampled
) -> list[tuple[float, float]]:
    """Return the errors of a measure: over rows, and the jackknife's over systems."""
    if of_rows is None:
        return []
    errors = [] if resampled == "systems" else [of_rows]
    if resampled == "segments" or len(of_systems) < 2:
        return errors
    if not np.isfinite(of_systems).all():  # of too few systems
        return []
    return [*errors, ((jackknife_variance(of_systems) or 0.0) ** 0.5, len(of_systems) - 1.0)]


def levels_of(
    data: Judged, scores: Sequence[MetricScores], epsilons: Sequence[float]
) -> dict[str, Level]:
    """Return the data points of segments and, if they are known, of documents and groups."""
    segments = np.stack([metric.segment_scores for metric in scores])
    sides = zip(scores, epsilons, strict=True)
    rows = [measures.segment_rows(data, metric, epsilon) for metric, epsilon in sides]
    levels = {"segment": Level(data.points, segments, rows, data.groups())}
    is_judged = data.points.counts[..., np.newaxis] > 0
    for level, partition in data.partitions.items():
        totals = [x.oriented(partition.summed(x.stats * is_judged, axis=0)) for x in scores]
        rounded = correlation.rounded(np.stack(totals))
        alone = each_alone(len(partition.names))
        levels[level] = Level(data.points_of(level), rounded, [{} for _ in scores], alone)
    for level, (points, of_metrics, of_level, _) in levels.items():
        for place, of_metric in enumerate(of_metrics):
            of_level[place] |= pearsons_of(level, [(points, of_metric)])
    return levels


def pearsons_of(level: str, blocks: Sequence[tuple[Points, FloatArray]]) -> Rows:
    """Return the rows of Pearson's correlations of a level, see `measures.pearson_rows`."""
    rows = {f"{level}.{name}": x for name, x in measures.pearson_rows(blocks).items()}
    return {name: x for name, x in rows.items() if name in MEASURES}


def _rank_correlations(block: Level, metric: int) -> tuple[float | None, ...]:
    """Return (D,) Spearman's rho of the systems' scores on each document."""
    scores, human = block.scores[metric], correlation.rounded(block.points.human)
    if scores.shape[1] < 2:
        return ()
    rhos = [
        float(correlation.spearman(x[is_judged], y[is_judged]))
        for x, y, is_judged in zip(scores, human, block.points.counts > 0, strict=True)
    ]
    return tuple(None if np.isnan(rho) else rho for rho in rhos)


def shares(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (n, n) shares of units on which the first metric's value is higher, or as high.

    Parameters
    ----------
    values : (D, n) float64
        For each unit (a document, a test set) and metric.
    """
    near = np.round(values, 12).T
    return (near[:, None] > near).mean(axis=-1), (near[:, None] >= near).mean(axis=-1)


def _add_williams(
    data: Judged,
    scores: Sequence[MetricScores],
    agreements: Sequence[MetricAgreement],
    differences: Differences,
) -> None:
    """Add Williams' test to the differences to which it applies."""
    vectors = {
        "segment.pearson": (
            np.stack([x.segment_scores.ravel() for x in scores]), data.points.counts.ravel()
        )
    }  # fmt: skip
    if len(data.systems) > 1:
        of_systems = np.stack([metric.system_scores for metric in scores])
        vectors["system.pearson"] = of_systems, np.ones(len(data.systems))
    for name, (rows, weights) in vectors.items():
        between = np.stack([correlation.pearson(row, rows, weights=weights) for row in rows])
        for (i, j), row in differences.items():
            first, second = (agreements[k].correlations[name].value for k in (i, j))
            if name not in row or first is None or second is None:
                continue
            p = correlation.williams(first, second, float(between[i, j]), count=int(weights.sum()))
            if not np.isnan(p):
                row[name] = replace(row[name], p_williams=p)


def calibrated(pairs: correlation.Pairs, scores: FloatArray) -> float:
    """Return epsilon: the metric is right most often if smaller differences count as ties.

    It is 0 or one of the observed differences; of equally good ones the smallest. Differences that
    rounding alone parts are one, and the largest of them stands for all.

    Parameters
    ----------
    scores : (S, M) float64
        Not rounded: from rounded scores, equal differences would part.
    """
    difference = (scores[:, pairs.first] - scores[:, pairs.second]).ravel()
    ranked = np.where(difference > 0, pairs.better.ravel(), pairs.worse.ravel())
    size = np.abs(difference)
    order = np.argsort(size, kind="stable")
    size = size[order]
    # A pair that becomes a tie is right where people tie it, and no longer where they do not.
    gain = np.where(size > TIE, pairs.tied.ravel()[order] - ranked[order], 0.0)
    reached = np.cumsum(gain)
    last = np.flatnonzero(np.append(np.diff(size) > TIE, True))  # of each size
    if not len(last):
        return 0.0
    best = last[np.argmax(reached[last])]
    return float(size[best]) if reached[best] > 0 else 0.0
