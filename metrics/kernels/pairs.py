"""Counts the n-grams that the texts of a list share with each other.

An n-gram is written as pieces, one for each time a text has it: its first occurrence, its second
and so on. A piece is in a text or not, so that the clipped matches of two texts are the pieces
that both have.
"""

from typing import Any

import numpy as np

from .._base import FloatArray, IntArray, TokenArray
from .compiled import find, helper, kernel, longest_row, mixed, table_size

AGAIN = 2**31 - 1
"""Stands for a token behind an n-gram that a text has once more: no token has this number."""
SMALLEST_TABLE = 256


@helper
def _most_pieces(token_offsets: IntArray, first: int, last: int, max_order: int) -> Any:
    """Return the most pieces that texts first..last-1 can have."""
    return max((token_offsets[last] - token_offsets[first]) * max_order, 1)


@helper
def _count_pieces(token_offsets: IntArray, first: int, last: int, max_order: int) -> int:
    """Return how many pieces texts first..last-1 have."""
    count = 0
    for t in range(first, last):
        for order in range(max_order):
            count += max(token_offsets[t + 1] - token_offsets[t] - order, 0)
    return count


@helper
def _find_pieces(
    tokens: TokenArray,
    token_offsets: IntArray,
    first: int,
    last: int,
    max_order: int,
    work: tuple[IntArray, TokenArray, TokenArray],
    pieces: TokenArray,
) -> int:
    """Write the pieces of texts first..last-1, a slot each; return how large their table is.

    The pieces of a text stand by where they begin, then by their order. `work`: keys, and for
    each slot the text that had it last with the last piece that this gave. All are modified.
    """
    keys, turns, latest = work
    most = _most_pieces(token_offsets, first, last, max_order)
    size = SMALLEST_TABLE // 2
    while 4 * size < most:  # texts of a list share most of their n-grams
        size *= 2
    t = first - 1
    while t < last:
        size *= 2  # too small: again
        mask, used, count = size - 1, 0, 0
        keys[:size] = -1
        turns[:size] = -1
        t = first
        while t < last and 2 * used < size:
            end = token_offsets[t + 1]
            for begin in range(token_offsets[t], end):
                node = 0
                if 2 * used >= size:
                    break
                for i in range(begin, min(end, begin + max_order)):
                    slot, is_stored = find(keys, mask, node, np.int64(tokens[i]))
                    if not is_stored:
                        keys[slot] = (np.int64(node) << 32) | np.int64(tokens[i])
                        used += 1
                    piece = slot
                    if turns[slot] == t:  # this text has it already
                        before = latest[slot] + 1
                        piece, is_stored = find(keys, mask, before, np.int64(AGAIN))
                        if not is_stored:
                            keys[piece] = (np.int64(before) << 32) | np.int64(AGAIN)
                            used += 1
                    turns[slot] = t
                    latest[slot] = piece
                    pieces[count] = piece
                    count += 1
                    node = slot + 1
            t += 1
        if 2 * used >= size:
            t = first - 1
    return size


