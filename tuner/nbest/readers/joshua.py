"""Read lists of Joshua."""

import re
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.nbest.readers._bars import BarsReader, are_named_values

_NAMES = re.compile(r"tm_\w+_\d+=|lm_\d+=|OOVPenalty=")


@dataclass(frozen=True)
class Joshua(BarsReader):
    """Read `0 ||| hypothesis ||| tm_pt_0=-3.1 lm_0=-19.1 ||| -4.5`; a missing feature is 0."""

    title: ClassVar[str] = "Joshua"
    example: ClassVar[tuple[str, ...]] = (
        "",
        "0 ||| a b ||| tm_pt_0=-1.5 lm_0=2 ||| -3\n",
        "0 ||| b ||| lm_0=2 ||| -4\n",
        "1 |||  ||| tm_pt_0=-2 lm_0=1 ||| -5\n",
    )

    @classmethod
    def fits(cls, rows: list[list[str]]) -> bool:
        """Whether names and values are one token, and some names are Joshua's."""
        named = all(are_named_values(row[2]) for row in rows)
        return named and any(_NAMES.match(token) for row in rows for token in row[2].split())
