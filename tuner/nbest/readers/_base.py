"""The base class of readers of n-best lists, and what they share.

To add a format, write one public file in this folder with one frozen pydantic dataclass that
derives from `Reader`: its fields are its options, `recognises` and `read` its definition,
`example` a list for tests. The command line, its help and `auto` find it by its file name.
"""

from __future__ import annotations

import difflib
import math
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as component_dataclass

from portmert.metrics._base import IntArray, Ragged, TokenArray, Vocabulary

from ...base import options
from ...base.columns import DROP, INDEX_KEYS
from ...base.components import Check, Component, Refuse, described
from ...base.errors import InputError, counted, shown
from ...base.files import called, decode_line, read_bytes
from ...base.numbers import FINITE, parse_number
from ...texts._kernels import intern_tokens
from ...weights.feature_weights import FeatureNames
from ..pool import ArrivedList, beyond, empty_rows, list_fault

HEAD_LINES = 20
"""Lines that a format is recognised by."""

TABLES = "*best_recog/*"
"""The tables of ESPnet 2 in a folder, at any depth."""

Place = int | str
"""Where something stands in a list: the number of its line from 1, or a way through its JSON."""

_LINK = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_ID = re.compile(r"[0-9]{1,9}")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass
class SegmentNames:
    """Number the names of segments in the order in which they come.

    Parameters
    ----------
    known : mapping or None
        The ids of the references, which no other may be; None: the references have none.
    where : str
        The name of the references in messages.
    strict : bool
        Whether ids that are numbers must be known too; else these may be places from 0.
    drop : bool
        Whether segments may lack an answer, or be unknown: they are left out.
    failed : dict
        Why segments have no answer, by id.
    left : (S,) int64 or None
        The numbers of the segments that have hypotheses, where others are left out.
    used : bool or None
        Whether ids are names; None before the first, which decides where nothing is known.
    asked : int
        How often a number was asked for.
    """

    known: Mapping[str, int] | None = None
    where: str = ""
    used: bool | None = None
    asked: int = 0
    strict: bool = True
    drop: bool = False
    failed: dict[str, str] = field(default_factory=dict)
    left: IntArray | None = None
    _numbers: dict[str, int] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[str, ...] | None:
        """The names so far, segment by segment; None where ids are numbers."""
        return tuple(self._numbers) if self.used else None

    def number(self, name: str, segments: int | None) -> int:
        """Return the number of a segment.

        Raises
        ------
        ValueError
            There can be no such segment; says why.
        """
        self.asked += 1
        number = self._numbers.get(name)
        if number is not None:
            return number
        if len(name.split()) != 1:
            raise ValueError(f"id '{name}' is not one word")
        if self.known is not None and name not in self.known and not self.drop:
            key = (
                "; name the key of the ids in --nbest-format, as nemo:id=audio_filepath"
                if name.isdecimal() and not any(other.isdecimal() for other in self.known)
                else ""
            )
            near = _like(name, self.known)
            raise ValueError(f"id '{name}' is not in {self.where} ({near}); {DROP}{key}")
        number = len(self._numbers)
        if segments is not None and number >= segments:
            raise ValueError(
                f"id '{name}' is number {number + 1} of the list, the references have "
                f"{counted(segments, 'segment')}"
            )
        self._numbers[name] = number
        return number


def positions(
    ids: Sequence[str], known: Mapping[str, int], *, lists: str, where: str
) -> list[int]:
    """Return where each segment of the lists stands in a file with the same ids.

    Raises
    ------
    InputError
        An id is on one side only.
    """
    own = set(ids)
    for here, there, some, other in (
        (ids, known, lists, where),
        (known, own, where, lists),
    ):
        lacking = [name for name in here if name not in there]
        if lacking:
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            raise InputError(
                f"{some}: id '{lacking[0]}'{more} not in {other} ({_like(lacking[0], there)}); "
                f"both must be of the same segments ({DROP})"
            )
    return [known[name] for name in ids]


def _like(name: str, known: Mapping[str, int] | set[str]) -> str:
    """Return ids that are there: the nearest of the first 10,000, or the first ones."""
    some = sorted(known)[:10_000]
    near = difflib.get_close_matches(name, some, n=1)
    if near:
        return f"nearest: '{near[0]}'"
    return f"ids there: {', '.join(some[:3])}{', ...' * (len(known) > 3)}"


