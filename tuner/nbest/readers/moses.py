"""Reads lists of Moses."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic.dataclasses import dataclass

from tuner.nbest.moses_text import NBestReader
from tuner.nbest.readers._base import ListFile, Reader, head_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metrics._base import Vocabulary
    from tuner.nbest.arrived import ArrivedList


@dataclass(frozen=True)
class Moses(Reader):
    """`0 ||| hypothesis ||| LM0= -3.1 TM0= -1 -2 ||| -4.5`, then maybe segmentation and links.

    A feature has as many values as stand behind its name; only one with `_` in its name may be
    missing in some hypotheses.
    """

    title: ClassVar[str] = "Moses"
    example: ClassVar[tuple[str, ...]] = (
        "",
        "0 ||| a b ||| LM0= -1.5 TM0= 1 2 ||| -3\n",
        "0 ||| b ||| LM0= -1 TM0= 0 2 ||| -4\n",
        "1 |||  ||| LM0= -2 TM0= 1 1 ||| -5\n",
    )

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether names stand apart from their values."""
        rows = head_fields(head)
        return rows is not None and all(
            "=" in row[2]
            and row[2].split()[0].endswith("=")
            and not row[2].startswith(("F0=", "WordScores="))
            for row in rows
        )

    def read(
        self,
        file: ListFile,
        vocabulary: Vocabulary,
        segments: int | None,
        notice: Callable[[str], None],
    ) -> ArrivedList:
        """Parse a whole file."""
        return NBestReader(file.where, file.data, segments, notice).read(vocabulary)
