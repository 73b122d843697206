"""Read lists of Marian."""

import re
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.ground.errors import counted
from portmert.tuner.nbest.readers._bars import BarsReader, split_fields
from portmert.tuner.nbest.readers._base import ListFile

_FEATURES = re.compile(r"F0= *\S+(?: +[^\s=]+= *\S+)*")
_WORD_SCORES = b"WordScores="
_LINK = re.compile(rb"[0-9]{1,9}-([0-9]{1,9})")


@dataclass(frozen=True)
class Marian(BarsReader):
    """Read `0 ||| hypothesis [||| 0-0 1-1] [||| WordScores= ...] ||| F0= -3.1 ||| -0.4`.

    F0, F1, ... are the scores of the models; the score of marian-scorer (`Score=`) may follow.
    A single score may follow its `=` without a space. Word scores are not used. Marian also
    aligns the end of the sentence; links to the position after the last token are left out.
    """

    title: ClassVar[str] = "Marian"
    column: ClassVar[str] = "model"
    absent_is_zero: ClassVar[bool] = False
    example: ClassVar[tuple[str, ...]] = (
        "",
        "0 ||| a b ||| F0=-1.5 ||| -3\n",
        "0 ||| b ||| F0=-1 ||| -4\n",
        "1 |||  ||| F0=-2 ||| -5\n",
    )

    @classmethod
    def fits(cls, rows: list[list[str]]) -> bool:
        """Whether the features before the last field begin with F0, one value each."""
        return all(
            len(row) in (4, 5, 6) and _FEATURES.fullmatch(row[-2]) is not None for row in rows
        )

    def as_moses(self, file: ListFile) -> tuple[bytes, str]:
        """Return the list with the word alignment last, without word scores."""
        lines = []
        form: tuple[bool, bool] | None = None
        for number, line in enumerate(file.byte_lines, 1):
            fields = split_fields(line)
            if not 4 <= len(fields) <= 6:
                file.fail(
                    number,
                    f"{counted(len(fields), 'field')} separated by |||, expected 4 to 6: id, "
                    f"hypothesis, then maybe alignment and word scores, features, score",
                )
            between = fields[2:-2]
            scored = bool(between) and between[-1].startswith(_WORD_SCORES)
            linked = len(between) > scored
            if len(between) > scored + linked:
                file.fail(
                    number,
                    f"6 fields, the fourth must be word scores, `WordScores= ...`, found "
                    f"'{between[-1].decode(errors='replace')[:60]}'",
                )
            if form is None:
                form = scored, linked
            elif form != (scored, linked):
                file.fail(
                    number,
                    f"{_form(scored=scored, linked=linked)}, line {file.first_line} has "
                    f"{_form(scored=form[0], linked=form[1])}",
                )
            row = [fields[0], fields[1], fields[-2], fields[-1]]
            if linked:
                row.append(_inner_links(file, number, fields[1], between[0]))
            lines.append(b" ||| ".join(row))
        remark = "word scores not used" if form and form[0] else ""
        return b"\n".join(lines) + b"\n", remark


def _inner_links(file: ListFile, line: int, hypothesis: bytes, alignment: bytes) -> bytes:
    """Return the links but those to the end of the sentence."""
    if b"," in alignment:
        file.fail(
            line, "the word alignment is soft (probabilities); let Marian print --alignment hard"
        )
    length = len(hypothesis.split())
    kept = []
    for item in alignment.split():
        match = _LINK.fullmatch(item)
        if match is not None and int(match[1]) > length:
            file.fail(
                line,
                f"link {item.decode()}, but the hypothesis has {counted(length, 'token')}; Marian "
                f"aligns subwords: let it print them (--no-spm-decode) and join them by --text",
            )
        if match is None or int(match[1]) != length:
            kept.append(item)
    return b" ".join(kept)


def _form(*, scored: bool, linked: bool) -> str:
    parts = [
        "a word alignment" if linked else "no word alignment",
        "word scores" if scored else "no word scores",
    ]
    return " and ".join(parts)
