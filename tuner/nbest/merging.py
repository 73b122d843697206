"""Merge lists: their hypotheses in common columns, each once, in little more than their memory."""

from collections.abc import Collection
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import (
    FloatArray,
    IntArray,
    Ragged,
    Texts,
    TokenArray,
    Vocabulary,
    offsets_of,
    rows_taken,
)

from ..base.errors import InputError, counted
from ..base.warn import warn
from ..texts._token_kernels import HASH_PRIME, MIX_PRIME, HashArray
from ..weights.feature_weights import FeatureNames, columns_by_name
from .model import ListStatistics, NBest, SparseFeatures
from .records import SegmentNames

CHUNK = 1 << 14
"""Rows that are hashed or compared at once."""


class Rows(NamedTuple):
    """The n hypotheses of a list in order of arrival, or of several lists of the same columns.

    Two of them are compared by everything up to their sparse features. No float is -0.0.

    Parameters
    ----------
    segments : (n,) int64
    tokens, token_offsets : (T,) int32, (n + 1,) int64
    links, link_offsets : (V, 2) int32, (n + 1,) int64
    features : (n, F) float64, C order in what grows; of a frame, which does not, Fortran order
    stats : (n, K) float64, C order
    sparse_columns, sparse_values, sparse_offsets : (E,) int32, (E,) float64, (n + 1,) int64
        The columns of a row ascend.
    scores, lines, ranks, unlisted : (n,) float64, (n,) int64, (n,) int32, (n,) float64; or empty
        The model score of each, its place in the files, its number in its segment from 1, and the
        part of its score that no feature has. A reader gives no `lines`, and no `ranks` if
        hypotheses are in their order.
    names, sparse_names
        The dense features, F columns in all, and the sparse ones.
    has_links
        Whether the list has word alignments.
    where
        The name of the first list in messages.
    absent_is_zero
        Whether the format leaves out features that are 0, whatever their names.
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
    unlisted: FloatArray
    names: FeatureNames = ()
    sparse_names: tuple[str, ...] = ()
    has_links: bool = False
    where: str = ""
    absent_is_zero: bool = False


_ARRAYS = Rows._fields[: Rows._fields.index("names")]


class Merger:
    """Bring lists to common columns and keep each of their hypotheses once.

    The first list is not copied. From the second on the arrays grow in place (realloc).

    Parameters
    ----------
    dense
        The dense features, where the decoder names them: all others are sparse, even if every
        hypothesis has one. None: what all hypotheses have is dense.
    """

    def __init__(self, dense: Collection[str] | None = None) -> None:
        self._dense = dense
        self._sizes: list[int] = []
        self._dropped: IntArray = np.empty((0, 4), dtype=np.int64)
        self._linked = self._unlinked = ""
        self._clear()

    def _clear(self) -> None:
        self._rows = empty_rows(0)
        self._owns = False
        self._hashes = np.empty(0, dtype=np.uint64)

    def add(self, rows: Rows) -> None:
        """Add a list; its arrays may be changed."""
        rows = _ranked(rows, sum(self._sizes))
        if self._sizes or self._dense is not None:
            rows = self._in_common_columns(rows)
        self._sizes.append(len(rows.segments))
        if rows.has_links:
            self._linked = self._linked or rows.where
        else:
            self._unlinked = self._unlinked or rows.where
        if self._linked and self._unlinked:
            rows = _without_links(rows)
            if len(self._rows.links):
                self._start_again(_without_links(self._rows))
        self._append(rows)

    def finish(
        self, vocabulary: Vocabulary, segments: int | None, names: SegmentNames | None = None
    ) -> NBest:
        """Return everything that was added as one list, by segment; nothing is left here.

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
        rows, ids = self._rows, None if names is None else names.ids
        self._clear()
        if np.all(rows.segments[1:] >= rows.segments[:-1]):
            rows = rows._replace(features=np.asfortranarray(rows.features))
        else:
            order = np.argsort(rows.segments, kind="stable").astype(np.int64)
            features = np.asfortranarray(rows.features[order])
            rows = _reordered(rows._replace(features=features), order)
            del features
        if names is not None and names.drop:
            names.left, sizes = np.unique(rows.segments, return_counts=True)
            self._dropped[:, 1] = np.searchsorted(names.left, self._dropped[:, 1])
            ids = None if ids is None else tuple(ids[number] for number in names.left)
        else:
            where = rows.where if len(self._sizes) == 1 else "the n-best lists together"
            sizes = segment_sizes(rows.segments, segments, where)
        links = Ragged(rows.links, rows.link_offsets) if not self._unlinked else None
        sparse = rows.sparse_offsets, rows.sparse_columns, rows.sparse_values
        is_read = names is not None
        return NBest(
            texts=Texts(vocabulary, Ragged(rows.tokens, rows.token_offsets), links),
            offsets=offsets_of(sizes),
            features=rows.features,
            feature_names=rows.names,
            model_scores=rows.scores,
            sparse=SparseFeatures(rows.sparse_names, *sparse) if rows.sparse_names else None,
            lines=rows.lines if is_read else None,
            list_sizes=tuple(self._sizes) if is_read else (),
            ranks=rows.ranks if is_read else rows.ranks[:0],
            ids=ids,
            dropped=self._dropped if is_read else None,
            unlisted=rows.unlisted,
            statistics=ListStatistics(rows.stats) if rows.stats.shape[1] else None,
        )

    def _append(self, block: Rows) -> None:
        """Add the rows of `block` that are new; note the others as dropped, see `NBest`."""
        size = len(self._rows.segments)
        if size:
            joined = self._rows if self._owns else _copied(self._rows)
            extend_rows(joined, block)
        else:
            joined = block
        hashes = hash_rows(block)
        if size:
            hashes = np.concatenate([self._hashes, hashes])
        old, firsts = _repeated(joined, hashes)
        columns = joined.lines[old], joined.segments[old], joined.ranks[old], joined.lines[firsts]
        dropped = np.column_stack(columns).astype(np.int64)
        self._owns = bool(size) or bool(len(old))
        if len(old):
            new = np.delete(np.arange(len(hashes)), old)
            joined, hashes = take_rows(joined, new), hashes[new]
        self._rows, self._hashes = joined, hashes
        self._dropped = np.concatenate([self._dropped, dropped])

    def _start_again(self, rows: Rows) -> None:
        """Begin with changed rows: some may be equal now."""
        self._clear()
        self._append(rows)

    def _in_common_columns(self, new: Rows) -> Rows:
        """Choose the columns of all lists; what some lack is sparse, or 0 if absent means 0."""
        old = self._rows if self._sizes else new
        absent_is_zero = old.absent_is_zero and new.absent_is_zero
        _check_columns(old, new, absent_is_zero=absent_is_zero)
        sizes, new_sizes = dict(old.names), dict(new.names)
        if absent_is_zero:
            every, sparse = (sizes | new_sizes).items(), {*old.sparse_names, *new.sparse_names}
            names = tuple((name, size) for name, size in every if name not in sparse)
        else:
            names = tuple(item for item in old.names if item[0] in new_sizes)
        if self._dense is not None:  # with several values or without `_` no feature is sparse
            names = tuple(
                (name, size)
                for name, size in names
                if name in self._dense or size != 1 or "_" not in name
            )
        dense = dict(names)
        sparse_names = (
            *old.sparse_names,
            *(name for name in sizes if name not in dense),
            *new.sparse_names,
            *(name for name in new_sizes if name not in dense),
        )
        columns = names, tuple(dict.fromkeys(sparse_names))
        self._rows = self._rows._replace(absent_is_zero=absent_is_zero)
        if self._sizes and names != old.names:
            self._start_again(_with_columns(self._rows, *columns))
        self._rows = self._rows._replace(sparse_names=columns[1])  # more may stand behind
        return _with_columns(new, *columns)._replace(absent_is_zero=absent_is_zero)


