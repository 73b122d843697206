"""Human scores beside the statistics of metrics.

`Likeness` tells whether metrics find people's translations better than machines': KING and ORANGE.
Each reference in turn is held out and scored beside the systems against the others.

References
----------
Amigo, Gonzalo, Penas & Verdejo, "QARLA: A Framework for the Evaluation of Text Summarization
Systems", ACL 2005; Lin & Och, "ORANGE", COLING 2004.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import Batch, FloatArray, IntArray, Metric
from portmert.tuner.base.errors import InputError, counted
from portmert.tuner.base.variation import TIE
from portmert.tuner.evaluation.comparison.systems import FEWEST_GROUPS
from portmert.tuner.texts.corpus import with_references
from portmert.tuner.texts.groups import Groups
from portmert.tuner.texts.statistics import compute_stats, finite_scores

from .correlation import Pairs, rounded
from .human_scores import HumanScores, Judgments, OfSystems

BoolArray = NDArray[np.bool_]
Resampled = Literal["both", "segments", "systems"]
"""What else there might have been, for intervals."""


@dataclass(frozen=True, eq=False)
class Points:
    """Human scores as data points: N segments or documents with M systems each.

    Parameters
    ----------
    human : (N, M) float64
        Mean of the judgments of each output; 0 without a judgment.
    counts : (N, M) float64
        Number of these judgments.
    within : (N, M) float64
        Sum of squares of their differences from the mean.
    lengths : (N,) float64
        Tokens of the references.
    """

    human: FloatArray
    counts: FloatArray
    within: FloatArray
    lengths: FloatArray

    @classmethod
    def of(cls, human: FloatArray, lengths: FloatArray) -> Points:
        """Return points with one judgment each; NaN marks a missing one."""
        is_judged = ~np.isnan(human)
        means = np.where(is_judged, human, 0.0)
        return cls(means, is_judged.astype(np.float64), np.zeros_like(means), lengths)

    def __len__(self) -> int:
        return len(self.human)

    @cached_property
    def varies(self) -> BoolArray:
        """(N,) whether the human scores of a row differ."""
        is_judged = self.counts > 0
        highest = np.where(is_judged, self.human, -np.inf).max(axis=1)
        lowest = np.where(is_judged, self.human, np.inf).min(axis=1)
        return np.asarray(highest > lowest)


@dataclass(frozen=True, eq=False)
class Judged:
    """Human scores of M systems on S segments.

    Parameters
    ----------
    systems : tuple of str
        M names.
    human : (S, M) float64
        Higher is better. The mean of several judgments; NaN without a judgment.
    lengths : (S,) float64
        Tokens of each segment's reference, the mean of several references.
    partitions
        `document` and `group`, those that are known. Each document and group has a segment.
    judgments : Judgments or None
        All judgments, if every one is a data point.
    of_systems
        What people's score of a system or of a document is.
    """

    systems: tuple[str, ...]
    human: FloatArray
    lengths: FloatArray
    partitions: Mapping[str, Groups] = field(default_factory=dict)
    judgments: Judgments | None = None
    of_systems: OfSystems = "mean"

    @cached_property
    def points(self) -> Points:
        """Segments' scores."""
        points = Points.of(self.human, self.lengths)
        if self.judgments is None:
            return points
        counts, within = (np.zeros(self.human.shape) for _ in range(2))
        place = self.judgments.segments, self.judgments.systems
        np.add.at(counts, place, 1.0)
        np.add.at(within, place, (self.judgments.scores - self.human[place]) ** 2)
        return replace(points, counts=counts, within=within)

    @cached_property
    def pairs(self) -> Pairs:
        """Judgments of every pair of systems on every segment, judge by judge."""
        return (
            Pairs.of(self.human)
            if self.judgments is None
            else _pairs(self.judgments, self.human.shape)
        )

    @cached_property
    def system_sums(self) -> FloatArray:
        """(S, M, 2): sum of judgments and their number, or comparisons won and all of them.

        Their quotient, summed over segments, is people's score of a system.
        """
        if self.of_systems in ("mean", "weighted"):
            lengths = self.lengths if self.of_systems == "weighted" else np.ones(len(self.human))
            counts = self.points.counts * lengths[:, np.newaxis]
            return np.stack([counts * self.points.human, counts], axis=2)
        pairs, sums = self.pairs, np.zeros((*self.human.shape, 2))
        every = pairs.better + pairs.worse + pairs.tied
        for systems, wins in ((pairs.first, pairs.better), (pairs.second, pairs.worse)):
            won = wins + pairs.tied if self.of_systems == "better-or-equal" else wins
            for place, system in enumerate(systems.tolist()):
                sums[:, system] += np.stack([won[:, place], every[:, place]], axis=1)
        return sums

    @property
    def system_scores(self) -> FloatArray:
        """(M,) people's scores of the systems."""
        won, every = np.moveaxis(self.system_sums.sum(axis=0), -1, 0)
        return np.asarray(won / np.where(every > 0, every, np.nan))

    def points_of(self, level: str) -> Points:
        """Documents' scores: means of judgments weighted by length, or shares of comparisons."""
        sums, partition = self.system_sums, self.partitions[level]
        if self.of_systems == "mean":
            sums = sums * self.lengths[:, np.newaxis, np.newaxis]
        won, every = np.moveaxis(partition.summed(sums, axis=0), -1, 0)
        human = won / np.where(every > 0, every, np.nan)
        return Points.of(human, partition.summed(self.lengths, axis=0))

    def numbers(self, level: str) -> IntArray | None:
        """Return (S,) the number of each segment's document or group; None: unknown."""
        return self.partitions[level].of_segment if level in self.partitions else None

    def groups(self) -> Groups:
        """Return the documents of segments, if they are enough; else each segment is alone."""
        documents, count = self.partitions.get("document"), len(self.human)
        if documents is not None and FEWEST_GROUPS <= len(documents.names) < count:
            return documents
        return each_alone(count)

    def without(self, system: int) -> Judged:
        """Return the scores without a system."""
        rest = np.delete(np.arange(len(self.systems)), system)
        judgments = self.judgments and self.judgments.of_systems(rest.tolist())
        names = tuple(self.systems[k] for k in rest)
        return replace(self, systems=names, human=self.human[:, rest], judgments=judgments)

    @property
    def sizes(self) -> str:
        """Numbers of systems, segments, documents, groups and judgments, in words."""
        numbers = {"system": len(self.systems), "segment": len(self.human)}
        numbers |= {level: len(x.names) for level, x in self.partitions.items()}
        if self.judgments is not None:
            numbers["judgment"] = len(self.judgments.scores)
        return ", ".join(counted(n, unit) for unit, n in numbers.items())


