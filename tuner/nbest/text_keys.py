"""Hashes texts and their links: a number that stays when the texts themselves are gone."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import IntArray, Ragged, Texts

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def word_hashes(words: list[str]) -> NDArray[np.uint64]:
    """Return a hash of each word; the same word has the same in every process."""
    digests = (blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8) for word in words)
    return np.frombuffer(b"".join(digest.digest() for digest in digests), dtype=np.uint64)


def text_keys(texts: Texts, hashes: NDArray[np.uint64]) -> IntArray:
    """Return (n,) int64: equal tokens and links have equal keys, others another but by chance.

    The chance is 1 in 2^64 for any two texts.

    Parameters
    ----------
    hashes : (V,) uint64
        Of the words of the vocabulary.
    """
    tokens, begin = texts.tokens, int(texts.tokens.offsets[0])
    keys = _sums(hashes[tokens.values[begin : int(tokens.offsets[-1])]], tokens)
    links = texts.links
    if links is not None:
        pairs = links.values[int(links.offsets[0]) : int(links.offsets[-1])].astype(np.uint64)
        keys ^= _mixed(_sums(_mixed((pairs[:, 0] << np.uint64(32)) | pairs[:, 1]), links))
    return keys.view(np.int64)


def _sums(values: NDArray[np.uint64], ragged: Ragged) -> NDArray[np.uint64]:
    """Return the sum of each row's values, each mixed with its place in the row."""
    offsets = ragged.offsets - ragged.offsets[0]
    places = np.arange(1, len(values) + 1, dtype=np.uint64)
    places -= np.repeat(offsets[:-1].astype(np.uint64), ragged.lengths)
    ends = np.concatenate(
        [np.zeros(1, dtype=np.uint64), np.cumsum(_mixed(values + places * _STEP))]
    )
    found: NDArray[np.uint64] = ends[offsets[1:]] - ends[offsets[:-1]]
    return found


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return values whose bits all depend on all bits (the finish of splitmix64)."""
    mixed = values ^ (values >> np.uint64(30))
    mixed *= _FACTORS[0]
    mixed ^= mixed >> np.uint64(27)
    mixed *= _FACTORS[1]
    mixed ^= mixed >> np.uint64(31)
    return mixed
