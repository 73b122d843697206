"""Read and write Moses' features.dat and scores.dat.

One block a segment: `FEATURES_TXT_BEGIN_0 id hypotheses F names...`, a line of F numbers for each
hypothesis, `FEATURES_TXT_END_0`; scores.dat likewise with SCORES, K and the metric's name
(Moses mert/FeatureArray.cpp, mert/ScoreArray.cpp). Sparse features follow the numbers of a line as
`name=value`. Moses prints six digits; what is written here reads back to the last bit.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray, offsets_of

from ..base.errors import InputError, counted
from ..base.files import called, read_bytes, writing
from ..base.numbers import FINITE, parse_finite, parse_number
from ..weights.feature_weights import FeatureNames
from . import _text_kernels as kernels
from . import merging, model

_SPARSE = re.compile(rb"(?<!\S)(\S+)=(\S+)")  # once a token: a long one would be squared
_SPACE = 32


@dataclass(frozen=True, eq=False)
class DatLists:
    """Features and statistics of H hypotheses in S segments.

    Parameters
    ----------
    features : (H, F) float64, Fortran order
    stats : (H, K) float64, C order
    offsets : (S + 1,) int64
        Hypotheses of segment s are rows `offsets[s]:offsets[s + 1]`.
    feature_names : FeatureNames
    score_name : str
        Moses' name of the metric, `BLEU`.
    sparse : SparseFeatures or None
    scores_in : str
        The score files, for messages.
    """

    features: FloatArray
    stats: FloatArray
    offsets: IntArray
    feature_names: FeatureNames
    score_name: str
    sparse: model.SparseFeatures | None = None
    scores_in: str = "scores.dat"

    def __len__(self) -> int:
        return len(self.offsets) - 1


def read_dat(
    features: Sequence[Path | str], scores: Sequence[Path | str], *, segments: int | None = None
) -> DatLists:
    """Read pairs of features.dat and scores.dat and merge them.

    If hypotheses of a segment have the same features and statistics, the first stays, as
    in Moses (mert/Data.cpp, removeDuplicates). Files are read pair by pair.

    Parameters
    ----------
    features, scores
        As many of one as of the other, in the same order; plain, .gz, .bz2, .xz or .zst.
    segments : int, optional
        Number of segments; every id must be in 0..S-1. Absent: one more than the largest id.

    Raises
    ------
    InputError
        A file is not what it should be, or the two of a pair do not fit.
    """
    if not features or len(features) != len(scores):
        raise InputError(
            f"{counted(len(features), 'feature file')} and {counted(len(scores), 'score file')}; "
            f"give as many --features as --scores, in the same order"
        )
    pairs = _read_pairs(features, scores, segments)
    first, first_scores = pair = next(pairs)
    names, columns = _grouped(first.names)
    merger = _Merger(first.table.shape[1], first_scores.table.shape[1])
    for file, score_file in chain([pair], pairs):
        table = np.ascontiguousarray(file.table[:, _column_order(first, file, columns)])
        if score_file.names != first_scores.names or score_file.table.shape[1] != merger.stats:
            raise InputError(
                f"{score_file.where}: {score_file.table.shape[1]} statistics of "
                f"{' '.join(score_file.names)}, {first_scores.where} has {merger.stats} of "
                f"{' '.join(first_scores.names)}"
            )
        stats = score_file.table
        file.table, score_file.table = file.table[:0].copy(), stats[:0].copy()  # the first stays
        merger.add(np.repeat(file.ids, file.counts), table, stats, file.sparse)
        del table, stats
    where = first.where if len(features) == 1 else "the feature files together"
    merged = merger.finish(segments, where, names, first_scores.names[0])
    return replace(merged, scores_in=", ".join(map(called, scores)))


def merge_dat(parts: Sequence[DatLists]) -> DatLists:
    """Return what reading the files of all these lists together would give.

    Raises
    ------
    InputError
        They are of other segments, features or statistics.
    """
    first = parts[0]
    merger = _Merger(first.features.shape[1], first.stats.shape[1])
    for part in parts:
        for noun, in_first, in_part in (
            ("segments", len(first), len(part)),
            ("features", first.feature_names, part.feature_names),
            ("metric", first.score_name, part.score_name),
            ("statistics", first.stats.shape[1], part.stats.shape[1]),
        ):
            if in_first != in_part:
                raise InputError(
                    f"lists that are merged must be of one text, model and metric; {noun}: "
                    f"{in_first} and {in_part}"
                )
        sparse = None
        if part.sparse is not None:
            lines = np.repeat(np.arange(len(part.features)), np.diff(part.sparse.offsets))
            sparse = lines, part.sparse.names, part.sparse.columns, part.sparse.values + 0.0
        merger.add(
            np.repeat(np.arange(len(part)), np.diff(part.offsets)),
            np.ascontiguousarray(part.features) + 0.0,  # no -0.0
            np.ascontiguousarray(part.stats) + 0.0,
            sparse,
        )
    return merger.finish(len(first), "the lists", first.feature_names, first.score_name)


_Sparse = tuple[IntArray, Sequence[str], NDArray[np.integer], FloatArray]
"""(E,) rows, names, (E,) numbers of names and (E,) values of sparse features."""


class _Merger:
    """Gather hypotheses of F features and K statistics; sparse features are found by name."""

    def __init__(self, features: int, stats: int) -> None:
        self.stats = stats
        self._distinct = merging.DistinctRows(features=features, stats=stats)
        self._sparse: dict[str, int] = {}

    def add(
        self, segments: IntArray, features: FloatArray, stats: FloatArray, sparse: _Sparse | None
    ) -> None:
        """Add n hypotheses: (n,), (n, F) and (n, K), both in C order and without -0.0."""
        rows = merging.empty_rows(len(features), features=0, stats=0)._replace(
            segments=segments, features=features, stats=stats
        )
        if sparse is not None:
            lines, names, numbers, values = sparse
            columns = np.array([self._sparse.setdefault(n, len(self._sparse)) for n in names])
            rows = merging.with_sparse(rows, lines, columns[numbers], values)
        self._distinct.append(rows)

    def finish(
        self, segments: int | None, where: str, names: FeatureNames, score_name: str
    ) -> DatLists:
        """Return all of them by segment; `where` is what messages call the lists."""
        rows = self._distinct.finish()
        offsets = offsets_of(merging.segment_sizes(rows.segments, segments, where))
        sparse = merging.sparse_of(rows, tuple(self._sparse))
        return DatLists(rows.features, rows.stats, offsets, names, score_name, sparse)


def write_features(lists: DatLists, path: Path | str, *, binary: bool = False) -> None:
    """Write a features.dat, whole or not at all; in Moses' binary form its numbers are float32.

    Raises
    ------
    InputError
        The binary form has no place for sparse features.
    """
    columns = [f"{name}_{k}" for name, size in lists.feature_names for k in range(size)]
    header = f"{len(columns)} {' '.join(columns)} "
    if binary and lists.sparse is not None:
        raise InputError(f"{path}: Moses' binary form has no sparse features; leave out --binary")
    if binary:
        return _write(path, "FEATURES", lists.offsets, lists.features, header)
    lines = _printed(lists.features)
    if lists.sparse is not None:
        sparse = lists.sparse
        entries = [
            f"{sparse.names[column]}={number} "
            for column, number in zip(
                sparse.columns.tolist(), map(model.shortest, sparse.values.tolist()), strict=True
            )
        ]
        offsets = sparse.offsets.tolist()
        lines = [
            line + "".join(entries[offsets[row] : offsets[row + 1]])
            for row, line in enumerate(lines)
        ]
    return _write(path, "FEATURES", lists.offsets, lines, header)


def write_scores(lists: DatLists, path: Path | str, *, binary: bool = False) -> None:
    """Write a scores.dat, whole or not at all; in Moses' binary form its numbers are float32."""
    header = f"{lists.stats.shape[1]} {lists.score_name}"
    rows = lists.stats if binary else _printed(lists.stats)
    _write(path, "SCORES", lists.offsets, rows, header)


