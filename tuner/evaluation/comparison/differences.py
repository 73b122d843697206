"""Finds where systems differ: kinds of segments, single segments, n-grams, whole outputs.

Results are parts of the document that `compare_systems` returns.
"""

import itertools
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Ragged, Texts, offsets_of
from portmert.metrics._orders import word_orders

from ...components import registry
from ...texts.corpus import IntegerArray, References, make_batch
from ...texts.statistics import compute_stats
from .material import Material, identical_segments
from .scores import Counted

LENGTHS = (10, 20, 30, 40, 50)
"""Longest references of the buckets. One more bucket has the longer segments."""
REORDERING = (0.0, 0.1, 0.2, 0.4, 0.6)
"""Largest amounts of reordering of the buckets. One more bucket has the rest."""
MAX_SEGMENTS = 5
"""Segments shown for each metric, system and direction."""


def differences(
    material: Material,
    counted: Sequence[Counted],
    reordering: FloatArray | None,
) -> dict[str, Any]:
    """Return where the systems differ from the first.

    Segments are grouped by the number of tokens of their first reference, and by its amount of
    reordering (not without links). N-grams and single segments are listed for each system but the
    first: best gain first, largest loss last.

    Parameters
    ----------
    counted
        Statistics under the metrics of the comparison.
    reordering : (S,) float64 or None
        See `reference_reordering`.
    """
    references = material.references
    lengths = references.texts.tokens.lengths[references.offsets[:-1]]
    labels = [f"{low + 1}-{high}" for low, high in pairwise((0, *LENGTHS))]
    numbers = np.searchsorted(np.array(LENGTHS), lengths)
    by_length = _buckets(counted, numbers, [*labels, f"{LENGTHS[-1] + 1}-"])
    by_reordering: list[dict[str, Any]] = []
    if reordering is not None:
        labels = [f"{low:g}-{high:g}" for low, high in pairwise((*REORDERING, 1.0))]
        rounded = np.round(reordering, 9)  # an order like the source's is exactly 0
        numbers = np.searchsorted(np.array(REORDERING), rounded)
        numbers[np.isnan(reordering)] = -1
        by_reordering = _buckets(counted, numbers, [f"{REORDERING[0]:g}", *labels])
    return {
        "by_length": by_length,
        "by_reordering": by_reordering,
        "ngrams": ngram_differences(material),
        "segments": _segments(material, counted),
    }


def reference_reordering(material: Material) -> FloatArray | None:
    """Return (S,) float64: 1 - v of each first reference against source order.

    NaN if source or reference is empty; None if links are not known.
    """
    references = material.references
    if references.texts.links is None or references.source_lengths is None:
        return None
    texts = references.texts.take(references.offsets[:-1])
    lengths = references.source_lengths.astype(np.int64)
    # A text in source order: one word for each source word, linked to it.
    starts = offsets_of(lengths)
    within = (np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)).astype(np.int32)
    monotone = Texts(
        texts.vocabulary,
        Ragged(np.zeros(starts[-1], dtype=np.int32), starts),
        Ragged(np.column_stack([within, within]), starts),
    )
    amount = 1.0 - _v(texts, monotone, references.source_lengths)
    amount[(lengths == 0) | (texts.tokens.lengths == 0)] = np.nan
    return amount


def _v(texts: Texts, compared: Texts, source_lengths: IntegerArray) -> FloatArray:
    """Return (S,): v of each text against the other text of its segment."""
    offsets = np.arange(len(texts) + 1, dtype=np.int64)
    batch = make_batch(texts, offsets, References(compared, offsets, source_lengths))
    metric = registry.metric("v")
    return metric.score(compute_stats(metric, batch))


