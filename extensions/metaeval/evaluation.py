"""Evaluates several metrics against human scores, on one test set or on several.

References
----------
Deutsch, Foster & Freitag, "Ties Matter", EMNLP 2023, for the accuracy with ties; Thompson, Mathur,
Deutsch & Khayrallah, "Improving Statistical Significance in Human Evaluation of Automatic Metrics
via Soft Pairwise Accuracy", WMT 2024.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from portmert.metrics._base import FloatArray
from portmert.metrics._display import Display
from portmert.tuner.base import streams
from portmert.tuner.base.variation import chunks
from portmert.tuner.components import registry
from portmert.tuner.evaluation.significance import Resampling, is_resampled

from . import correlation, intervals
from .data import Draws, Judged, MetricScores, Points, Resampled
from .differences import STREAMS, Permuted, ScoredPoints, metric_pairs, permute_all

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


@dataclass(frozen=True)
class Settings(Resampling):
    """How uncertainty is estimated: by bootstrap samples and as many permutations.

    Parameters
    ----------
    resampled
        The units that a bootstrap sample is drawn from.
    """

    samples: int = 1000
    resampled: Resampled = "both"


@dataclass(frozen=True)
class Estimate:
    """One correlation and its bootstrap interval; None if it cannot be computed."""

    value: float | None
    low: float | None
    high: float | None


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
    samples : dict
        Measure -> (B,) values, that of the data itself first.
    pairs : (B, 5) float64 or None
        The result of `pair_sums`; None with one system.
    """

    label: str
    signature: str
    display: Display
    system_scores: tuple[float, ...]
    correlations: dict[str, Estimate]
    spearman: dict[str, tuple[float | None, ...]]
    epsilon: float | None
    samples: dict[str, FloatArray] = field(repr=False)
    pairs: FloatArray | None = field(repr=False)


@dataclass(frozen=True)
class MetricDifference:
    """The difference of two metrics under one measure. All p-values are two-sided.

    Parameters
    ----------
    value
        The first one's correlation minus the second one's.
    p_perm_both, p_corrected
        By permutations, plain and corrected for the number of pairs of metrics.
    p_williams
        By Williams' test; None if it does not apply.
    """

    value: float
    p_perm_both: float
    p_corrected: float
    p_williams: float | None


Differences = dict[tuple[int, int], dict[str, MetricDifference]]


@dataclass(frozen=True, eq=False)
class MetaEvaluation:
    """All results on one test set, and the parts by which test sets are combined.

    Parameters
    ----------
    differences
        (i, j), i < j -> measure -> difference of metrics i and j.
    draws, blocks : dict
        Level -> bootstrap samples; level -> data points, with scores by the metrics.
    rows : dict
        Measure -> (n, N) values of rows, and their weights (N,).
    permuted
        None with one metric, or if nothing can be resampled.
    name
        Name of the test set, if there are several.
    """

    judged: Judged
    settings: Settings
    agreements: tuple[MetricAgreement, ...]
    differences: Differences
    draws: dict[str, Draws] = field(repr=False)
    blocks: dict[str, ScoredPoints] = field(repr=False)
    rows: dict[str, tuple[FloatArray, FloatArray]] = field(repr=False)
    permuted: Permuted | None = field(repr=False)
    name: str = ""

    def spearman(self, level: str) -> FloatArray:
        """Return (D, n): Spearman's rho of systems on each document and metric; NaN if none."""
        rows = [agreement.spearman.get(level, ()) for agreement in self.agreements]
        return np.array(rows, dtype=np.float64).T