def _write(
    path: Path | str, kind: str, offsets: IntArray, rows: Sequence[str] | FloatArray, header: str
) -> None:
    """Write the lines of a text, or a table in the binary form."""
    form = "BIN" if isinstance(rows, np.ndarray) else "TXT"
    with writing(path) as out:
        for segment, (begin, end) in enumerate(pairwise(offsets)):
            block = rows[begin:end]
            out.write(f"{kind}_{form}_BEGIN_0 {segment} {end - begin} {header}\n".encode())
            if isinstance(block, np.ndarray):
                tiny = np.abs(block) < np.finfo(np.float32).tiny  # a block of these reads as int32
                out.write(np.where(tiny, 0.0, block).astype("<f4").tobytes())
            else:
                out.write("".join(f"{line}\n" for line in block).encode())
            out.write(f"{kind}_{form}_END_0\n".encode())


def _printed(table: NDArray[Any]) -> list[str]:
    """Return each row as numbers with a space behind each, as many digits as their type needs."""
    if table.size == 0:
        return [""] * len(table)
    values, inverse = np.unique(table, return_inverse=True)  # few are distinct
    # The float32 nearest to -3.30693 is written so, not as the float64 that equals it.
    numbers = (
        values.tolist()
        if values.dtype == np.float64
        else [float(str(number)) for number in values]
    )
    texts = np.array([model.shortest(value) for value in numbers], dtype=object)
    rows: list[list[str]] = texts[inverse].reshape(table.shape).tolist()
    return [" ".join(row) + " " for row in rows]


