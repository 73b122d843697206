"""Finds where systems differ: kinds of segments, single segments, n-grams, whole outputs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric, Ragged, Texts, offsets_of
from portmert.metrics._orders import word_orders
from portmert.tuner.components import registry
from portmert.tuner.evaluation.comparison.material import Material
from portmert.tuner.evaluation.comparison.model import (
    Bucket,
    Differences,
    LinkedText,
    NgramDifference,
    Segment,
    SegmentDifference,
    Similarity,
)
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


MAX_ORDER = 4
MOST = 10
"""N-grams shown of each system and direction."""


def ngram_differences(names: Sequence[str], material: Material) -> tuple[NgramDifference, ...]:
    """Return, for each system but the first, the n-grams of largest gain and largest loss.

    Counts are of clipped matches, summed over segments, means over replicas. Of n-grams with the
    same difference the longer one comes first.
    """
    found: list[list[tuple[float, int, str, NgramDifference]]] = [[] for _ in names]
    for order, words, means, in_references in _matches(material):
        for i in range(1, len(names)):
            change = means[i] - means[0]
            for ngram in _extreme(change):
                text = " ".join(words(ngram))
                entry = NgramDifference(
                    names[i],
                    text,
                    float(means[0, ngram]),
                    float(means[i, ngram]),
                    float(in_references[ngram]),
                )
                found[i].append((float(change[ngram]), order, text, entry))
    kept = []
    for entries in found:
        gains = sorted((e for e in entries if e[0] > 0), key=lambda e: (-e[0], -e[1], e[2]))
        losses = sorted((e for e in entries if e[0] < 0), key=lambda e: (e[0], -e[1], e[2]))
        kept += [entry[3] for entry in (*gains[:MOST], *reversed(losses[:MOST]))]
    return tuple(kept)


def _extreme(change: FloatArray) -> list[int]:
    """Return the n-grams that may be among the `MOST` of either direction, ties included."""
    wanted = []
    for sign in (1.0, -1.0):
        values = sign * change
        positive = values[values > 0]
        if not positive.size:
            continue
        least = np.sort(positive)[::-1][:MOST][-1]
        wanted.append(np.flatnonzero(values >= least))
    return np.concatenate(wanted).tolist() if wanted else []


class _Words:
    """Holds the words of an n-gram, by where it first stands."""

    def __init__(
        self, vocabulary: list[str], tokens: IntArray, first: IntArray, order: int
    ) -> None:
        self._vocabulary, self._tokens = vocabulary, tokens
        self._first, self._order = first, order

    def __call__(self, ngram: int) -> list[str]:
        start = int(self._first[ngram])
        return [self._vocabulary[t] for t in self._tokens[start : start + self._order]]


def _matches(material: Material) -> Iterator[tuple[int, _Words, FloatArray, IntArray]]:
    """Yield for each order: its n-grams' words, (M, G) matches of systems, (G,) in references.

    Matches are clipped, summed over segments, means over replicas. Of n-grams that no reference
    has there are none, so only those of references have numbers.
    """
    segments = np.arange(len(material))
    references = _Positions(
        material.references.texts.tokens, np.repeat(segments, np.diff(material.references.offsets))
    )
    outputs = [_Positions(output.tokens, segments) for output in material.outputs]
    width = len(material.references.texts.vocabulary) + 1
    for order in range(1, MAX_ORDER + 1):
        codes = references.codes(order, width)
        kinds, first = np.unique(codes, return_index=True)
        words = _Words(
            material.references.texts.vocabulary.words,
            references.tokens,
            references.at[first],
            order,
        )
        references.keep(codes, kinds)
        places, times = references.counts(len(kinds))
        # The most that a reference of a segment has.
        keys, back = np.unique(places, return_inverse=True)
        limits = np.zeros(len(keys), dtype=np.int64)
        np.maximum.at(limits, back, times)
        matched = np.zeros((len(material.replicas), len(kinds)))
        for system, output in zip(material.systems.tolist(), outputs, strict=True):
            output.keep(output.codes(order, width), kinds)
            places, times = output.counts(len(kinds))
            at = np.minimum(np.searchsorted(keys, places), max(len(keys) - 1, 0))
            known = keys[at] == places if len(keys) else np.zeros(len(places), dtype=bool)
            clipped = np.minimum(times, limits[at])[known] if len(keys) else times[known]
            matched[system] += np.bincount(
                places[known] % max(len(kinds), 1), clipped, minlength=len(kinds)
            )
        matched /= np.array(material.replicas)[:, np.newaxis]
        in_references = np.bincount(
            keys % max(len(kinds), 1), limits, minlength=len(kinds)
        ).astype(np.int64)
        yield order, words, matched, in_references


class _Positions:
    """Holds the positions of some texts at which an n-gram of a reference begins.

    Parameters
    ----------
    rows
        Tokens of the texts.
    segments : (N,) int64
        Of each text.
    """

    def __init__(self, rows: Ragged, segments: IntArray) -> None:
        begin, end = rows.offsets[0], rows.offsets[-1]
        self.tokens = rows.values[begin:end].astype(np.int64)
        self._ends = np.repeat(rows.offsets[1:] - begin, rows.lengths)
        self._text = np.repeat(np.arange(len(rows)), rows.lengths)
        self._segments = segments
        self.at = np.arange(len(self.tokens))
        self._numbers = np.zeros(len(self.tokens), dtype=np.int64)

    def codes(self, order: int, width: int) -> IntArray:
        """Return n-grams, one token longer than before: their beginning and last token in one."""
        inside = self.at + order <= self._ends[self.at]
        self.at, self._numbers = self.at[inside], self._numbers[inside]
        return self._numbers * width + self.tokens[self.at + order - 1]

    def keep(self, codes: IntArray, kinds: IntArray) -> None:
        """Keep positions whose n-gram is one of `kinds`, rising, and number it by its place."""
        found = np.searchsorted(kinds, codes)
        found[found == len(kinds)] = 0
        known = kinds[found] == codes if len(kinds) else np.zeros(len(codes), dtype=bool)
        self.at, self._numbers = self.at[known], found[known]

    def counts(self, kinds: int) -> tuple[IntArray, IntArray]:
        """Return segment and n-gram in one, and how often, once for each text that has it."""
        of_text, times = np.unique(self._text[self.at] * kinds + self._numbers, return_counts=True)
        text, ngram = of_text // max(kinds, 1), of_text % max(kinds, 1)
        return self._segments[text] * kinds + ngram, times


_AT_ONCE = 50_000
"""Pairs of texts compared in one call."""


def similarities(
    names: Sequence[str], material: Material, *, threads: int
) -> tuple[Similarity, ...]:
    """Compare the outputs of all pairs of systems, and the replicas of each system."""
    pairs = {
        (i, j): list(_pairs(material, i, j))
        for i, j in itertools.combinations_with_replacement(range(len(names)), 2)
    }
    measured = iter(_compare(material, list(itertools.chain(*pairs.values())), threads))
    found = []
    for (i, j), compared in pairs.items():
        if compared:
            identical, alike = np.mean([next(measured) for _ in compared], axis=0)
            found.append(Similarity(names[i], names[j], float(identical), float(alike)))
    return tuple(found)


def _pairs(material: Material, i: int, j: int) -> Iterator[tuple[int, int]]:
    """Yield outputs to compare: replica n of one system with replica n of the other.

    All pairs of replicas would say the same at the square of the time. Of systems of unequal
    numbers the last replica of the smaller one is compared with all that are left over.
    """
    ours, theirs = material.members(i), material.members(j)
    if i == j:
        yield from itertools.combinations(ours, 2)
        return
    for n in range(max(len(ours), len(theirs))):
        yield ours[min(n, len(ours) - 1)], theirs[min(n, len(theirs) - 1)]


def _compare(
    material: Material, pairs: Sequence[tuple[int, int]], threads: int
) -> Iterator[tuple[float, float]]:
    """Yield of each pair of outputs the share of identical segments and 1 - TER.

    TER is a mean of both directions. Two texts of a segment are compared once, whichever outputs
    have them, and a text is not compared with itself.
    """
    if not pairs:
        return
    ter, texts, rows = registry.metric("ter"), _distinct(material), len(material.texts)
    first, second = np.array(pairs).T
    differ = texts[first] != texts[second]
    codes = texts[first][differ] * rows + texts[second][differ]
    distinct, place = np.unique(codes, return_inverse=True)
    lengths = material.texts.tokens.lengths.reshape(texts.shape).sum(axis=1).astype(np.float64)
    rates: list[FloatArray] = []
    for hypotheses, references, of in (
        (distinct // rows, distinct % rows, second),
        (distinct % rows, distinct // rows, first),
    ):
        edits = _edits(ter, material.texts, hypotheses, references, threads)[place]
        total = np.bincount(np.nonzero(differ)[0], edits, minlength=len(pairs))
        rates.append(ter.score(np.column_stack([total, lengths[of]])))
    identical = (~differ).mean(axis=1)
    yield from zip(identical.tolist(), (1.0 - (rates[0] + rates[1]) / 2.0).tolist(), strict=True)


def _edits(
    ter: Metric, texts: Texts, hypotheses: IntArray, references: IntArray, threads: int
) -> FloatArray:
    """Return (P,) float64: the edits from each row of `references` to that of `hypotheses`."""
    found = np.empty(len(hypotheses))
    for begin in range(0, len(found), _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        offsets = np.arange(len(found[part]) + 1, dtype=np.int64)
        of = References(texts.take(references[part]), offsets)
        batch = make_batch(texts.take(hypotheses[part]), offsets, of)
        found[part] = compute_stats(ter, batch, threads=threads)[:, 0]
    return found


def _distinct(material: Material) -> IntArray:
    """Return (N, S) int64: of each text the first row with the same tokens in its segment."""
    segments, tokens = len(material), material.texts.tokens
    first: dict[tuple[int, bytes], int] = {}
    return np.array(
        [
            first.setdefault((row % segments, tokens.row(row).tobytes()), row)
            for row in range(len(tokens))
        ],
        dtype=np.int64,
    ).reshape(-1, segments)
