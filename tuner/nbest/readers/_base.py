"""The base class of readers of n-best lists.

To add a format, write one public file in this folder with one frozen pydantic dataclass that
derives from `Reader`: its fields are its options, `recognises` and `records` its definition,
`example` a list for tests. The command line, its help and `auto` find it by the name of its class.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as component_dataclass

from portmert.metrics._base import Vocabulary

from ...base import options
from ...base.columns import INDEX_KEYS
from ...base.components import Check, Component, Refuse, described
from ...base.errors import InputError, counted, shown
from ..merging import Rows
from ..records import Columns, Failed, Hypothesis, ListFile, Record, in_blocks
from ._arrays import arrays_of

_RANK = re.compile(r"[0-9]{1,9}")


def _checked_recognition(refuse: Refuse, answer: Any, head: Sequence[str]) -> bool:
    del head
    try:
        return bool(answer)
    except ValueError:  # an array
        refuse(described(answer), "True or False")


def _checked_records(refuse: Refuse, records: Any, file: ListFile) -> Iterator[Record]:
    """Yield the records of a reader that is not ours; refuse what is none."""
    del file
    if not isinstance(records, Iterable):
        refuse(described(records), _EXPECTED)
    for record in records:
        is_record = isinstance(record, Failed) or (
            isinstance(record, Hypothesis)
            and isinstance(record.place, int | str)
            and isinstance(record.segment, int | str)
            and isinstance(record.text, str)
            and isinstance(record.features, Mapping)
            and all(map(_is_value, (*record.features.values(), record.score)))
        )
        if not is_record:
            refuse(f"{described(record)} as a record: {shown(repr(record))}", _EXPECTED)
        yield record


def _is_value(value: Any) -> bool:
    """Return whether a feature is a finite number, or a list of such."""
    numbers = value if isinstance(value, list) else [value]
    return all(isinstance(x, int | float) and math.isfinite(x) for x in numbers)


_EXPECTED = "Hypothesis(place, segment, text, features) of finite numbers"


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
        "records": _checked_records,
    }
    named_files: ClassVar[str] = ""
    """The option that takes `NAME=FILE`; as `NAME` it may be left out: `kaldi:NAME=FILE`."""
    joined: ClassVar[tuple[str, ...]] = ()
    """Other options that are lists of names joined by `+`; they keep their quotes."""
    are_unique: ClassVar[bool] = False
    """Whether each place is a record with an id, of which none may stand twice."""
    first_rank: ClassVar[int | None] = None
    """The first rank. None: 0 if there is a 0, else 1."""

    def pairs_of_files(self) -> list[tuple[str, str]]:
        """Return name and path of each `NAME=FILE` of the option `named_files`."""
        pairs = []
        items = getattr(self, self.named_files) if self.named_files else ""
        for item in options.split(items, "+", named=True) if items else ():
            name, equals, path = options.name_value(item)
            if not equals:
                form = f"{self.name()}:NAME=FILE"
                raise InputError(f"{item}: name this file of {self.named_files}, as {form}")
            pairs.append((name, options.unquoted(path)))
        return pairs

    @property
    def files(self) -> tuple[str, ...]:
        """The files that options name."""
        return tuple(path for _, path in self.pairs_of_files())

    @classmethod
    @abstractmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether the first lines (none blank, at least one) can only be of this format."""

    def records(self, file: ListFile) -> Iterator[Record]:
        """Yield the hypotheses of a whole file, and the segments without an answer.

        Raises
        ------
        InputError
            The file is not what it should be; the message says which line.
        """
        raise NotImplementedError

    def columns(self, file: ListFile) -> Iterator[Columns | Failed]:
        """Yield what `records` yields, hypotheses in blocks."""
        for records in in_blocks(self.records(file)):
            for _, run in groupby(records, key=type):
                alike = list(run)
                yield from (record for record in alike if isinstance(record, Failed))
                hypotheses = [record for record in alike if isinstance(record, Hypothesis)]
                if hypotheses:
                    yield Columns.of(hypotheses)

    def id_base(self, file: ListFile, ids: Collection[str]) -> int:  # noqa: ARG002
        """Return the first of the ids of a whole file, where they are numbers."""
        return 0

    def read(self, file: ListFile, vocabulary: Vocabulary) -> Rows:
        """Return the hypotheses of a whole file; raises `InputError` as `records`."""
        return arrays_of(self, file, vocabulary)

    def detect(self, file: ListFile) -> Reader:  # noqa: ARG002  `auto` looks at it
        """Return the reader of this file."""
        return self

    def describe(self, rows: Rows, file: ListFile) -> str:
        """Return one line: `Marian n-best, 1 model, 500 segments x 100, no word alignment`."""
        columns = sum(size for _, size in rows.names)
        _, counts = np.unique(rows.segments, return_counts=True)
        sizes = f"{counts.min()}..{counts.max()}" if counts.min() < counts.max() else counts[0]
        parts = [
            f"{self.title} n-best",
            counted(columns, self.column),
            f"{counted(len(counts), 'segment')} x {sizes}",
            "word alignment" if rows.has_links else "no word alignment",
            *file.remarks,
        ]
        if rows.sparse_names:
            parts.insert(2, f"{counted(len(rows.sparse_names), 'sparse feature')}")
        return ", ".join(parts)


def rank_in(record: Mapping[str, Any], keys: Iterable[str] = INDEX_KEYS) -> int | None:
    """Return the number of a hypothesis in its segment that its record has, if it has one.

    Parameters
    ----------
    keys
        Where it may be.
    """
    for key in keys:
        text = str(record.get(key))
        if _RANK.fullmatch(text) and not isinstance(record[key], bool):
            return int(text)
    return None


def check_all_used(scores: Path | str, unused: Sequence[str], file: ListFile) -> None:
    """Raise `InputError` if a file of scores has keys that the list it belongs to has not."""
    if unused:
        and_more = f" and {len(unused) - 1} more" if len(unused) > 1 else ""
        raise InputError(
            f"{scores}: {unused[0]}{and_more} not in {file.where}; is that list cut off?"
        )
