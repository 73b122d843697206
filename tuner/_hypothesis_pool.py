"""Hypotheses gathered from several lists, each kept once, in little more than their own memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tuner import _nbest_kernels as kernels
from tuner._nbest_kernels import Rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metrics._base import IntArray


class HypothesisPool:
    """Rows in order of arrival, equal ones once: the first stays.

    The arrays grow in place (realloc), and are put in order in place at the end: the peak is the
    arrays, plus the one block that is being added.

    Parameters
    ----------
    features, stats : int
        Number of columns F and K.
    """

    def __init__(self, *, features: int, stats: int = 0) -> None:
        self.rows = empty_rows(0, features=features, stats=stats)
        self._hashes = np.empty(0, dtype=np.uint64)

    def __len__(self) -> int:
        return len(self.rows.segments)

    def append(self, block: Rows) -> NDArray[np.bool_]:
        """Add the rows of `block` that are not there yet; return (n,) which these were."""
        hashes = kernels.hash_rows(block)
        new = kernels.find_new(self.rows, self._hashes, block, hashes)
        chosen = np.flatnonzero(new)
        if len(chosen) < len(new):
            block, hashes = take_rows(block, chosen), hashes[chosen]
        _extend(self._hashes, hashes)
        _extend(self.rows.segments, block.segments)
        _extend(self.rows.tokens, block.tokens)
        _extend_offsets(self.rows.token_offsets, block.token_offsets)
        _extend(self.rows.links, block.links)
        _extend_offsets(self.rows.link_offsets, block.link_offsets)
        _extend(self.rows.features, block.features)
        _extend(self.rows.stats, block.stats)
        _extend(self.rows.sparse_columns, block.sparse_columns)
        _extend(self.rows.sparse_values, block.sparse_values)
        _extend_offsets(self.rows.sparse_offsets, block.sparse_offsets)
        return np.asarray(new)

    def finish(self) -> tuple[Rows, IntArray]:
        """Return the rows by segment, order of arrival within one, and their order (H,).

        `features` is in Fortran order then. The pool is empty afterwards.
        """
        rows, self.rows = self.rows, empty_rows(0, features=0, stats=0)
        self._hashes = np.empty(0, dtype=np.uint64)
        order = np.argsort(rows.segments, kind="stable").astype(np.int64)
        n, width = rows.features.shape
        rank = np.empty(n, dtype=np.int64)
        rank[order] = np.arange(n)
        flat = rows.features.reshape(-1)
        kernels.turn(flat, rank, max(width, 1))
        rows = rows._replace(features=flat.reshape(width, n).T)
        if not np.array_equal(order, rank):  # equal: an identity, or its own inverse
            rows = _reordered(rows, order)
        elif not np.all(order[:-1] < order[1:]):
            rows = _reordered(rows, order)
        return rows, order


def empty_rows(n: int, *, features: int, stats: int) -> Rows:
    """Return n rows with nothing in them, all numbers 0."""
    offsets = np.zeros(n + 1, dtype=np.int64)
    return Rows(
        segments=np.zeros(n, dtype=np.int64),
        tokens=np.empty(0, dtype=np.int32),
        token_offsets=offsets,
        links=np.empty((0, 2), dtype=np.int32),
        link_offsets=offsets.copy(),
        features=np.zeros((n, features)),
        stats=np.zeros((n, stats)),
        sparse_columns=np.empty(0, dtype=np.int32),
        sparse_values=np.empty(0),
        sparse_offsets=offsets.copy(),
    )


def take_rows(rows: Rows, order: IntArray) -> Rows:
    """Return the rows `order`, a copy."""
    return _reordered(
        rows._replace(features=np.ascontiguousarray(rows.features[order])), order
    )


def _reordered(rows: Rows, order: IntArray) -> Rows:
    """Reorder everything but the features."""
    tokens, token_offsets = kernels.gather(rows.tokens, rows.token_offsets, order, 1)
    links, link_offsets = kernels.gather(rows.links.reshape(-1), rows.link_offsets, order, 2)
    columns, sparse_offsets = kernels.gather(rows.sparse_columns, rows.sparse_offsets, order, 1)
    values = rows.sparse_values
    if len(values):  # as int32 pairs: one compiled version of `gather` does for all
        halves, _ = kernels.gather(values.view(np.int32), rows.sparse_offsets, order, 2)
        values = halves.view(np.float64)
    return rows._replace(
        segments=rows.segments[order],
        tokens=tokens,
        token_offsets=token_offsets,
        links=links.reshape(-1, 2),
        link_offsets=link_offsets,
        stats=np.ascontiguousarray(rows.stats[order]),
        sparse_columns=columns,
        sparse_values=values,
        sparse_offsets=sparse_offsets,
    )


def _extend(array: NDArray[Any], more: NDArray[Any]) -> None:
    """Append rows to an array that owns its memory and that nothing else looks at."""
    size = len(array)
    array.resize((size + len(more), *array.shape[1:]), refcheck=False)
    array[size:] = more


def _extend_offsets(offsets: IntArray, more: IntArray) -> None:
    """Append rows to offsets."""
    base = offsets[-1] - more[0]
    _extend(offsets, more[1:] + base)