def evaluate(
    data: Judged,
    scores: Sequence[MetricScores],
    settings: Settings = Settings(),
    *,
    name: str = "",
    number: int = 1,
) -> MetaEvaluation:
    """Correlate the metrics' scores with people's on one test set, and compare the metrics.

    Parameters
    ----------
    name, number
        Name and number of the test set. Numbers count from 1.

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
        for level, count in data.units("segments").items()
        if level != "system"
        for stream in [STREAMS[level]]
    }
    soft = None
    if len(data.systems) > 1:
        soft = SoftAccuracy(data, draws["segment"], settings, seed=seed)
    levels = _levels(data, scores)
    agreements = tuple(
        _agreement(data, place, metric, draws, levels, soft, settings)
        for place, metric in enumerate(scores)
    )
    rows = _rows(data, scores, [metric.epsilon for metric in agreements])
    permuted = None
    if len(scores) > 1 and is_resampled(len(data.human), settings.samples):
        stream = partial(streams.agreement_permutations, seed)
        resampled = {level: points for level, points in levels.items() if len(points.points) > 1}
        permuted = permute_all([resampled], [rows], settings.samples, stream)
    differences = differences_of([metric.samples for metric in agreements], permuted)
    _add_williams(data, scores, agreements, differences)
    return MetaEvaluation(
        data, settings, agreements, differences, draws, levels, rows, permuted, name
    )


def _agreement(
    data: Judged,
    place: int,
    scores: MetricScores,
    draws: Mapping[str, Draws],
    levels: Mapping[str, ScoredPoints],
    soft: SoftAccuracy | None,
    settings: Settings,
) -> MetricAgreement:
    """Compute every measure of one metric; `place` is its index in the scores of `levels`."""
    samples: dict[str, FloatArray] = {}
    pairs = epsilon = None
    if soft is not None:
        samples |= by_measure("system", intervals.system_samples(data, scores, draws["segment"]))
        samples["system.soft_pairwise"] = soft.samples(scores.stats, scores.oriented)
        of_segments = scores.unrounded_scores[..., None]
        samples["system.soft_pairwise_segments"] = soft.samples(of_segments, lambda x: x[..., 0])
        epsilon = calibrated(data.pairs, scores.unrounded_scores)
        pairs = intervals.pair_sums(data, scores, draws["segment"], epsilon=epsilon)
        samples |= by_measure("segment", intervals.pair_correlations(pairs))
    for level, block in levels.items():
        points = (block.points, block.scores[place], draws[level])
        samples |= pearsons_of(level, [points], systems=len(data.systems))
    if scores.likeness is not None:
        samples |= by_measure("likeness", scores.likeness.samples(draws["segment"]))
    for name, values in samples.items():
        if draws.get(name.partition(".")[0], draws["segment"]).rows.shape[1] == 1:
            values[1:] = np.nan  # a single row cannot be resampled
    return MetricAgreement(
        scores.label,
        scores.signature,
        scores.metric.display,
        tuple(scores.system_scores.tolist()),
        estimates(samples, settings.level, data.units(settings.resampled)),
        {level: _rank_correlations(levels[level], place) for level in data.partitions},
        epsilon,
        samples,
        pairs,
    )


def by_measure(level: str, samples: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return the samples of a level by the names of measures."""
    return {f"{level}.{name}": values for name, values in samples.items()}


def pearsons_of(
    level: str, blocks: Sequence[tuple[Points, FloatArray, Draws]], *, systems: int
) -> dict[str, FloatArray]:
    """Return the samples of Pearson's correlations of a level, see `intervals.pearsons`."""
    samples = by_measure(level, intervals.pearsons(blocks, systems=systems))
    return {name: values for name, values in samples.items() if name in MEASURES}


def _levels(data: Judged, scores: Sequence[MetricScores]) -> dict[str, ScoredPoints]:
    """Return the data points of segments and, if they are known, of documents and groups."""
    segments = np.stack([metric.segment_scores for metric in scores])
    levels = {"segment": ScoredPoints(data.points, segments)}
    if len(data.systems) > 1:
        contributions = np.stack([metric.contributions for metric in scores])
        levels["segment"] = ScoredPoints(
            data.points, segments, data.pairs, data.system_scores, contributions
        )
    is_judged = data.points.counts[..., np.newaxis] > 0
    for level, partition in data.partitions.items():
        totals = [x.oriented(partition.sums(np.where(is_judged, x.stats, 0.0))) for x in scores]
        rounded = correlation.rounded(np.stack(totals))
        levels[level] = ScoredPoints(data.points_of(level), rounded)
    return levels