@dataclass
class _DatFile:
    """One file: the numbers of all blocks, and their headers."""

    where: str
    ids: IntArray
    counts: IntArray
    names: tuple[str, ...]
    table: FloatArray
    sparse: _Sparse | None


class _DatReader:
    """Read one file of kind FEATURES or SCORES: its bytes, and messages that name its lines."""

    def __init__(self, path: Path | str, kind: str) -> None:
        self.where = called(path)
        self.kind = kind
        self.begin, self.end = f"{kind}_TXT_BEGIN".encode(), f"{kind}_TXT_END".encode()
        self.data = read_bytes(path)
        expected = f"Moses' {'features.dat' if kind == 'FEATURES' else 'scores.dat'}"
        if not self.data:
            raise InputError(f"{self.where}: empty file, expected {expected}")
        self.is_binary = self.data.startswith(f"{kind}_BIN_BEGIN".encode())
        if self.is_binary:
            self.data = self._as_text()
        if not self.data.startswith(self.begin):
            self.fail(
                0, f"expected {expected}, which begins with {kind}_TXT_BEGIN_0 or {kind}_BIN_..."
            )

    def _as_text(self) -> bytes:
        """Return the text of a binary file, whose numbers are float32 to the last bit.

        Each block is a header line, rows of 4 bytes a number, and the line of its end. Statistics
        of older versions of Moses are int32, which would be tiny as float32.
        """
        parts: list[bytes] = []
        at = 0
        while at < len(self.data):
            start = self._next_line(at)
            head = self.data[at:start].split(None, 4)
            sizes = [int(token) for token in head[2:4] if token.isdigit() and len(token) < 10]
            stop = start + 4 * math.prod(sizes)
            end = self._next_line(stop)
            where = f"{self.where}: the block at byte {at + 1}"
            if len(sizes) != 2 or not self.data.startswith(f"{self.kind}_BIN_BEGIN".encode(), at):
                begin = self.data[at : min(start, at + 60)].decode("utf-8", "replace").strip()
                raise InputError(
                    f"{where} begins with '{begin}', expected {self.kind}_BIN_BEGIN_0, segment "
                    f"id, number of lines, number of columns and names; is the file cut off?"
                )
            if not self.data.startswith(f"{self.kind}_BIN_END".encode(), stop):
                raise InputError(
                    f"{where} has no {self.kind}_BIN_END after the {sizes[0]} x {sizes[1]} "
                    f"numbers that its header announces; is the file damaged or cut off?"
                )
            values = np.frombuffer(self.data[start:stop], dtype="<f4")
            if np.any(values) and np.abs(values).max() < np.finfo(np.float32).tiny:
                values = np.frombuffer(self.data[start:stop], dtype="<i4")
            parts.append(self.data[at:start].replace(b"_BIN_", b"_TXT_", 1))
            parts += [f"{row}\n".encode() for row in _printed(values.reshape(sizes))]
            parts.append(self.data[stop:end].replace(b"_BIN_", b"_TXT_", 1))
            at = end
        return b"".join(parts)

    def fail(self, position: int, message: str) -> NoReturn:
        """Raise the error of the line that `position` is in."""
        place = str(self.data.count(b"\n", 0, position) + 1)
        if self.is_binary:
            place = f" block {self.data.count(self.begin, 0, position + len(self.begin))}"
        raise InputError(f"{self.where}:{place}: {message}")

    def read(self, segments: int | None) -> _DatFile:
        """Parse headers, then all numbers."""
        ids, counts, headers, names, width = self._headers(segments)
        lines = sum(counts)
        sparse = self._sparse(headers, counts)
        if lines * width > len(self.data):  # refused before memory is asked for
            self.fail(0, f"the headers announce {lines * width} numbers, more than the file has")
        table = np.empty((lines, width))
        starts = [self._next_line(header) for header in headers]
        code, position, found, ends, slow = kernels.parse_tables(
            np.frombuffer(self.data, dtype=np.uint8), np.array(starts), np.array(counts), table
        )
        if code != kernels.OK:
            start = self.data.rfind(b"\n", 0, position) + 1
            if self.data.startswith(self.kind.encode(), start):
                self.fail(
                    position, "the block ends before the number of lines that its header announces"
                )
            what = counted(found, "number") if code == kernels.TOO_FEW else "more numbers"
            self.fail(position, f"{what}, the header says {width}; is the file cut off?")
        flat = table.reshape(-1)
        for index, begin, end in slow.tolist():  # what the kernel left to Python
            token = self.data[begin:end].decode("utf-8", errors="replace")
            value = parse_number(token)
            if value is None:
                self.fail(begin, f"'{token}' is not a number")
            if not math.isfinite(value):
                self.fail(begin, f"{token} in the numbers; values must be {FINITE}")
            flat[index] = value
        for block, stop in enumerate(ends.tolist()):
            if not self.data.startswith(self.end, stop):
                self.fail(
                    stop,
                    f"expected {self.end.decode()} after the {counted(counts[block], 'line')} of "
                    f"segment {ids[block]}; is the file cut off?",
                )
            after = self._next_line(stop)
            if after != [*headers, len(self.data)][block + 1]:
                self.fail(after, f"expected {self.begin.decode()} or the end of the file")
        return _DatFile(
            self.where, np.array(ids, dtype=np.int64), np.array(counts), names, table, sparse
        )

    def _sparse(self, headers: Sequence[int], counts: Sequence[int]) -> _Sparse | None:
        """Take the sparse entries out of the data: blanks remain."""
        if self.kind != "FEATURES" or b"=" not in self.data:
            return None
        text = np.frombuffer(self.data, dtype=np.uint8).copy()
        names: dict[str, int] = {}
        begins, numbers, values = [], [], []
        for match in _SPARSE.finditer(self.data):
            begin, end = match.span()
            text[begin:end] = _SPACE
            value = parse_finite(match[2].decode("utf-8", "replace"))
            if value is None:
                text_of_match = match[0][:60].decode("utf-8", "replace")
                self.fail(
                    begin, f"'{text_of_match}' is not a sparse feature, expected name=number"
                )
            begins.append(begin)
            name = match[1].decode("utf-8", "replace")
            numbers.append(names.setdefault(name, len(names)))
            values.append(value)
        ends = np.flatnonzero(text == ord("\n"))
        lines = np.searchsorted(ends, np.array(begins))
        header_lines = np.searchsorted(ends, np.array(headers))
        block = np.searchsorted(header_lines, lines, side="right") - 1
        starts = offsets_of(counts)
        rows = starts[block] + lines - header_lines[block] - 1
        self.data = text.tobytes()
        wrong = np.flatnonzero((rows < starts[block]) | (rows >= starts[block + 1]))
        if len(wrong):
            self.fail(begins[wrong[0]], "a sparse feature outside of the lines of a segment")
        return (rows, tuple(names), np.array(numbers), np.array(values)) if begins else None

    def _next_line(self, position: int) -> int:
        """Return where the next line begins."""
        end = self.data.find(b"\n", position)
        return len(self.data) if end < 0 else end + 1

    def _headers(
        self, segments: int | None
    ) -> tuple[list[int], list[int], list[int], tuple[str, ...], int]:
        """Return ids, numbers of lines and positions of all headers; names; number of columns."""
        ids: list[int] = []
        counts: list[int] = []
        positions: list[int] = []
        columns, at = b"", 0
        while at >= 0:
            head = self.data[at : self._next_line(at)].split(None, 4)
            numbers = [int(token) for token in head[1:4] if token.isdigit() and len(token) < 10]
            if numbers[2:] == [0]:
                self.fail(
                    at, f"the header announces 0 columns of {self.kind.lower()}: none to read"
                )
            if len(numbers) != 3 or len(head) != 5:
                self.fail(
                    at,
                    "expected segment id, number of lines, number of columns and names after "
                    f"{self.begin.decode()}",
                )
            announced = head[3] + b" " + head[4].strip()
            columns = columns or announced
            if announced != columns:
                self.fail(at, "another number of columns, or other names, than in the first block")
            if segments is not None and numbers[0] >= segments:
                self.fail(at, merging.beyond(numbers[0], segments))
            ids.append(numbers[0])
            counts.append(numbers[1])
            positions.append(at)
            at = self.data.find(b"\n" + self.begin, at)
            at += at >= 0  # the line begins after its \n
        try:
            width, *names = columns.decode("utf-8").split()
        except UnicodeDecodeError:
            self.fail(0, "the names are not UTF-8; convert the file to UTF-8")
        return ids, counts, positions, tuple(names), int(width)


