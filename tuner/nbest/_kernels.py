"""Compiled loops that read n-best lists: bytes in, flat arrays out.

Text is a (n,) uint8 array. Fields and tokens are byte spans `begin:end` of it. White space is
what `bytes.split` splits at. A fault is returned as a code and the byte position where it was
found; the caller makes the message of it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metrics._base import FloatArray, IntArray, TokenArray  # noqa: TC001  numba reads Keys

ByteArray = NDArray[np.uint8]
HashArray = NDArray[np.uint64]

FIELDS = 6
"""Most fields a line may have: id, hypothesis, features, score, segmentation, word alignment."""

OK, NO_LABEL, NO_VALUE, NO_NAME, TWICE, NOT_A_LINK, NOT_A_SPAN, OUT_OF_RANGE = range(8)
TOO_FEW, TOO_MANY = 8, 9

LARGEST_POWER = 60
"""Decimal exponents beyond this go to Python's `float`."""


def _powers_of_five() -> HashArray:
    """Return the 128 most significant bits of 5^q, |q| <= LARGEST_POWER: (2, 121), high and low.

    Rounded down, but up for -27 <= q < 0: Lemire, "Number parsing at a gigabyte per second",
    Software: Practice and Experience 2021, section 5.
    """
    table = np.empty((2, 2 * LARGEST_POWER + 1), dtype=np.uint64)
    for q in range(-LARGEST_POWER, LARGEST_POWER + 1):
        if q >= 0:
            bits = 5**q << 128
            bits >>= bits.bit_length() - 128
        else:
            power = 5**-q
            bits = (1 << (2 * power.bit_length() + 128)) // power
            bits >>= bits.bit_length() - 128
            bits += q >= -27  # 5^27 is the largest power below 2^64
        table[0, q + LARGEST_POWER] = bits >> 64
        table[1, q + LARGEST_POWER] = bits & (2**64 - 1)
    return table


_FIVES = _powers_of_five()
_TENS = 10.0 ** np.arange(23)  # the powers of ten that float64 holds exactly

_HASH_START = np.uint64(0xCBF29CE484222325)  # FNV-1a, Fowler, Noll and Vo
_HASH_PRIME = np.uint64(0x100000001B3)
_MIX_PRIME = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Knuth's multiplicative hashing


class Keys(NamedTuple):
    """All that makes two of n hypotheses equal, as flat arrays.

    Floats are given as their bits, without any -0.0: equal bits are equal values.

    Parameters
    ----------
    segments : (n,) int64
    tokens, token_offsets : (T,) int32, (n + 1,) int64
    links, link_offsets : (2 * V,) int32, (n + 1,) int64
        Offsets count pairs.
    features, feature_width : (n * F,) uint64, F
    stats, stat_width : (n * K,) uint64, K
    sparse_columns, sparse_values, sparse_offsets : (E,) int32, (E,) uint64, (n + 1,) int64
        The columns of a row ascend.
    """

    segments: IntArray
    tokens: TokenArray
    token_offsets: IntArray
    links: TokenArray
    link_offsets: IntArray
    features: HashArray
    feature_width: int
    stats: HashArray
    stat_width: int
    sparse_columns: TokenArray
    sparse_values: HashArray
    sparse_offsets: IntArray


@njit(cache=True, nogil=True)
def _is_space(byte: int) -> bool:
    return byte == 32 or 9 <= byte <= 13


@njit(cache=True, nogil=True)
def _high_product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the high and low 64 bits of the product of two uint64."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a1, a0, b1, b0 = a >> half, a & mask, b >> half, b & mask
    low, middle = a0 * b0, a1 * b0
    carry = (low >> half) + (middle & mask) + a0 * b1
    return a1 * b1 + (middle >> half) + (carry >> half), a * b