@helper
def _set_bits(word: Any) -> Any:
    """Return how many bits of a word of 64 are set."""
    # LLVM knows these lines and makes one instruction of them.
    pairs = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    fours = (pairs & np.uint64(0x3333333333333333)) + (
        (pairs >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    eights = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((eights * np.uint64(0x0101010101010101)) >> np.uint64(56))


@helper
def _shared_bits(
    token_offsets: IntArray,
    first: int,
    last: int,
    max_order: int,
    pieces: TokenArray,
    texts: TokenArray,
    places: TokenArray,
) -> tuple[Any, IntArray, IntArray]:
    """Write which pieces each of the texts first..last-1 has as bits.

    A piece that one text alone has matches only in the text itself, whose matches are all its
    n-grams; one that all texts have always matches. The others get a bit each.

    Parameters
    ----------
    pieces
        What `_find_pieces` wrote.
    texts
        How many texts have each piece; modified in place: 0 for all.
    places
        Work space, one for each slot of the table.

    Returns
    -------
    bits : (n, W) uint64
        The pieces of each text.
    ends : (N + 1,) int64
        Words `ends[k]..ends[k + 1] - 1` are those of n-grams of k + 1 tokens.
    always : (N,) int64
        How many of so many tokens always match.
    """
    n = last - first
    sizes, always = np.zeros(max_order, dtype=np.int64), np.zeros(max_order, dtype=np.int64)
    places[:] = -1
    k = 0
    for t in range(first, last):
        end = token_offsets[t + 1]
        for begin in range(token_offsets[t], end):
            for order in range(min(max_order, end - begin)):
                piece = pieces[k]
                if texts[piece] == n:
                    always[order] += 1
                elif texts[piece] > 1:
                    places[piece] = sizes[order]
                    sizes[order] += 1
                texts[piece] = 0
                k += 1
    ends = np.zeros(max_order + 1, dtype=np.int64)
    for order in range(max_order):
        ends[order + 1] = ends[order] + (sizes[order] + 63) // 64
    bits = np.zeros((n, ends[max_order]), dtype=np.uint64)
    k = 0
    for t in range(first, last):
        end = token_offsets[t + 1]
        for begin in range(token_offsets[t], end):
            for order in range(min(max_order, end - begin)):
                place = places[pieces[k]]
                if place >= 0:
                    word = ends[order] + (place >> 6)
                    bits[t - first, word] |= np.uint64(1) << np.uint64(place & 63)
                k += 1
    return bits, ends, always


@kernel
def pair_matches(
    tokens: TokenArray,
    token_offsets: IntArray,
    firsts: IntArray,
    lasts: IntArray,
    reference_of: IntArray,
    max_order: int,
) -> FloatArray:
    """Count the clipped n-gram matches of all texts of a list with some of them.

    Parameters
    ----------
    tokens, token_offsets
        Text t is `tokens[token_offsets[t]:token_offsets[t + 1]]`.
    firsts, lasts, reference_of : (Q,) int64
        Text `chosen[q]` stands as the reference of texts firsts[q]..lasts[q]-1, and is one of
        them. Those of one list follow each other.
    max_order
        N, the longest n-gram.

    Returns
    -------
    (N, P) float64
        All pairs, reference by reference, its texts in order; row n - 1 counts n-grams.
    """
    most, longest, pairs = 1, 1, 0
    for q in range(reference_of.size):
        pairs += lasts[q] - firsts[q]
        most = max(most, _most_pieces(token_offsets, firsts[q], lasts[q], max_order))
        longest = max(longest, lasts[q] - firsts[q])
    matches = np.empty((max_order, pairs))
    largest = max(table_size(most + 1), SMALLEST_TABLE)
    keys = np.empty(largest, dtype=np.int64)
    turns, latest = np.empty(largest, dtype=np.int32), np.empty(largest, dtype=np.int32)
    pieces = np.empty(most, dtype=np.int32)
    texts = np.empty(largest, dtype=np.int32)  # how many texts have a piece
    places = np.empty(largest, dtype=np.int32)  # the bit of a piece, -1 for none
    rows = np.empty(longest, dtype=np.int64)  # where the pairs of a reference begin
    q = at = 0
    while q < reference_of.size:
        first, last = firsts[q], lasts[q]
        n = last - first
        size = _find_pieces(
            tokens, token_offsets, first, last, max_order, (keys, turns, latest), pieces
        )
        texts[:size] = 0
        for k in range(_count_pieces(token_offsets, first, last, max_order)):
            texts[pieces[k]] += 1
        bits, ends, always = _shared_bits(
            token_offsets, first, last, max_order, pieces, texts, places[:size]
        )
        rows[:n] = -1
        while q < reference_of.size and firsts[q] == first:
            r = reference_of[q] - first
            rows[r] = at
            for t in range(n):
                if 0 <= rows[t] < at:  # t was the reference of r
                    for order in range(max_order):
                        matches[order, at + t] = matches[order, rows[t] + r]
                    continue
                for order in range(max_order):
                    count = always[order]
                    for word in range(ends[order], ends[order + 1]):
                        count += _set_bits(bits[t, word] & bits[r, word])
                    matches[order, at + t] = count
            length = token_offsets[reference_of[q] + 1] - token_offsets[reference_of[q]]
            for order in range(max_order):
                matches[order, at + r] = max(length - order, 0)
            at += n
            q += 1
    return matches


@kernel
def mean_matches(
    tokens: TokenArray,
    token_offsets: IntArray,
    offsets: IntArray,
    weights: FloatArray,
    max_order: int,
) -> FloatArray:
    """Average the clipped n-gram matches of each text with all texts of its list.

    Time grows with the texts, not with their pairs: a piece counts with the summed weights of the
    texts that have it.

    Parameters
    ----------
    tokens, token_offsets
        Text t is `tokens[token_offsets[t]:token_offsets[t + 1]]`.
    offsets : (S + 1,) int64
        Texts of list s are `offsets[s]:offsets[s + 1]`.
    weights : (H,) float64
        Weight of each text as a reference.
    max_order
        N, the longest n-gram.

    Returns
    -------
    (H, N) float64
    """
    most = 1
    for s in range(offsets.size - 1):
        most = max(most, _most_pieces(token_offsets, offsets[s], offsets[s + 1], max_order))
    means = np.zeros((token_offsets.size - 1, max_order))
    largest = max(table_size(most + 1), SMALLEST_TABLE)
    keys = np.empty(largest, dtype=np.int64)
    turns, latest = np.empty(largest, dtype=np.int32), np.empty(largest, dtype=np.int32)
    pieces = np.empty(most, dtype=np.int32)
    shares = np.empty(largest)
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1]
        size = _find_pieces(
            tokens, token_offsets, first, last, max_order, (keys, turns, latest), pieces
        )
        shares[:size] = 0.0
        k = 0
        for t in range(first, last):
            for _ in range(_count_pieces(token_offsets, t, t + 1, max_order)):
                shares[pieces[k]] += weights[t]
                k += 1
        k = 0
        for t in range(first, last):
            end = token_offsets[t + 1]
            for begin in range(token_offsets[t], end):
                for order in range(min(max_order, end - begin)):
                    means[t, order] += shares[pieces[k]]
                    k += 1
    return means


@kernel
def first_equals(tokens: TokenArray, token_offsets: IntArray, offsets: IntArray) -> IntArray:
    """Return (H,) for each text the first text of its list that has the same tokens.

    Parameters
    ----------
    tokens, token_offsets
        Text t is `tokens[token_offsets[t]:token_offsets[t + 1]]`.
    offsets : (S + 1,) int64
        Texts of list s are `offsets[s]:offsets[s + 1]`.
    """
    size = table_size(longest_row(offsets))
    table = np.empty(size, dtype=np.int64)
    firsts = np.empty(token_offsets.size - 1, dtype=np.int64)
    for s in range(offsets.size - 1):
        table[:] = -1
        for t in range(offsets[s], offsets[s + 1]):
            begin = token_offsets[t]
            length = token_offsets[t + 1] - begin
            slot = np.int64(length)
            for k in range(length):
                slot = mixed(slot, np.int64(tokens[begin + k]))
            slot &= size - 1
            firsts[t] = t
            while table[slot] >= 0:
                candidate = token_offsets[table[slot]]
                k = 0
                if token_offsets[table[slot] + 1] - candidate == length:
                    while k < length and tokens[begin + k] == tokens[candidate + k]:
                        k += 1
                    if k == length:
                        firsts[t] = table[slot]
                        break
                slot = (slot + 1) & (size - 1)
            if firsts[t] == t:
                table[slot] = t
    return firsts
