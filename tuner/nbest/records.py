"""Files of n-best lists, the ids of their segments, and the records that readers make of them."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

from portmert.metrics._base import IntArray

from ..base.columns import DROP
from ..base.errors import InputError, counted, shown
from ..base.files import called, decode_line, read_bytes, reading
from ..base.numbers import FINITE, parse_number
from ..texts.joining import nearest

HEAD_LINES = 20
"""Lines that a format is recognised by."""

TABLES = "*best_recog/*"
"""The tables of ESPnet 2 in a folder, at any depth."""

_BLOCK = 1 << 21
"""Bytes of a list that are parsed at once. With fewer each word is looked up more often."""

_ITEMS = 64
"""Records that become columns at once: so few that the processor's cache holds them."""

_T = TypeVar("_T")
Place = int | str
"""Where something stands in a list: the number of its line from 1, or a way through its JSON."""

_LINK = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Hypothesis(NamedTuple):
    """A hypothesis as a file has it.

    Parameters
    ----------
    place
        Where it stands, for messages.
    segment
        The id of its segment: a name, or a number from 0. An `int` is never a name.
    text
        Its words, between blanks; None if it is missing, which the names must allow.
    features
        A number, or a list of numbers, by the name of the feature; None if it is missing. All
        hypotheses of a list have the same features, unless the names allow missing ones.
    score
        The model score that the file has.
    links
        Pairs of source and target positions; None for a list without word alignment.
    record
        Its own JSON object, if it has one.
    rank
        Its number in its segment, where the file tells it.
    """

    place: Place
    segment: int | str
    text: str | None
    features: Mapping[str, float | list[float] | None]
    score: float = 0.0
    links: list[tuple[int, int]] | None = None
    record: dict[str, Any] | None = None
    rank: int | None = None


class Columns(NamedTuple):
    """Hypotheses that stand one after another, column by column; see `Hypothesis`."""

    places: Sequence[Place]
    segments: Sequence[int | str]
    texts: Sequence[str | None]
    features: Sequence[Mapping[str, float | list[float] | None]]
    scores: Sequence[float]
    links: Sequence[list[tuple[int, int]] | None]
    records: Sequence[dict[str, Any] | None]
    ranks: Sequence[int | None]

    @classmethod
    def of(cls, hypotheses: Sequence[Hypothesis]) -> Columns:
        """Return the columns of hypotheses, at least one."""
        return cls(*zip(*hypotheses, strict=True))


class Failed(NamedTuple):
    """A segment without an answer, and why."""

    place: Place
    segment: str
    reason: str


Record = Hypothesis | Failed


def in_blocks(items: Iterator[_T]) -> Iterator[list[_T]]:
    """Yield what a file has in blocks; those before a fault come first: they may have one too."""
    block: list[_T] = []
    try:
        for item in items:
            block.append(item)
            if len(block) == _ITEMS:
                yield block
                block = []
    except InputError:
        if block:
            yield block
        raise
    if block:
        yield block


@dataclass
class SegmentNames:
    """Number the names of segments in the order in which they come.

    Parameters
    ----------
    in_references : mapping or None
        The ids of the references, which no other may be; None: the references have no ids.
    where : str
        The name of the references in messages.
    strict : bool
        Whether ids that are numbers must be ids of the references too; else they may be places
        from 0.
    drop : bool
        Whether segments may lack an answer, or be absent in the references: they are left out. So
        may hypotheses lack texts or features; see `missing.settled`.
    failed : dict
        Why segments have no answer, by id.
    left : (S,) int64 or None
        The numbers of the segments that have hypotheses, where others are left out.
    are_names : bool or None
        Whether ids are names; None before the first id. It decides for all.
    are_places : bool
        Whether a list has no ids, so that a segment is known by its place alone.
    lookups : int
        How many names were numbered since a list was begun.
    """

    in_references: Mapping[str, int] | None = None
    where: str = ""
    strict: bool = True
    drop: bool = False
    are_names: bool | None = None
    are_places: bool = False
    lookups: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    left: IntArray | None = None
    _numbers: dict[str, int] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[str, ...] | None:
        """The names so far, segment by segment; None where ids are numbers."""
        return tuple(self._numbers) if self.are_names else None

    def decide(self, first_id: str) -> bool:
        """Return whether ids are names; the first id decides for all lists."""
        if self.are_names is None:
            ids = self.in_references
            is_id = ids is not None and (self.strict or first_id in ids)
            self.are_names = is_id or parse_number(first_id) is None
        return self.are_names

    def number(self, name: str, segments: int | None) -> int:
        """Return the number of a segment.

        Raises
        ------
        ValueError
            There can be no such segment; says why.
        """
        self.lookups += 1
        if name in self._numbers:
            return self._numbers[name]
        if not name.strip():
            raise ValueError(f"id '{name}' is blank")
        ids = self.in_references
        if ids is not None and name not in ids and not self.drop:
            key = (
                "; name the key of the ids in --nbest-format, as jsonl:id=audio_filepath"
                if name.isdecimal() and not any(map(str.isdecimal, ids))
                else ""
            )
            near = nearest(name, ids)
            raise ValueError(f"id '{name}' is not in {self.where} ({near}); {DROP}{key}")
        number = len(self._numbers)
        if segments is not None and number >= segments:
            raise ValueError(
                f"id '{name}' is number {number + 1} of the list, the references have "
                f"{counted(segments, 'segment')}"
            )
        self._numbers[name] = number
        return number