def each_alone(count: int) -> Groups:
    """Return groups of one row each."""
    return Groups(tuple(map(str, range(count))), np.arange(count), "")


def _pairs(judgments: Judgments, shape: tuple[int, ...]) -> Pairs:
    """Return all pairs of judgments by one judge on one segment, of two systems' outputs."""
    first, second = np.triu_indices(shape[1], 1)
    place_of = np.zeros((shape[1], shape[1]), dtype=np.int64)
    place_of[first, second] = place_of[second, first] = np.arange(len(first))
    counts = np.zeros((3, shape[0], len(first)))
    order = np.lexsort((judgments.systems, judgments.judges, judgments.segments))
    segments, judges = judgments.segments[order], judgments.judges[order]
    is_new = (np.diff(segments) != 0) | (np.diff(judges) != 0)
    for part in np.split(order, np.flatnonzero(is_new) + 1):
        a, b = np.triu_indices(len(part), 1)
        systems, scores = judgments.systems[part], judgments.scores[part]
        a, b = a[systems[a] != systems[b]], b[systems[a] != systems[b]]
        # Systems rise within a part, so a's system is the first of the pair.
        outcome = np.where(scores[a] > scores[b], 0, np.where(scores[a] < scores[b], 1, 2))
        place = place_of[systems[a], systems[b]]
        np.add.at(counts, (outcome, judgments.segments[part[0]], place), 1.0)
    return Pairs(first, second, *counts)


