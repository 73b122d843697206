"""Finds where systems differ: kinds of segments, single segments, n-grams, whole outputs.

Results are parts of the document that `compare_systems` returns.
"""

import itertools
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Ragged, Texts, offsets_of
from portmert.metrics._word_orders import word_orders

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

    Parameters
    ----------
    reordering : (S,) float64 or None
        How much words move between source and reference; None without links.
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


def ngram_differences(material: Material) -> list[dict[str, Any]]:
    """Return, for each system but the first, the n-grams of largest gain and largest loss.

    A match counts at most as often as one reference of the segment has the n-gram. Counts are
    summed over segments and are means over replicas; `reference` counts in references. Among
    n-grams with the same difference the longer one comes first.
    """
    changes: list[list[_Change]] = [[] for _ in material.systems]
    words = material.references.texts.vocabulary.words
    for order, ngrams, means, in_references in _matches(material):
        for number, name in enumerate(material.systems[1:], 1):
            change = means[number] - means[0]
            for n in _largest(change):
                entry: dict[str, Any] = {
                    "system": name,
                    "ngram": " ".join(words[token] for token in ngrams[n]),
                    "first_matched": float(means[0, n]),
                    "system_matched": float(means[number, n]),
                    "reference": float(in_references[n]),
                }
                changes[number].append(_Change(float(change[n]), order, entry))
    rows: list[dict[str, Any]] = []
    for of_system in changes:
        of_system.sort(key=lambda x: (-abs(x.gain), -x.order, x.row["ngram"]))
        gains = [x.row for x in of_system if x.gain > 0][:MAX_NGRAMS]
        losses = [x.row for x in of_system if x.gain < 0][:MAX_NGRAMS]
        rows += [*gains, *reversed(losses)]
    return rows


class _Change(NamedTuple):
    """How many more matches of an n-gram a system has than the first, and its row."""

    gain: float
    order: int
    row: dict[str, Any]


def _largest(change: FloatArray) -> list[int]:
    """Return the n-grams that may be shown, of either direction, ties included."""
    least = [np.partition(x, -MAX_NGRAMS)[-MAX_NGRAMS] if x.size > MAX_NGRAMS else 0.0
             for x in (change, -change)]  # fmt: skip
    is_large = (change >= least[0]) | (-change >= least[1])
    return np.flatnonzero(is_large & (change != 0)).tolist()


def _matches(material: Material) -> Iterator[tuple[int, IntArray, FloatArray, FloatArray]]:
    """Yield for each order (G, order) n-grams, (M, G) mean matches, (G,) in references.

    An n-gram is numbered by the number of its first words and its last word.
    """
    references, replicas = material.references, np.array(material.replicas)
    outputs = [output.tokens for system in material.outputs for output in system]
    texts = Ragged.joined([references.texts.tokens, *outputs])
    segments = np.arange(len(material))
    of_references = np.repeat(segments, np.diff(references.offsets))
    segment_of_text = np.concatenate([of_references, *[segments] * len(outputs)])
    of_outputs = np.repeat(np.repeat(np.arange(len(replicas)), replicas), len(segments))
    system_of_text = np.concatenate([np.full(len(of_references), -1), of_outputs])
    text_of_token = np.repeat(np.arange(len(texts)), texts.lengths)
    ends, tokens = np.repeat(texts.offsets[1:], texts.lengths), texts.values.astype(np.int64)
    places, numbers = np.arange(len(tokens)), np.zeros(len(tokens), dtype=np.int64)
    for order in range(1, MAX_ORDER + 1):
        fits = places + order <= ends[places]
        places = places[fits]
        codes = numbers[fits] * len(references.texts.vocabulary) + tokens[places + order - 1]
        distinct, first, numbers = np.unique(codes, return_index=True, return_inverse=True)
        size = len(distinct)
        keys, counts = np.unique(text_of_token[places] * size + numbers, return_counts=True)
        text, ngram = np.divmod(keys, max(size, 1))
        in_segment, system = segment_of_text[text] * size + ngram, system_of_text[text]
        # Of a segment's references the one that has most of an n-gram limits its matches.
        limited, limit_of = np.unique(in_segment[system < 0], return_inverse=True)
        limits = np.zeros(len(limited) + 1, dtype=np.int64)  # at the end: 0 for all others
        np.maximum.at(limits, limit_of, counts[system < 0])
        limit = np.searchsorted(limited, in_segment)
        limit[~np.isin(in_segment, limited)] = len(limited)
        matched = np.zeros((len(replicas) + 1, size))  # the last row is of the references
        np.add.at(matched, (system, ngram), np.minimum(counts, limits[limit]))
        in_references = np.zeros(size)
        np.add.at(in_references, limited % max(size, 1), limits[:-1])
        ngrams = tokens[places[first][:, np.newaxis] + np.arange(order)]
        yield order, ngrams, matched[:-1] / replicas[:, np.newaxis], in_references


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
        # TER is edits by reference words; identical segments have no edits.
        edits = compute_stats(ter, batch)[:, 0].sum() if len(rows) else 0.0
        rates.append(float(ter.score(np.array([edits, references.tokens.lengths.sum()]))))
    return float(identical.mean()), 1.0 - (rates[0] + rates[1]) / 2.0