def _check_columns(old: Rows, new: Rows, *, absent_is_zero: bool) -> None:
    """Raise the error of features that lists do not have in common."""
    sizes, new_sizes = dict(old.names), dict(new.names)
    sparse = {*old.sparse_names, *new.sparse_names}
    for name, size in (*old.names, *new.names):
        if sizes.get(name, size) != new_sizes.get(name, size):
            raise InputError(
                f"{new.where}: feature {name} has {counted(new_sizes[name], 'value')}, in "
                f"{old.where} it has {sizes[name]}; lists that are merged must come from "
                f"one model"
            )
        is_everywhere = name in sizes and name in new_sizes
        if is_everywhere or (absent_is_zero and name not in sparse):
            continue
        if size != 1 or not ("_" in name or absent_is_zero):
            lacks, has = (new.where, old.where) if name in sizes else (old.where, new.where)
            raise InputError(
                f"{new.where}: {lacks} has no feature {name}, {has} has; lists that are "
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
    is_sorted = np.all(segments[1:] >= segments[:-1])
    order = slice(None) if is_sorted else np.argsort(segments, kind="stable")
    begins = np.flatnonzero(np.diff(segments[order], prepend=-1))
    sizes = np.diff(begins, append=len(segments))
    ranks = np.arange(1, len(segments) + 1, dtype=np.int32)
    ranks[order] = ranks - np.repeat(begins.astype(np.int32), sizes)
    return ranks


def _without_links(rows: Rows) -> Rows:
    return rows._replace(
        links=np.empty((0, 2), dtype=np.int32), link_offsets=np.zeros_like(rows.link_offsets)
    )


def _with_columns(rows: Rows, names: FeatureNames, sparse_names: tuple[str, ...]) -> Rows:
    """Return rows with other columns: absent dense ones are 0, superfluous ones become sparse."""
    n, columns, new_columns = (
        len(rows.segments),
        columns_by_name(rows.names),
        columns_by_name(names),
    )
    number = {name: column for column, name in enumerate(sparse_names)}
    numbers = np.array([number[name] for name in rows.sparse_names], dtype=np.int32)
    is_same = rows.names == names
    rows = rows._replace(names=names, sparse_names=sparse_names)
    features = rows.features
    if not is_same:
        rows = rows._replace(features=np.zeros((n, sum(size for _, size in names))))
        for name in new_columns.keys() & columns.keys():
            rows.features[:, new_columns[name]] = features[:, columns[name]]
    moved = [name for name in columns if name not in new_columns]
    if not moved and np.array_equal(numbers, np.arange(len(numbers))):
        return rows
    every = np.arange(n)
    return with_sparse(
        rows,
        np.concatenate([np.repeat(every, np.diff(rows.sparse_offsets)), *([every] * len(moved))]),
        np.concatenate([numbers[rows.sparse_columns], *(np.full(n, number[k]) for k in moved)]),
        np.concatenate([rows.sparse_values, *(features[:, columns[k].start] for k in moved)]),
    )


def empty_rows(n: int, *, features: int = 0, stats: int = 0) -> Rows:
    """Return n rows with nothing in them, all numbers 0, without scores, lines and ranks."""
    # What nearly all lists replace or lack takes no memory.
    empty = np.broadcast_to(np.int64(0), n + 1) if n else np.zeros(1, dtype=np.int64)
    return Rows(
        segments=np.zeros(n, dtype=np.int64),
        tokens=np.empty(0, dtype=np.int32),
        token_offsets=np.zeros(n + 1, dtype=np.int64),
        links=np.empty((0, 2), dtype=np.int32),
        link_offsets=empty,
        features=np.zeros((n, features)),
        stats=np.zeros((n, stats)),
        sparse_columns=np.empty(0, dtype=np.int32),
        sparse_values=np.empty(0),
        sparse_offsets=empty.copy() if not n else empty,
        scores=np.empty(0),
        lines=np.empty(0, dtype=np.int64),
        ranks=np.empty(0, dtype=np.int32),
        unlisted=np.empty(0),
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
    if first > 0 and (len(ids) == last - first + 1 or 2 * len(ids) <= last):
        return (
            f"numbers count segments from 0, the list has {first}..{last}: --drop-missing takes "
            f"these alone, and references with such ids make them names"
        )
    return "give the whole list"


def hash_rows(rows: Rows) -> HashArray:
    """Return (n,) numbers: equal rows have equal ones, others hardly ever."""
    hashes = np.empty(len(rows.segments), dtype=np.uint64)
    links = rows.links.astype(np.int64)
    pairs = links[:, 0] << 32 | links[:, 1]
    for begin in range(0, len(hashes), CHUNK):
        part = slice(begin, begin + CHUNK)
        ends = slice(begin, begin + CHUNK + 1)
        h = mixed(rows.segments[part].astype(np.uint64) + HASH_PRIME)
        for column in (*rows.features[part].T, *rows.stats[part].T):
            h = mixed(h ^ np.ascontiguousarray(column).view(np.uint64))
        h = mixed(h ^ hash_ragged(rows.tokens, rows.token_offsets[ends]))
        for values, offsets in (
            (pairs, rows.link_offsets[ends]),
            (rows.sparse_columns, rows.sparse_offsets[ends]),
            (rows.sparse_values, rows.sparse_offsets[ends]),
        ):
            if len(values):  # a row without any has the same hash in a list where none has any
                has_any = np.diff(offsets) > 0
                h = np.where(has_any, mixed(h ^ hash_ragged(values, offsets)), h)
        hashes[part] = h
    return hashes


def hash_ragged(values: NDArray[Any], offsets: IntArray) -> HashArray:
    """Return (n,) numbers of rows of flat values, in their order."""
    first, last, lengths = offsets[0], offsets[-1], np.diff(offsets)
    values = values[first:last]
    bits = values.view(np.uint64) if values.itemsize == 8 else values.astype(np.uint64)
    places = np.arange(last - first) - np.repeat(offsets[:-1] - first, lengths)
    parts = mixed(mixed(places.astype(np.uint64) + HASH_PRIME) ^ bits)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(parts, dtype=np.uint64)])
    ends = offsets - first
    hashes: HashArray = sums[ends[1:]] - sums[ends[:-1]]
    return mixed(hashes + lengths.astype(np.uint64))


