"""Reads lists of cdec."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from pydantic.dataclasses import dataclass

from tuner.nbest.moses_text import NBestReader
from tuner.nbest.readers._base import ListFile, Reader, are_named_values, head_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metrics._base import Vocabulary
    from tuner.nbest.arrived import ArrivedList

_OTHERS = re.compile(r"tm_\w+_\d+=|lm_\d+=|OOVPenalty=|F\d+=")
"""Names that Joshua and Marian have."""


@dataclass(frozen=True)
class Cdec(Reader):
    """`0 ||| hypothesis ||| LanguageModel=-3.1 Glue=2 ||| -4.5`; an absent feature is 0."""

    title: ClassVar[str] = "cdec"
    example: ClassVar[tuple[str, ...]] = (
        "",
        "0 ||| a b ||| Glue=-1.5 PassThrough=2 ||| -3\n",
        "0 ||| b ||| Glue=2 ||| -4\n",
        "1 |||  ||| Glue=-2 ||| -5\n",
    )

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether names and values are one token, and no name is Joshua's or Marian's."""
        rows = head_fields(head)
        return (
            rows is not None
            and all(are_named_values(row[2]) for row in rows)
            and not any(_OTHERS.match(token) for row in rows for token in row[2].split())
        )

    def read(
        self,
        file: ListFile,
        vocabulary: Vocabulary,
        segments: int | None,
        notice: Callable[[str], None],
    ) -> ArrivedList:
        """Parse a whole file."""
        reader = NBestReader(file.where, file.data, segments, notice, absent_is_zero=True)
        return reader.read(vocabulary)
