"""Reads lines of fields between `|||`, which decoders fill and order differently."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

from portmert.metrics._base import Vocabulary
from portmert.tuner.ground.numbers import parse_number
from portmert.tuner.nbest.arrived import ArrivedList
from portmert.tuner.nbest.moses_text import NBestReader
from portmert.tuner.nbest.readers._base import ListFile, Reader

_BARS = re.compile(rb"(?:^|[ \t])\|\|\|(?=[ \t\r]|$)")
_ID = re.compile(r"[0-9]{1,9}")


class BarsReader(Reader):
    """Reads `id ||| hypothesis ||| ...`: a format says what its lines look like."""

    absent_is_zero: ClassVar[bool] = True
    """Whether a feature that a line has not is 0 there, whatever its name."""

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether all lines have at least four fields, the first an id, as the format wants."""
        rows = [[part.decode() for part in split_fields(line.encode())] for line in head]
        return all(len(row) >= 4 and _ID.fullmatch(row[0]) for row in rows) and cls.fits(rows)

    @classmethod
    @abstractmethod
    def fits(cls, rows: list[list[str]]) -> bool:
        """Whether the fields of the first lines can only be of this format."""

    def read(
        self,
        file: ListFile,
        vocabulary: Vocabulary,
        segments: int | None,
        notice: Callable[[str], None],
    ) -> ArrivedList:
        """Parse a whole file."""
        data, remark = self.as_moses(file)
        reader = NBestReader(
            file.where,
            data,
            segments,
            notice,
            absent_is_zero=self.absent_is_zero,
            first_line=file.first_line,
        )
        new = reader.read(vocabulary)
        return replace(new, remark=remark) if remark else new

    def as_moses(self, file: ListFile) -> tuple[bytes, str]:
        """Return the list with its fields in Moses' order, and what to tell of it."""
        return file.data, ""


def split_fields(line: bytes) -> list[bytes]:
    """Return the fields of a line, which the token `|||` separates, without white space around."""
    return [part.strip() for part in _BARS.split(line)]


def are_named_values(text: str) -> bool:
    """Whether a field is `name=value name=value`, at least one."""
    tokens = text.split()
    return bool(tokens) and all(
        "=" in token and parse_number(token.rpartition("=")[2]) is not None for token in tokens
    )
