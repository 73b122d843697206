"""Read lists of Moses."""

import re
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.nbest.readers._bars import BarsReader
from portmert.tuner.nbest.readers._base import ListFile

_GLUED_ID = re.compile(rb"^([0-9]{1,9})\|\|\|", re.MULTILINE)
"""Old versions of Moses wrote no blank behind the id."""


@dataclass(frozen=True)
class MosesReader(BarsReader):
    """Read `0 ||| hypothesis ||| LM0= -3.1 TM0= -1 -2 ||| -4.5`; segments and links are optional.

    A feature has as many values as follow its name. Only a feature with `_` in its name may be
    missing from some hypotheses.
    """

    title: ClassVar[str] = "Moses"
    absent_is_zero: ClassVar[bool] = False
    example: ClassVar[tuple[str, ...]] = (
        "",
        "0 ||| a b ||| LM0= -1.5 TM0= 1 2 ||| -3\n",
        "0 ||| b ||| LM0= -1 TM0= 0 2 ||| -4\n",
        "1 |||  ||| LM0= -2 TM0= 1 1 ||| -5\n",
    )

    @classmethod
    def fits(cls, rows: list[list[str]]) -> bool:
        """Whether names stand apart from their values."""
        return all(
            "=" in row[2]
            and row[2].split()[0].endswith("=")
            and not row[2].startswith(("F0=", "WordScores="))
            for row in rows
        )

    def as_moses(self, file: ListFile) -> tuple[bytes, str]:
        """Return the list with a blank behind each id."""
        glued = _GLUED_ID.match(file.data) is not None
        return _GLUED_ID.sub(rb"\1 |||", file.data) if glued else file.data, ""
