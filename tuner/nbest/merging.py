"""Merge lists: their hypotheses in common columns, each once, in little more than their memory."""

from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray, Ragged, Texts, Vocabulary, offsets_of

from ..base.errors import InputError, counted
from ..base.warn import warn
from ..weights.feature_weights import FeatureNames, columns_by_name
from . import _merging_kernels as kernels
from ._merging_kernels import Rows
from .model import NBest, SparseFeatures
from .records import SegmentNames


@dataclass
class ListArrays:
    """The arrays of one list, in order of arrival, with the names of its columns.

    Parameters
    ----------
    rows : Rows
        With `scores`, without statistics and `lines`. No `ranks`: hypotheses are in their order.
    names : FeatureNames
    sparse_names : tuple of str
    has_links : bool
    where : str
        Its name in messages.
    absent_is_zero : bool
        Whether the format leaves out features that are 0, whatever their names.
    """

    rows: Rows
    names: FeatureNames
    sparse_names: tuple[str, ...]
    has_links: bool
    where: str
    absent_is_zero: bool = False


class DistinctRows:
    """Rows in order of arrival; the first of equal rows stays.

    The first block is not copied. From the second on the arrays grow in place (realloc). So the
    peak of memory is the arrays plus the one block that is being added, or plus the features in
    order.

    Parameters
    ----------
    features, stats : int
        Number of columns F and K.
    """

    def __init__(self, *, features: int, stats: int = 0) -> None:
        self.rows = empty_rows(0, features=features, stats=stats)
        self._is_borrowed = False
        self._hashes = np.empty(0, dtype=np.uint64)

    def append(self, block: Rows) -> NDArray[np.bool_]:
        """Add the new rows of `block`; return (n,) whether each row is new."""
        size = len(self.rows.segments)
        if not size:
            hashes = kernels.hash_rows(*keys_of(block))
            is_new = np.asarray(kernels.find_new(*keys_of(block), hashes, 0))
            self.rows = block if is_new.all() else take_rows(block, np.flatnonzero(is_new))
            self._hashes, self._is_borrowed = hashes[is_new], True
            return is_new
        self._own()
        extend_rows(self.rows, block)
        _extend(self._hashes, kernels.hash_rows(*keys_of(block)))
        is_new = np.asarray(kernels.find_new(*keys_of(self.rows), self._hashes, size))
        if not is_new.all():
            hashes = self._hashes[size:][is_new]
            self._shrink(size)
            extend_rows(self.rows, take_rows(block, np.flatnonzero(is_new)))
            _extend(self._hashes, hashes)
        return is_new

    def _own(self) -> None:
        """Copy borrowed arrays, one after the other, so that they can grow."""
        for name in Rows._fields if self._is_borrowed else ():
            self.rows = self.rows._replace(**{name: getattr(self.rows, name).copy()})
        self._is_borrowed = False

    def _shrink(self, size: int) -> None:
        """Keep the first `size` rows."""
        rows = self.rows
        _resize(rows.tokens, int(rows.token_offsets[size]))
        _resize(rows.links, int(rows.link_offsets[size]))
        _resize(rows.sparse_columns, int(rows.sparse_offsets[size]))
        _resize(rows.sparse_values, int(rows.sparse_offsets[size]))
        for offsets in (rows.token_offsets, rows.link_offsets, rows.sparse_offsets):
            _resize(offsets, size + 1)
        arrays: list[NDArray[Any]] = [rows.segments, rows.features, rows.stats, self._hashes]
        arrays += [array for array in (rows.scores, rows.lines, rows.ranks) if len(array)]
        for array in arrays:
            _resize(array, size)

    def finish(self) -> Rows:
        """Return the rows by segment, in order of arrival within one; nothing is left here.

        `features` is in Fortran order then.
        """
        rows, self.rows = self.rows, empty_rows(0, features=0, stats=0)
        self._hashes = np.empty(0, dtype=np.uint64)
        order = np.argsort(rows.segments, kind="stable").astype(np.int64)
        is_ordered = bool(np.all(order[1:] > order[:-1]))
        features = rows.features if is_ordered else rows.features[order]
        rows = rows._replace(features=np.asfortranarray(features))
        return rows if is_ordered else _reordered(rows, order)


