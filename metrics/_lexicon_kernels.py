"""Searches for phrases in texts, compiled. Inputs are read-only; releases the interpreter lock."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray  # noqa: TC002  numba reads the records

from metrics._base import IntArray, TokenArray  # noqa: TC001  numba reads the records


class Words(NamedTuple):
    """Holds what is known of the V words of a vocabulary.

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
    """Says where left phrases stand in texts.

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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def phrases_in(
    tokens: TokenArray, token_offsets: IntArray, values: TokenArray, offsets: IntArray
) -> Occurrences:
    """Find all places of phrases in texts.

    Parameters
    ----------
    tokens, token_offsets
        N texts.
    values, offsets
        E phrases, sorted; the same phrase may stand in several rows.
    """
    ends = np.zeros(token_offsets.size, dtype=np.int64)
    places, entries = np.empty(16, dtype=np.int64), np.empty(16, dtype=np.int64)
    count = 0
    for text in range(token_offsets.size - 1):
        for start in range(token_offsets[text], token_offsets[text + 1]):
            low, high = 0, offsets.size - 1
            depth = 0
            while low < high and start + depth < token_offsets[text + 1]:
                word = tokens[start + depth]
                low = _first_at_least(values, offsets, low, high, depth, word)
                high = _first_at_least(values, offsets, low, high, depth, word + 1)
                depth += 1
                while low < high and offsets[low + 1] - offsets[low] == depth:
                    if count == places.size:
                        places = np.append(places, np.empty_like(places))
                        entries = np.append(entries, np.empty_like(entries))
                    places[count] = start - token_offsets[text]
                    entries[count] = low
                    count += 1
                    low += 1
        ends[text + 1] = count
    return Occurrences(ends, places[:count].copy(), entries[:count].copy())