def mixed(hashes: HashArray) -> HashArray:
    """Return (n,) numbers whose bits all depend on all bits."""
    product = hashes * MIX_PRIME
    return product ^ (product >> np.uint64(29))


def _repeated(rows: Rows, hashes: HashArray) -> tuple[IntArray, IntArray]:
    """Return (D,) the rows equal to an earlier one, and (D,) the first that each is equal to.

    Those of one hash are compared with the first.
    """
    later: IntArray = np.empty(0, dtype=np.int64)
    in_order = np.sort(hashes)
    if not (in_order[1:] == in_order[:-1]).any():  # the usual case, in a third of the memory
        return later, later
    del in_order
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    above = first[inverse.reshape(-1)]
    later = np.flatnonzero(above != np.arange(len(above)))
    parts = np.split(later, range(CHUNK, len(later), CHUNK))
    repeated = np.concatenate([part[_equal(rows, part, above[part])] for part in parts])
    return repeated, above[repeated]


def _equal(rows: Rows, these: IntArray, those: IntArray) -> NDArray[np.bool_]:
    """Return (n,) whether pairs of rows are equal to the last bit."""
    are_equal: NDArray[np.bool_] = np.equal(rows.segments[these], rows.segments[those])
    for column in (*rows.features.T, *rows.stats.T):
        are_equal &= column[these].view(np.uint64) == column[those].view(np.uint64)
    for values, offsets in (
        (rows.tokens, rows.token_offsets),
        (rows.links, rows.link_offsets),
        (rows.sparse_columns, rows.sparse_offsets),
        (rows.sparse_values.view(np.uint64), rows.sparse_offsets),
    ):
        lengths = np.diff(offsets)
        are_equal &= lengths[these] == lengths[those]
        pairs = np.flatnonzero(are_equal)
        if not len(values) or not len(pairs):
            continue
        places, ends = rows_taken(offsets, these[pairs])
        others, _ = rows_taken(offsets, those[pairs])
        differ = values[places] != values[others]
        differ = differ.any(axis=1) if differ.ndim == 2 else differ
        are_equal[pairs[np.searchsorted(ends, np.flatnonzero(differ), side="right") - 1]] = False
    return are_equal


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
    tokens, token_offsets = rows_taken(rows.token_offsets, order)
    links, link_offsets = rows_taken(rows.link_offsets, order)
    entries, sparse_offsets = rows_taken(rows.sparse_offsets, order)
    carried = ((name, getattr(rows, name)) for name in ("scores", "lines", "ranks", "unlisted"))
    return rows._replace(
        segments=rows.segments[order],
        tokens=rows.tokens[tokens],
        token_offsets=token_offsets,
        links=rows.links[links],
        link_offsets=link_offsets,
        stats=np.ascontiguousarray(rows.stats[order]),
        sparse_columns=rows.sparse_columns[entries],
        sparse_values=rows.sparse_values[entries],
        sparse_offsets=sparse_offsets,
        **{name: array[order] if len(array) else array for name, array in carried},
    )


def _copied(rows: Rows) -> Rows:
    """Return rows that own their memory, so that they can grow."""
    return rows._replace(**{name: getattr(rows, name).copy() for name in _ARRAYS})


def extend_rows(rows: Rows, block: Rows) -> None:
    """Append rows; those that are there own their memory, and grow in place."""
    array: NDArray[Any]
    addition: NDArray[Any]
    for name in _ARRAYS:
        array, addition = getattr(rows, name), getattr(block, name)
        if name.endswith("offsets"):
            _extend(array, addition[1:] + (array[-1] - addition[0]))
        else:
            _extend(array, addition)


def _extend(array: NDArray[Any], addition: NDArray[Any]) -> None:
    """Append rows in place (realloc) to an array that owns its memory, and that has no views."""
    size = len(array)
    array.resize((size + len(addition), *array.shape[1:]), refcheck=False)
    array[size:] = addition
