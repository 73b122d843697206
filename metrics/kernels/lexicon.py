"""Words that match by stem or synonym, and phrases in texts."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import IntArray, TokenArray
from portmert.metrics.kernels.compiled import Segments, helper, kernel, table_size


class Words(NamedTuple):
    """Stems, synonyms and so on of the V words of a vocabulary, as kernels read them.

    Parameters
    ----------
    stems : (V,) int32
        Words of equal numbers have the same stem.
    synonyms, offsets
        Those of word v, rising, are `synonyms[offsets[v]:offsets[v + 1]]`.
    listed : (V,) bool
        Whether a word stands in the list of words: stop words, function words.
    """

    stems: TokenArray
    synonyms: TokenArray
    offsets: IntArray
    listed: NDArray[np.bool_]


class Occurrences(NamedTuple):
    """Where left phrases stand in texts.

    Parameters
    ----------
    offsets : (N + 1,) int64
        Those of text i are `offsets[i]:offsets[i + 1]`, by place.
    places : (K,) int64
        Position in the text at which the phrase begins.
    entries : (K,) int64
        Which phrase.
    """

    offsets: IntArray
    places: IntArray
    entries: IntArray


class Phrases(NamedTuple):
    """The phrases of references that are paraphrases of phrases of hypotheses.

    Parameters
    ----------
    found
        Where they stand in the references.
    taken : (E,) int64
        Words of a reference that each takes.
    words, offsets
        The words that entry e becomes: `words[offsets[e]:offsets[e + 1]]`.
    """

    found: Occurrences
    taken: IntArray
    words: TokenArray
    offsets: IntArray


@helper
def are_synonyms(one: int, other: int, synonyms: TokenArray, offsets: IntArray) -> bool:
    """Return whether `other` stands in the rising list of the synonyms of `one`."""
    low, high = offsets[one], offsets[one + 1]
    while low < high:
        middle = (low + high) // 2
        if synonyms[middle] < other:
            low = middle + 1
        else:
            high = middle
    return bool(low < offsets[one + 1] and synonyms[low] == other)


@helper
def _first_at_least(
    values: TokenArray, offsets: IntArray, low: int, high: int, depth: int, word: int
) -> int:
    """Return the first of phrases low..high-1 whose word number `depth` is at least `word`.

    They are equal up to there, and sorted; a phrase that ends there comes before all others.
    """
    while low < high:
        middle = (low + high) // 2
        place = offsets[middle] + depth
        if place < offsets[middle + 1] and values[place] >= word:
            high = middle
        else:
            low = middle + 1
    return low


@helper
def _doubled(values: IntArray) -> IntArray:
    """Return an array of twice the size that begins with `values`."""
    larger = np.empty(2 * values.size, dtype=np.int64)
    for i in range(values.size):
        larger[i] = values[i]
    return larger


@kernel
def phrases_in(
    segments: Segments,
    values: TokenArray,
    offsets: IntArray,
    other_values: TokenArray,
    other_offsets: IntArray,
    vocabulary: int,
) -> Occurrences:
    """Find all places of phrases in references that hypotheses may have otherwise.

    Parameters
    ----------
    values, offsets
        E phrases, sorted; the same phrase may stand in several rows.
    other_values, other_offsets
        The phrase that each becomes; it is left out where no hypothesis of a segment has one of
        its words.
    vocabulary
        How many words there are.
    """
    tokens, token_offsets, hypothesis_offsets, references, reference_offsets, _ = segments
    ends = np.zeros(reference_offsets.size, dtype=np.int64)
    places, entries = np.empty(16, dtype=np.int64), np.empty(16, dtype=np.int64)
    if offsets.size == 1:
        return Occurrences(ends, places[:0].copy(), entries[:0].copy())
    turns = np.full(vocabulary, -1, dtype=np.int64)  # the last segment that has each word
    count = 0
    for s in range(reference_offsets.size - 1):
        first, last = hypothesis_offsets[s], hypothesis_offsets[s + 1]
        for i in range(token_offsets[first], token_offsets[last]):
            turns[tokens[i]] = s
        for start in range(reference_offsets[s], reference_offsets[s + 1]):
            low, high = 0, offsets.size - 1
            depth = 0
            while low < high and start + depth < reference_offsets[s + 1]:
                word = np.int64(references[start + depth])
                low = _first_at_least(values, offsets, low, high, depth, word)
                high = _first_at_least(values, offsets, low, high, depth, word + 1)
                depth += 1
                while low < high and offsets[low + 1] - offsets[low] == depth:
                    known = True
                    for k in range(other_offsets[low], other_offsets[low + 1]):
                        known = known and turns[other_values[k]] == s
                    if known:
                        if count == places.size:
                            places = _doubled(places)
                            entries = _doubled(entries)
                        places[count] = start - reference_offsets[s]
                        entries[count] = low
                        count += 1
                    low += 1
        ends[s + 1] = count
    return Occurrences(ends, places[:count].copy(), entries[:count].copy())


@helper
def _mark_matches(
    segments: Segments,
    s: int,
    words: Words,
    phrases: Phrases,
    word_turns: IntArray,
    stem_turns: IntArray,
) -> None:
    """Set the turns of the stems and of other words that match something of reference s to s + 1.

    `word_turns` and `stem_turns` are modified in place.
    """
    found = phrases.found
    for place in range(
        segments.reference_token_offsets[s], segments.reference_token_offsets[s + 1]
    ):
        word = segments.reference_tokens[place]
        stem_turns[words.stems[word]] = s + 1
        for k in range(words.offsets[word], words.offsets[word + 1]):
            word_turns[words.synonyms[k]] = s + 1
    for occurrence in range(found.offsets[s], found.offsets[s + 1]):
        entry = found.entries[occurrence]
        for k in range(phrases.offsets[entry], phrases.offsets[entry + 1]):
            word_turns[phrases.words[k]] = s + 1


@kernel
def first_alike(segments: Segments, words: Words, phrases: Phrases) -> IntArray:
    """Return (H,) int64: for each hypothesis the first of its segment with the same matches.

    Two hypotheses have the same matches if they are equal once words that match nothing of the
    reference are replaced by one sign, listed ones by another.
    """
    tokens, token_offsets, offsets = segments.tokens, segments.token_offsets, segments.offsets
    word_turns = np.zeros(words.stems.size, dtype=np.int64)
    stem_turns = np.zeros(words.stems.size, dtype=np.int64)
    most = 0
    for s in range(offsets.size - 1):
        most = max(most, offsets[s + 1] - offsets[s])
    size = table_size(most)
    table, turns = np.empty(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    base = token_offsets[0]
    plain = np.empty(token_offsets[-1] - base, dtype=np.int64)
    first = np.empty(token_offsets.size - 1, dtype=np.int64)
    for s in range(offsets.size - 1):
        turn = s + 1
        _mark_matches(segments, s, words, phrases, word_turns, stem_turns)
        for h in range(offsets[s], offsets[s + 1]):
            begin, end = token_offsets[h] - base, token_offsets[h + 1] - base
            mixed = end - begin
            for i in range(begin, end):
                word = int(tokens[base + i])
                if stem_turns[words.stems[word]] != turn and word_turns[word] != turn:
                    word = -2 if words.listed[word] else -1
                plain[i] = word
                mixed = ((mixed ^ (mixed >> 29) ^ word) & 0xFFFFFFFF) * 0x45D9F3B  # below 2**63
            slot = (mixed ^ (mixed >> 31)) & (size - 1)
            while turns[slot] == turn:
                other = token_offsets[table[slot]] - base
                same = token_offsets[table[slot] + 1] - base - other == end - begin
                i = begin
                while same and i < end:
                    same = plain[i] == plain[other + i - begin]
                    i += 1
                if same:
                    break
                slot = (slot + 1) & (size - 1)
            if turns[slot] != turn:
                turns[slot], table[slot] = turn, h
            first[h] = table[slot]
    return first
