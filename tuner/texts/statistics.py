"""Sufficient statistics of many hypotheses, in threads, with checks of the input."""

import time
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import SYNTAX, Batch, FloatArray, IntArray, Metric, Need

from ..base.context import current
from ..base.errors import InputError, ProgramError, ScoreError, counted
from ..base.threads import each, raise_if_cancelled
from . import text_checks
from .corpus import first_outside
from .joining import has_gold
from .text_pipeline import unknown_tokens, untokenised

HYPOTHESES_PER_CHUNK = 8192
"""Small enough for small arrays, and for an even share of the work among threads."""

_FIRST, _SECONDS = 256, 0.2
"""Hypotheses of the first call of a metric; with calls that are faster their number doubles."""
TOLERANCE = 1e-9
"""How far rounding may take a score beyond the best."""
NEED_NAMES = {
    "tags": "part-of-speech tags",
    "heads": "dependency parses",
    "trees": "constituency parses",
    "roles": "semantic roles",
    "drs": "discourse representations",
    "arcs": "weighted dependency parses",
}
"""The name of each need in messages."""


def compute_stats(metric: Metric, batch: Batch, *, outputs: Sequence[str] = ()) -> FloatArray:
    """Return (H, K) float64: the statistics of every hypothesis, whatever the number of threads.

    If the hypotheses of each segment are of several systems, `outputs` names these in messages.

    Raises
    ------
    InputError
        The batch lacks what the metric needs, a link lies outside its sentence, a statistic is
        not finite, or a score is better than the best.
    """
    check_texts(metric, batch, outputs)
    stats = np.empty((len(batch.hypotheses), len(metric.stat_names)))
    chunks = _chunks(batch.offsets)

    pace = _FIRST  # hypotheses at a time: slow metrics must look now and then whether to end

    def work(number: int) -> None:
        nonlocal pace
        first, end = chunks[number]
        while first < end:
            raise_if_cancelled()
            begin = time.monotonic()
            last = int(np.searchsorted(batch.offsets, batch.offsets[first] + pace))
            last = min(max(last, first + 1), end)
            part = batch.segments(first, last)
            rows = stats[batch.offsets[first] : batch.offsets[last]]
            try:
                rows[:] = checked_stats(metric, part, len(rows))
            except ValueError:  # metrics notice a wrong link at no cost; here it gets a place
                if "links" in metric.needs:
                    _check_links(part, first, outputs)
                raise
            _check_values(metric, part, rows, first, outputs)
            is_fast = time.monotonic() - begin < _SECONDS
            pace = min(2 * pace, HYPOTHESES_PER_CHUNK) if is_fast else max(pace // 2, 1)
            first = last

    if current().threads == 1 or len(chunks) < 2:
        for number in range(len(chunks)):
            work(number)
    else:
        each(work, len(chunks))
    return stats


def checked_stats(metric: Metric, batch: Batch, rows: int) -> FloatArray:
    """Return (rows, K): the statistics of a batch.

    Raises
    ------
    ProgramError
        The metric returns something else, or its scores are no numbers or have another shape.
    """
    shape = rows, len(metric.stat_names)
    stats = _numbers(metric, "stats", metric.stats(batch), shape).astype(np.float64, copy=False)
    with np.errstate(all="ignore"):
        for sums in (stats[0], stats[:2], stats[np.newaxis, :2]) if rows else ():
            _numbers(metric, "score", metric.score(sums), sums.shape[:-1])
    return stats


def _numbers(metric: Metric, method: str, answer: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return the numbers that a metric returned; raise `ProgramError` for anything else."""
    array = np.asarray(answer)
    if array.shape != shape or array.dtype.kind not in "biuf":
        raise ProgramError(
            f"{method}() of metric {metric.name()}{metric.of_package()} returned "
            f"{type(answer).__name__} of shape {array.shape} and type {array.dtype}, expected "
            f"numbers of shape {shape}; mend the metric"
        )
    return array


def finite_scores(metric: Metric, sums: FloatArray, total: FloatArray | None = None) -> FloatArray:
    """Return the scores (...) of summed statistics (..., K).

    With the `total` of their corpus, the statistics are of its single segments.

    Raises
    ------
    ScoreError
        One of them is not finite.
    """
    with np.errstate(all="ignore"):
        scores = np.asarray(
            metric.score(sums) if total is None else metric.segment_scores(sums, total)
        )
    for place in np.argwhere(~np.isfinite(scores))[:1]:
        raise ScoreError(
            f"metric {metric.name()}{metric.of_package()} is {scores[tuple(place)]} for "
            f"{named(metric, sums[*place])}, expected a finite number; mend the metric"
        )
    return scores


def named(metric: Metric, sums: Sequence[float] | FloatArray) -> str:
    """Return sums (K,) of statistics whose score is not finite, with their names."""
    pairs = zip(metric.stat_names, sums, strict=True)
    text = ", ".join(f"{name} {value:g}" for name, value in pairs)
    return f"the sums {text} (is it 0 divided by 0?)"


def needs_of(metrics: Iterable[Metric]) -> frozenset[Need]:
    """Return the needs of metrics that an annotator meets."""
    needs: Iterable[Need] = chain.from_iterable(metric.needs for metric in metrics)
    return frozenset(need for need in needs if str(need) in SYNTAX)


def annotator_needed(metric: Metric, option: str) -> str:
    """Return the message for a metric without an annotator, with one that gives its analyses."""
    needs = {str(need) for need in needs_of([metric])}
    compared, annotator = "syntax", "udpipe:model=FILE"
    if needs & {"roles", "drs"}:
        compared, annotator = "meaning", "semantics:files=FILE"
    elif "trees" in needs:
        annotator = "ptb:files=FILE"
    return (
        f"metric {metric.name()} compares {compared} and needs an annotator; {option}{annotator}"
    )


def require(metric: Metric, batch: Batch) -> None:
    """Raise InputError if the batch lacks what the metric needs, naming it."""
    gold = has_gold(batch.references)
    if metric.reads_references and len(batch.references) and gold != metric.reads_gold:
        raise InputError(
            f"metric {metric.name()} compares with "
            + (
                "gold edits: give an M2 file in place of texts, as --ref FILE.m2"
                if metric.reads_gold
                else "texts, the references are gold edits of an M2 file"
            )
        )
    if "links" in metric.needs:
        inputs = {
            "the source text": batch.source_lengths,
            "links of the hypotheses": batch.hypotheses.links,
            "links of the references": batch.references.links,
        }
        missing = ", ".join(
            name_of_input for name_of_input, value in inputs.items() if value is None
        )
        if missing:
            raise InputError(
                f"metric {metric.name()} compares word orders and needs word alignments; missing: "
                f"{missing} (a list with word alignments has those of its hypotheses, an aligner "
                f"makes the others)"
            )
    if "source" in metric.needs and batch.source is None:
        raise InputError(f"metric {metric.name()} reads the source text: give --source")
    for need in sorted(metric.needs - {"links", "source"}, key=str):
        for name, texts in (("hypotheses", batch.hypotheses), ("references", batch.references)):
            if not texts.has(need):
                raise InputError(
                    f"metric {metric.name()} needs {NEED_NAMES[str(need)]} of the {name}; name an "
                    f"annotator that makes them (--annotator, or a table [annotator])"
                )


def check_texts(metric: Metric, batch: Batch, outputs: Sequence[str] = ()) -> None:
    """Raise InputError if the batch lacks what the metric needs, or a text is too long for it."""
    require(metric, batch)
    if metric.most_tokens is None:
        return
    for name, texts, offsets in (
        ("hypothesis", batch.hypotheses, batch.offsets),
        ("reference", batch.references, batch.reference_offsets),
    ):
        wrong = np.flatnonzero(texts.tokens.lengths > metric.most_tokens)
        for row in wrong[:1].tolist():
            raise InputError(
                f"{_place(offsets, row, name, outputs)}: "
                f"{counted(int(texts.tokens.lengths[row]), 'token')}; {metric.name()} compares at "
                f"most {metric.most_tokens}: is a line end missing?"
            )


def notices(metric: Metric, batch: Batch) -> list[str]:
    """Return what looks wrong about the input, one line each."""
    lines: list[str | None] = []
    if metric.reads_references and not metric.reads_gold:
        lines += text_checks.doubts(
            batch,
            compares_words=metric.compares_words,
            reads_order="links" in metric.needs,
            counts_blanks=getattr(metric, "spaces", False),
        )
    counts = np.bincount(batch.hypotheses.tokens.alone().values)
    lines.append(unknown_tokens(counts, batch.references))
    if metric.compares_words:
        lines.append(untokenised(batch.references))
    if "links" in metric.needs:
        lines += _unlinked_texts(batch)
    return [line for line in lines if line is not None]


def _unlinked_texts(batch: Batch) -> list[str]:
    """Return notes on texts without any link.

    They count as translated in source order. That follows from the metrics' definition (an
    unaligned word follows the word before it), but often shows a failed alignment.
    """
    lines = []
    for name, texts, offsets in (
        ("hypotheses", batch.hypotheses, batch.offsets),
        ("references", batch.references, batch.reference_offsets),
    ):
        if texts.links is None or batch.source_lengths is None:
            continue
        source_lengths = np.repeat(batch.source_lengths, np.diff(offsets))
        are_full = (source_lengths > 0) & (texts.tokens.lengths > 0)
        if unlinked := np.count_nonzero((texts.links.lengths == 0) & are_full):
            lines.append(
                f"{unlinked} of {len(texts)} {name} have no links: their words count as being in "
                f"source order"
            )
    return lines


def _chunks(offsets: IntArray) -> list[tuple[int, int]]:
    """Cut S segments into ranges of about HYPOTHESES_PER_CHUNK hypotheses each."""
    ends = np.arange(offsets[0], offsets[-1], HYPOTHESES_PER_CHUNK)
    cuts = np.unique(np.concatenate([np.searchsorted(offsets, ends), [0, len(offsets) - 1]]))
    return list(pairwise(cuts.tolist()))


def _place(offsets: IntArray, row: int, name: str, outputs: Sequence[str], first: int = 0) -> str:
    """Return where a hypothesis or reference stands, as messages have it."""
    segment = int(np.searchsorted(offsets, row, side="right")) - 1
    number = row - int(offsets[segment])
    if outputs and name == "hypothesis":
        return f"{outputs[number]}: segment {first + segment} (counted from 0)"
    return f"segment {first + segment}, {name} {number} (counted from 0)"


def _check_values(
    metric: Metric,
    batch: Batch,
    stats: FloatArray,
    first_segment: int,
    outputs: Sequence[str],
) -> None:
    """Raise InputError at the first statistic or score that cannot be."""
    wrong = np.argwhere(~np.isfinite(stats))
    with np.errstate(all="ignore"):
        scores = np.asarray(metric.score(stats))
    better = np.flatnonzero(
        np.isfinite(scores) & (metric.oriented(scores) > metric.oriented(metric.best) + TOLERANCE)
    )
    if not len(wrong) and not len(better):
        return
    row = int(wrong[0, 0] if len(wrong) else better[0])
    if len(wrong):
        column = int(wrong[0, 1])
        value = f"statistic {metric.stat_names[column]}", stats[row, column], "a finite number"
    else:
        side = "most" if metric.higher_is_better else "least"
        value = "the score", scores[row], f"at {side} {metric.best:g}"
    name, number, expected = value
    raise InputError(
        f"{_place(batch.offsets, row, 'hypothesis', outputs, first_segment)}: {name} of metric "
        f"{metric.name()}{metric.of_package()} is {number}, expected {expected}; mend the metric"
    )


def _check_links(batch: Batch, first_segment: int, outputs: Sequence[str]) -> None:
    """Raise InputError at the first link outside its sentence."""
    assert batch.source_lengths is not None  # noqa: S101  `require` has seen to it
    for name, texts, offsets in (
        ("hypothesis", batch.hypotheses, batch.offsets),
        ("reference", batch.references, batch.reference_offsets),
    ):
        links = texts.links
        assert links is not None  # noqa: S101
        outside = first_outside(
            links.alone().values.reshape(-1, 2),
            np.repeat(np.arange(len(links)), links.lengths),
            np.repeat(batch.source_lengths, np.diff(offsets)),
            texts.tokens.lengths,
            name,
        )
        if outside:
            text, fault = outside
            raise InputError(f"{_place(offsets, text, name, outputs, first_segment)}: {fault}")
