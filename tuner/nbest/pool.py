"""Gather hypotheses of several lists, each once, in little more than their own memory."""

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray, TokenArray, offsets_of

from ..base.errors import InputError, counted
from ..weights.feature_weights import FeatureNames
from . import _pool_kernels as kernels
from ._pool_kernels import Rows


@dataclass
class ArrivedList:
    """One list as a reader leaves it, in order of arrival, with the names of its columns.

    Parameters
    ----------
    rows : Rows
        Without statistics.
    model_scores : (n,) float64
    where : str
        Its name in messages.
    absent_is_zero : bool
        Whether the format leaves out features that are 0, whatever their names.
    ranks : (n,) int32 or None
        The number of each hypothesis in its segment, from 1. None: they are in this order.
    """

    rows: Rows
    model_scores: FloatArray
    names: FeatureNames
    sparse_names: tuple[str, ...]
    has_links: bool
    where: str
    absent_is_zero: bool = False
    ranks: TokenArray | None = None


class HypothesisPool:
    """Rows in order of arrival; the first of equal ones stays.

    The arrays grow in place (realloc) and are put in order in place at the end. So the peak of
    memory is the arrays plus the one block that is being added.

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
        known = len(self)
        self._extend(block)
        _extend(self._hashes, kernels.hash_rows(*keys_of(block)))
        new = np.asarray(kernels.find_new(*keys_of(self.rows), self._hashes, known))
        if not new.all():
            hashes = self._hashes[known:][new]
            self._shrink(known)
            self._extend(take_rows(block, np.flatnonzero(new)))
            _extend(self._hashes, hashes)
        return new

    def _extend(self, block: Rows) -> None:
        array: NDArray[Any]
        more: NDArray[Any]
        for name in Rows._fields:
            array, more = getattr(self.rows, name), getattr(block, name)
            if name.endswith("offsets"):
                _extend(array, more[1:] + (array[-1] - more[0]))
            else:
                _extend(array, more)

    def _shrink(self, size: int) -> None:
        """Keep the first `size` rows."""
        rows = self.rows
        _resize(rows.tokens, int(rows.token_offsets[size]))
        _resize(rows.links, int(rows.link_offsets[size]))
        _resize(rows.sparse_columns, int(rows.sparse_offsets[size]))
        _resize(rows.sparse_values, int(rows.sparse_offsets[size]))
        for offsets in (rows.token_offsets, rows.link_offsets, rows.sparse_offsets):
            _resize(offsets, size + 1)
        _resize(rows.segments, size)
        _resize(rows.features, size)
        _resize(rows.stats, size)
        _resize(self._hashes, size)

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
        if np.any(order[1:] < order[:-1]):
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


def beyond(segment: int, segments: int) -> str:
    """Return what is wrong with a segment id that is too large."""
    have = f"the references have {counted(segments, 'segment')}"
    return f"segment id {segment}, {have}, so ids are 0..{segments - 1}"


def segment_sizes(ids: IntArray, segments: int | None, where: str) -> IntArray:
    """Return (S,) number of hypotheses of each segment.

    Parameters
    ----------
    ids : (H,) int64
        Sorted, none beyond S - 1.
    segments : int or None
        S; absent, one more than the largest id.
    where : str
        The name of the list in messages.

    Raises
    ------
    InputError
        A segment has no hypothesis.
    """
    present = np.unique(ids)
    count = segments if segments is not None else int(present[-1]) + 1 if len(present) else 0
    if not count:
        raise InputError(f"{where}: no hypothesis")
    if len(present) < count:
        # Not np.arange(count): one mad id would ask for all memory.
        known = set(present.tolist())
        missing = [str(k) for k in islice((k for k in range(count) if k not in known), 5)]
        lacking = count - len(present)
        more = ", ..." if lacking > len(missing) else ""
        raise InputError(
            f"{where}: {lacking} of {count} segments have no hypothesis (ids {', '.join(missing)}"
            f"{more}); give the whole list"
        )
    return np.bincount(ids, minlength=count).astype(np.int64)


def keys_of(rows: Rows) -> tuple[Rows, tuple[int, int]]:
    """Return the rows as the kernels compare them, and F and K: flat views, of floats the bits.

    There is no -0.0, so that equal bits are equal values.
    """
    bits = {
        name: getattr(rows, name).reshape(-1).view(np.uint64)
        for name in ("features", "stats", "sparse_values")
    }
    widths = rows.features.shape[1], rows.stats.shape[1]
    return rows._replace(links=rows.links.reshape(-1), **bits), widths


def take_rows(rows: Rows, order: IntArray) -> Rows:
    """Return the rows `order`, a copy."""
    return _reordered(rows._replace(features=np.ascontiguousarray(rows.features[order])), order)


def with_sparse(
    rows: Rows, lines: IntArray, columns: NDArray[np.integer], values: FloatArray
) -> Rows:
    """Return the rows with these sparse entries (E,), given in any order."""
    order = np.lexsort((columns, lines))
    counts = np.bincount(lines, minlength=len(rows.segments))
    return rows._replace(
        sparse_columns=columns[order].astype(np.int32),
        sparse_values=np.ascontiguousarray(values[order], dtype=np.float64),
        sparse_offsets=offsets_of(counts),
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
    _resize(array, size + len(more))
    array[size:] = more


def _resize(array: NDArray[Any], size: int) -> None:
    """Change the number of rows in place (realloc)."""
    array.resize((size, *array.shape[1:]), refcheck=False)
