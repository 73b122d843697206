"""Counts the n-grams of hypotheses that match references."""

import numpy as np

from .._base import FloatArray, IntArray, TokenArray
from .compiled import Segments, find, kernel, most_in_segment, table_size


@kernel
def ngram_matches(
    segments: Segments, table: tuple[IntArray, FloatArray], max_order: int
) -> FloatArray:
    """Count the n-grams of each hypothesis that match, clipped by the references of its segment.

    Parameters
    ----------
    table
        The weight of each n-gram, as `ngram_information` returns it for texts that include the
        references. With two empty arrays each n-gram counts 1.
    max_order
        N, the longest n-gram.

    Returns
    -------
    (H, N) float64
        Column n - 1 counts n-grams. Each distinct n-gram counts at most as often as it occurs in
        the one reference that has most of it.
    """
    tokens, token_offsets, offsets, reference_tokens, reference_token_offsets, references = (
        segments
    )
    all_keys, information = table
    weighted = all_keys.size > 0
    size = table_size(max_order * most_in_segment(references, reference_token_offsets))
    keys = np.empty(size, dtype=np.int64)
    limits = np.empty(size, dtype=np.int64)  # the most that any one reference has
    counts = np.empty(size, dtype=np.int64)  # in the text being read ...
    turns = np.empty(size, dtype=np.int64)  # ... if this is the number of that text
    places = np.empty(size if weighted else 0, dtype=np.int64)  # slots in the table of all
    matches = np.zeros((token_offsets.size - 1, max_order))
    turn = 0
    for s in range(offsets.size - 1):
        first, last = references[s], references[s + 1]
        in_segment = reference_token_offsets[last] - reference_token_offsets[first]
        used = 16  # a small table stays in the processor's cache
        while used < 2 * max_order * in_segment:
            used *= 2
        mask = used - 1
        keys[:used] = -1
        turns[:used] = -1
        limits[:used] = 0
        for r in range(first, last):
            turn += 1
            end = reference_token_offsets[r + 1]
            for begin in range(reference_token_offsets[r], end):
                node = 0
                for i in range(begin, min(end, begin + max_order)):
                    token = np.int64(reference_tokens[i])
                    slot, is_stored = find(keys, mask, node, token)
                    if not is_stored:
                        keys[slot] = (node << 32) | token
                        if weighted:
                            above = places[node - 1] + 1 if node > 0 else np.int64(0)
                            places[slot] = find(all_keys, all_keys.size - 1, above, token)[0]
                    if turns[slot] != turn:
                        turns[slot] = turn
                        counts[slot] = 0
                    counts[slot] += 1
                    limits[slot] = max(limits[slot], counts[slot])
                    node = slot + 1
        for h in range(offsets[s], offsets[s + 1]):
            turn += 1
            end = token_offsets[h + 1]
            for begin in range(token_offsets[h], end):
                node = 0
                for i in range(begin, min(end, begin + max_order)):
                    slot, is_stored = find(keys, mask, node, np.int64(tokens[i]))
                    if not is_stored:
                        break  # no longer n-gram from here matches either
                    if turns[slot] != turn:
                        turns[slot] = turn
                        counts[slot] = 0
                    counts[slot] += 1
                    if counts[slot] <= limits[slot]:
                        matches[h, i - begin] += information[places[slot]] if weighted else 1.0
                    node = slot + 1
    return matches


@kernel
def ngram_information(
    tokens: TokenArray, token_offsets: IntArray, max_order: int
) -> tuple[IntArray, FloatArray]:
    """Weigh every n-gram of some texts by how surprising its last word is after the others.

    Parameters
    ----------
    tokens, token_offsets
        Text t is `tokens[token_offsets[t]:token_offsets[t + 1]]`.
    max_order
        N, the longest n-gram.

    Returns
    -------
    keys : (2**k,) int64
        The table of n-grams, see `find`.
    information : (2**k,) float64
        log2(count of all but the last word / count) in the slot of each n-gram; for one word the
        numerator is the number of all words.
    """
    words = tokens.size
    size = table_size(max_order * words)
    keys = np.full(size, -1, dtype=np.int64)
    counts = np.zeros(size, dtype=np.int64)
    for t in range(token_offsets.size - 1):
        end = token_offsets[t + 1]
        for begin in range(token_offsets[t], end):
            node = 0
            for i in range(begin, min(end, begin + max_order)):
                slot, is_stored = find(keys, size - 1, node, np.int64(tokens[i]))
                if not is_stored:
                    keys[slot] = (node << 32) | np.int64(tokens[i])
                counts[slot] += 1
                node = slot + 1
    information = np.zeros(size)
    for slot in range(size):
        if keys[slot] >= 0:
            shorter = keys[slot] >> 32
            before = counts[shorter - 1] if shorter > 0 else words
            information[slot] = np.log2(before / counts[slot])
    return keys, information
