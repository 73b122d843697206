"""Holds human scores beside the statistics of metrics: what a meta-evaluation works on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tuner.errors import InputError
from tuner.evaluation.correlation import rounded
from tuner.texts.statistics import compute_stats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metrics._base import Batch, FloatArray, IntArray, Metric
    from tuner.evaluation.human_scores import HumanScores


@dataclass(frozen=True, eq=False)
class Judged:
    """Holds what people thought of M systems on S segments.

    Parameters
    ----------
    systems : tuple of str
        M names.
    human : (S, M) float64
        Scores of segments, higher is better; none is missing.
    lengths : (S,) float64
        Tokens of the segments' references, the mean of several.
    documents : (S,) int64 or None
        Which of the D `document_names` a segment belongs to; each has a segment.
    document_names : tuple of str
    """

    systems: tuple[str, ...]
    human: FloatArray
    lengths: FloatArray
    documents: IntArray | None = None
    document_names: tuple[str, ...] = ()

    @property
    def system_scores(self) -> FloatArray:
        """(M,) mean over segments."""
        return np.asarray(self.human.mean(axis=0))

    @property
    def document_lengths(self) -> FloatArray:
        """(D,) tokens of each document's references."""
        assert self.documents is not None  # noqa: S101  asked for only where there are some
        return np.bincount(self.documents, self.lengths).astype(np.float64)

    @property
    def sizes(self) -> str:
        """How much was judged, in words."""
        numbers = {"system": len(self.systems), "segment": len(self.human)}
        if self.document_names:
            numbers["document"] = len(self.document_names)
        return ", ".join(f"{n} {what}{'' if n == 1 else 's'}" for what, n in numbers.items())

    def by_document(self, scores: FloatArray) -> FloatArray:
        """Return (D, M): length-weighted means of segments' scores (S, M); 0 without a token."""
        assert self.documents is not None  # noqa: S101
        total = np.zeros((len(self.document_names), scores.shape[1]))
        np.add.at(total, self.documents, self.lengths[:, None] * scores)
        return np.asarray(total / np.maximum(self.document_lengths, 1e-300)[:, None])


@dataclass(frozen=True, eq=False)
class MetricScores:
    """Holds what one metric says about the same systems and segments.

    Parameters
    ----------
    label : str
        What was asked for; names the metric in tables.
    metric : Metric
    signature : str
        The metric with all that its scores depend on.
    stats : (S, M, K) float64
    """

    label: str
    metric: Metric
    signature: str
    stats: FloatArray

    def oriented(self, stats: FloatArray) -> FloatArray:
        """Return the scores (...) of statistics (..., K), error metrics negated."""
        # Adding 0 makes -0 a 0: both are one rank.
        return np.asarray(self.metric.oriented(self.metric.score(stats))) + 0.0

    @cached_property
    def segment_scores(self) -> FloatArray:
        """(S, M), higher is better; segments that tie have the same score to the last bit."""
        return rounded(self.oriented(self.stats))

    @cached_property
    def system_scores(self) -> FloatArray:
        """(M,) scores of the whole corpora, higher is better."""
        return self.oriented(self.stats.sum(axis=0))


def judged(human: HumanScores, batch: Batch) -> tuple[Judged, IntArray]:
    """Set human scores against the references, and leave out what not every system has.

    Parameters
    ----------
    human : HumanScores
        As long as the batch.
    batch : Batch
        The outputs of the systems, in their order, for each segment.

    Returns
    -------
    Judged
    kept : (S,) int64
        Segments on which every system has a score.

    Raises
    ------
    InputError
        Fewer than two systems, or no segment on which all have a score.
    """
    if len(human.systems) < 2:
        raise InputError(
            f"{human.path}: human scores of one system, '{human.systems[0]}'; a correlation needs "
            f"at least two"
        )
    kept = human.complete
    if not len(kept):
        raise InputError(
            f"{human.path}: no segment has scores of all {len(human.systems)} systems; name the "
            f"systems to compare (--system)"
        )
    lengths = _reference_lengths(batch)[kept]
    scores = human.scores[kept]
    if human.documents is None:
        return Judged(human.systems, scores, lengths), kept
    used, documents = np.unique(human.documents[kept], return_inverse=True)
    names = tuple(human.document_names[number] for number in used.tolist())
    return Judged(human.systems, scores, lengths, documents.astype(np.int64), names), kept


def metric_scores(
    label: str,
    metric: Metric,
    batch: Batch,
    *,
    kept: IntArray,
    systems: int,
    signature: str,
    threads: int = 1,
) -> MetricScores:
    """Count with a metric on all segments, and keep those that were judged."""
    stats = compute_stats(metric, batch, threads=threads)
    return MetricScores(label, metric, signature, stats.reshape(len(batch), systems, -1)[kept])


def notices(data: Judged, scores: Sequence[MetricScores], *, left_out: int = 0) -> list[str]:
    """Return what the user should know about the data, one line each.

    `left_out` segments are not among the data.
    """
    lines = []
    if left_out:
        lines.append(
            f"{left_out} of {left_out + len(data.human)} segments are left out: not every system "
            f"has a score of them"
        )
    if len(data.systems) == 2:
        lines.append("two systems: whatever a metric says, their correlation is 1, 0 or -1")
    if len(data.human) == 1:
        lines.append("one segment: nothing can be resampled, so there are no intervals")
    if np.ptp(data.human) == 0:
        lines.append("all human scores are the same: every correlation is 0")
    lines += [
        f"{one.label}: all segments of all systems have one score: its correlations are 0"
        for one in scores
        if np.ptp(one.segment_scores) == 0
    ]
    return lines


def _reference_lengths(batch: Batch) -> FloatArray:
    counts = np.diff(batch.reference_offsets)
    total = np.add.reduceat(batch.references.tokens.lengths, batch.reference_offsets[:-1])
    return np.asarray(total / counts)
