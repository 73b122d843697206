"""Compiled loops that find equal hypotheses and put them in order."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray, TokenArray
from portmert.metrics.kernels.compiled import helper, kernel

from ..texts._token_kernels import HASH_PRIME, MIX_PRIME, HashArray, empty_table


class Rows(NamedTuple):
    """n hypotheses in order of arrival.

    Two of them are compared by everything up to their sparse features. No float is -0.0.

    Parameters
    ----------
    segments : (n,) int64
    tokens, token_offsets : (T,) int32, (n + 1,) int64
    links, link_offsets : (V, 2) int32, (n + 1,) int64
    features : (n, F) float64, C order
    stats : (n, K) float64, C order
    sparse_columns, sparse_values, sparse_offsets : (E,) int32, (E,) float64, (n + 1,) int64
        The columns of a row ascend.
    scores, lines, ranks : (n,) float64, (n,) int64, (n,) int32; or empty
        The model score of each, its place in the files, its number in its segment from 1.
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
    scores: FloatArray
    lines: IntArray
    ranks: TokenArray


@helper
def _hashed(h: Any, values: Any, begin: int, end: int) -> Any:
    """Return hash h after values[begin:end] and how many they are."""
    for k in range(begin, end):
        h = (h ^ np.uint64(values[k])) * MIX_PRIME
        h ^= h >> np.uint64(29)
    return (h ^ np.uint64(end - begin)) * HASH_PRIME


@kernel
def hash_rows(keys: Rows, widths: tuple[int, int]) -> HashArray:
    """Return (n,) hashes: equal rows have equal ones; see `merging.keys_of`."""
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
def _same(values: Any, begin: int, end: int, second: int, second_end: int) -> bool:
    """Whether values[begin:end] is values[second:second_end]."""
    size = end - begin
    if second_end - second != size:
        return False
    k = 0
    while k < size and values[begin + k] == values[second + k]:
        k += 1
    return k == size


@helper
def _equal(keys: Rows, widths: tuple[int, int], i: int, j: int) -> bool:
    """Whether rows i and j are equal in everything."""
    width, more = widths
    tokens, links, sparse = keys.token_offsets, keys.link_offsets, keys.sparse_offsets
    begin, end, second, second_end = sparse[i], sparse[i + 1], sparse[j], sparse[j + 1]
    equal: bool = (
        keys.segments[i] == keys.segments[j]
        and _same(keys.features, i * width, (i + 1) * width, j * width, (j + 1) * width)
        and _same(keys.stats, i * more, (i + 1) * more, j * more, (j + 1) * more)
        and _same(keys.sparse_values, begin, end, second, second_end)
        and _same(keys.sparse_columns, begin, end, second, second_end)
        and _same(keys.tokens, tokens[i], tokens[i + 1], tokens[j], tokens[j + 1])
        and _same(keys.links, 2 * links[i], 2 * links[i + 1], 2 * links[j], 2 * links[j + 1])
    )
    return equal


@kernel
def find_new(
    keys: Rows, widths: tuple[int, int], hashes: HashArray, begin: int
) -> NDArray[np.bool_]:
    """Return (n - begin,) whether each row from `begin` on differs from all earlier rows.

    The rows before `begin` all differ. For `keys` and `widths` see `merging.keys_of`.
    """
    n = hashes.size
    size = 1024
    while size < 2 * n:
        size *= 2
    mask = np.uint64(size - 1)
    table = empty_table(size)
    is_new = np.empty(n - begin, dtype=np.bool_)
    for row in range(n):
        slot, is_equal = hashes[row] & mask, False
        while not is_equal and table[slot] >= 0:
            if row >= begin and hashes[table[slot]] == hashes[row]:
                is_equal = _equal(keys, widths, table[slot], row)
            slot = (slot + np.uint64(1)) & mask
        if not is_equal:
            table[slot] = row
        if row >= begin:
            is_new[row - begin] = not is_equal
    return is_new


@kernel
def gather(
    values: TokenArray, offsets: IntArray, order: IntArray, width: int
) -> tuple[TokenArray, IntArray]:
    """Return the rows `order` of flat values, one after the second, and their offsets.

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
