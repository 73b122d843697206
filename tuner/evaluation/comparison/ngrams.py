"""Finds n-grams that one system has right more often than another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tuner.evaluation.comparison.model import NgramDifference
from tuner.texts.corpus import concatenate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metrics._base import FloatArray, IntArray, Ragged
    from tuner.evaluation.comparison.material import Material

MAX_ORDER = 4
MOST = 10
"""N-grams shown of each system and direction."""


def ngram_differences(names: Sequence[str], material: Material) -> tuple[NgramDifference, ...]:
    """Return, for each system but the first, the n-grams of largest gain and largest loss.

    Counts are of clipped matches, summed over segments, means over replicas. Of n-grams with the
    same difference the longer one comes first.
    """
    found: list[list[tuple[float, int, str, NgramDifference]]] = [[] for _ in names]
    for order, words, matched, in_references in _matches(material):
        means = np.stack([matched[material.members(i)].mean(axis=0) for i in range(len(names))])
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
    """Yield for each order: its n-grams' words, (N, G) clipped matches, (G,) in references."""
    segments, outputs = len(material), len(material.outputs)
    texts = concatenate([material.references.texts, *material.outputs])
    rows = texts.tokens
    references = len(material.references.texts)
    segment_of = np.concatenate(
        [
            np.repeat(np.arange(segments), np.diff(material.references.offsets)),
            np.tile(np.arange(segments), outputs),
        ]
    )
    tokens = rows.values.astype(np.int64)
    text_of = np.repeat(np.arange(len(rows)), rows.lengths)
    known = tokens.copy()  # of each position the number of the n-gram that begins there
    for order in range(1, MAX_ORDER + 1):
        inside = _inside(rows, order)
        if not inside.size:
            return
        if order > 1:
            pairs = known[inside] * (int(tokens.max()) + 1) + tokens[inside + order - 1]
        else:
            pairs = tokens[inside]
        _, first, numbers = np.unique(pairs, return_index=True, return_inverse=True)
        known = np.zeros(len(tokens), dtype=np.int64)
        known[inside] = numbers
        kinds = len(first)
        # How often each text has each n-gram, then the most that a reference of a segment has.
        of_text, times = np.unique(text_of[inside] * kinds + numbers, return_counts=True)
        text, ngram = of_text // kinds, of_text % kinds
        in_reference = text < references
        place = segment_of[text] * kinds + ngram
        keys, back = np.unique(place[in_reference], return_inverse=True)
        limits = np.zeros(len(keys), dtype=np.int64)
        np.maximum.at(limits, back, times[in_reference])
        at = np.minimum(np.searchsorted(keys, place), max(len(keys) - 1, 0))
        limit = np.where(keys[at] == place, limits[at], 0) if len(keys) else np.zeros_like(times)
        output = (text - references) // segments
        mine = ~in_reference
        counts = np.bincount(
            output[mine] * kinds + ngram[mine],
            np.minimum(times, limit)[mine].astype(np.float64),
            minlength=outputs * kinds,
        )
        matched: FloatArray = counts.astype(np.float64).reshape(outputs, kinds)
        in_references = np.bincount(keys % kinds, limits, minlength=kinds).astype(np.int64)
        words = _Words(texts.vocabulary.words, tokens, inside[first], order)
        yield order, words, matched, in_references


def _inside(rows: Ragged, order: int) -> IntArray:
    """Return the positions at which an n-gram of this order begins, within its text."""
    positions = np.arange(len(rows.values), dtype=np.int64)
    ends = np.repeat(rows.offsets[1:], rows.lengths)
    return positions[positions + order <= ends]
