"""Compiled loops that read numbers and tokens from bytes.

Text is a (n,) uint8 array. White space is as for `bytes.split`.

Kernels of other packages call these.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import IntArray, TokenArray
from portmert.metrics.kernels.compiled import helper, kernel

ByteArray = NDArray[np.uint8]
HashArray = NDArray[np.uint64]
LARGEST_POWER = 60
"""Decimal exponents beyond this go to Python's `float`."""
_LARGEST = 1e30  # portmert.tuner.base.numbers.LARGEST


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
SPACE, TAB, RETURN = 32, 9, 13
PLUS, MINUS, POINT, ZERO, NINE, UPPER_E, LOWER_E = 43, 45, 46, 48, 57, 69, 101
"""Bytes of ASCII."""
_FULL = 10**17  # from here on another digit is the nineteenth
_HASH_START = np.uint64(0xCBF29CE484222325)  # FNV-1a, Fowler, Noll and Vo
HASH_PRIME = np.uint64(0x100000001B3)
MIX_PRIME = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Knuth's multiplicative hashing


@helper
def is_space(byte: int) -> bool:
    return byte == SPACE or TAB <= byte <= RETURN


@helper
def _high_product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the high and low 64 bits of the product of two uint64."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a1, a0, b1, b0 = a >> half, a & mask, b >> half, b & mask
    low, middle = a0 * b0, a1 * b0
    carry = (low >> half) + (middle & mask) + a0 * b1
    return a1 * b1 + (middle >> half) + (carry >> half), a * b


@helper
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


@helper
def scan_number(text: ByteArray, begin: int, end: int) -> tuple[float, bool, int]:
    """Read a number from `begin` on: return it, whether it is certain, and where it ends.

    It is correctly rounded. If it is not certain, Python has to decide (base.numbers): for more
    than 18 digits, large exponents, inf, nan, large values, and texts that are no numbers. -0 is
    read as 0, so that equal values have equal bits.
    """
    i, negative = begin, False
    if i < end and (text[i] == MINUS or text[i] == PLUS):
        negative = text[i] == MINUS
        i += 1
    # The mantissa, before and behind the point.
    mantissa: Any = 0
    start, power = i, 0
    while i < end and ZERO <= text[i] <= NINE:
        if mantissa >= _FULL:
            return 0.0, False, i
        mantissa = mantissa * 10 + (np.int64(text[i]) - ZERO)
        i += 1
    digits = i - start
    if i < end and text[i] == POINT:
        i += 1
        point = i
        while i < end and ZERO <= text[i] <= NINE:
            if mantissa >= _FULL:
                return 0.0, False, i
            mantissa = mantissa * 10 + (np.int64(text[i]) - ZERO)
            i += 1
        power = point - i
        digits -= power
    # The exponent.
    if digits > 0 and i < end and (text[i] == LOWER_E or text[i] == UPPER_E):
        i += 1
        sign = 1
        size: Any = 0
        if i < end and (text[i] == MINUS or text[i] == PLUS):
            sign = -1 if text[i] == MINUS else 1
            i += 1
        digits = 0
        while i < end and ZERO <= text[i] <= NINE and size < 10000:
            size = size * 10 + (np.int64(text[i]) - ZERO)
            digits = 1
            i += 1
        power += sign * size
    if digits == 0:
        return 0.0, False, i
    if mantissa == 0:
        return 0.0, True, i
    if mantissa <= 9007199254740992 and -22 <= power <= 22:  # Clinger: both exact in float64
        value = mantissa * _TENS[power] if power >= 0 else mantissa / _TENS[-power]
        exact = True
    elif -LARGEST_POWER <= power <= LARGEST_POWER:
        value, exact = _rounded(mantissa, power)
    else:
        return 0.0, False, i
    return (-value if negative else value), exact and value <= _LARGEST, i


