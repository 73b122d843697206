"""Read lists of cdec."""

import re
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.nbest.readers._bars import BarsReader, are_named_values

_OTHERS = re.compile(r"tm_\w+_\d+=|lm_\d+=|OOVPenalty=|F\d+=")
"""Names that Joshua and Marian have."""


@dataclass(frozen=True)
class Cdec(BarsReader):
    """Read `0 ||| hypothesis ||| LanguageModel=-3.1 Glue=2 ||| -4.5`; a missing feature is 0."""

    title: ClassVar[str] = "cdec"
    example: ClassVar[tuple[str, ...]] = (
        "",
        "0 ||| a b ||| Glue=-1.5 PassThrough=2 ||| -3\n",
        "0 ||| b ||| Glue=2 ||| -4\n",
        "1 |||  ||| Glue=-2 ||| -5\n",
    )

    @classmethod
    def fits(cls, rows: list[list[str]]) -> bool:
        """Whether names and values are one token, and no name is Joshua's or Marian's."""
        named = all(are_named_values(row[2]) for row in rows)
        return named and not any(_OTHERS.match(token) for row in rows for token in row[2].split())
