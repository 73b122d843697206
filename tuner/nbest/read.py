"""Read n-best lists of any format and merge them: of equal hypotheses the first stays."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from portmert.metrics import _base
from portmert.metrics._shared import flat

from ..base.errors import InputError, counted
from ..base.warn import notice, warn
from ..weights.feature_weights import FeatureNames, columns_by_name
from . import pool
from ._pool_kernels import Rows
from .model import NBest, SparseFeatures
from .readers._base import Reader
from .readers.moses import MosesReader
from .records import ListFile, SegmentNames, read_list


def read_nbest(
    paths: Sequence[Path | str | ListFile],
    vocabulary: _base.Vocabulary,
    *,
    segments: int | None = None,
    reader: Reader | None = None,
    names: SegmentNames | None = None,
) -> NBest:
    """Read n-best lists and merge them: of equal hypotheses of a segment the first stays.

    Two are equal if tokens, feature values and links are the same. Files are read one after the
    other, so that no more than one is in memory as text. Features are matched by name; columns
    stand in the order of the first line. A feature that every hypothesis has, always with the
    same number of values, is dense; one that some lack is sparse and must have `_` in its name
    (Moses' rule for sparse names) and one value.

    Parameters
    ----------
    paths
        Plain, .gz, .bz2, .xz or .zst; `-` is stdin; or files in memory.
    vocabulary : Vocabulary
        Gets the tokens that are new.
    segments : int, optional
        Number of segments S of the references; every id must be in 0..S-1. Absent: one more than
        the largest id. Either way each segment needs a hypothesis.
    reader : Reader, optional
        The reader of the format; a notice then describes each list. Absent: Moses lists.
    names : SegmentNames, optional
        Knows the ids of the references, where these have ids.

    Raises
    ------
    InputError
        A file is not what it should be; the message says where.
    """
    if not paths:
        raise ValueError("no n-best list given")
    chosen = reader or MosesReader()
    merger = Merger()
    shared: set[int] = set()
    names = SegmentNames() if names is None else names
    for path in paths:
        names.lookups = 0
        file = path if isinstance(path, ListFile) else read_list(path)
        file = replace(file, names=names, segments=segments, remarks=[])
        now = chosen.detect(file)
        new = now.read(file, vocabulary)
        if names.ids and not names.lookups:
            raise InputError(
                f"{file.where}: its segments are numbers, those of another list are names"
            )
        if reader is not None:
            prefix = f"{file.where}: " if len(paths) > 1 else ""
            notice(prefix + now.describe(new, file))
        merger.add(new)
        if chosen.files:  # which have one number for each key
            own = set(new.rows.segments.tolist())
            if own & shared:
                both = min(own & shared)
                raise InputError(
                    f"{file.where}: another list has hypotheses of "
                    f"{names.ids[both] if names.ids else both} too, and --nbest-format names one "
                    f"file of scores for both; give a file for each list: --feature NAME=FILE,FILE"
                )
            shared |= own
    if not names.drop:
        return merger.finish(vocabulary, segments, from_files=True, ids=names.ids)
    nbest, names.left = merger.finish_with_some(vocabulary, names.ids)
    return nbest


def read_first_hypotheses(path: Path, vocabulary: _base.Vocabulary, *, segments: int) -> NBest:
    """Read a Moses list's first hypothesis of each segment: the decoder's own output.

    The others are not parsed.

    Raises
    ------
    InputError
        As `read_nbest`.
    """
    file = read_list(path)
    firsts: dict[bytes, bytes] = {}
    for line in file.byte_lines:
        firsts.setdefault(line.partition(b"|||")[0].strip(), line)
    data = b"".join(line + b"\n" for line in firsts.values())
    merger = Merger()
    merger.add(MosesReader().read(replace(file, data=data, segments=segments), vocabulary))
    return merger.finish(vocabulary, segments, from_files=True)


def merge(lists: Sequence[NBest]) -> NBest:
    """Merge lists of the same segments: of equal hypotheses of a segment the first stays.

    Raises
    ------
    ValueError
        No list, lists with different vocabularies, or of different numbers of segments.
    InputError
        The lists have different features.
    """
    if not lists:
        raise ValueError("no n-best list given")
    vocabulary = lists[0].texts.vocabulary
    merger = Merger()
    for number, nbest in enumerate(lists, 1):
        if nbest.texts.vocabulary is not vocabulary:
            raise ValueError(f"n-best list {number} has another vocabulary than list 1")
        if len(nbest) != len(lists[0]):
            raise ValueError(
                f"n-best list {number} has {counted(len(nbest), 'segment')}, list 1 has "
                f"{len(lists[0])}"
            )
        merger.add(_as_list(nbest, f"n-best list {number}"))
    return merger.finish(vocabulary, len(lists[0]))


class Merger:
    """Bring lists to common columns and pool their hypotheses."""

    def __init__(self) -> None:
        self._pool = pool.HypothesisPool(features=0)
        self._scores = np.empty(0)
        self._lines = np.empty(0, dtype=np.int64)
        self._ranks = np.empty(0, dtype=np.int32)
        self._dropped = np.empty((0, 3), dtype=np.int64)
        self._sizes: list[int] = []
        self._absent_is_zero = True
        self._names: FeatureNames = ()
        self._sparse: dict[str, int] = {}
        self._linked: str | None = None
        self._unlinked: str | None = None
        self._first = ""

    def add(self, new: pool.ArrivedList) -> None:
        """Add a list."""
        if not self._sizes:
            self._first, self._names = new.where, new.names
            self._pool = pool.HypothesisPool(features=sum(size for _, size in new.names))
        self._absent_is_zero = self._absent_is_zero and new.absent_is_zero
        if self._absent_is_zero:
            new = self._with_all_columns(new)
        rows = self._aligned_columns(new)
        if new.has_links:
            self._linked = self._linked or new.where
        else:
            self._unlinked = self._unlinked or new.where
        if self._linked and self._unlinked:
            rows = _without_links(rows)
            if len(self._pool) and len(self._pool.rows.links):
                self._repool(_without_links(self._pool.rows))
        before = sum(self._sizes)
        self._sizes.append(len(rows.segments))
        lines = np.arange(before, before + len(rows.segments))
        scores = new.model_scores
        ranks = _ranks(rows.segments) if new.ranks is None else new.ranks
        if new.ranks is not None:
            order = np.lexsort((ranks, rows.segments))
            if np.any(order[1:] < order[:-1]):
                rows, scores = pool.take_rows(rows, order), scores[order]
                lines, ranks = lines[order], ranks[order]
        self._append(rows, scores, lines, ranks)

    def finish(
        self,
        vocabulary: _base.Vocabulary,
        segments: int | None,
        *,
        from_files: bool = False,
        ids: tuple[str, ...] | None = None,
    ) -> NBest:
        """Return everything that was added as one list."""
        rows, order = self._pool.finish()
        where = self._first if len(self._sizes) == 1 else "the n-best lists together"
        sizes = pool.segment_sizes(rows.segments, segments, where)
        return self._finished(vocabulary, rows, order, sizes, ids=ids, from_files=from_files)

    def finish_with_some(
        self, vocabulary: _base.Vocabulary, ids: tuple[str, ...] | None
    ) -> tuple[NBest, _base.IntArray]:
        """Return what `finish` does without empty segments, and the numbers of the others."""
        rows, order = self._pool.finish()
        left, sizes = np.unique(rows.segments, return_counts=True)
        self._dropped[:, 1] = np.searchsorted(left, self._dropped[:, 1])
        named = None if ids is None else tuple(ids[number] for number in left)
        return self._finished(vocabulary, rows, order, sizes, ids=named, from_files=True), left

    def _finished(
        self,
        vocabulary: _base.Vocabulary,
        rows: Rows,
        order: _base.IntArray,
        sizes: _base.IntArray,
        *,
        ids: tuple[str, ...] | None,
        from_files: bool,
    ) -> NBest:
        if self._linked and self._unlinked:
            warn(
                f"{self._unlinked} has no word alignment, {self._linked} has; metrics that need "
                f"links will not find them: leave out the lists without"
            )
        has_links = self._linked is not None and self._unlinked is None
        sparse = None
        if self._sparse:
            sparse = SparseFeatures(
                tuple(self._sparse), rows.sparse_offsets, rows.sparse_columns, rows.sparse_values
            )
        return NBest(
            texts=_base.Texts(
                vocabulary,
                _base.Ragged(rows.tokens, rows.token_offsets),
                _base.Ragged(rows.links, rows.link_offsets) if has_links else None,
            ),
            offsets=_base.offsets_of(sizes),
            features=rows.features,
            feature_names=self._names,
            model_scores=self._scores[order],
            sparse=sparse,
            lines=self._lines[order] if from_files else None,
            list_sizes=tuple(self._sizes) if from_files else (),
            ranks=self._ranks[order] if from_files else self._ranks[:0],
            ids=ids,
            dropped=self._dropped if from_files else None,
        )

    def _append(
        self, rows: Rows, scores: _base.FloatArray, lines: _base.IntArray, ranks: _base.TokenArray
    ) -> None:
        new = self._pool.append(rows)
        self._scores = np.concatenate([self._scores, scores[new]])
        self._lines = np.concatenate([self._lines, lines[new]])
        self._ranks = np.concatenate([self._ranks, ranks[new]])
        dropped = np.column_stack([lines[~new], rows.segments[~new], ranks[~new]])
        self._dropped = np.concatenate([self._dropped, dropped])

    def _repool(self, rows: Rows) -> None:
        """Start again with changed rows: some may be equal now."""
        scores, self._scores = self._scores, np.empty(0)
        lines, self._lines = self._lines, np.empty(0, dtype=np.int64)
        ranks, self._ranks = self._ranks, np.empty(0, dtype=np.int32)
        self._pool = pool.HypothesisPool(features=rows.features.shape[1])
        self._append(rows, scores, lines, ranks)

    def _with_all_columns(self, new: pool.ArrivedList) -> pool.ArrivedList:
        """Give both sides the columns that only the other has, all 0: what is absent is 0."""
        mine, theirs = dict(self._names), dict(new.names)
        sparse = {*self._sparse, *new.sparse_names}
        lacking = tuple(item for item in new.names if item[0] not in mine | dict.fromkeys(sparse))
        if lacking:
            self._repool(_with_zeros(self._pool.rows, lacking))
            self._names = (*self._names, *lacking)
        lacking = tuple(
            item for item in self._names if item[0] not in theirs | dict.fromkeys(sparse)
        )
        if not lacking:
            return new
        return replace(new, rows=_with_zeros(new.rows, lacking), names=(*new.names, *lacking))

    def _aligned_columns(self, new: pool.ArrivedList) -> Rows:
        """Return the rows of `new` with the columns of the pool; both may give up dense ones."""
        mine, theirs = dict(self._names), dict(new.names)
        for name, size in (*self._names, *new.names):
            if mine.get(name) == theirs.get(name):
                continue
            if name in mine and name in theirs:
                raise InputError(
                    f"{new.where}: feature {name} has {counted(theirs[name], 'value')}, in "
                    f"{self._first} it has {mine[name]}; lists that are merged must come from one "
                    f"model"
                )
            if ("_" not in name and not self._absent_is_zero) or size != 1:
                lacks, has = (new.where, self._first) if name in mine else (self._first, new.where)
                raise InputError(
                    f"{new.where}: {lacks} has no feature {name}, {has} has; lists that are "
                    f"merged must come from one model; for several systems: --systems NAME,NAME"
                )
        rows = new.rows
        if any(name not in theirs for name in mine):
            pooled, names, sparse = _sparse_columns(
                self._pool.rows, self._names, tuple(self._sparse), keep=theirs
            )
            self._names, self._sparse = names, {name: k for k, name in enumerate(sparse)}
            self._repool(pooled)
            mine = dict(names)
        names, sparse_names = new.names, new.sparse_names
        if any(name not in mine for name in theirs):
            rows, names, sparse_names = _sparse_columns(rows, names, sparse_names, keep=mine)
        if names != self._names:
            own = columns_by_name(names)
            columns = [own[name].start + k for name, size in self._names for k in range(size)]
            rows = rows._replace(features=np.ascontiguousarray(rows.features[:, columns]))
        renumbered = np.array(
            [self._sparse.setdefault(name, len(self._sparse)) for name in sparse_names],
            dtype=np.int32,
        )
        if np.array_equal(renumbered, np.arange(len(renumbered))):
            return rows
        lines = np.repeat(np.arange(len(rows.segments)), np.diff(rows.sparse_offsets))
        return pool.with_sparse(rows, lines, renumbered[rows.sparse_columns], rows.sparse_values)


def _ranks(segments: _base.IntArray) -> _base.TokenArray:
    """Return (n,) the number of each row among those of its segment, from 1."""
    order = np.argsort(segments, kind="stable")
    begins = np.flatnonzero(np.diff(segments[order], prepend=-1))
    ranks = np.empty(len(segments), dtype=np.int32)
    sizes = np.diff(begins, append=len(segments))
    ranks[order] = np.arange(1, len(segments) + 1) - np.repeat(begins, sizes)
    return ranks


def _with_zeros(rows: Rows, names: FeatureNames) -> Rows:
    zeros = np.zeros((len(rows.segments), sum(size for _, size in names)))
    return rows._replace(features=np.ascontiguousarray(np.hstack([rows.features, zeros])))


def _without_links(rows: Rows) -> Rows:
    return rows._replace(
        links=np.empty((0, 2), dtype=np.int32), link_offsets=np.zeros_like(rows.link_offsets)
    )


def _sparse_columns(
    rows: Rows, names: FeatureNames, sparse_names: tuple[str, ...], *, keep: dict[str, int]
) -> tuple[Rows, FeatureNames, tuple[str, ...]]:
    """Make dense columns sparse that are not in `keep` (one value each)."""
    n, at = len(rows.segments), 0
    kept: list[int] = []
    moved: list[tuple[str, int]] = []
    for name, size in names:
        if name in keep:
            kept.extend(range(at, at + size))
        else:
            moved.append((name, at))
        at += size
    sparse_names = (*sparse_names, *(name for name, _ in moved))
    base = len(sparse_names) - len(moved)
    every = np.arange(n)
    lines = [np.repeat(every, np.diff(rows.sparse_offsets)), *([every] * len(moved))]
    columns = [rows.sparse_columns, *(np.full(n, base + k) for k in range(len(moved)))]
    values = [rows.sparse_values, *(rows.features[:, column] for _, column in moved)]
    rows = rows._replace(
        features=np.ascontiguousarray(rows.features[:, np.array(kept, dtype=np.int64)])
    )
    rows = pool.with_sparse(
        rows, np.concatenate(lines), np.concatenate(columns), np.concatenate(values)
    )
    return rows, tuple(item for item in names if item[0] in keep), sparse_names


def _as_list(nbest: NBest, where: str) -> pool.ArrivedList:
    """Return a list as the merger takes it."""
    features = np.ascontiguousarray(nbest.features) + 0.0  # no -0.0
    tokens = flat(nbest.texts.tokens.alone())
    rows = pool.empty_rows(len(features), features=0, stats=0)._replace(
        segments=np.repeat(np.arange(len(nbest)), np.diff(nbest.offsets)),
        features=features,
        tokens=tokens.values,
        token_offsets=tokens.offsets,
    )
    if nbest.texts.links is not None:
        links = flat(nbest.texts.links.alone())
        rows = rows._replace(links=links.values, link_offsets=links.offsets)
    if nbest.sparse is not None:
        rows = rows._replace(
            sparse_columns=nbest.sparse.columns,
            sparse_values=nbest.sparse.values + 0.0,
            sparse_offsets=nbest.sparse.offsets,
        )
    return pool.ArrivedList(
        rows=rows,
        model_scores=nbest.model_scores,
        names=nbest.feature_names,
        sparse_names=() if nbest.sparse is None else nbest.sparse.names,
        has_links=nbest.texts.links is not None,
        where=where,
    )
