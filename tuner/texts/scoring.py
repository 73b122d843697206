"""Scores of one hypothesis a segment: of the corpus and of each segment, by each metric."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from portmert.metrics._base import Batch, FloatArray, Metric
from portmert.metrics._display import NOTHING, Rated
from portmert.metrics.edits import Confusion, Wer

from ..base import errors, tables
from . import prepare, statistics

SEGMENTS_PER_PART = 65536
"""Segments that are scored at a time, for the sake of memory."""
COUNTS = (
    "matched_", "total_", "ref_total_", "info_", "edits", "correct", "hyp_len", "ref_len",
    "segments", "substitutions", "insertions", "deletions", "word_",
)  # fmt: skip
"""Parts whose names begin so are counts, not shares."""


@dataclass(frozen=True, eq=False, repr=False)
class Score(Rated):
    """The score of a text by one metric.

    Parameters
    ----------
    metric : Metric
    score : float
        The corpus score, on the metric's own scale.
    signature : str
        The metric with its options, and everything else on which its score depends.
    parts : dict
        The quantities that papers tabulate: shares as fractions, counts as counts.
    segment_scores : (S,) float64
        The score of each segment by itself.
    batch : Batch or None
        What is scored.
    warnings : tuple of str
        What looks wrong with the texts, one line each.
    low, high : float or None
        The interval of the score, if it was asked for.
    stats : (S, K) float64
        The statistics of each segment.
    ids : tuple of str or None
        The id of each segment, if the references name them.
    """

    metric: Metric = field(repr=False)
    score: float
    signature: str
    parts: dict[str, float] = field(repr=False)
    segment_scores: FloatArray = field(repr=False)
    batch: Batch | None = field(default=None, repr=False)
    warnings: tuple[str, ...] = field(default=(), repr=False)
    low: float | None = field(default=None, repr=False)
    high: float | None = field(default=None, repr=False)
    stats: FloatArray = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    ids: tuple[str, ...] | None = field(default=None, repr=False)

    def confusions(self, most: int) -> list[Confusion]:
        """Return the most frequent edits of WER, see `Wer.confusions`; none of other metrics."""
        if not most or self.batch is None or not isinstance(self.metric, Wer):
            return []
        return self.metric.confusions(self.batch)[:most]

    def doubts(self) -> list[str]:
        """Return a line if scores of segments are not finite."""
        missing = np.flatnonzero(~np.isfinite(self.segment_scores))
        return [
            f"{self.metric.name()} of {errors.counted(len(missing), 'segment')} (the first: "
            f"{first}, counted from 0) is no finite number (is it 0 divided by 0?)"
            for first in missing[:1]
        ]


def score_texts(
    metrics: Sequence[Metric], batch: Batch, ready: prepare.Preparation
) -> list[Score]:
    """Score one hypothesis a segment with each metric.

    Parameters
    ----------
    metrics
        The metrics.
    batch
        S hypotheses, one for each segment.
    ready
        The preparation of the batch; it is part of the signatures.

    Raises
    ------
    InputError
        The batch lacks what a metric needs (see `compute_stats`).
    ValueError
        A segment has not exactly one hypothesis, or there is no segment.
    """
    if len(batch) == 0 or (np.diff(batch.offsets) != 1).any():
        raise ValueError("scoring takes exactly one hypothesis for each of at least one segment")
    scores, starts = [], range(0, len(batch), SEGMENTS_PER_PART)
    for metric in metrics:
        stats = statistics.compute_stats(metric, batch)
        total = stats.sum(axis=0)
        scores.append(
            Score(
                metric=metric,
                signature=ready.signature(metric, batch.reference_offsets),
                score=float(statistics.finite_scores(metric, total)),
                parts=metric.parts(total) | metric.details(batch),
                segment_scores=np.concatenate(
                    [
                        metric.segment_scores(stats[k : k + SEGMENTS_PER_PART], total)
                        for k in starts
                    ]
                ),
                batch=batch,
                stats=stats,
            )
        )
    return scores


def as_json(
    scores: Sequence[Score], *, by_segment: bool, interval: bool = False, confusions: int = 0
) -> dict[str, Any]:
    """Return the scores as the JSON object of `portmert score --json`."""
    document: dict[str, Any] = {
        "segments": len(scores[0].segment_scores),
        "scores": [
            {
                "metric": score.metric.name(),
                "signature": score.signature,
                "higher_is_better": score.metric.higher_is_better,
                **score.metric.display.with_rates({"score": score.score}),
                **({"low": score.low, "high": score.high} if interval else {}),
                "parts": score.parts,
                **({"confusions": rows} if (rows := score.confusions(confusions)) else {}),
            }
            for score in scores
        ],
    }
    if by_segment:
        document["segment_scores"] = [
            {
                "segment": segment,
                "scores": [
                    {"metric": s.metric.name(), **s.metric.display.with_rates({"score": value})}
                    for s, value in zip(scores, values, strict=True)
                ],
            }
            for segment, values in enumerate(
                zip(*(score.segment_scores.tolist() for score in scores), strict=True)
            )
        ]
    return document


def as_text(
    scores: Sequence[Score], *, by_segment: bool, interval: bool = False, confusions: int = 0
) -> str:
    """Return the scores as aligned tables, with shares in percent, as papers print them."""
    # Shares, printed in percent, and no counts; a formula's parts are called `bleu.p1`. A rate
    # stands once: as the value of its metric, or in a formula as `wer.rate`.
    parts = dict.fromkeys(key for score in scores for key in score.parts)
    columns = [
        key
        for key in parts
        if not key.rpartition(".")[2].startswith(COUNTS)
        and key != "rate"
        and f"{key}.rate" not in parts
    ]
    labels = [score.metric.display.labelled(name) for name, score in _by_name(scores)]
    rows = [
        [label, score.metric.shown(score.score), *([_interval(score)] if interval else [])]
        + [f"{100.0 * score.parts[key]:.2f}" if key in score.parts else "" for key in columns]
        for label, score in zip(labels, scores, strict=True)
    ]
    heads = ["metric", "score", *(["95 % interval"] if interval else []), *columns]
    table = tables.aligned(heads, rows)
    blocks = [table, _lengths_line(scores)]
    blocks.append("\n".join(score.signature for score in scores))
    blocks += [_confusions_table(x) for score in scores if (x := score.confusions(confusions))]
    if by_segment:
        by_number = [
            [str(segment), *(s.metric.shown(s.segment_scores[segment]) for s in scores)]
            for segment in range(len(scores[0].segment_scores))
        ]
        headers = ["segment", *labels]
        blocks.append(tables.aligned(headers, by_number, sides="r" * len(headers)))
    return "\n\n".join(blocks)


def _confusions_table(confusions: Sequence[Confusion]) -> str:
    """Return confusions with a dash for no word: an insertion or a deletion."""
    rows = [[str(x.times), x.reference or NOTHING, x.hypothesis or NOTHING] for x in confusions]
    return tables.aligned(["times", "reference", "hypothesis"], rows, sides="rll")


def _interval(score: Score) -> str:
    """Return the interval of a score as printed, the lower shown value first."""
    if score.low is None or score.high is None:
        return NOTHING
    display = score.metric.display
    return " to ".join(map(display.shown, sorted((score.low, score.high), key=display.value)))


def _by_name(scores: Sequence[Score]) -> list[tuple[str, Score]]:
    """Return each score and its metric's name.

    Metrics of one name have the options in which they differ, formulas their signatures.
    """
    labels = []
    for score in scores:
        name, signature = score.metric.name(), score.metric.signature
        alike = [s.metric.signature for s in scores if s.metric.name() == name]
        options = [text.removeprefix(f"{name}:").split(",") for text in alike]
        differing = [
            option
            for option in signature.removeprefix(f"{name}:").split(",")
            if any(option not in other_options for other_options in options)
        ]
        if len(alike) == 1 or not differing:
            labels.append(name)
        else:
            has_options = signature.startswith(f"{name}:")
            labels.append(f"{name}:{','.join(differing)}" if has_options else signature)
    return list(zip(labels, scores, strict=True))


def _lengths_line(scores: Sequence[Score]) -> str:
    line = f"{errors.counted(len(scores[0].segment_scores), 'segment')}"
    for score in scores:
        if "hyp_len" in score.parts and "ref_len" in score.parts:
            hypothesis, reference = score.parts["hyp_len"], score.parts["ref_len"]
            line += f", {hypothesis:g} hypothesis tokens, {reference:g} reference tokens"
            return line + (f", ratio {hypothesis / reference:.3f}" if reference else "")
    return line