def _rows(
    data: Judged, scores: Sequence[MetricScores], epsilons: Sequence[float | None]
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return (n, S) values and (S,) weights of rows, for measures that are means over rows."""
    rows = {}
    if len(data.systems) > 1:
        values = np.stack(
            [intervals.row_correlations(data.points, metric.segment_scores) for metric in scores]
        )
        rows["segment.pearson_by_item"] = values, data.points.varies.astype(np.float64)
        pairs = data.pairs
        total = (pairs.better + pairs.worse + pairs.tied).sum(axis=1)
        right = [
            intervals.correct_pairs(pairs, metric.unrounded_scores, epsilon or 0.0).sum(axis=1)
            for metric, epsilon in zip(scores, epsilons, strict=True)
        ]
        rows["segment.acc_eq"] = (
            np.stack(right) / np.maximum(total, 1.0), (total > 0).astype(np.float64),
        )  # fmt: skip
    likeness = [x.likeness for x in scores if x.likeness is not None]
    if likeness:
        whole = np.ones(len(data.human))
        rows["likeness.king"] = np.stack([x.king for x in likeness]), whole
        orange = np.stack([x.orange.mean(axis=1) for x in likeness])
        rows["likeness.orange"] = orange, whole
    return rows


def _rank_correlations(block: ScoredPoints, metric: int) -> tuple[float | None, ...]:
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


def estimates(
    samples: Mapping[str, FloatArray], level: float, units: Mapping[str, int] | None = None
) -> dict[str, Estimate]:
    """Return value and interval of each measure. The first sample is the data itself.

    `units` of each level are what samples are drawn from. Without them intervals are quantiles, as
    those of measures of ranks and pairs always are.
    """
    by_name = {}
    for name in MEASURES:
        if name not in samples:
            continue
        value = float(samples[name][0])
        of = units[name.partition(".")[0]] if units is not None and "pearson" in name else 1
        low, high = intervals.fisher_interval(samples[name], level, of) or (None, None)
        by_name[name] = Estimate(None if np.isnan(value) else value, low, high)
    return by_name


def differences_of(
    samples: Sequence[Mapping[str, FloatArray]], permuted: Permuted | None
) -> Differences:
    """Return differences of all pairs of metrics under each measure that can be tested."""
    differences: Differences = {}
    if permuted is None:
        return differences
    pairs = [(int(i), int(j)) for i, j in metric_pairs(len(samples))]
    p_values = permuted.p_values()
    names = [name for name in MEASURES if name in p_values and name in samples[0]]
    corrected = permuted.corrected()
    for place, (i, j) in enumerate(pairs):
        row = differences[i, j] = {}
        for name in names:
            value = float(samples[i][name][0] - samples[j][name][0])
            if np.isnan(value):  # people tie all systems on all segments
                continue
            row[name] = MetricDifference(
                value,
                float(p_values[name][place]),
                float(corrected[name][place]),
                None,
            )
    return differences


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


_ROUNDING = 1e-12
"""Differences nearer than this are equal."""


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
    gain = np.where(size > _ROUNDING, pairs.tied.ravel()[order] - ranked[order], 0.0)
    reached = np.cumsum(gain)
    last = np.flatnonzero(np.append(np.diff(size) > _ROUNDING, True))  # of each size
    if not len(last):
        return 0.0
    best = last[np.argmax(reached[last])]
    return float(size[best]) if reached[best] > 0 else 0.0


def better_than(
    stats: FloatArray, score: Callable[[FloatArray], FloatArray], swaps: FloatArray
) -> FloatArray:
    """Return (P,) one-sided p of "the first system is better" for each pair of systems.

    Parameters
    ----------
    stats : (S, M, K) float64
        Their sum over segments gives the score of a system.
    score
        Returns scores (...) of sums (..., K), higher is better.
    swaps : (R, S) float64
        1 if a permutation keeps the two systems' segment, -1 if it swaps them.
    """
    segments, systems, size = stats.shape
    first, second = np.triu_indices(systems, 1)
    total = stats.sum(axis=0)
    middle = (total[first] + total[second]) / 2
    observed = score(total)
    observed = correlation.rounded(observed[first] - observed[second])
    as_large = np.zeros(len(first))
    for part in chunks(len(swaps), max(len(first), systems) * size):
        moved = (swaps[part] @ stats.reshape(segments, -1)).reshape(-1, systems, size)
        half = (moved[:, first] - moved[:, second]) / 2
        difference = score(middle + half) - score(middle - half)
        as_large += np.count_nonzero(difference >= observed - _ROUNDING, axis=0)
    return np.asarray((1 + as_large) / (len(swaps) + 1))


def human_better_than(data: Judged, swaps: FloatArray) -> FloatArray:
    """Return (P,) one-sided p of people's scores of systems."""
    return better_than(
        data.system_sums, lambda sums: sums[..., 0] / np.maximum(sums[..., 1], 1e-300), swaps
    )


class SoftAccuracy:
    """Soft pairwise accuracy, in two forms.

    For each pair of systems it compares the human p of "the first is better" with the metric's,
    both by permutations of segments. Our form swaps statistics of segments, and so tests the
    metric's own corpus score. The official code of WMT (mt-metrics-eval) adds up segment scores
    instead: the measure `soft_pairwise_segments`. For BLEU the two are up to 0.12 apart.
    """

    def __init__(self, data: Judged, draws: Draws, settings: Settings, *, seed: int) -> None:
        rng = streams.system_swaps(seed)
        swaps = rng.integers(0, 2, size=(settings.samples, len(data.human)), dtype=np.int8)
        self.swaps = 2 * swaps.astype(np.float64) - 1
        self.human = human_better_than(data, self.swaps)
        self.of_pair = draws.of_pairs(data.pairs.first, data.pairs.second)
        if settings.resampled == "segments":  # p-values are of all segments
            self.of_pair[1:] = 0.0

    def samples(self, stats: FloatArray, score: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return (B,) means over the pairs of systems of each sample; NaN without a pair.

        All are NaN for one segment: no p-value can be had.

        `stats` and `score` are those of `better_than`.
        """
        agreement = 1.0 - np.abs(self.human - better_than(stats, score, self.swaps))
        total = self.of_pair.sum(axis=1)
        mean = (self.of_pair @ agreement) / np.maximum(total, 1.0)
        is_defined = (total > 0) & is_resampled(self.swaps.shape[1], len(self.swaps))
        return np.where(is_defined, mean, np.nan)


def warm_up() -> None:
    """Run every kernel of a meta-evaluation, on two systems and two segments, to compile it."""
    metric = registry.metric("bleu")
    stats = np.ones((2, 2, len(metric.stat_names)))
    human = np.array([[0.0, 1.0], [2.0, 0.0]])
    scores = [MetricScores(label, metric, label, stats) for label in ("one", "other")]
    evaluate(Judged(("A", "B"), human, np.ones(2)), scores, Settings(samples=2))