def segments_of(
    material: Material, counted: Sequence[Counted], reordering: FloatArray | None
) -> list[dict[str, Any]]:
    """Return texts and scores of all segments. Outputs are of first replicas.

    A text has its tokens, joined by spaces (`text`). If links are known, it has them too (`0-0
    1-2`: source position and position in the text), and the source positions in the order of the
    text (`0 2 1`: the permutation that v compares). An output then has the agreement of this order
    with the first reference's (`v`). Scores are means over replicas.
    """
    lengths = material.references.source_lengths
    outputs = [_with_v(output, material.references) for output, *_ in material.outputs]
    count = np.diff(material.references.offsets)
    references = _linked_texts(
        material.references.texts, None if lengths is None else np.repeat(lengths, count)
    )
    scores = {counts.label: np.array(counts.segment_scores()).T.tolist() for counts in counted}
    offsets = material.references.offsets.tolist()
    return [
        {
            "source": None if material.sources is None else material.sources[s],
            "references": references[offsets[s] : offsets[s + 1]],
            "outputs": [texts[s] for texts in outputs],
            "scores": {label: rows[s] for label, rows in scores.items()},
            "reordering": None if reordering is None else float(reordering[s]),
        }
        for s in range(len(material))
    ]


def _with_v(texts: Texts, references: References) -> list[dict[str, Any]]:
    """Return outputs with links, orders, and v against the first reference."""
    linked = _linked_texts(texts, references.source_lengths)
    if texts.links is None or references.texts.links is None or references.source_lengths is None:
        return linked
    first = references.texts.take(references.offsets[:-1])
    scores = _v(texts, first, references.source_lengths).tolist()
    return [{**text, "v": v} for text, v in zip(linked, scores, strict=True)]


def _linked_texts(texts: Texts, source_lengths: IntegerArray | None) -> list[dict[str, Any]]:
    """Return texts with their links and word orders as text, None if they are not known."""
    linked: list[dict[str, Any]] = [
        {"text": " ".join(texts.words(row)), "links": None, "order": None, "v": None}
        for row in range(len(texts))
    ]
    if texts.links is None or source_lengths is None:
        return linked
    lengths = source_lengths.astype(np.int64)
    orders = np.split(
        word_orders(texts, lengths, null="inherit", encoding="order"), np.cumsum(lengths)[:-1]
    )
    for row, (text, order) in enumerate(zip(linked, orders, strict=True)):
        text["links"] = " ".join(f"{i}-{j}" for i, j in texts.links.row(row).tolist())
        text["order"] = " ".join(map(str, order.tolist()))
    return linked


