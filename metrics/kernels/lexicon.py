"""Words that match by stem or synonym, and phrases in texts."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import IntArray, TokenArray
from .compiled import Segments, helper, kernel


class Words(NamedTuple):
    """Stems, synonyms and so on of the V words of a vocabulary, as kernels read them.

    Parameters
    ----------
    stems : (V,) int32
        Words of equal numbers have the same stem.
    synonyms, offsets
        Those of word v, rising, are `synonyms[offsets[v]:offsets[v + 1]]`.
    in_list : (V,) bool
        Whether a word stands in the list of words: stop words, function words.
    """

    stems: TokenArray
    synonyms: TokenArray
    offsets: IntArray
    in_list: NDArray[np.bool_]


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
    occurrences
        Where they stand in the references.
    widths : (E,) int64
        Number of words of the reference that each entry covers.
    words, offsets
        The words that entry e becomes: `words[offsets[e]:offsets[e + 1]]`.
    """

    occurrences: Occurrences
    widths: IntArray
    words: TokenArray
    offsets: IntArray


@helper
def are_synonyms(word: int, candidate: int, synonyms: TokenArray, offsets: IntArray) -> bool:
    """Return whether `candidate` stands in the rising list of the synonyms of `word`."""
    low, high = offsets[word], offsets[word + 1]
    while low < high:
        middle = (low + high) // 2
        if synonyms[middle] < candidate:
            low = middle + 1
        else:
            high = middle
    return bool(low < offsets[word + 1] and synonyms[low] == candidate)


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
    places, entries = np.empty(1, dtype=np.int64), np.empty(1, dtype=np.int64)
    if offsets.size == 1:
        return Occurrences(ends, places[:0].copy(), entries[:0].copy())
    turns = np.full(vocabulary, -1, dtype=np.int64)  # the last segment that has each word
    count = 0
    for s in range(reference_offsets.size - 1):
        first, last = hypothesis_offsets[s], hypothesis_offsets[s + 1]
        for i in range(token_offsets[first], token_offsets[last]):
            turns[tokens[i]] = s
        for start in range(reference_offsets[s], reference_offsets[s + 1]):
            low, high, depth = np.int64(0), np.int64(offsets.size - 1), np.int64(0)
            # Phrases low..high begin with the words from `start` on; one word more, fewer phrases.
            while low < high and start + depth < reference_offsets[s + 1]:
                word = np.int64(references[start + depth])
                low = _first_at_least(values, offsets, low, high, depth, word)
                high = _first_at_least(values, offsets, low, high, depth, word + 1)
                depth += 1
                while low < high and offsets[low + 1] - offsets[low] == depth:
                    is_known = True
                    for k in range(other_offsets[low], other_offsets[low + 1]):
                        is_known = is_known and turns[other_values[k]] == s
                    if is_known:
                        if count == places.size:
                            places = np.concatenate((places, np.empty_like(places)))
                            entries = np.concatenate((entries, np.empty_like(entries)))
                        places[count] = start - reference_offsets[s]
                        entries[count] = low
                        count += 1
                    low += 1
        ends[s + 1] = count
    return Occurrences(ends, places[:count].copy(), entries[:count].copy())


@kernel
def matching_words(segments: Segments, words: Words, phrases: Phrases) -> TokenArray:
    """Return the words of all hypotheses, one after the other, with signs for some.

    A word that matches nothing of the reference is -1, or -2 if it is listed.
    """
    tokens, token_offsets, offsets = segments.tokens, segments.token_offsets, segments.offsets
    references, reference_offsets = segments.reference_tokens, segments.reference_token_offsets
    occurrences = phrases.occurrences
    # The last segment, from 1, that has something which each stem or other word matches.
    word_turns = np.zeros(words.stems.size, dtype=np.int64)
    stem_turns = np.zeros(words.stems.size, dtype=np.int64)
    plain = np.empty_like(tokens)
    for s in range(offsets.size - 1):
        turn = s + 1
        for place in range(reference_offsets[s], reference_offsets[s + 1]):
            word = references[place]
            stem_turns[words.stems[word]] = turn
            for k in range(words.offsets[word], words.offsets[word + 1]):
                word_turns[words.synonyms[k]] = turn
        for occurrence in range(occurrences.offsets[s], occurrences.offsets[s + 1]):
            entry = occurrences.entries[occurrence]
            for k in range(phrases.offsets[entry], phrases.offsets[entry + 1]):
                word_turns[phrases.words[k]] = turn
        for i in range(token_offsets[offsets[s]], token_offsets[offsets[s + 1]]):
            word = tokens[i]
            plain[i] = word
            if stem_turns[words.stems[word]] != turn and word_turns[word] != turn:
                plain[i] = -2 if words.in_list[word] else -1
    return plain