@dataclass(frozen=True)
class ListFile:
    """One file of an n-best list; it is decompressed as it is read.

    Parameters
    ----------
    where : str
        Its name in messages; the path of the file, unless its content is in memory.
    memory : bytes or None
        Content that is not in a file.
    names : SegmentNames
        Numbers segments whose ids are names; the same for all lists that are merged.
    segments : int or None
        Every segment id must be below it.
    remarks : list of str
        Remarks of the reader for the user.
    objects : tuple of dict or None
        Content that is records in memory, which are lines of JSON only where a reader asks.
    """

    where: str
    memory: bytes | None = None
    names: SegmentNames = field(default_factory=SegmentNames)
    segments: int | None = None
    remarks: list[str] = field(default_factory=list)
    objects: tuple[dict[str, Any], ...] | None = None

    def blocks(self) -> Iterator[bytes]:
        """Yield the content in blocks of whole lines; the last may have no line end."""
        if self.objects is not None:
            for begin in range(0, len(self.objects), _ITEMS):
                records = self.objects[begin : begin + _ITEMS]
                texts = [json.dumps(each, ensure_ascii=False, default=str) for each in records]
                lines = [f"{text}\n" for text in texts]
                yield "".join(lines).encode()
            return
        if self.memory is not None:
            yield self.memory
            return
        begun: list[bytes] = []
        size, enough = 0, _BLOCK
        for piece in reading(Path(self.where)):
            begun.append(piece)
            size += len(piece)
            if size >= enough:
                data = b"".join(begun)
                end = data.rfind(b"\n") + 1
                if end:
                    yield data[:end].removeprefix(BYTE_ORDER_MARK)
                begun = [data[end:]]
                size = len(data) - end
                enough = max(_BLOCK, 2 * size)  # an endless line is not searched again and again
        if size:
            yield b"".join(begun).removeprefix(BYTE_ORDER_MARK)

    @property
    def data(self) -> bytes:
        """The whole content."""
        return b"".join(self.blocks())

    def byte_lines(self) -> Iterator[bytes]:
        """Yield the lines without their ends."""
        for block in self.blocks():
            for line in block.removesuffix(b"\n").split(b"\n"):
                yield line.removesuffix(b"\r")

    @cached_property
    def head(self) -> list[str]:
        """The first lines that are not blank; bytes that are not UTF-8 replaced."""
        begin = itertools.islice(self.byte_lines(), HEAD_LINES)
        lines = (line.decode("utf-8", errors="replace") for line in begin)
        return [line for line in lines if line.strip()]

    def lines(self) -> Iterator[str]:
        """Yield the lines as text.

        Raises
        ------
        InputError
            A line is not UTF-8.
        """
        for number, line in enumerate(self.byte_lines(), 1):
            yield decode_line(line, self.where, number)

    def fail(self, place: Place, message: str) -> NoReturn:
        """Raise the error of a place."""
        if isinstance(place, int):
            raise InputError(f"{self.where}:{place}: {message}")
        raise InputError(f"{self.where}: {place}: {message}")

    def fail_of_names(self, feature: str) -> NoReturn:
        """Raise the error of two features of one name."""
        raise InputError(
            f"{self.where}: two features are called '{shown(feature)}'; each needs a name of its "
            f"own"
        )

    def number(self, place: Place, text: str, meaning: str) -> float:
        """Return a finite number, or raise the error of the place; `meaning` names the number."""
        value = parse_number(text.strip())
        if value is None:
            self.fail(place, f"'{shown(text)}' for {meaning} is not a number")
        if not math.isfinite(value):
            self.fail(
                place, f"{meaning} is {text}; values must be {FINITE}; leave this hypothesis out"
            )
        return value

    def links(self, place: Place, text: str) -> list[tuple[int, int]]:
        """Return links `0-0 1-1`, sorted, each once."""
        pairs = set()
        for item in text.split():
            match = _LINK.fullmatch(item)
            if match is None:
                self.fail(
                    place,
                    f"'{shown(item)}' is not a link, expected source-target positions from 0 like "
                    f"0-0",
                )
            pairs.add((int(match[1]), int(match[2])))
        return sorted(pairs)

    def hard_links(
        self, place: Place, probabilities: Sequence[Sequence[str]]
    ) -> list[tuple[int, int]]:
        """Return the links of a soft alignment.

        Each target word gets the source position of the highest probability, of equal ones the
        first, as in Marian's `--alignment hard`.

        Parameters
        ----------
        probabilities : sequence of sequence of str
            For each target word the probability of each source position.
        """
        links = []
        for target, row in enumerate(probabilities):
            numbers = [self.number(place, text, "a soft alignment") for text in row]
            links.append((numbers.index(max(numbers)), target))
        return sorted(links)


def read_list(path: Path | str) -> ListFile:
    """Open a list; of a folder, the names of the tables in it are the lines.

    Raises
    ------
    InputError
        The file cannot be read or is empty.
    """
    where = called(path)
    if where != "stdin" and Path(where).is_dir():
        tables = (table.relative_to(path).as_posix() for table in Path(path).rglob(TABLES))
        data = "".join(f"{table}\n" for table in sorted(tables)).encode()
        if not data:
            raise InputError(
                f"{where}: a folder; expected a file, or a folder of ESPnet 2 with tables like "
                f"1best_recog/text"
            )
        return ListFile(where, data)
    file = ListFile(where)
    if not Path(where).is_file():  # a pipe; or it is not there
        file = ListFile(where, read_bytes(path).removeprefix(BYTE_ORDER_MARK))
    if not next(file.blocks(), b""):
        raise InputError(f"{where}: empty file, expected an n-best list; did the decoder fail?")
    return file