def _buckets(
    counted: Sequence[Counted], numbers: IntArray, labels: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the buckets that have segments. A bucket's number is the index of its label."""
    buckets = []
    for number, label in enumerate(labels):
        members = np.flatnonzero(numbers == number)
        if not members.size:
            continue
        scores = {
            x.label: Counted(x.label, x.metric, [y[:, members] for y in x.stats]).corpus_scores()
            for x in counted
        }
        buckets.append({"label": label, "segments": len(members), "scores": scores})
    return buckets


def _segments(material: Material, counted: Sequence[Counted]) -> list[dict[str, Any]]:
    """Return segments on which a system's score differs much from that of the first one."""
    rows = []
    for counts in counted:
        scores = counts.segment_scores()
        for name, scores_of_system in zip(material.systems[1:], scores[1:], strict=True):
            change = scores_of_system - scores[0]
            gain = counts.metric.oriented(change)
            order = np.argsort(-gain, kind="stable")  # best gain first
            gains = [s for s in order[:MAX_SEGMENTS] if gain[s] > 0]
            losses = [s for s in order[::-1][:MAX_SEGMENTS] if gain[s] < 0]
            rows += [
                {
                    "metric": counts.label,
                    "system": name,
                    "segment": int(s),
                    "difference": change[s],
                }
                for s in (*gains, *reversed(losses))
            ]
    return rows


MAX_ORDER = 4
MAX_NGRAMS = 10
"""N-grams shown for each system and direction."""

Ngrams = Counter[tuple[int, ...]]


def ngram_differences(material: Material) -> list[dict[str, Any]]:
    """Return, for each system but the first, the n-grams of largest gain and largest loss.

    A match counts at most as often as one reference of the segment has the n-gram. Counts are
    summed over segments and are means over replicas; `reference` counts in references. Among
    n-grams with the same difference the longer one comes first.
    """
    references = material.references
    matched: list[Ngrams] = [Counter() for _ in material.systems]
    in_references: Ngrams = Counter()
    for segment in range(len(material)):
        limits: Ngrams = Counter()
        for row in range(*references.offsets[segment : segment + 2]):
            limits |= _ngrams(references.texts.tokens.row(row).tolist())
        in_references.update(limits)
        for counter, outputs in zip(matched, material.outputs, strict=True):
            for output in outputs:
                counter.update(_ngrams(output.tokens.row(segment).tolist()) & limits)
    rows: list[dict[str, Any]] = []
    for number, name in enumerate(material.systems[1:], 1):
        changes = []
        for ngram in matched[0] | matched[number]:
            first, mean = (matched[n][ngram] / material.replicas[n] for n in (0, number))
            if first != mean:
                text = " ".join(references.texts.vocabulary.words[token] for token in ngram)
                entry: dict[str, Any] = {
                    "system": name,
                    "ngram": text,
                    "first_matched": first,
                    "system_matched": mean,
                    "reference": float(in_references[ngram]),
                }
                changes.append((mean - first, -len(ngram), text, entry))
        gains = sorted((x for x in changes if x[0] > 0), key=lambda x: (-x[0], x[1:3]))
        losses = sorted((x for x in changes if x[0] < 0), key=lambda x: x[:3])
        rows += [x[3] for x in (*gains[:MAX_NGRAMS], *reversed(losses[:MAX_NGRAMS]))]
    return rows


def _ngrams(tokens: Sequence[int]) -> Ngrams:
    """Count the n-grams of a text."""
    orders = range(1, MAX_ORDER + 1)
    return Counter(
        itertools.chain.from_iterable(
            zip(*(tokens[k:] for k in range(n)), strict=False) for n in orders
        )
    )


def similarities(material: Material) -> list[dict[str, Any]]:
    """Compare the outputs of all pairs of systems, and the replicas of each system: Table 3.

    Each pair has the share of segments with the same tokens, and 1 - TER of one output against
    the other, a mean of both directions; both are means over pairs of replicas. Replica n of one
    system is compared with replica n of the other: all pairs would give the same result in
    quadratic time. If the numbers of replicas differ, the last one of the smaller system is
    compared with all that are left over.
    """
    rows = []
    outputs = zip(material.systems, material.outputs, strict=True)
    for (first, a), (second, b) in itertools.combinations_with_replacement(outputs, 2):
        pairs = list(itertools.combinations(a, 2))
        if first != second:
            most = max(len(a), len(b))
            pairs = [(a[min(n, len(a) - 1)], b[min(n, len(b) - 1)]) for n in range(most)]
        if pairs:
            alike = [_alike(*pair) for pair in pairs]
            identical, one_minus_ter = np.mean(alike, axis=0).tolist()
            row = {"first": first, "second": second, "identical": identical}
            rows.append({**row, "one_minus_ter": one_minus_ter})
    return rows


def _alike(first: Texts, second: Texts) -> tuple[float, float]:
    """Return the share of identical segments and 1 - TER, a mean of both directions."""
    ter, identical = registry.metric("ter"), identical_segments(first, second)
    rows = np.flatnonzero(~identical)
    offsets = np.arange(len(rows) + 1, dtype=np.int64)
    rates = []
    for hypotheses, references in ((first, second), (second, first)):
        batch = make_batch(
            hypotheses.take(rows), offsets, References(references.take(rows), offsets)
        )
        edits = compute_stats(ter, batch)[:, 0].sum() if len(rows) else 0.0
        rates.append(float(ter.score(np.array([edits, references.tokens.lengths.sum()]))))
    return float(identical.mean()), 1.0 - (rates[0] + rates[1]) / 2.0
