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
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray, Vocabulary, offsets_of
from portmert.tuner.base.errors import InputError, counted
from portmert.tuner.base.files import called, read_bytes, writing
from portmert.tuner.base.frames import ADVICE
from portmert.tuner.base.numbers import FINITE, parse_finite, parse_number
from portmert.tuner.base.programs import scratch
from portmert.tuner.nbest import model
from portmert.tuner.nbest._text_kernels import OK, TOO_FEW
from portmert.tuner.nbest.merging import Merger, empty_rows, with_sparse
from portmert.tuner.nbest.model import ListStatistics, NBest
from portmert.tuner.nbest.records import SegmentNames
from portmert.tuner.weights.feature_weights import FeatureNames

from ._dat_kernels import parse_tables

_SPARSE = re.compile(rb"(?<!\S)(\S+)=(\S+)")  # once a token: a long one would be squared
_SPACE = 32


def with_statistics(nbest: NBest, stats: FloatArray, score_name: str) -> NBest:
    """Return lists without their texts, but with the statistics of all hypotheses."""
    return replace(model.without_texts(nbest), statistics=_statistics(stats, score_name))


def _statistics(stats: FloatArray, score_name: str, where: str = "scores.dat") -> ListStatistics:
    return ListStatistics(stats, score_name, where, "stats:moses")


