"""Finds n-grams that one system has right more often than another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Ragged
from portmert.tuner.evaluation.comparison.material import Material
from portmert.tuner.evaluation.comparison.model import NgramDifference

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