class Merger:
    """Bring lists to common columns and keep each of their hypotheses once.

    Parameters
    ----------
    dense
        The dense features, where the decoder names them: all others are sparse, even if every
        hypothesis has one. None: what all hypotheses have is dense.
    """

    def __init__(self, dense: Collection[str] | None = None) -> None:
        self._dense = dense
        self._distinct = DistinctRows(features=0)
        self._dropped: IntArray = np.empty((0, 3), dtype=np.int64)
        self._sizes: list[int] = []
        self._absent_is_zero = True
        self._names: FeatureNames = ()
        self._sparse_names: tuple[str, ...] = ()
        self._first = self._linked = self._unlinked = ""

    def add(self, arrays: ListArrays) -> None:
        """Add a list; its arrays may be changed."""
        rows = _ranked(arrays.rows, sum(self._sizes))
        if not self._sizes:
            self._first, self._names, self._sparse_names = (
                arrays.where,
                arrays.names,
                arrays.sparse_names,
            )
            self._distinct = DistinctRows(features=rows.features.shape[1])
        self._sizes.append(len(rows.segments))
        self._absent_is_zero = self._absent_is_zero and arrays.absent_is_zero
        self._add_columns(arrays)
        rows = _with_columns(
            rows, arrays.names, arrays.sparse_names, self._names, self._sparse_names
        )
        if arrays.has_links:
            self._linked = self._linked or arrays.where
        else:
            self._unlinked = self._unlinked or arrays.where
        if self._linked and self._unlinked:
            rows = _without_links(rows)
            if len(self._distinct.rows.links):
                self._start_again(_without_links(self._distinct.rows))
        self._append(rows)

    def finish(
        self, vocabulary: Vocabulary, segments: int | None, names: SegmentNames | None = None
    ) -> NBest:
        """Return everything that was added as one list.

        Parameters
        ----------
        segments
            The number of segments; absent: one more than the largest id.
        names
            The names of the segments of lists that were read from files. If segments may be left
            out, the numbers of the others are put there.
        """
        if self._linked and self._unlinked:
            warn(
                f"{self._unlinked} has no word alignment, {self._linked} has; metrics that need "
                f"links will not find them: leave out the lists without"
            )
        rows, ids = self._distinct.finish(), None if names is None else names.ids
        if names is not None and names.drop:
            names.left, sizes = np.unique(rows.segments, return_counts=True)
            self._dropped[:, 1] = np.searchsorted(names.left, self._dropped[:, 1])
            ids = None if ids is None else tuple(ids[number] for number in names.left)
        else:
            where = self._first if len(self._sizes) == 1 else "the n-best lists together"
            sizes = segment_sizes(rows.segments, segments, where)
        links = Ragged(rows.links, rows.link_offsets) if not self._unlinked else None
        is_read = names is not None
        return NBest(
            texts=Texts(vocabulary, Ragged(rows.tokens, rows.token_offsets), links),
            offsets=offsets_of(sizes),
            features=rows.features,
            feature_names=self._names,
            model_scores=rows.scores,
            sparse=sparse_of(rows, self._sparse_names),
            lines=rows.lines if is_read else None,
            list_sizes=tuple(self._sizes) if is_read else (),
            ranks=rows.ranks if is_read else rows.ranks[:0],
            ids=ids,
            dropped=self._dropped if is_read else None,
        )

    def _append(self, rows: Rows) -> None:
        is_new = self._distinct.append(rows)
        columns = rows.lines, rows.segments, rows.ranks
        dropped = np.column_stack([column[~is_new] for column in columns]).astype(np.int64)
        self._dropped = np.concatenate([self._dropped, dropped])

    def _start_again(self, rows: Rows) -> None:
        """Begin with changed rows: some may be equal now."""
        self._distinct = DistinctRows(features=rows.features.shape[1])
        self._append(rows)

    def _add_columns(self, arrays: ListArrays) -> None:
        """Choose the columns of all lists; what some lack is sparse, or 0 if absent means 0."""
        self._check_columns(arrays)
        sizes, new_sizes = dict(self._names), dict(arrays.names)
        sparse = {*self._sparse_names, *arrays.sparse_names}
        if self._absent_is_zero:
            every = (sizes | new_sizes).items()
            names = tuple((name, size) for name, size in every if name not in sparse)
        else:
            names = tuple(item for item in self._names if item[0] in new_sizes)
        if self._dense is not None:  # with several values or without `_` no feature is sparse
            names = tuple(
                (name, size)
                for name, size in names
                if name in self._dense or size != 1 or "_" not in name
            )
        dense = dict(names)
        sparse_names = (
            *self._sparse_names,
            *(name for name in sizes if name not in dense),
            *arrays.sparse_names,
            *(name for name in new_sizes if name not in dense),
        )
        old = self._names, self._sparse_names
        self._names, self._sparse_names = names, tuple(dict.fromkeys(sparse_names))
        if self._names != old[0]:
            rows = self._distinct.rows
            self._start_again(_with_columns(rows, *old, self._names, self._sparse_names))

    def _check_columns(self, arrays: ListArrays) -> None:
        """Raise the error of features that the lists do not have in common."""
        sizes, new_sizes = dict(self._names), dict(arrays.names)
        sparse = {*self._sparse_names, *arrays.sparse_names}
        for name, size in (*self._names, *arrays.names):
            if sizes.get(name, size) != new_sizes.get(name, size):
                raise InputError(
                    f"{arrays.where}: feature {name} has {counted(new_sizes[name], 'value')}, in "
                    f"{self._first} it has {sizes[name]}; lists that are merged must come from "
                    f"one model"
                )
            is_everywhere = name in sizes and name in new_sizes
            if is_everywhere or (self._absent_is_zero and name not in sparse):
                continue
            if size != 1 or not ("_" in name or self._absent_is_zero):
                lacks, has = (
                    (arrays.where, self._first) if name in sizes else (self._first, arrays.where)
                )
                raise InputError(
                    f"{arrays.where}: {lacks} has no feature {name}, {has} has; lists that are "
                    f"merged must come from one model; for several systems: --systems NAME,NAME"
                )


