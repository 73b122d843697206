"""Read lists of Travatar."""

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.ground.errors import counted
from portmert.tuner.ground.numbers import parse_number
from portmert.tuner.nbest.readers._bars import BarsReader, are_named_values, split_fields
from portmert.tuner.nbest.readers._base import ListFile


@dataclass(frozen=True)
class Travatar(BarsReader):
    """Read `0 ||| hypothesis ||| -4.5 ||| egfp=-3.1 w=5`, score first; a missing feature is 0."""

    title: ClassVar[str] = "Travatar"
    example: ClassVar[tuple[str, ...]] = (
        "",
        "0 ||| a b ||| -3 ||| egfp=-1.5 w=2\n",
        "0 ||| b ||| -4 ||| w=1\n",
        "1 |||  ||| -5 ||| w=3\n",
    )

    @classmethod
    def fits(cls, rows: list[list[str]]) -> bool:
        """Whether the score stands before the features."""
        return all(
            len(row) == 4 and parse_number(row[2]) is not None and are_named_values(row[3])
            for row in rows
        )

    def as_moses(self, file: ListFile) -> tuple[bytes, str]:
        """Return the list with score and features exchanged."""
        lines = []
        for number, line in enumerate(file.byte_lines, 1):
            fields = split_fields(line)
            if len(fields) != 4:
                file.fail(
                    number,
                    f"{counted(len(fields), 'field')} separated by |||, expected 4: id, "
                    f"hypothesis, score, features",
                )
            if b"=" in fields[2] and b"=" not in fields[3]:
                file.fail(
                    number,
                    "the features stand before the score; Travatar prints them behind it: give "
                    "another --nbest-format",
                )
            fields[2], fields[3] = fields[3], fields[2]
            lines.append(b" ||| ".join(fields))
        return b"\n".join(lines) + b"\n", ""