@dataclass(frozen=True)
class ListFile:
    """One file of an n-best list, decompressed.

    Parameters
    ----------
    where : str
        Its name in messages.
    data : bytes
        Not empty.
    names : SegmentNames
        Numbers segments whose ids are names; the same for all lists that are merged.
    first_line : int
        The number of its first line; not 1 where it is a part of a file.
    segments : int or None
        Every segment id must be below it.
    notice : callable
        Called with one line for what is accepted but worth knowing.
    """

    where: str
    data: bytes
    names: SegmentNames = field(default_factory=SegmentNames)
    first_line: int = 1
    segments: int | None = None
    notice: Callable[[str], None] = lambda _: None

    @cached_property
    def byte_lines(self) -> list[bytes]:
        """The lines without their ends."""
        lines = self.data.split(b"\n")
        if lines[-1] == b"":
            lines.pop()
        return [line.removesuffix(b"\r") for line in lines]

    @cached_property
    def head(self) -> list[str]:
        """The first lines that are not blank; bytes that are not UTF-8 replaced."""
        begin = self.data.split(b"\n", HEAD_LINES)[:HEAD_LINES]
        lines = (line.decode("utf-8", errors="replace").rstrip("\r") for line in begin)
        return [line for line in lines if line.strip()]

    def lines(self) -> list[str]:
        """Return the lines as text.

        Raises
        ------
        InputError
            A line is not UTF-8.
        """
        numbered = enumerate(self.byte_lines, self.first_line)
        return [decode_line(line, self.where, n) for n, line in numbered]

    def fail(self, place: Place, message: str) -> NoReturn:
        """Raise the error of a place."""
        if isinstance(place, int):
            raise InputError(f"{self.where}:{place + self.first_line - 1}: {message}")
        raise InputError(f"{self.where}: {place}: {message}")


def _checked_recognition(refuse: Refuse, found: Any, head: Sequence[str]) -> bool:
    del head
    try:
        return bool(found)
    except ValueError:  # an array
        refuse(described(found), "True or False")


def _checked_list(
    refuse: Refuse, found: object, file: ListFile, vocabulary: Vocabulary
) -> ArrivedList:
    if not isinstance(found, ArrivedList):
        refuse(described(found), "an ArrivedList (a Collector makes one)")
    segments = 10**9 if file.segments is None else file.segments
    try:
        fault = list_fault(found, segments=segments, words=len(vocabulary))
    except (AttributeError, TypeError, ValueError) as error:  # no arrays at all
        fault = f"that is none: {error}"
    if fault:
        refuse(f"an ArrivedList {fault}", "one as a Collector makes it")
    return found