@dataclass(frozen=True, eq=False)
class MetricScores:
    """One metric's statistics of the same systems and segments.

    Parameters
    ----------
    label : str
        Name of the metric in tables, as the user wrote it.
    metric : Metric
    signature : str
        The metric with all that its scores depend on.
    stats : (S, M, K) float64
    likeness : Likeness or None
        How references score among the systems, if that is asked for.
    """

    label: str
    metric: Metric
    signature: str
    stats: FloatArray
    likeness: Likeness | None = None

    def without(self, system: int) -> MetricScores:
        """Return the statistics without a system."""
        alike = self.likeness
        if alike is not None:
            alike = replace(alike, orange=np.delete(alike.orange, system, axis=1))
        return replace(self, stats=np.delete(self.stats, system, axis=1), likeness=alike)

    def oriented(self, stats: FloatArray, total: FloatArray | None = None) -> FloatArray:
        """Return the scores (...) of statistics (..., K), error metrics negated.

        With the sums of their corpus, the statistics are of its single segments.
        """
        # Adding 0 makes -0 a 0: both are one rank.
        return np.asarray(self.metric.oriented(finite_scores(self.metric, stats, total))) + 0.0

    @cached_property
    def unrounded_scores(self) -> FloatArray:
        """(S, M), higher is better; differences are taken of these."""
        return self.oriented(self.stats, self.stats.sum(axis=0))

    @cached_property
    def segment_scores(self) -> FloatArray:
        """(S, M), higher is better. Scores that tie are equal to the last bit."""
        return rounded(self.unrounded_scores)

    @cached_property
    def system_scores(self) -> FloatArray:
        """(M,) scores of the whole corpora, higher is better."""
        return self.oriented(self.stats.sum(axis=0))

    @cached_property
    def contributions(self) -> FloatArray:
        """(S, M) what each segment adds to the scores of systems, which are their means.

        They are the jackknife's pseudo-values (Tukey 1958), moved to this mean; the scores of
        segments where the score of a corpus is their mean.
        """
        total = self.stats.sum(axis=0)
        others = total - self.stats
        others[np.abs(others) <= TIE * np.abs(total)] = 0.0  # rounding errors of sums
        without = self.oriented(others) if len(others) > 1 else self.system_scores[np.newaxis]
        added = (len(others) - 1) * (self.system_scores - without)
        return np.asarray(added - added.mean(axis=0) + self.system_scores)


def judged(
    human: HumanScores, batch: Batch, of_systems: OfSystems = "mean"
) -> tuple[Judged, IntArray]:
    """Keep the segments that have human scores of every system.

    Parameters
    ----------
    human : HumanScores
        As long as the batch.
    batch : Batch
        The outputs of the systems, in their order, for each segment.
    of_systems
        What people's score of a system is.

    Returns
    -------
    Judged
    kept : (S,) int64
        Segments on which every system has a score.

    Raises
    ------
    InputError
        No segment on which all have a score; a system that is never compared.
    """
    complete = human.complete
    if not len(complete):
        raise InputError(
            f"{human.path}: no segment has scores of all {len(human.systems)} systems; name the "
            f"systems to compare (--system), or take each judgment as it is (--judgments each)"
        )
    lengths = np.add.reduceat(batch.references.tokens.lengths, batch.reference_offsets[:-1])
    lengths = (lengths / np.diff(batch.reference_offsets))[complete]
    kept = human.of_segments(complete)
    data = Judged(kept.systems, kept.scores, lengths, kept.partitions, kept.judgments, of_systems)
    for system, score in zip(data.systems, data.system_scores, strict=True):
        if np.isnan(score) and of_systems.startswith("better"):
            raise InputError(
                f"{human.path}: nobody has compared '{system}' with another system; leave it out "
                f"(--system), or take means (--system-scores mean)"
            )
    return data, complete


def metric_scores(
    label: str,
    metric: Metric,
    batch: Batch,
    *,
    segments: IntArray,
    systems: Sequence[str],
    signature: str,
    with_likeness: bool = False,
) -> MetricScores:
    """Compute a metric's statistics on all segments, and keep those of judged segments.

    Raises
    ------
    InputError
        The batch lacks data that the metric needs; or the likeness of references is asked for and
        a segment has only one.
    """
    stats = compute_stats(metric, batch, outputs=systems)
    stats = stats.reshape(len(batch), len(systems), -1)[segments]
    alike = likeness(metric, batch, judged_segments=segments) if with_likeness else None
    return MetricScores(label, metric, signature, stats, alike)