def _read_pairs(
    features: Sequence[Path | str], scores: Sequence[Path | str], segments: int | None
) -> Iterator[tuple[_DatFile, _DatFile]]:
    """Read pairs of files, and check that both files of a pair are of the same hypotheses."""
    for features_path, scores_path in zip(features, scores, strict=True):
        file = _DatReader(features_path, "FEATURES").read(segments)
        score_file = _DatReader(scores_path, "SCORES").read(segments)
        if (*score_file.names, score_file.table.shape[1]) == ("TER", 3):
            # Moses writes hundredths of edits and words, and their ratio (mert/TerScorer.cpp).
            score_file.table = score_file.table[:, :2] / 100
        if not np.array_equal(file.ids, score_file.ids):
            raise InputError(
                f"{score_file.where}: its segments are not those of {file.where}; both must come "
                f"from one run of Moses' extractor"
            )
        wrong = np.flatnonzero(file.counts != score_file.counts)
        if len(wrong):
            k = wrong[0]
            raise InputError(
                f"{score_file.where}: segment {score_file.ids[k]} has "
                f"{counted(score_file.counts[k], 'hypothesis')}, in {file.where} it has "
                f"{file.counts[k]}; both must come from one run of Moses' extractor"
            )
        yield file, score_file


def _column_order(first: _DatFile, file: _DatFile, columns: Sequence[str]) -> IntArray:
    """Return where in `file` the columns stand, which are those of `first`.

    Each column must have a name of its own.
    """
    if len(file.names) != file.table.shape[1]:
        raise InputError(
            f"{file.where}:1: names of features: {len(file.names)}, columns: {file.table.shape[1]}"
        )
    repeated = sorted(name for name, count in Counter(file.names).items() if count > 1)
    if repeated:
        raise InputError(f"{file.where}:1: feature {repeated[0]} stands twice in the header")
    columns_of = {name: column for column, name in enumerate(file.names)}
    expected = frozenset(first.names)
    for name in (*first.names, *file.names):
        lacks, has = (file, first) if name in expected else (first, file)
        if name not in expected or name not in columns_of:
            raise InputError(
                f"{file.where}: {lacks.where} has no feature {name}, {has.where} has; files that "
                f"are merged must come from one model"
            )
    return np.array([columns_of[name] for name in columns])


def _grouped(columns: Sequence[str]) -> tuple[FeatureNames, tuple[str, ...]]:
    """Return features and sizes, and the columns in their order.

    Columns LM0_0, TM0_0, TM0_1 are features LM0 of one value and TM0 of two, in the order of
    their first columns. Where the numbers are not 0, 1, ... a column is a feature by itself.
    """
    groups: dict[str, list[str]] = {}
    for column in columns:
        groups.setdefault(column.rpartition("_")[0], []).append(column)
    names: list[tuple[str, int]] = []
    in_order: list[str] = []
    for name, members in groups.items():
        expected = [f"{name}_{k}" for k in range(len(members))]
        if name and set(members) == set(expected):
            names.append((name, len(members)))
            in_order.extend(expected)
        else:
            names.extend((column, 1) for column in members)
            in_order.extend(members)
    return tuple(names), tuple(in_order)