@component_dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Reader(Component):
    """Read one format of n-best lists."""

    title: ClassVar[str]
    """The name of the format for users."""
    column: ClassVar[str] = "feature"
    """The name of one of its feature columns for users."""
    example: ClassVar[tuple[str, ...]] = ()
    """A small list: what comes before its hypotheses, then what each of them is: `a b` and `b` of
    segment 0, an empty one of segment 1, without links. Help shows it and tests read it."""
    _family: ClassVar[str] = "reader"
    _checks: ClassVar[Mapping[str, Check]] = {
        "recognises": _checked_recognition,
        "read": _checked_list,
    }
    named_files: ClassVar[str] = ""
    """The option that takes `NAME=FILE`; as `NAME` it may be left out: `kaldi:NAME=FILE`."""

    joined: ClassVar[tuple[str, ...]] = ()
    """Other options that are lists of names joined by `+`; they keep their quotes."""

    def named(self) -> list[tuple[str, str]]:
        """Return name and path of each `NAME=FILE` of the option `named_files`."""
        found = []
        given = getattr(self, self.named_files) if self.named_files else ""
        for item in filter(None, options.split(given, "+", named=True)):
            name, equals, path = options.name_value(item)
            if not equals:
                form = f"{self.name()}:NAME=FILE"
                raise InputError(f"{item}: name this file of {self.named_files}, as {form}")
            found.append((name, options.unquoted(path)))
        return found

    @property
    def files(self) -> tuple[str, ...]:
        """The files that options name."""
        return tuple(path for _, path in self.named())

    @classmethod
    @abstractmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether the first lines (none blank, at least one) can only be of this format."""

    @abstractmethod
    def read(self, file: ListFile, vocabulary: Vocabulary) -> ArrivedList:
        """Parse a whole file.

        Raises
        ------
        InputError
            The file is not what it should be; the message says which line.
        """

    def detect(self, file: ListFile) -> Reader:  # noqa: ARG002  what `auto` looks at
        """Return the reader of this file."""
        return self

    def describe(self, new: ArrivedList) -> str:
        """Return one line: `Marian n-best, 1 model, 500 segments x 100, no word alignment`."""
        columns = sum(size for _, size in new.names)
        sizes = np.unique(np.unique(new.rows.segments, return_counts=True)[1])
        segments = len(np.unique(new.rows.segments))
        each = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]}..{sizes[-1]}"
        parts = [
            f"{self.title} n-best",
            counted(columns, self.column),
            f"{counted(segments, 'segment')} x {each}",
            "word alignment" if new.has_links else "no word alignment",
        ]
        if new.sparse_names:
            parts.insert(2, f"{counted(len(new.sparse_names), 'sparse feature')}")
        if new.remark:
            parts.append(new.remark)
        return ", ".join(parts)


def read_list(path: Path | str) -> ListFile:
    """Read the bytes of a list; of a folder, the names of the tables in it, one a line.

    Raises
    ------
    InputError
        The file cannot be read or is empty.
    """
    where = called(path)
    if where != "stdin" and Path(where).is_dir():
        tables = (one.relative_to(path).as_posix() for one in Path(path).rglob(TABLES))
        data = "".join(f"{one}\n" for one in sorted(tables)).encode()
        if not data:
            raise InputError(
                f"{where}: a folder; expected a file, or a folder of ESPnet 2 with tables like "
                f"1best_recog/text"
            )
        return ListFile(where, data)
    data = read_bytes(path).removeprefix(BYTE_ORDER_MARK)
    if not data:
        raise empty_list(where)
    return ListFile(where, data)


def empty_list(where: str) -> InputError:
    """Return the error of a list without a byte."""
    return InputError(f"{where}: empty file, expected an n-best list; did the decoder fail?")


@dataclass
class Collector:
    """Collect the hypotheses of one list as they are found, one after the other.

    Parameters
    ----------
    file : ListFile
        The list, for messages.
    names : tuple of (name, size)
        The feature columns.
    remark : str
        A remark on the list for the user.
    of_records : bool
        Whether each place is a record with an id, of which none may stand twice.
    first_id, first_rank : int or None
        What ids that are numbers, and ranks of records, count from. None: ranks count from 0 if
        there is a 0, else from 1.

    Raises
    ------
    InputError
        Two features have the same name: weights are found by name.
    """

    file: ListFile
    names: FeatureNames
    remark: str = ""
    of_records: bool = False
    first_id: int = 0
    first_rank: int | None = None
    ids: dict[str, Place] = field(default_factory=dict)
    _found: list[tuple[Any, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for name, _ in self.names:
            if name in seen:
                raise InputError(
                    f"{self.file.where}: two features are called '{shown(name)}'; each needs a "
                    f"name of its own"
                )
            seen.add(name)

    def named_segment(self, place: Place, text: str) -> int:
        """Return the number of a segment whose id may be a name; the first decides for all."""
        names = self.file.names
        if names.used is None:
            known = names.known is not None and (names.strict or text in names.known)
            names.used = known or parse_number(text) is None
        if not names.used:
            return self.segment(place, text)
        try:
            return names.number(text, self.file.segments)
        except ValueError as error:
            self.file.fail(place, str(error))

    def segment(self, place: Place, text: str) -> int:
        """Return a segment id that is a number, checked."""
        if not _ID.fullmatch(text):
            self.file.fail(
                place, f"segment id '{shown(text)}' is not a whole number; ids count from 0"
            )
        number, segments = int(text), self.file.segments
        if segments is not None and number >= segments:
            self.file.fail(place, beyond(number, segments))
        return number

    def number(self, place: Place, text: str, what: str) -> float:
        """Return a finite number; `what` names it."""
        return finite_number(self.file, place, text, what)

    def links(self, place: Place, text: str) -> list[tuple[int, int]]:
        """Return links `0-0 1-1`, sorted, each once."""
        pairs = set()
        for item in text.split():
            match = _LINK.fullmatch(item)
            if match is None:
                self.file.fail(
                    place,
                    f"'{shown(item)}' is not a link, expected source-target positions from 0 like "
                    f"0-0",
                )
            pairs.add((int(match[1]), int(match[2])))
        return sorted(pairs)

    def add(
        self,
        place: Place,
        *,
        segment: int | str,
        text: str,
        values: list[float],
        score: float = 0.0,
        links: list[tuple[int, int]] | None = None,
        rank: int | None = None,
    ) -> None:
        """Add a hypothesis that stands at a place; `segment` is its number, or its id."""
        if isinstance(segment, str):
            self.ids.setdefault(segment, place)
        if self._found and (links is None) != (self._found[0][0] is None):
            some = "no word alignment, the first hypothesis has"
            none = "a word alignment, the first hypothesis has none"
            self.file.fail(place, some if links is None else none)
        self._found.append((links, place, segment, text, values, score, rank))

    def finish(self, vocabulary: Vocabulary) -> ArrivedList:
        """Return the list.

        Raises
        ------
        InputError
            There is no hypothesis, or a link is outside its hypothesis.
        """
        if not self._found:
            raise InputError(f"{self.file.where}: no hypothesis in the file")
        links, places, ids, texts, values, scores, ranks = zip(*self._found, strict=True)
        segments = self._numbered()
        tokens, offsets = _interned(texts, vocabulary)
        width = sum(size for _, size in self.names)
        rows = empty_rows(len(ids), features=0, stats=0)._replace(
            segments=np.array([segments.get(name, name) for name in ids], dtype=np.int64),
            tokens=tokens,
            token_offsets=offsets,
            features=np.array(values, dtype=np.float64).reshape(len(ids), width) + 0.0,
        )
        linked = links[0] is not None
        if linked:
            linked_rows = Ragged.from_rows(links, 2)
            pairs, counts = linked_rows.values, linked_rows.lengths
            lengths = np.repeat(np.diff(offsets), counts)
            wrong = np.flatnonzero(pairs[:, 1] >= lengths)
            if len(wrong):
                at = int(wrong[0])
                self.file.fail(
                    places[int(np.searchsorted(np.cumsum(counts), at, side="right"))],
                    f"{pairs[at, 0]}-{pairs[at, 1]} is out of range, the hypothesis has "
                    f"{counted(lengths[at], 'token')} (positions count from 0)",
                )
            rows = rows._replace(links=pairs, link_offsets=linked_rows.offsets)
        found = rows, np.array(scores) + 0.0, self.names, (), linked, self.file.where
        if self.of_records:
            ranks = tuple(self._ranks_of_records(ids, places, ranks))
        order = None if None in ranks else np.array(ranks, dtype=np.int32)
        return ArrivedList(*found, remark=self.remark, ranks=order)

    def _numbered(self) -> dict[str, int]:
        """Return the number of each segment by its id."""
        return {
            name: self.named_segment(
                place,
                str(int(name) - self.first_id) if self.first_id and name.isdecimal() else name,
            )
            for name, place in self.ids.items()
        }

    def _ranks_of_records(
        self, ids: Sequence[str], places: Sequence[Place], ranks: Sequence[int | None]
    ) -> Sequence[int | None]:
        """Return ranks from 1; raise the error of a record that stands twice."""
        numbers = [rank for rank in ranks if rank is not None]
        if not numbers or (len(numbers) == len(ranks) and min(numbers) == max(numbers) > 1):
            self._check_together(ids, places)
            return [None] * len(ranks)
        first = min(1, *numbers) if self.first_rank is None else self.first_rank
        numbered = {name for name, rank in zip(ids, ranks, strict=True) if rank is not None}
        first_places: dict[tuple[str, int], Place] = {}
        sizes: Counter[str] = Counter()
        full: list[int | None] = []
        for name, place, rank in zip(ids, places, ranks, strict=True):
            if rank is None and name in numbered:
                self.file.fail(
                    place, f"id '{name}': no number of the hypothesis ({_KEYS}), others have one"
                )
            number = sizes[name] + first if rank is None else rank
            before = first_places.setdefault((name, number), place)
            sizes[name] += 1
            if len(first_places) == len(full):
                self.file.fail(
                    place,
                    f"hypothesis {number} of id '{name}' stands twice, first in "
                    f"{self._called(before)}; {_OWN_FILES}",
                )
            full.append(number + 1 - first)
        if None in ranks:
            rest = [k for k, rank in enumerate(ranks) if rank is None]
            self._check_together([ids[k] for k in rest], [places[k] for k in rest])
        return full

    def _check_together(self, ids: Sequence[str], places: Sequence[Place]) -> None:
        """Raise the error of an id with two lists.

        Records of one hypothesis each may stand anywhere: samples are often drawn pass by pass.
        """
        first_places: dict[str, Place] = {}
        sizes = Counter(zip(ids, places, strict=True))
        for name, place in sizes:
            before = first_places.setdefault(name, place)
            if before != place and max(sizes[name, place], sizes[name, before]) > 1:
                self.file.fail(
                    place,
                    f"id '{name}' stands twice, first in {self._called(before)}; number its "
                    f"hypotheses ({_KEYS}), or {_OWN_FILES}",
                )

    def _called(self, place: Place) -> str:
        """Return a place for messages."""
        return f"line {place + self.file.first_line - 1}" if isinstance(place, int) else place


_KEYS = ", ".join(INDEX_KEYS)
_OWN_FILES = "give several lists of a segment as files of their own"


def index_in(record: Mapping[str, Any], other: Container[str] = ()) -> int | None:
    """Return the number of a hypothesis in its segment that its record tells, if it does.

    Keys in `other` hold something else.
    """
    for name in INDEX_KEYS:
        text = str(record.get(name))
        if name not in other and _ID.fullmatch(text) and not isinstance(record[name], bool):
            return int(text)
    return None


class CollectingReader(Reader):
    """Read a list hypothesis by hypothesis."""

    @abstractmethod
    def collect(self, file: ListFile) -> Collector:
        """Return the hypotheses of a whole file; see `read`."""

    def read(self, file: ListFile, vocabulary: Vocabulary) -> ArrivedList:
        """Parse a whole file."""
        return self.collect(file).finish(vocabulary)


def check_all_used(scores: Path | str, left: Sequence[str], file: ListFile) -> None:
    """Raise `InputError` if a file of scores has keys that the list it belongs to has not."""
    if left:
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        raise InputError(f"{scores}: {left[0]}{more} not in {file.where}; is that list cut off?")


def finite_number(file: ListFile, place: Place, text: str, what: str) -> float:
    """Return a finite number, or raise the error of the line; `what` names it."""
    value = parse_number(text.strip())
    if value is None:
        file.fail(place, f"'{shown(text)}' for {what} is not a number")
    if not math.isfinite(value):
        file.fail(place, f"{what} is {text}; values must be {FINITE}; leave this hypothesis out")
    return value


def hard_links(file: ListFile, place: Place, rows: Sequence[Sequence[str]]) -> str:
    """Return a soft alignment as links `0-0 1-1`.

    Each target word gets the source position of the highest probability, of equal ones the first,
    as in Marian's `--alignment hard`.

    Parameters
    ----------
    rows : sequence of sequence of str
        For each target word the probability of each source position.
    """
    links = []
    for target, row in enumerate(rows):
        numbers = [finite_number(file, place, text, "a soft alignment") for text in row]
        links.append(f"{numbers.index(max(numbers))}-{target}")
    return " ".join(links)


def _interned(
    texts: Sequence[str], vocabulary: Vocabulary
) -> tuple[TokenArray, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return (T,) tokens and (n + 1,) offsets of n texts."""
    parts = [text.encode() for text in texts]
    data = b"".join(parts)
    ends = np.cumsum([len(part) for part in parts]).astype(np.int64)
    cuts = np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1)[:, None, :]
    local, offsets, spans = intern_tokens(
        np.frombuffer(data, dtype=np.uint8), np.ascontiguousarray(cuts), 0, len(data) + 1
    )
    numbers = np.array(
        [vocabulary.add(data[begin:end].decode()) for begin, end in spans.tolist()],
        dtype=np.int32,
    )
    return (numbers[local] if len(numbers) else local), offsets
