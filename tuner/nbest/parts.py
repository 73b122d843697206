"""Read n-best lists in parts of whole segments, and merge them part by part."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from portmert.metrics._base import IntArray, Vocabulary

from ..base import errors, files
from . import records
from .model import NBest
from .pool import ArrivedList, empty_rows, take_rows
from .read import Merger
from .readers._bars import BarsReader
from .readers._base import Reader

PART_BYTES = 1 << 24
"""Text that is parsed at once: small beside what it becomes, large beside a segment."""


@dataclass(eq=False)
class PartedList:
    """Read one list part by part; its segments must ascend.

    Parameters
    ----------
    path : Path
    reader : Reader
        A reader of fields between `|||`, or one that finds out.
    vocabulary : Vocabulary
        Gets the tokens that are new.
    segments : int or None
        Every id must be below it.
    notice : callable
        Called with one line for what is accepted but worth knowing.

    Attributes
    ----------
    counts : (segments so far,) int64
        Hypotheses of each segment.
    part : ArrivedList or None
        The part that was read last and is not merged yet.
    """

    path: Path
    reader: Reader
    vocabulary: Vocabulary
    segments: int | None
    notice: Callable[[str], None]
    counts: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    part: ArrivedList | None = None
    _first: ArrivedList | None = None
    _parts: Iterator[ArrivedList] | None = None

    def fill(self) -> bool:
        """Read the next part if there is none; return whether there is one now."""
        if self.part is None:
            if self._parts is None:
                self._parts = self._read()
            self.part = next(self._parts, None)
        return self.part is not None

    @property
    def has_links(self) -> bool:
        """Whether the list has word alignments, once some of it is read."""
        return self._first is not None and self._first.has_links

    def take(self, end: int) -> ArrivedList | None:
        """Return what was read of segments below `end`, if anything."""
        part = self.part
        if part is None:
            return None
        is_taken = part.rows.segments < end
        if is_taken.all():
            self.part = None
            return part
        self.part = _chosen(part, np.flatnonzero(~is_taken))
        return _chosen(part, np.flatnonzero(is_taken)) if is_taken.any() else None

    def describe(self) -> str:
        """Return what the reader says of the list, once all of it is read."""
        if self._first is None:
            raise ValueError("nothing was read yet")
        segments = np.repeat(np.arange(len(self.counts)), self.counts)
        rows = empty_rows(0, features=0, stats=0)._replace(segments=segments)
        return self.reader.describe(replace(self._first, rows=rows), self.file)

    def _read(self) -> Iterator[ArrivedList]:
        where, known, before = str(self.path), None, -1
        for number, data in _whole_segments(files.reading(self.path)):
            file = records.ListFile(
                where, data, records.SegmentNames(), number, self.segments, self.notice
            )
            self.file = file
            if known is None:
                known = self.reader.detect(file)
                if not isinstance(known, BarsReader):
                    raise errors.InputError(
                        f"{where}: lists of this format ({known.title}) are read whole; a pool on "
                        f"disk is made of lists with fields between |||, as Moses writes them"
                    )
                self.reader = known
            part = known.read(file, self.vocabulary)
            if self._first is None:
                self._first = replace(part, rows=empty_rows(0, features=0, stats=0))
            first = self._first
            if part.sparse_names or part.names != first.names:
                self._differs(file, part, first)
            if part.has_links != first.has_links:
                file.fail(1, "a word alignment or none, other than in the lines before")
            lowest, highest = int(part.rows.segments.min()), int(part.rows.segments.max())
            if lowest <= before:
                line = int(np.argmax(part.rows.segments <= before)) + 1
                file.fail(
                    line,
                    f"segment {part.rows.segments[line - 1]} after {before}; of a list that is "
                    f"read in parts segments must ascend: sort it (sort -s -n -k1,1)",
                )
            before = highest
            counts = np.bincount(part.rows.segments - lowest)
            gap = np.zeros(lowest - len(self.counts), dtype=np.int64)
            self.counts = np.concatenate([self.counts, gap, counts])
            yield part
        if self._first is None:
            raise records.empty_list(where)

    def _differs(self, file: records.ListFile, part: ArrivedList, first: ArrivedList) -> None:
        """Raise the error of features that are not everywhere."""
        here, there = dict(part.names), dict(first.names)
        lacking = [
            *part.sparse_names,
            *(name for name in there if name not in here),
            *(name for name in here if name not in there),
        ]
        if lacking:
            what = f"feature {lacking[0]} is not in every hypothesis"
        else:
            what = "features stand in another order, or with more values, than before"
        raise errors.InputError(
            f"{file.where}: lines {file.first_line} and following: {what}; a pool on disk holds "
            f"features that all have, in one order"
        )


def merged_parts(
    lists: Sequence[PartedList], notice: Callable[[str], None]
) -> Iterator[tuple[IntArray, NBest]]:
    """Merge lists part by part, as `Merger` does it of whole ones.

    Yields
    ------
    segments : (n,) int64
        Which segments these are, ascending, none twice.
    nbest : NBest
        Their hypotheses, as n segments; `lines` and `list_sizes` are missing.

    Raises
    ------
    InputError
        A list is not what it should be, or lists do not fit each other.
    """
    names = None
    while True:
        left = [one for one in lists if one.fill()]
        if not left:
            return
        if len({one.has_links for one in lists}) > 1:
            raise errors.InputError(
                f"{lists[0].path} and {lists[-1].path}: some of the lists have word alignments, "
                f"others none; those of one pool on disk have all or none"
            )
        end = min(int(one.part.rows.segments.max()) for one in left if one.part is not None) + 1
        parts = [part for one in left if (part := one.take(end)) is not None]
        present = np.unique(np.concatenate([part.rows.segments for part in parts]))
        merger = Merger(notice)
        for part in parts:
            segments = np.searchsorted(present, part.rows.segments)
            merger.add(replace(part, rows=part.rows._replace(segments=segments)))
        nbest = merger.finish(lists[0].vocabulary, len(present))
        names = names or nbest.feature_names
        if nbest.sparse is not None or nbest.feature_names != names:
            raise errors.InputError(
                f"{parts[-1].where}: not the features of {lists[0].path}; lists of one pool on "
                f"disk come from one model"
            )
        yield present, nbest


def _chosen(part: ArrivedList, rows: IntArray) -> ArrivedList:
    """Return some of the rows."""
    return replace(part, rows=take_rows(part.rows, rows), model_scores=part.model_scores[rows])


def _whole_segments(pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the number of a first line, and lines from there on: whole segments."""
    held: list[bytes] = []
    size, most, number = 0, PART_BYTES, 1
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size < most:
            continue
        data = b"".join(held)
        if number == 1:
            data = data.removeprefix(records.BYTE_ORDER_MARK)
        cut = _last_segment(data)
        if cut:
            yield number, data[:cut]
            number += data.count(b"\n", 0, cut)
            data = data[cut:]
        held, size = [data], len(data)
        most = PART_BYTES if cut else 2 * size  # of a long segment not all again and again
    data = b"".join(held)
    if number == 1:
        data = data.removeprefix(records.BYTE_ORDER_MARK)
    if data:
        yield number, data


def _last_segment(data: bytes) -> int:
    """Return where the lines of the last segment begin, of those that are complete; or 0."""
    line = data.rfind(b"\n", 0, max(data.rfind(b"\n"), 0)) + 1
    last = _id(data, line)
    while line:
        before = data.rfind(b"\n", 0, line - 1) + 1
        if _id(data, before) != last:
            return line
        line = before
    return 0


def _id(data: bytes, line: int) -> int | bytes:
    """Return the id that a line begins with, as a number if it is one."""
    found = data[line : line + 64].partition(b"|||")[0].strip()
    return int(found) if found.isdigit() else found