def _ranked(rows: Rows, first_line: int) -> Rows:
    """Return rows in the order of their ranks within each segment, with lines and ranks."""
    lines = np.arange(first_line, first_line + len(rows.segments))
    if not len(rows.ranks):
        return rows._replace(lines=lines, ranks=_ranks(rows.segments))
    rows = rows._replace(lines=lines)
    order = np.lexsort((rows.ranks, rows.segments))
    return take_rows(rows, order) if np.any(order[1:] < order[:-1]) else rows


def _ranks(segments: IntArray) -> NDArray[np.int32]:
    """Return (n,) the number of each row among the rows of its segment, from 1."""
    order = np.argsort(segments, kind="stable")
    begins = np.flatnonzero(np.diff(segments[order], prepend=-1))
    ranks = np.empty(len(segments), dtype=np.int32)
    sizes = np.diff(begins, append=len(segments))
    ranks[order] = np.arange(1, len(segments) + 1) - np.repeat(begins, sizes)
    return ranks


def _without_links(rows: Rows) -> Rows:
    return rows._replace(
        links=np.empty((0, 2), dtype=np.int32), link_offsets=np.zeros_like(rows.link_offsets)
    )


def _with_columns(
    rows: Rows,
    names: FeatureNames,
    sparse_names: tuple[str, ...],
    new_names: FeatureNames,
    new_sparse_names: tuple[str, ...],
) -> Rows:
    """Return rows with other columns: absent dense ones are 0, superfluous ones become sparse."""
    n, columns, new_columns = (
        len(rows.segments),
        columns_by_name(names),
        columns_by_name(new_names),
    )
    features = rows.features
    if names != new_names:
        rows = rows._replace(features=np.zeros((n, sum(size for _, size in new_names))))
        for name in new_columns.keys() & columns.keys():
            rows.features[:, new_columns[name]] = features[:, columns[name]]
    moved = [name for name in columns if name not in new_columns]
    number = {name: column for column, name in enumerate(new_sparse_names)}
    numbers = np.array([number[name] for name in sparse_names], dtype=np.int32)
    if not moved and np.array_equal(numbers, np.arange(len(numbers))):
        return rows
    every = np.arange(n)
    return with_sparse(
        rows,
        np.concatenate([np.repeat(every, np.diff(rows.sparse_offsets)), *([every] * len(moved))]),
        np.concatenate([numbers[rows.sparse_columns], *(np.full(n, number[k]) for k in moved)]),
        np.concatenate([rows.sparse_values, *(features[:, columns[k].start] for k in moved)]),
    )