@njit(cache=True, nogil=True)
def _rounded(mantissa: int, power: int) -> tuple[float, bool]:
    """Return mantissa * 10^power rounded to nearest even, and whether that is certain.

    0 < mantissa < 2^63, |power| <= LARGEST_POWER. Lemire 2021, algorithm 1.
    """
    w, zeros = np.uint64(mantissa), 0
    while w >> np.uint64(63) == np.uint64(0):
        w <<= np.uint64(1)
        zeros += 1
    high, low = _high_product(w, _FIVES[0, power + LARGEST_POWER])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):  # the low half of 5^q may matter
        more, _ = _high_product(w, _FIVES[1, power + LARGEST_POWER])
        low += more
        if more > low:
            high += np.uint64(1)
    if low == np.uint64(0xFFFFFFFFFFFFFFFF) and not -27 <= power <= 55:
        return 0.0, False
    top = np.int64(high >> np.uint64(63))
    shift = np.uint64(top + 9)
    bits = high >> shift  # 54 bits: 53 and the one that decides the rounding
    exponent = ((217706 * power) >> 16) + 63 + top - zeros  # 217706 / 2^16 = log2(10)
    half_way = low <= np.uint64(1) and bits << shift == high
    if half_way and -4 <= power <= 23 and bits & np.uint64(3) == np.uint64(1):
        bits -= np.uint64(1)  # to even
    bits = (bits + (bits & np.uint64(1))) >> np.uint64(1)
    value: float = math.ldexp(np.float64(bits), int(exponent) - 52)
    return value, True


@njit(cache=True, nogil=True)
def _number(text: ByteArray, begin: int, end: int) -> tuple[float, bool]:
    """Return the number text[begin:end] correctly rounded, and whether it was that simple.

    False where Python's `float` has to decide: more than 18 digits, large exponents, inf, nan,
    anything that is no number. -0 is read as 0, so that equal values have equal bits.
    """
    i, negative = begin, False
    if i < end and (text[i] == 45 or text[i] == 43):
        negative = text[i] == 45
        i += 1
    mantissa: Any = 0
    digits, power, seen, point = 0, 0, False, 0
    while i < end:
        if 48 <= text[i] <= 57:
            mantissa = mantissa * 10 + (np.int64(text[i]) - 48)
            digits += mantissa != 0
            power -= point
            seen = True
            if digits > 18:
                return 0.0, False
        elif text[i] == 46 and point == 0:
            point = 1
        else:
            break
        i += 1
    if seen and i < end and (text[i] == 101 or text[i] == 69):
        i += 1
        sign = 1
        size: Any = 0
        if i < end and (text[i] == 45 or text[i] == 43):
            sign = -1 if text[i] == 45 else 1
            i += 1
        seen = False
        while i < end and 48 <= text[i] <= 57 and size < 10000:
            size = size * 10 + (np.int64(text[i]) - 48)
            seen = True
            i += 1
        power += sign * size
    if not seen or i != end:
        return 0.0, False
    if mantissa == 0:
        return 0.0, True
    if mantissa <= 9007199254740992 and -22 <= power <= 22:  # Clinger: both exact in float64
        value = mantissa * _TENS[power] if power >= 0 else mantissa / _TENS[-power]
        exact = True
    elif -LARGEST_POWER <= power <= LARGEST_POWER:
        value, exact = _rounded(mantissa, power)
    else:
        return 0.0, False
    return (-value if negative else value), exact


@njit(cache=True, nogil=True)
def parse_number(text: ByteArray) -> tuple[float, bool]:
    """Return the number that is the whole of `text`; for tests of the number reader."""
    value, exact = _number(text, 0, text.size)
    return value, exact


@njit(cache=True, nogil=True)
def _natural(text: ByteArray, i: int, end: int) -> tuple[int, int]:
    """Read digits from i on: the number, and where they end; -1 if there is none or too large."""
    value: Any = 0
    begin = i
    while i < end and 48 <= text[i] <= 57:
        if value >= 2**31:  # enough to be refused, not enough to overflow
            return -1, begin
        value = value * 10 + (np.int64(text[i]) - 48)
        i += 1
    if i == begin or value >= 2**31:
        return -1, begin
    return value, i


