"""Finds where systems differ: kinds of segments, single segments, n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Ragged, Texts, offsets_of
from portmert.metrics._orders import word_orders
from portmert.tuner.components import registry
from portmert.tuner.evaluation.comparison.material import Material
from portmert.tuner.evaluation.comparison.model import (
    Bucket,
    Differences,
    LinkedText,
    Segment,
    SegmentDifference,
)
from portmert.tuner.evaluation.comparison.ngrams import ngram_differences
from portmert.tuner.evaluation.comparison.scores import Counted
from portmert.tuner.texts.corpus import IntegerArray, References, make_batch
from portmert.tuner.texts.statistics import compute_stats

LENGTHS = (10, 20, 30, 40, 50)
"""Last reference lengths of the buckets; longer segments are in one more."""
REORDERING = (0.0, 0.1, 0.2, 0.4, 0.6)
"""Largest amounts of reordering of the buckets; the rest is in one more."""
MOST_SEGMENTS = 5
"""Segments shown of each metric, system and direction."""


def differences(
    names: Sequence[str],
    material: Material,
    counted: Sequence[Counted],
    reordering: FloatArray | None,
) -> Differences:
    """Return where the systems differ from the first.

    Parameters
    ----------
    counted
        Statistics under the metrics of the comparison.
    reordering : (S,) float64 or None
        See `reference_reordering`.
    """
    return Differences(
        by_length=_by_length(material, counted),
        by_reordering=() if reordering is None else _by_reordering(material, counted, reordering),
        ngrams=ngram_differences(names, material),
        segments=_segments(names, material, counted),
    )


def reference_reordering(material: Material) -> FloatArray | None:
    """Return (S,) float64: 1 - v of each first reference against source order.

    NaN where source or reference is empty; None where links are not known.
    """
    references = material.references
    if references.texts.links is None or references.source_lengths is None:
        return None
    texts = references.texts.take(references.offsets[:-1])
    segments, lengths = len(texts), references.source_lengths.astype(np.int64)
    offsets = np.arange(segments + 1, dtype=np.int64)
    # A text in source order: as many words as the source, each linked to its own.
    starts = offsets_of(lengths)
    within = (np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)).astype(np.int32)
    monotone = Texts(
        texts.vocabulary,
        Ragged(np.zeros(starts[-1], dtype=np.int32), starts),
        Ragged(np.column_stack([within, within]), starts),
    )
    batch = make_batch(texts, offsets, References(monotone, offsets, references.source_lengths))
    metric = registry.metric("v")
    amount = 1.0 - metric.score(compute_stats(metric, batch))
    amount[(lengths == 0) | (texts.tokens.lengths == 0)] = np.nan
    return amount


def segments_of(
    material: Material, counted: Sequence[Counted], reordering: FloatArray | None
) -> tuple[Segment, ...]:
    """Return all segments: texts, links, orders and scores; outputs are of first replicas."""
    chosen = [material.members(system)[0] for system in range(len(material.replicas))]
    lengths = material.references.source_lengths
    outputs = [_with_v(material.outputs[output], material.references) for output in chosen]
    count = np.diff(material.references.offsets)
    references = _linked_texts(
        material.references.texts, None if lengths is None else np.repeat(lengths, count)
    )
    scores = {one.label: np.array(one.segment_scores(material)).T.tolist() for one in counted}
    offsets = material.references.offsets.tolist()
    return tuple(
        Segment(
            source=None if material.sources is None else material.sources[s],
            references=tuple(references[offsets[s] : offsets[s + 1]]),
            outputs=tuple(texts[s] for texts in outputs),
            scores={label: tuple(rows[s]) for label, rows in scores.items()},
            reordering=None if reordering is None else float(reordering[s]),
        )
        for s in range(len(material))
    )


def _with_v(texts: Texts, references: References) -> list[LinkedText]:
    """Return outputs as they are drawn, with v against the first reference."""
    found = _linked_texts(texts, references.source_lengths)
    if texts.links is None or references.texts.links is None or references.source_lengths is None:
        return found
    offsets = np.arange(len(texts) + 1, dtype=np.int64)
    first = references.texts.take(references.offsets[:-1])
    metric = registry.metric("v")
    batch = make_batch(texts, offsets, References(first, offsets, references.source_lengths))
    scores = metric.score(compute_stats(metric, batch)).tolist()
    return [replace(text, v=v) for text, v in zip(found, scores, strict=True)]


def _linked_texts(texts: Texts, source_lengths: IntegerArray | None) -> list[LinkedText]:
    """Return texts with their links and word orders as text."""
    lines = [" ".join(texts.words(row)) for row in range(len(texts))]
    if texts.links is None or source_lengths is None:
        return [LinkedText(line) for line in lines]
    lengths = source_lengths.astype(np.int64)
    orders = word_orders(texts, lengths, null="inherit", encoding="order").tolist()
    ends = np.cumsum(lengths).tolist()
    return [
        LinkedText(
            line,
            " ".join(f"{i}-{j}" for i, j in texts.links.row(row).tolist()),
            " ".join(map(str, orders[end - length : end])),
        )
        for row, (line, end, length) in enumerate(zip(lines, ends, lengths.tolist(), strict=True))
    ]


def _by_length(material: Material, counted: Sequence[Counted]) -> tuple[Bucket, ...]:
    references = material.references
    lengths = references.texts.tokens.lengths[references.offsets[:-1]]
    labels = [f"{low + 1}-{high}" for low, high in pairwise((0, *LENGTHS))]
    numbers = np.searchsorted(np.array(LENGTHS), lengths)
    return _buckets(material, counted, numbers, [*labels, f"{LENGTHS[-1] + 1}-"])


def _by_reordering(
    material: Material, counted: Sequence[Counted], amount: FloatArray
) -> tuple[Bucket, ...]:
    labels = [f"{REORDERING[0]:g}"]
    labels += [f"{low:g}-{high:g}" for low, high in pairwise(REORDERING)]
    rounded = np.round(amount, 9)  # an order like the source's is 0, whatever rounding says
    numbers = np.searchsorted(np.array(REORDERING), rounded)
    numbers[np.isnan(amount)] = -1
    return _buckets(material, counted, numbers, [*labels, f"{REORDERING[-1]:g}-1"])


def _buckets(
    material: Material, counted: Sequence[Counted], numbers: IntArray, labels: Sequence[str]
) -> tuple[Bucket, ...]:
    """Return the buckets that have segments; a bucket's number is the place of its label."""
    found = []
    for number, label in enumerate(labels):
        members = np.flatnonzero(numbers == number)
        if not members.size:
            continue
        scores = {}
        for one in counted:
            each = one.metric.score(one.stats[:, members].sum(axis=1))
            scores[one.label] = tuple(
                float(each[material.members(system)].mean())
                for system in range(len(material.replicas))
            )
        found.append(Bucket(label, len(members), scores))
    return tuple(found)


def _segments(
    names: Sequence[str], material: Material, counted: Sequence[Counted]
) -> tuple[SegmentDifference, ...]:
    found = []
    for one in counted:
        scores = one.segment_scores(material)
        for name, own in zip(names[1:], scores[1:], strict=True):
            change = own - scores[0]
            gain = one.metric.oriented(change)
            order = np.argsort(-gain, kind="stable")  # best gain first
            gains = [s for s in order[:MOST_SEGMENTS] if gain[s] > 0]
            losses = [s for s in order[::-1][:MOST_SEGMENTS] if gain[s] < 0]
            found += [
                SegmentDifference(one.label, name, int(s), float(change[s]))
                for s in (*gains, *reversed(losses))
            ]
    return tuple(found)