def empty_rows(n: int, *, features: int, stats: int) -> Rows:
    """Return n rows with nothing in them, all numbers 0, without scores, lines and ranks."""
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
        scores=np.empty(0),
        lines=np.empty(0, dtype=np.int64),
        ranks=np.empty(0, dtype=np.int32),
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
        # Not np.arange(count): one absurd id would take all memory.
        filled = set(present.tolist())
        missing = [str(k) for k in islice((k for k in range(count) if k not in filled), 5)]
        lacking = count - len(present)
        and_more = ", ..." if lacking > len(missing) else ""
        raise InputError(
            f"{where}: {lacking} of {count} segments have no hypothesis (ids {', '.join(missing)}"
            f"{and_more}); {_remedy(present)}"
        )
    return np.bincount(ids, minlength=count).astype(np.int64)


def _remedy(ids: IntArray) -> str:
    """Return what to do where segments lack hypotheses; these are the ids that are there."""
    first, last = int(ids[0]), int(ids[-1])
    if first > 0 and len(ids) == last - first + 1:
        return (
            f"numbers count segments from 0, the list has {first}..{last}: --drop-missing takes "
            f"these alone, and references with such ids make them names"
        )
    return "give the whole list"


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


def sparse_of(rows: Rows, names: tuple[str, ...]) -> SparseFeatures | None:
    """Return the sparse features of rows; None if there are none."""
    if not names:
        return None
    return SparseFeatures(names, rows.sparse_offsets, rows.sparse_columns, rows.sparse_values)


def _reordered(rows: Rows, order: IntArray) -> Rows:
    """Reorder everything but the features."""
    tokens, token_offsets = kernels.gather(rows.tokens, rows.token_offsets, order, 1)
    links, link_offsets = kernels.gather(rows.links.reshape(-1), rows.link_offsets, order, 2)
    columns, sparse_offsets = kernels.gather(rows.sparse_columns, rows.sparse_offsets, order, 1)
    values = rows.sparse_values
    if len(values):  # as int32 pairs: one compiled version of `gather` does for all
        halves, _ = kernels.gather(values.view(np.int32), rows.sparse_offsets, order, 2)
        values = halves.view(np.float64)
    carried = ((name, getattr(rows, name)) for name in ("scores", "lines", "ranks"))
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
        **{name: array[order] if len(array) else array for name, array in carried},
    )


def extend_rows(rows: Rows, block: Rows) -> None:
    """Append rows; those that are there own their memory, and grow in place."""
    array: NDArray[Any]
    addition: NDArray[Any]
    for name in Rows._fields:
        array, addition = getattr(rows, name), getattr(block, name)
        if name.endswith("offsets"):
            _extend(array, addition[1:] + (array[-1] - addition[0]))
        else:
            _extend(array, addition)


def _extend(array: NDArray[Any], addition: NDArray[Any]) -> None:
    """Append rows to an array that owns its memory and that nothing else refers to."""
    size = len(array)
    _resize(array, size + len(addition))
    array[size:] = addition


def _resize(array: NDArray[Any], size: int) -> None:
    """Change the number of rows in place (realloc)."""
    array.resize((size, *array.shape[1:]), refcheck=False)