@njit(cache=True, nogil=True)
def split_lines(text: ByteArray, lines: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Find the fields of each line, separated by the token `|||`.

    Returns
    -------
    starts : (lines + 1,) int64
        Where each line begins; the last is the size of the text.
    counts : (lines,) int64
        Number of fields.
    cuts : (lines, FIELDS, 2) int64
        Spans of the first FIELDS fields without white space around them.
    ids : (lines,) int64
        The first field as a number, -1 where it is none.
    """
    starts = np.empty(lines + 1, dtype=np.int64)
    counts = np.empty(lines, dtype=np.int64)
    cuts = np.empty((lines, FIELDS, 2), dtype=np.int64)
    ids = np.empty(lines, dtype=np.int64)
    size, i = text.size, 0
    for line in range(lines):
        starts[line] = begin = i
        count = 0
        while True:
            ended = i >= size or text[i] == 10
            if not ended and text[i] != 124:
                i += 1
                continue
            if not ended and not (
                i + 2 < size
                and text[i + 1] == 124
                and text[i + 2] == 124
                and (i == starts[line] or _is_space(text[i - 1]))
                and (i + 3 == size or _is_space(text[i + 3]))
            ):
                i += 1
                continue
            if count < FIELDS:
                left, right = begin, i
                while left < right and _is_space(text[left]):
                    left += 1
                while left < right and _is_space(text[right - 1]):
                    right -= 1
                cuts[line, count, 0], cuts[line, count, 1] = left, right
            count += 1
            if ended:
                i += 1
                break
            i += 3
            begin = i
        for k in range(count, FIELDS):
            cuts[line, k, 0] = cuts[line, k, 1] = min(i - 1, size)
        counts[line] = count
        ids[line], after = _natural(text, cuts[line, 0, 0], cuts[line, 0, 1])
        if after != cuts[line, 0, 1]:
            ids[line] = -1
    starts[lines] = size
    return starts, counts, cuts, ids


@njit(cache=True, nogil=True)
def _empty_table(size: int) -> TokenArray:
    """Return a hash table without entries; `size` is a power of two."""
    table = np.empty(size, dtype=np.int32)
    for slot in range(size):
        table[slot] = -1
    return table


@njit(cache=True, nogil=True)
def _grown(table: TokenArray, hashes: HashArray, count: int) -> TokenArray:
    """Return a hash table of twice the size with entries 0..count-1."""
    size = 2 * table.size
    larger: TokenArray = _empty_table(size)
    mask = np.uint64(size - 1)
    for entry in range(count):
        slot = hashes[entry] & mask
        while larger[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        larger[slot] = entry
    return larger


@njit(cache=True, nogil=True)
def _intern(
    text: ByteArray,
    begin: int,
    end: int,
    table: TokenArray,
    hashes: HashArray,
    spans: IntArray,
    count: int,
) -> int:
    """Return the entry whose bytes are text[begin:end]; `count` if it was new and is now made.

    `table`, `hashes` (at `count`) and `spans` (at `count`) are modified in place.
    """
    h = _HASH_START
    for i in range(begin, end):
        h = (h ^ np.uint64(text[i])) * _HASH_PRIME
    h ^= h >> np.uint64(29)  # the low bits of FNV depend on few bits of the text
    mask = np.uint64(table.size - 1)
    slot = h & mask
    while table[slot] >= 0:
        entry = int(table[slot])
        if hashes[entry] == h and spans[entry, 1] - spans[entry, 0] == end - begin:
            at, i = spans[entry, 0], begin
            while i < end and text[at] == text[i]:
                at += 1
                i += 1
            if i == end:
                return entry
        slot = (slot + np.uint64(1)) & mask
    table[slot] = count
    hashes[count] = h
    spans[count, 0], spans[count, 1] = begin, end
    return count


@njit(cache=True, nogil=True)
def intern_tokens(
    text: ByteArray, cuts: IntArray, column: int, most: int
) -> tuple[TokenArray, IntArray, IntArray]:
    """Give each distinct token of a field a number, in order of arrival.

    Parameters
    ----------
    most : int
        No fewer than there are tokens; memory beyond what is used is never touched.

    Returns
    -------
    tokens : (T,) int32
    offsets : (lines + 1,) int64
    spans : (distinct, 2) int64
        Where each distinct token stands first.
    """
    lines = cuts.shape[0]
    tokens = np.empty(most, dtype=np.int32)
    offsets = np.zeros(lines + 1, dtype=np.int64)
    table = _empty_table(1024)
    hashes, spans = np.empty(most, dtype=np.uint64), np.empty((most, 2), dtype=np.int64)
    count, n = 0, 0
    for line in range(lines):
        i, end = cuts[line, column, 0], cuts[line, column, 1]
        while i < end:
            begin = i
            while i < end and not _is_space(text[i]):
                i += 1
            if 2 * count >= table.size:
                table = _grown(table, hashes, count)
            entry = _intern(text, begin, i, table, hashes, spans, count)
            count += entry == count
            tokens[n] = entry
            n += 1
            while i < end and _is_space(text[i]):
                i += 1
        offsets[line + 1] = n
    return tokens[:n], offsets, spans[:count]


@njit(cache=True, nogil=True)
def _longer(rows: IntArray) -> IntArray:
    """Return a copy with room for twice as many rows."""
    larger = np.empty((2 * rows.shape[0], rows.shape[1]), dtype=np.int64)
    for row in range(rows.shape[0]):
        for column in range(rows.shape[1]):
            larger[row, column] = rows[row, column]
    return larger


@njit(cache=True, nogil=True)
def parse_features(
    text: ByteArray, cuts: IntArray, most: int
) -> tuple[int, int, FloatArray, FloatArray, TokenArray, IntArray, IntArray, IntArray, bool]:
    """Read `Name= v v name_x= v` (field 2) and the model score (field 3) of each line.

    Returns
    -------
    code, position : int
        OK, or the first fault and where.
    scores : (lines,) float64
    values : (N,) float64
    labels : (N,) int32
        Which name each value stands behind.
    offsets : (lines + 1,) int64
        Values of each line.
    spans : (names, 2) int64
        Where each distinct name stands first, without its `=`.
    slow : (M, 3) int64
        Numbers left to Python: index into `values` (or -1 - line for a score), begin, end.
    same : bool
        Every line has the labels of the first, in its order.
    """
    lines = cuts.shape[0]
    scores, offsets = np.empty(lines), np.zeros(lines + 1, dtype=np.int64)
    values, labels = np.empty(most), np.empty(most, dtype=np.int32)
    table = _empty_table(256)
    hashes, spans = np.empty(most, dtype=np.uint64), np.empty((most, 2), dtype=np.int64)
    last_line = np.empty(most, dtype=np.int64)
    slow, slows = np.empty((64, 3), dtype=np.int64), 0
    count, n, same = 0, 0, True
    code, position = OK, 0
    for line in range(lines):
        i, end = cuts[line, 2, 0], cuts[line, 2, 1]
        label, name_at, valued = -1, i, True
        while i < end:
            begin, equals = i, -1
            while i < end and not _is_space(text[i]):
                if text[i] == 61:
                    equals = i
                i += 1
            token_end = i
            if equals >= 0:
                if not valued:
                    code, position = NO_VALUE, name_at
                    break
                if equals == begin:
                    code, position = NO_NAME, begin
                    break
                if 2 * count >= table.size:
                    table = _grown(table, hashes, count)
                label = _intern(text, begin, equals, table, hashes, spans, count)
                if label == count:
                    count += 1
                elif last_line[label] == line:
                    code, position = TWICE, begin
                    break
                last_line[label] = line
                name_at, begin, valued = begin, equals + 1, False
            elif label < 0:
                code, position = NO_LABEL, begin
                break
            if begin < token_end:
                value, exact = _number(text, begin, token_end)
                if not exact:
                    if slows == slow.shape[0]:
                        slow = _longer(slow)
                    slow[slows, 0], slow[slows, 1], slow[slows, 2] = n, begin, token_end
                    slows += 1
                values[n], labels[n] = value, label
                if same and line > 0:
                    at = n - offsets[line]
                    same = at < offsets[1] and labels[at] == label
                n += 1
                valued = True
            while i < end and _is_space(text[i]):
                i += 1
        if code == OK and label < 0:
            code, position = NO_LABEL, cuts[line, 2, 0]
        if code == OK and not valued:
            code, position = NO_VALUE, name_at
        if code != OK:
            break
        offsets[line + 1] = n
        same = same and n - offsets[line] == offsets[1]
        begin, end = cuts[line, 3, 0], cuts[line, 3, 1]
        scores[line], exact = _number(text, begin, end)
        if not exact:
            if slows == slow.shape[0]:
                slow = _longer(slow)
            slow[slows, 0], slow[slows, 1], slow[slows, 2] = -1 - line, begin, end
            slows += 1
    return (
        code,
        position,
        scores,
        values[:n],
        labels[:n],
        offsets,
        spans[:count],
        slow[:slows],
        same,
    )


@njit(cache=True, nogil=True)
def _sorted_set(links: TokenArray, begin: int, end: int) -> int:
    """Sort links[begin:end] by source, then target, and drop repeated ones; return the new end."""
    top = begin
    for k in range(begin, end):
        source, target = links[k, 0], links[k, 1]
        at = top
        while at > begin and (
            links[at - 1, 0] > source or (links[at - 1, 0] == source and links[at - 1, 1] > target)
        ):
            at -= 1
        if at > begin and links[at - 1, 0] == source and links[at - 1, 1] == target:
            continue
        for move in range(top, at, -1):
            links[move, 0], links[move, 1] = links[move - 1, 0], links[move - 1, 1]
        links[at, 0], links[at, 1] = source, target
        top += 1
    return top


@njit(cache=True, nogil=True)
def parse_links(
    text: ByteArray, cuts: IntArray, column: int, token_offsets: IntArray, most: int
) -> tuple[int, int, TokenArray, IntArray]:
    """Read `0-0 1-1`: source and target positions, sorted, each pair once.

    Returns
    -------
    code, position : int
        OK, or the first fault and where; a target position must be that of a token.
    links : (V, 2) int32
    offsets : (lines + 1,) int64
    """
    lines = cuts.shape[0]
    links, offsets = np.empty((most, 2), dtype=np.int32), np.zeros(lines + 1, dtype=np.int64)
    n = 0
    for line in range(lines):
        i, end = cuts[line, column, 0], cuts[line, column, 1]
        length = token_offsets[line + 1] - token_offsets[line]
        while i < end:
            begin = i
            source, i = _natural(text, i, end)
            target = -1
            if source >= 0 and i < end and text[i] == 45:
                target, i = _natural(text, i + 1, end)
            if target < 0 or (i < end and not _is_space(text[i])):
                return NOT_A_LINK, begin, links[:0], offsets
            if target >= length:
                return OUT_OF_RANGE, begin, links[:0], offsets
            links[n, 0], links[n, 1] = source, target
            n += 1
            while i < end and _is_space(text[i]):
                i += 1
        n = _sorted_set(links, offsets[line], n)
        offsets[line + 1] = n
    return OK, 0, links[:n], offsets


@njit(cache=True, nogil=True)
def _span(text: ByteArray, i: int, end: int) -> tuple[int, int, int]:
    """Read `a-b`, or `a` as `a-a`, from i on: a, b, and where it ends; a is -1 if it is none."""
    first, i = _natural(text, i, end)
    last = first
    if first >= 0 and i < end and text[i] == 45:
        last, i = _natural(text, i + 1, end)
    if last < first:
        first = -1
    return first, last, i


@njit(cache=True, nogil=True)
def expand_segmentation(
    text: ByteArray, cuts: IntArray, column: int, token_offsets: IntArray, links: TokenArray
) -> tuple[int, int, int, IntArray]:
    """Read `0-1=0-2 2=3`: each source phrase, linked word by word with its target phrase.

    Moses writes a phrase without target words (an unknown word that is dropped) as if it had the
    one where the next phrase begins. Such a phrase has no links.

    Parameters
    ----------
    links : (V, 2) int32
        Modified in place unless V is 0: then everything is checked and counted only.

    Returns
    -------
    code, position : int
        OK, or the first fault and where; target positions must be those of tokens.
    n : int
        Number of links (before repeated ones are dropped, if they are only counted).
    offsets : (lines + 1,) int64
    """
    lines = cuts.shape[0]
    offsets = np.zeros(lines + 1, dtype=np.int64)
    n, store = 0, links.shape[0] > 0
    for line in range(lines):
        i, end = cuts[line, column, 0], cuts[line, column, 1]
        length = token_offsets[line + 1] - token_offsets[line]
        while i < end:
            begin, target_first, target_last = i, -1, -1
            source_first, source_last, i = _span(text, i, end)
            if source_first >= 0 and i < end and text[i] == 61:
                target_first, target_last, i = _span(text, i + 1, end)
            if target_first < 0 or (i < end and not _is_space(text[i])):
                return NOT_A_SPAN, begin, 0, offsets
            while i < end and _is_space(text[i]):
                i += 1
            next_first, k = length, i  # where the next phrase begins
            if i < end:
                while k < end and text[k] != 61:
                    k += 1
                next_first, _, _ = _span(text, k + 1, end)
            if target_first == target_last and target_first == next_first:
                continue
            if target_last >= length:
                return OUT_OF_RANGE, begin, 0, offsets
            if store:
                for source in range(source_first, source_last + 1):
                    for target in range(target_first, target_last + 1):
                        links[n, 0], links[n, 1] = source, target
                        n += 1
            else:
                n += (source_last - source_first + 1) * (target_last - target_first + 1)
        if store:
            n = _sorted_set(links, offsets[line], n)
        offsets[line + 1] = n
    return OK, 0, n, offsets


@njit(cache=True, nogil=True)
def parse_tables(
    text: ByteArray, starts: IntArray, counts: IntArray, table: FloatArray
) -> tuple[int, int, int, IntArray, IntArray]:
    """Read blocks of lines of numbers.

    Parameters
    ----------
    starts, counts : (blocks,) int64
        Where the first line of each block begins, and how many lines it has.
    table : (counts.sum(), K) float64
        Modified in place: K numbers of each line.

    Returns
    -------
    code, position, found : int
        OK, or the first line without K numbers, and how many it has up to there.
    ends : (blocks,) int64
        Where the line after each block begins.
    slow : (M, 3) int64
        Numbers left to Python: flat index into `table`, begin, end.
    """
    size, width = text.size, table.shape[1]
    ends = np.zeros(starts.size, dtype=np.int64)
    slow, slows = np.empty((64, 3), dtype=np.int64), 0
    row = 0
    for block in range(starts.size):
        i = starts[block]
        for _ in range(counts[block]):
            column = 0
            begin_line = i
            while i < size and text[i] != 10:
                if _is_space(text[i]):
                    i += 1
                    continue
                begin = i
                while i < size and not _is_space(text[i]):
                    i += 1
                if column == width:
                    return TOO_MANY, begin, column, ends, slow[:slows]
                value, exact = _number(text, begin, i)
                if not exact:
                    if slows == slow.shape[0]:
                        slow = _longer(slow)
                    slow[slows, 0], slow[slows, 1], slow[slows, 2] = row * width + column, begin, i
                    slows += 1
                table[row, column] = value
                column += 1
            if column < width:
                return TOO_FEW, begin_line, column, ends, slow[:slows]
            i = min(i + 1, size)
            row += 1
        ends[block] = i
    return OK, 0, 0, ends, slow[:slows]


@njit(cache=True, nogil=True)
def _hashed(h: Any, values: Any, begin: int, end: int) -> Any:
    """Return hash h after values[begin:end] and how many they are."""
    for k in range(begin, end):
        h = (h ^ np.uint64(values[k])) * _MIX_PRIME
        h ^= h >> np.uint64(29)
    return (h ^ np.uint64(end - begin)) * _HASH_PRIME


@njit(cache=True, nogil=True)
def hash_rows(keys: Keys) -> HashArray:
    """Return (n,) hashes: equal rows have equal ones."""
    n, width, more = keys.segments.size, keys.feature_width, keys.stat_width
    hashes = np.empty(n, dtype=np.uint64)
    for row in range(n):
        h = np.uint64(keys.segments[row]) * _MIX_PRIME
        h = _hashed(h, keys.tokens, keys.token_offsets[row], keys.token_offsets[row + 1])
        h = _hashed(h, keys.links, 2 * keys.link_offsets[row], 2 * keys.link_offsets[row + 1])
        h = _hashed(h, keys.features, row * width, (row + 1) * width)
        h = _hashed(h, keys.stats, row * more, (row + 1) * more)
        begin, end = keys.sparse_offsets[row], keys.sparse_offsets[row + 1]
        h = _hashed(h, keys.sparse_columns, begin, end)
        h = _hashed(h, keys.sparse_values, begin, end)
        hashes[row] = h ^ (h >> np.uint64(31))
    return hashes


@njit(cache=True, nogil=True)
def _same(values: Any, begin: int, end: int, other: int, other_end: int) -> bool:
    """Whether values[begin:end] is values[other:other_end]."""
    size = end - begin
    if other_end - other != size:
        return False
    k = 0
    while k < size and values[begin + k] == values[other + k]:
        k += 1
    return k == size


@njit(cache=True, nogil=True)
def _equal(keys: Keys, i: int, j: int) -> bool:
    """Whether rows i and j are equal in everything."""
    width, more = keys.feature_width, keys.stat_width
    tokens, links, sparse = keys.token_offsets, keys.link_offsets, keys.sparse_offsets
    begin, end, other, other_end = sparse[i], sparse[i + 1], sparse[j], sparse[j + 1]
    equal: bool = (
        keys.segments[i] == keys.segments[j]
        and _same(keys.features, i * width, (i + 1) * width, j * width, (j + 1) * width)
        and _same(keys.stats, i * more, (i + 1) * more, j * more, (j + 1) * more)
        and _same(keys.sparse_values, begin, end, other, other_end)
        and _same(keys.sparse_columns, begin, end, other, other_end)
        and _same(keys.tokens, tokens[i], tokens[i + 1], tokens[j], tokens[j + 1])
        and _same(keys.links, 2 * links[i], 2 * links[i + 1], 2 * links[j], 2 * links[j + 1])
    )
    return equal


@njit(cache=True, nogil=True)
def find_new(keys: Keys, hashes: HashArray, known: int) -> NDArray[np.bool_]:
    """Say which rows from `known` on equal no earlier row: (n - known,) bool.

    The first `known` rows all differ.
    """
    n = hashes.size
    size = 1024
    while size < 2 * n:
        size *= 2
    mask = np.uint64(size - 1)
    table = _empty_table(size)
    new = np.empty(n - known, dtype=np.bool_)
    for row in range(n):
        slot, found = hashes[row] & mask, False
        while not found and table[slot] >= 0:
            if row >= known and hashes[table[slot]] == hashes[row]:
                found = _equal(keys, table[slot], row)
            slot = (slot + np.uint64(1)) & mask
        if not found:
            table[slot] = row
        if row >= known:
            new[row - known] = not found
    return new


@njit(cache=True, nogil=True)
def gather(
    values: TokenArray, offsets: IntArray, order: IntArray, width: int
) -> tuple[TokenArray, IntArray]:
    """Return the rows `order` of flat values, one after the other, and their offsets.

    `width` numbers stand together: 1 for tokens, 2 for links; offsets count in units of it.
    """
    n = order.size
    new_offsets = np.zeros(n + 1, dtype=np.int64)
    for k in range(n):
        new_offsets[k + 1] = new_offsets[k] + offsets[order[k] + 1] - offsets[order[k]]
    out = np.empty(new_offsets[n] * width, dtype=values.dtype)
    for k in range(n):
        begin, at = offsets[order[k]] * width, new_offsets[k] * width
        for m in range((new_offsets[k + 1] - new_offsets[k]) * width):
            out[at + m] = values[begin + m]
    return out, new_offsets


@njit(cache=True, nogil=True)
def turn(matrix: FloatArray, rank: IntArray, width: int) -> None:
    """Move value (r, f) of a C-ordered matrix to (rank[r], f) of a Fortran-ordered one, in place.

    Follows the cycles of the permutation, so that no second matrix is needed.

    Parameters
    ----------
    matrix : (n * width,) float64
        Modified in place.
    rank : (n,) int64
        A permutation.
    """
    n = rank.size
    moved = np.zeros(matrix.size, dtype=np.bool_)
    for start in range(matrix.size):
        if moved[start]:
            continue
        at, carried = start, matrix[start]
        while True:
            row = at // width
            at = (at - row * width) * n + rank[row]
            carried, matrix[at] = matrix[at], carried
            moved[at] = True
            if at == start:
                break