def facts(data: Judged, *, left_out: int = 0) -> list[str]:
    """Return facts about the data, one line each. `left_out` counts missing segments."""
    lines = []
    if left_out:
        why = (
            "not every system has a score of them"
            if data.judgments is None
            else "they have no judgment"
        )
        lines.append(f"{left_out} of {left_out + len(data.human)} segments are left out: {why}")
    if len(data.systems) == 1:
        lines.append("one system: there are no correlations of systems, nor within segments")
    if len(data.systems) == 2:
        lines.append("two systems: their correlation is always 1, 0 or -1")
    if len(data.human) == 1:
        lines.append("one segment: nothing can be resampled, so there are no intervals")
    documents = data.partitions.get("document")
    if documents is not None and 1 < len(documents.names) < len(data.human):
        count = len(documents.names)
        drawn = "tests draw whole documents"
        if count < FEWEST_GROUPS:
            drawn = f"tests take segments as independent (whole documents from {FEWEST_GROUPS} on)"
        lines.append(f"segments are in {count} documents: {drawn}")
    return lines


def doubts(data: Judged, scores: Sequence[MetricScores]) -> list[str]:
    """Return what looks wrong about the data, one line each."""
    lines = []
    if len(data.human) > 1 and len(data.systems) > 1 and data.pairs.count == 0:
        lines.append("people tie all systems in every segment: no pair of outputs is ranked")
    points = data.points
    if not points.within.any() and np.ptp(points.human[points.counts > 0]) == 0:
        lines.append("all human scores are the same: no correlation has a value")
    lines += [
        f"{metric.label}: all segments of all systems have one score: its correlations have no "
        f"value"
        for metric in scores
        if np.ptp(metric.segment_scores) == 0
    ]
    return lines


@dataclass(frozen=True, eq=False)
class Likeness:
    """How references score among the systems on each of S segments, means over references.

    Parameters
    ----------
    king : (S,) float64
        1 if the reference held out scores at least as high as every system.
    orange : (S, M) float64
        1 if it scores at least as high as the system.
    """

    king: FloatArray
    orange: FloatArray

    @classmethod
    def of(cls, references: FloatArray, systems: FloatArray) -> Likeness:
        """Compare each held-out reference (R, S) with all systems (R, S, M)."""
        wins = rounded(references)[:, :, np.newaxis] >= rounded(systems)
        return cls(wins.all(axis=2).mean(axis=0), wins.mean(axis=0))


def likeness(metric: Metric, batch: Batch, *, judged_segments: IntArray) -> Likeness:
    """Score each reference and the systems against the other references.

    Parameters
    ----------
    judged_segments : (S,) int64
        Segments to keep.

    Raises
    ------
    InputError
        There is only one reference, or the number of references differs between segments.
    """
    each = np.unique(np.diff(batch.reference_offsets))
    if len(each) != 1 or each[0] < 2:
        raise InputError(
            "KING and ORANGE hold out one reference and score it against the others: every "
            f"segment needs at least two references, here it has {each.min()}; repeat --ref, or "
            "name more refs of the test set"
        )
    count, segments = int(each[0]), len(batch)
    scores = []
    for held_out in range(count):
        against_others = with_references(batch, [n for n in range(count) if n != held_out])
        alone = replace(
            against_others,
            hypotheses=with_references(batch, [held_out]).references,
            offsets=np.arange(segments + 1, dtype=np.int64),
        )
        pair = []
        for part in (alone, against_others):
            stats = compute_stats(metric, part).reshape(segments, -1, len(metric.stat_names))
            by_segment = metric.oriented(metric.segment_scores(stats, stats.sum(axis=0)))
            pair.append(np.asarray(by_segment)[judged_segments])
        scores.append(pair)
    return Likeness.of(
        np.stack([alone[:, 0] for alone, _ in scores]),
        np.stack([systems for _, systems in scores]),
    )