def read_dat(
    features: Sequence[Path | str], scores: Sequence[Path | str], *, may_lack: bool = False
) -> NBest:
    """Read pairs of features.dat and scores.dat and merge them.

    If hypotheses of a segment have the same features and statistics, the first stays, as
    in Moses (mert/Data.cpp, removeDuplicates). Files are read pair by pair.

    Parameters
    ----------
    features, scores
        As many of one as of the other, in the same order; plain, .gz, .bz2, .xz or .zst.
    may_lack
        Whether NaN may stand for a value that is missing.

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
    merger, firsts = Merger(), list[_DatFile]()
    for file, score_file in _read_pairs(features, scores, may_lack=may_lack):
        if not firsts:  # a view would keep the numbers of the first pair
            firsts = [replace(x, table=x.table[:0].copy()) for x in (file, score_file)]
        first, first_scores = firsts
        names, columns = _grouped(first.names)
        table = np.ascontiguousarray(file.table[:, _column_order(first, file, columns)])
        width = first_scores.table.shape[1]
        if score_file.names != first_scores.names or score_file.table.shape[1] != width:
            raise InputError(
                f"{score_file.where}: {score_file.table.shape[1]} statistics of "
                f"{' '.join(score_file.names)}, {first_scores.where} has {width} of "
                f"{' '.join(first_scores.names)}"
            )
        rows = empty_rows(len(table))._replace(
            segments=np.repeat(file.ids, file.counts),
            features=table,
            stats=score_file.table,
            scores=np.zeros(len(table)),
            names=names,
            where=file.where,
        )
        if file.sparse is not None:
            sparse = file.sparse
            rows = with_sparse(rows, sparse.rows, sparse.numbers, sparse.values)
            rows = rows._replace(sparse_names=sparse.names)
        merger.add(rows)
        del file, score_file, table, rows
    nbest = merger.finish(Vocabulary(), None, SegmentNames())
    where, score_name = ", ".join(map(called, scores)), firsts[1].names[0]
    return replace(nbest, statistics=_statistics(nbest.counted.rows, score_name, where))


class _Sparse(NamedTuple):
    """The E sparse entries of a file: rows (E,), the numbers of their names (E,), values (E,)."""

    rows: IntArray
    names: tuple[str, ...]
    numbers: NDArray[np.integer]
    values: FloatArray


def write_features(lists: NBest, path: Path | str) -> None:
    """Write a features.dat, whole or not at all."""
    columns = [f"{name}_{k}" for name, size in lists.feature_names for k in range(size)]
    header = f"{len(columns)} {' '.join(columns)} "
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
    _write(path, "FEATURES", lists.offsets, lines, header)


def write_scores(lists: NBest, path: Path | str) -> None:
    """Write a scores.dat, whole or not at all."""
    rows, score_name, *_ = lists.counted
    _write(path, "SCORES", lists.offsets, _printed(rows), f"{rows.shape[1]} {score_name}")


def _write(
    path: Path | str, kind: str, offsets: IntArray, lines: Sequence[str], header: str
) -> None:
    with writing(path) as out:
        for segment, (begin, end) in enumerate(pairwise(offsets)):
            out.write(f"{kind}_TXT_BEGIN_0 {segment} {end - begin} {header}\n".encode())
            out.write("".join(f"{line}\n" for line in lines[begin:end]).encode())
            out.write(f"{kind}_TXT_END_0\n".encode())


def _printed(table: NDArray[Any]) -> list[str]:
    """Return each row as numbers with a space behind each, as few digits as read back to them."""
    if table.size == 0:
        return [""] * len(table)
    values, inverse = np.unique(table, return_inverse=True)  # few are distinct
    texts = np.array([model.shortest(float(value)) for value in values.tolist()], dtype=object)
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
    """Read one file of kind FEATURES or SCORES; messages name its lines or blocks."""

    def __init__(self, path: Path | str, kind: str, *, may_lack: bool) -> None:
        self.where, self.kind, self.may_lack = called(path), kind, may_lack
        self.data = read_bytes(path)
        self.ids: list[int] = []
        self.counts: list[int] = []
        self.names: tuple[str, ...] = ()
        self.columns, self.width = b"", 0
        expected = f"Moses' {'features.dat' if kind == 'FEATURES' else 'scores.dat'}"
        if not self.data:
            raise InputError(f"{self.where}: empty file, expected {expected}")
        self.is_binary = self.data.startswith(f"{kind}_BIN_BEGIN".encode())
        form = "BIN" if self.is_binary else "TXT"
        self.begin, self.end = f"{kind}_{form}_BEGIN".encode(), f"{kind}_{form}_END".encode()
        if not self.data.startswith(self.begin):
            self.fail(
                0, f"expected {expected}, which begins with {kind}_TXT_BEGIN_0 or {kind}_BIN_..."
            )

    def fail(self, position: int, message: str) -> NoReturn:
        """Raise the error of the line that `position` is in, or of the block that is read."""
        place = str(self.data.count(b"\n", 0, position) + 1)
        if self.is_binary:
            place = f" block {len(self.ids) + 1}"
        raise InputError(f"{self.where}:{place}: {message}")

    def read(self) -> _DatFile:
        """Parse headers and numbers."""
        table, sparse = (self._binary_table(), None) if self.is_binary else self._text_table()
        ids, counts = np.array(self.ids, dtype=np.int64), np.array(self.counts)
        return _DatFile(self.where, ids, counts, self.names, table, sparse)

    def _binary_table(self) -> FloatArray:
        """Read the numbers of all blocks.

        Each block is a header line, rows of 4 bytes a number, and the line of its end. Numbers
        are float32; statistics of older versions of Moses are int32, which would be tiny as
        float32. The float32 nearest to -3.30693 becomes the float64 nearest to it.
        """
        tables: list[FloatArray] = []
        at = 0
        while at < len(self.data):
            start = self._next_line(at)
            head = self.data[at:start].split(None, 4)
            sizes = [int(token) for token in head[2:4] if token.isdigit() and len(token) < 10]
            stop = start + 4 * math.prod(sizes)
            where = f"{self.where}: the block at byte {at + 1}"
            if len(sizes) != 2 or not self.data.startswith(self.begin, at):
                begin = self.data[at : min(start, at + 60)].decode("utf-8", "replace").strip()
                raise InputError(
                    f"{where} begins with '{begin}', expected {self.kind}_BIN_BEGIN_0, segment "
                    f"id, number of lines, number of columns and names; is the file cut off?"
                )
            if not self.data.startswith(self.end, stop):
                raise InputError(
                    f"{where} has no {self.kind}_BIN_END after the {sizes[0]} x {sizes[1]} "
                    f"numbers that its header announces; is the file damaged or cut off?"
                )
            segment, count = self._header(at)
            values: NDArray[Any] = np.frombuffer(self.data[start:stop], dtype="<f4")
            if np.any(values) and np.abs(values).max() < np.finfo(np.float32).tiny:
                values = np.frombuffer(self.data[start:stop], dtype="<i4")
            distinct, inverse = np.unique(values, return_inverse=True)
            numbers = np.array([self._number(at, str(value)) for value in distinct], dtype=float)
            tables.append(numbers[inverse].reshape(count, self.width))
            self.ids.append(segment)
            self.counts.append(count)
            at = self._next_line(stop)
        return np.concatenate(tables)

    def _text_table(self) -> tuple[FloatArray, _Sparse | None]:
        """Read the numbers of all blocks, and the sparse features."""
        headers, at = [], 0
        while at >= 0:
            headers.append(at)
            segment, count = self._header(at)
            self.ids.append(segment)
            self.counts.append(count)
            at = self.data.find(b"\n" + self.begin, at)
            at += at >= 0  # the line begins after its \n
        lines, counts = sum(self.counts), np.array(self.counts)
        sparse = self._sparse(headers)
        if lines * self.width > len(self.data):  # refused before memory is asked for
            self.fail(
                0, f"the headers announce {lines * self.width} numbers, more than the file has"
            )
        table = np.empty((lines, self.width))
        starts = np.array([self._next_line(header) for header in headers])
        text = np.frombuffer(self.data, dtype=np.uint8)
        code, position, numbers_read, ends, slow = parse_tables(text, starts, counts, table)
        if code != OK:
            start = self.data.rfind(b"\n", 0, position) + 1
            if self.data.startswith(self.kind.encode(), start):  # a line of BEGIN or END
                self.fail(
                    position, "the block ends before the number of lines that its header announces"
                )
            numbers = counted(numbers_read, "number") if code == TOO_FEW else "more numbers"
            self.fail(position, f"{numbers}, the header says {self.width}; is the file cut off?")
        flat = table.reshape(-1)
        for index, begin, end in slow.tolist():  # what the kernel left to Python
            flat[index] = self._number(begin, self.data[begin:end].decode("utf-8", "replace"))
        for block, stop in enumerate(ends.tolist()):
            if not self.data.startswith(self.end, stop):
                self.fail(
                    stop,
                    f"expected {self.end.decode()} after the "
                    f"{counted(self.counts[block], 'line')} of segment {self.ids[block]}; is the "
                    f"file cut off?",
                )
            after = self._next_line(stop)
            if after != [*headers, len(self.data)][block + 1]:
                self.fail(after, f"expected {self.begin.decode()} or the end of the file")
        return table, sparse

    def _number(self, position: int, text: str) -> float:
        value = parse_number(text)
        if value is None:
            self.fail(position, f"'{text}' is not a number")
        if not math.isfinite(value) and not (self.may_lack and math.isnan(value)):
            advice = f"; {ADVICE}" * math.isnan(value)
            self.fail(position, f"{text} in the numbers; values must be {FINITE}{advice}")
        return value

    def _sparse(self, headers: Sequence[int]) -> _Sparse | None:
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
                entry = match[0][:60].decode("utf-8", "replace")
                self.fail(begin, f"'{entry}' is not a sparse feature, expected name=number")
            begins.append(begin)
            name = match[1].decode("utf-8", "replace")
            numbers.append(names.setdefault(name, len(names)))
            values.append(value)
        if not begins:
            return None
        ends = np.flatnonzero(text == ord("\n"))
        lines = np.searchsorted(ends, np.array(begins))
        header_lines = np.searchsorted(ends, np.array(headers))
        block = np.searchsorted(header_lines, lines, side="right") - 1
        starts = offsets_of(self.counts)
        rows = starts[block] + lines - header_lines[block] - 1
        self.data = text.tobytes()
        for wrong in np.flatnonzero((rows < starts[block]) | (rows >= starts[block + 1]))[:1]:
            self.fail(begins[wrong], "a sparse feature outside of the lines of a segment")
        return _Sparse(rows, tuple(names), np.array(numbers), np.array(values))

    def _next_line(self, position: int) -> int:
        """Return where the next line begins."""
        end = self.data.find(b"\n", position)
        return len(self.data) if end < 0 else end + 1

    def _header(self, at: int) -> tuple[int, int]:
        """Return the segment and the number of lines of the block that begins at a position."""
        head = self.data[at : self._next_line(at)].split(None, 4)
        numbers = [int(token) for token in head[1:4] if token.isdigit() and len(token) < 10]
        if numbers[2:] == [0]:
            self.fail(at, f"the header announces 0 columns of {self.kind.lower()}: none to read")
        if len(numbers) != 3 or len(head) != 5:
            self.fail(
                at,
                "expected segment id, number of lines, number of columns and names after "
                f"{self.begin.decode()}",
            )
        columns = head[3] + b" " + head[4].strip()
        if not self.columns:
            self.columns, self.width = columns, numbers[2]
            try:
                self.names = tuple(head[4].decode("utf-8").split())
            except UnicodeDecodeError:
                self.fail(at, "the names are not UTF-8; convert the file to UTF-8")
        if columns != self.columns:
            self.fail(at, "another number of columns, or other names, than in the first block")
        return numbers[0], numbers[1]


def _read_pairs(
    features: Sequence[Path | str], scores: Sequence[Path | str], *, may_lack: bool
) -> Iterator[tuple[_DatFile, _DatFile]]:
    """Read pairs of files, and check that both files of a pair are of the same hypotheses."""
    for features_path, scores_path in zip(features, scores, strict=True):
        file = _DatReader(features_path, "FEATURES", may_lack=may_lack).read()
        score_file = _DatReader(scores_path, "SCORES", may_lack=may_lack).read()
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
                f"{counted(int(score_file.counts[k]), 'hypothesis')}, in {file.where} it has "
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


def warm_up() -> None:
    """Compile what these files need, on two hypotheses."""
    features = np.asfortranarray([[1.0], [2.0]])
    nbest = model.featured(features, np.array([0, 2]), (("F0", 1),))
    lists = with_statistics(nbest, np.array([[1.0] * 2, [0.0, 1.0]]), "MEAN")
    with scratch(name="compile") as folder:
        write_features(lists, folder / "features")
        write_scores(lists, folder / "scores")
        read_dat([folder / "features"], [folder / "scores"])
