"""Counts the n-grams that the texts of a list share with each other, compiled.

An n-gram is written as pieces, one for each time a text has it: its first occurrence, its second
and so on. A piece is in a text or not, so that the clipped matches of two texts are the pieces
that both have. Arrays and numbers in and out; inputs are read-only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from metrics._base import FloatArray, IntArray, TokenArray

MASK, USED = range(2)
"""Places in the state of a table of pieces: its size less 1, and how many pieces there are."""
AGAIN = 2**31 - 1
"""Stands for a token behind an n-gram that a text has once more: no token has this number."""
SMALLEST_TABLE = 256


@njit(cache=True, nogil=True)
def _number(keys: IntArray, table: TokenArray, state: IntArray, parent: int, token: int) -> Any:
    """Return the number of the piece `parent` extended by `token`, the next one if it is new.

    `parent` is the number of a piece plus one, 0 for the empty one. Modifies all three: the table
    grows when it is half full, and all that was in it stays.
    """
    key = (np.int64(parent) << 32) | np.int64(token)
    mask = state[MASK]
    mixed = np.int64(token) * 0x2545F491 + np.int64(parent) * 0x1B873593  # below 2**62
    slot = (mixed ^ (mixed >> 17)) & mask
    while table[slot] >= 0:
        if keys[table[slot]] == key:
            return np.int64(table[slot])
        slot = (slot + 1) & mask
    number = state[USED]
    keys[number], table[slot] = key, number
    state[USED] = number + 1
    if 2 * state[USED] > mask:
        mask = 2 * mask + 1
        state[MASK] = mask
        table[: mask + 1] = -1
        for old in range(state[USED]):
            mixed = (keys[old] & 0xFFFFFFFF) * 0x2545F491 + (keys[old] >> 32) * 0x1B873593
            slot = (mixed ^ (mixed >> 17)) & mask
            while table[slot] >= 0:
                slot = (slot + 1) & mask
            table[slot] = old
    return np.int64(number)


@njit(cache=True, nogil=True)
def _most_pieces(token_offsets: IntArray, first: int, last: int, max_order: int) -> Any:
    """Return the most pieces that texts first..last-1 can have."""
    return max((token_offsets[last] - token_offsets[first]) * max_order, 1)


@njit(cache=True, nogil=True)
def _table_size(pieces: int) -> int:
    """Return how large a table of so many pieces can become."""
    size = SMALLEST_TABLE
    while size < 4 * pieces:
        size *= 2
    return size


@njit(cache=True, nogil=True)
def _pieces_of(
    tokens: TokenArray,
    begin: int,
    end: int,
    work: tuple[IntArray, TokenArray, IntArray, TokenArray, TokenArray],
    turn: int,
    max_order: int,
    found: tuple[TokenArray, TokenArray],
) -> int:
    """Write the pieces of the text tokens[begin:end] and their orders; return how many.

    `work`: keys, table and state of `_number`, and for each piece the number of the text that
    last had it with the last piece that this gave. `found`: pieces and orders less 1, modified.
    """
    keys, table, state, turns, latest = work
    pieces, orders = found
    count = 0
    for start in range(begin, end):
        node = 0
        for i in range(start, min(end, start + max_order)):
            ngram = _number(keys, table, state, node, tokens[i])
            piece = ngram
            if turns[ngram] == turn:  # this text has it already
                piece = _number(keys, table, state, latest[ngram] + 1, AGAIN)
            turns[ngram] = turn
            latest[ngram] = piece
            pieces[count] = piece
            orders[count] = i - start
            count += 1
            node = ngram + 1
    return count


@njit(cache=True, nogil=True)
def _set_bits(word: Any) -> Any:
    """Return how many bits of a word of 64 are set."""
    # LLVM knows these lines and makes one instruction of them.
    pairs = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    fours = (pairs & np.uint64(0x3333333333333333)) + (
        (pairs >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    eights = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((eights * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def pair_matches(
    tokens: TokenArray,
    token_offsets: IntArray,
    firsts: IntArray,
    lasts: IntArray,
    chosen: IntArray,
    max_order: int,
) -> FloatArray:
    """Count the clipped n-gram matches of all texts of a list with some of them.

    Parameters
    ----------
    tokens, token_offsets
        Text t is `tokens[token_offsets[t]:token_offsets[t + 1]]`.
    firsts, lasts, chosen : (Q,) int64
        Text `chosen[q]` stands as the reference of texts firsts[q]..lasts[q]-1, and is one of
        them. Those of one list follow each other.
    max_order
        N, the longest n-gram.

    Returns
    -------
    (P, N) float64
        All pairs, reference by reference, its texts in order; column n - 1 counts n-grams.
    """
    most, longest, pairs = 1, 1, 0
    for q in range(chosen.size):
        pairs += lasts[q] - firsts[q]
        most = max(most, _most_pieces(token_offsets, firsts[q], lasts[q], max_order))
        longest = max(longest, lasts[q] - firsts[q])
    matches = np.empty((pairs, max_order))
    keys = np.empty(most, dtype=np.int64)
    table = np.empty(_table_size(most), dtype=np.int32)
    state = np.zeros(2, dtype=np.int64)
    turns, latest = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    work = (keys, table, state, turns, latest)
    pieces, orders = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    begins = np.empty(longest + 1, dtype=np.int64)
    texts = np.empty(most, dtype=np.int32)  # how many texts have a piece
    places = np.empty(most, dtype=np.int32)  # the bit of a piece, -1 for none
    sizes, always = np.empty(max_order, dtype=np.int64), np.empty(max_order, dtype=np.int64)
    ends = np.empty(max_order + 1, dtype=np.int64)
    rows = np.empty(longest, dtype=np.int64)  # where the pairs of a reference begin
    q = at = 0
    while q < chosen.size:
        first, last = firsts[q], lasts[q]
        n = last - first
        state[MASK], state[USED] = SMALLEST_TABLE - 1, 0
        table[:SMALLEST_TABLE] = -1
        turns[: _most_pieces(token_offsets, first, last, max_order)] = -1
        begins[0] = 0
        for t in range(n):
            begin = begins[t]
            begins[t + 1] = begin + _pieces_of(
                tokens, token_offsets[first + t], token_offsets[first + t + 1],
                work, t, max_order, (pieces[begin:], orders[begin:]),
            )  # fmt: skip
        used = state[USED]
        # A piece that one text alone has matches only in the text itself, whose matches are all
        # its n-grams; one that all texts have always matches. The others get a bit each.
        texts[:used] = 0
        for k in range(begins[n]):
            texts[pieces[k]] += 1
        sizes[:] = 0
        always[:] = 0
        places[:used] = -1
        for k in range(begins[n]):
            piece = pieces[k]
            if texts[piece] == n:
                always[orders[k]] += 1
                texts[piece] = 0
            elif texts[piece] > 1:
                places[piece] = sizes[orders[k]]
                sizes[orders[k]] += 1
                texts[piece] = 0
        rows[:n] = -1
        ends[0] = 0
        for order in range(max_order):
            ends[order + 1] = ends[order] + (sizes[order] + 63) // 64
        bits = np.zeros((n, ends[max_order]), dtype=np.uint64)
        for t in range(n):
            for k in range(begins[t], begins[t + 1]):
                place = places[pieces[k]]
                if place >= 0:
                    word = ends[orders[k]] + (place >> 6)
                    bits[t, word] |= np.uint64(1) << np.uint64(place & 63)
        while q < chosen.size and firsts[q] == first:
            r = chosen[q] - first
            rows[r] = at
            for t in range(n):
                if 0 <= rows[t] < at:  # t was the reference of r
                    for order in range(max_order):
                        matches[at + t, order] = matches[rows[t] + r, order]
                    continue
                for order in range(max_order):
                    count = always[order]
                    for word in range(ends[order], ends[order + 1]):
                        count += _set_bits(bits[t, word] & bits[r, word])
                    matches[at + t, order] = count
            length = token_offsets[chosen[q] + 1] - token_offsets[chosen[q]]
            for order in range(max_order):
                matches[at + r, order] = max(length - order, 0)
            at += n
            q += 1
    return matches


@njit(cache=True, nogil=True)
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
        Of each text as a reference.
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
    keys = np.empty(most, dtype=np.int64)
    table = np.empty(_table_size(most), dtype=np.int32)
    state = np.zeros(2, dtype=np.int64)
    turns, latest = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    work = (keys, table, state, turns, latest)
    pieces, orders = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.int32)
    shares = np.empty(most)
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1]
        state[MASK], state[USED] = SMALLEST_TABLE - 1, 0
        table[:SMALLEST_TABLE] = -1
        turns[: _most_pieces(token_offsets, first, last, max_order)] = -1
        count = 0
        for t in range(first, last):
            count += _pieces_of(
                tokens, token_offsets[t], token_offsets[t + 1],
                work, t - first, max_order, (pieces[count:], orders[count:]),
            )  # fmt: skip
        shares[: state[USED]] = 0.0
        k = 0
        for t in range(first, last):
            length = token_offsets[t + 1] - token_offsets[t]
            for order in range(max_order):
                for _ in range(max(length - order, 0)):
                    shares[pieces[k]] += weights[t]
                    k += 1
        k = 0
        for t in range(first, last):
            length = token_offsets[t + 1] - token_offsets[t]
            for order in range(max_order):
                for _ in range(max(length - order, 0)):
                    means[t, orders[k]] += shares[pieces[k]]
                    k += 1
    return means


@njit(cache=True, nogil=True)
def first_equals(tokens: TokenArray, token_offsets: IntArray, offsets: IntArray) -> IntArray:
    """Return (H,) for each text the first text of its list that has the same tokens.

    Parameters
    ----------
    tokens, token_offsets
        Text t is `tokens[token_offsets[t]:token_offsets[t + 1]]`.
    offsets : (S + 1,) int64
        Texts of list s are `offsets[s]:offsets[s + 1]`.
    """
    longest = 1
    for s in range(offsets.size - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    size = 16
    while size < 2 * longest:
        size *= 2
    table = np.empty(size, dtype=np.int64)
    firsts = np.empty(token_offsets.size - 1, dtype=np.int64)
    for s in range(offsets.size - 1):
        table[:] = -1
        for t in range(offsets[s], offsets[s + 1]):
            begin = token_offsets[t]
            length = token_offsets[t + 1] - begin
            mixed = np.int64(length)
            for k in range(length):
                mixed = ((mixed & 0xFFFFFFF) * 0x1B873593 + tokens[begin + k]) & 0x7FFFFFFFFFFF
                mixed ^= mixed >> 17
            slot = mixed & (size - 1)
            firsts[t] = t
            while table[slot] >= 0:
                other = token_offsets[table[slot]]
                k = 0
                if token_offsets[table[slot] + 1] - other == length:
                    while k < length and tokens[begin + k] == tokens[other + k]:
                        k += 1
                    if k == length:
                        firsts[t] = table[slot]
                        break
                slot = (slot + 1) & (size - 1)
            if firsts[t] == t:
                table[slot] = t
    return firsts
