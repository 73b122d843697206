"""Read lists of Nematus."""

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.ground.errors import counted
from portmert.tuner.ground.numbers import parse_number
from portmert.tuner.nbest.readers._bars import BarsReader, split_fields
from portmert.tuner.nbest.readers._base import ListFile


@dataclass(frozen=True)
class Nematus(BarsReader):
    """Read `0 ||| hypothesis ||| -4.5`; rescoring adds more scores behind the first.

    The features are F0, F1 and so on; the score of the list is the first. If scores are costs
    (less is better), their weights become negative.
    """

    title: ClassVar[str] = "Nematus"
    column: ClassVar[str] = "score"
    numbers_of_fields: ClassVar[range] = range(3, 4)
    example: ClassVar[tuple[str, ...]] = (
        "",
        "0 ||| a b ||| -3\n",
        "0 ||| b ||| -4\n",
        "1 |||  ||| -5\n",
    )

    @classmethod
    def fits(cls, rows: list[list[str]]) -> bool:
        """Whether the third field has numbers alone, at least one."""
        return all(row[2] and None not in map(parse_number, row[2].split()) for row in rows)

    def as_moses(self, file: ListFile) -> tuple[bytes, str]:
        """Return the list with named features, and the first score last."""
        lines, width = [], 0
        for number, line in enumerate(file.byte_lines, 1):
            fields = split_fields(line)
            scores = fields[-1].split()
            width = width or len(scores)
            if len(fields) != 3 or not scores or len(scores) != width:
                file.fail(
                    number,
                    f"{counted(len(fields), 'field')} separated by |||, the last with "
                    f"{counted(len(scores), 'score')}; expected 3: id, hypothesis, "
                    f"{counted(max(width, 1), 'score')}",
                )
            named = b" ".join(b"F%d= %s" % item for item in enumerate(scores))
            lines.append(b" ||| ".join([fields[0], fields[1], named, scores[0]]))
        return b"\n".join(lines) + b"\n", ""