@helper
def read_number(text: ByteArray, begin: int, end: int) -> tuple[float, bool]:
    """Return the number text[begin:end], and whether it is certain; see `scan_number`."""
    value, exact, stop = scan_number(text, begin, end)
    if stop != end:
        return 0.0, False
    return value, exact


@kernel
def parse_number(text: ByteArray) -> tuple[float, bool]:
    """Return the number that is the whole of `text`; for tests of the number reader."""
    value, exact = read_number(text, 0, text.size)
    return value, exact


@helper
def read_natural(text: ByteArray, i: int, end: int) -> tuple[int, int]:
    """Read digits from i: return the number, -1 if there is none or it is too large; its end."""
    value: Any = 0
    begin = i
    while i < end and ZERO <= text[i] <= NINE:
        if value >= 2**31:  # enough to be refused, not enough to overflow
            return -1, begin
        value = value * 10 + (np.int64(text[i]) - ZERO)
        i += 1
    if i == begin or value >= 2**31:
        return -1, begin
    return value, i


@helper
def empty_table(size: int) -> TokenArray:
    """Return a hash table without entries; `size` is a power of two."""
    table = np.empty(size, dtype=np.int32)
    for slot in range(size):
        table[slot] = -1
    return table


@helper
def grown(table: TokenArray, hashes: HashArray, count: int) -> TokenArray:
    """Return a hash table of twice the size with entries 0..count-1."""
    size = 2 * table.size
    larger: TokenArray = empty_table(size)
    mask = np.uint64(size - 1)
    for entry in range(count):
        slot = hashes[entry] & mask
        while larger[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        larger[slot] = entry
    return larger


@helper
def hash_of(text: ByteArray, begin: int, end: int) -> Any:
    """Return the hash of text[begin:end] before `intern` mixes it."""
    h = _HASH_START
    for i in range(begin, end):
        h = (h ^ np.uint64(text[i])) * HASH_PRIME
    return h


@helper
def intern(
    text: ByteArray,
    begin: int,
    end: int,
    h: Any,
    table: TokenArray,
    hashes: HashArray,
    spans: IntArray,
    count: int,
) -> int:
    """Return the entry whose bytes are text[begin:end]; a new entry gets the number `count`.

    `h` is the hash of the bytes, see `hash_of`. `table`, `hashes` (at `count`) and `spans` (at
    `count`) are modified in place.
    """
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


@kernel
def intern_tokens(
    text: ByteArray, cuts: IntArray, column: int, most: int
) -> tuple[TokenArray, IntArray, IntArray]:
    """Give each distinct token of a field a number, in order of arrival.

    Parameters
    ----------
    cuts : (lines, fields, 2) int64
        Where each field of each line begins and ends in the text; the field is `column`.
    most : int
        At least the number of tokens. Unused memory is not touched; growing arrays are slower.

    Returns
    -------
    tokens : (T,) int32
    offsets : (lines + 1,) int64
    spans : (distinct, 2) int64
        The first place of each distinct token.
    """
    lines = cuts.shape[0]
    tokens = np.empty(most, dtype=np.int32)
    offsets = np.zeros(lines + 1, dtype=np.int64)
    table = empty_table(1024)
    hashes, spans = np.empty(most, dtype=np.uint64), np.empty((most, 2), dtype=np.int64)
    count, n = 0, 0
    for line in range(lines):
        i, end = cuts[line, column, 0], cuts[line, column, 1]
        while i < end and is_space(text[i]):
            i += 1
        while i < end:
            begin, h = i, _HASH_START
            while i < end and not is_space(text[i]):
                h = (h ^ np.uint64(text[i])) * HASH_PRIME
                i += 1
            if 2 * count >= table.size:
                table = grown(table, hashes, count)
            entry = intern(text, begin, i, h, table, hashes, spans, count)
            count += entry == count
            tokens[n] = entry
            n += 1
            while i < end and is_space(text[i]):
                i += 1
        offsets[line + 1] = n
    return tokens[:n], offsets, spans[:count]
