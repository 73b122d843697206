"""Compiled loops that find equal hypotheses and put them in order."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray, TokenArray
from portmert.metrics.kernels.compiled import helper, kernel

from ..texts._kernels import HASH_PRIME, MIX_PRIME, HashArray, empty_table


class Rows(NamedTuple):
    """n hypotheses in order of arrival, with everything by which two of them are compared.

    No float is -0.0.

    Parameters
    ----------
    segments : (n,) int64
    tokens, token_offsets : (T,) int32, (n + 1,) int64
    links, link_offsets : (V, 2) int32, (n + 1,) int64
    features : (n, F) float64, C order
    stats : (n, K) float64, C order
    sparse_columns, sparse_values, sparse_offsets : (E,) int32, (E,) float64, (n + 1,) int64
        The columns of a row ascend.
    """

    segments: IntArray
    tokens: TokenArray
    token_offsets: IntArray
    links: TokenArray
    link_offsets: IntArray
    features: FloatArray
    stats: FloatArray
    sparse_columns: TokenArray
    sparse_values: FloatArray
    sparse_offsets: IntArray


@helper
def _hashed(h: Any, values: Any, begin: int, end: int) -> Any:
    """Return hash h after values[begin:end] and how many they are."""
    for k in range(begin, end):
        h = (h ^ np.uint64(values[k])) * MIX_PRIME
        h ^= h >> np.uint64(29)
    return (h ^ np.uint64(end - begin)) * HASH_PRIME


@kernel
def hash_rows(keys: Rows, widths: tuple[int, int]) -> HashArray:
    """Return (n,) hashes: equal rows have equal ones; see `pool.keys_of`."""
    n, (width, more) = keys.segments.size, widths
    hashes = np.empty(n, dtype=np.uint64)
    for row in range(n):
        h = np.uint64(keys.segments[row]) * MIX_PRIME
        h = _hashed(h, keys.tokens, keys.token_offsets[row], keys.token_offsets[row + 1])
        h = _hashed(h, keys.links, 2 * keys.link_offsets[row], 2 * keys.link_offsets[row + 1])
        h = _hashed(h, keys.features, row * width, (row + 1) * width)
        h = _hashed(h, keys.stats, row * more, (row + 1) * more)
        begin, end = keys.sparse_offsets[row], keys.sparse_offsets[row + 1]
        h = _hashed(h, keys.sparse_columns, begin, end)
        h = _hashed(h, keys.sparse_values, begin, end)
        hashes[row] = h ^ (h >> np.uint64(31))
    return hashes


@helper
def _same(values: Any, begin: int, end: int, other: int, other_end: int) -> bool:
    """Whether values[begin:end] is values[other:other_end]."""
    size = end - begin
    if other_end - other != size:
        return False
    k = 0
    while k < size and values[begin + k] == values[other + k]:
        k += 1
    return k == size


@helper
def _equal(keys: Rows, widths: tuple[int, int], i: int, j: int) -> bool:
    """Whether rows i and j are equal in everything."""
    width, more = widths
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


@kernel
def find_new(
    keys: Rows, widths: tuple[int, int], hashes: HashArray, known: int
) -> NDArray[np.bool_]:
    """Say which rows from `known` on equal no earlier row: (n - known,) bool; see `pool.keys_of`.

    The first `known` rows all differ.
    """
    n = hashes.size
    size = 1024
    while size < 2 * n:
        size *= 2
    mask = np.uint64(size - 1)
    table = empty_table(size)
    new = np.empty(n - known, dtype=np.bool_)
    for row in range(n):
        slot, found = hashes[row] & mask, False
        while not found and table[slot] >= 0:
            if row >= known and hashes[table[slot]] == hashes[row]:
                found = _equal(keys, widths, table[slot], row)
            slot = (slot + np.uint64(1)) & mask
        if not found:
            table[slot] = row
        if row >= known:
            new[row - known] = not found
    return new


@kernel
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


@kernel
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
