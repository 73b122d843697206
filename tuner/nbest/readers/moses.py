"""Read lists of Moses, and of programs that separate fields by ||| too."""

import re
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.ground.errors import counted
from portmert.tuner.ground.numbers import parse_number
from portmert.tuner.nbest.readers._bars import BarsReader, are_named_values, split_fields
from portmert.tuner.nbest.readers._base import ListFile

_GLUED = re.compile(rb"(?<=\S)\|\|\||\|\|\|(?=\S)")
"""Moses' own reader (mert/Data.cpp) asks for no blanks; old versions wrote none behind the id."""
_JOSHUA = re.compile(r"tm_\w+_\d+=|lm_\d+=|OOVPenalty=")
_LINK = re.compile(rb"[0-9]{1,9}-([0-9]{1,9})")


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
        """Return the list with blanks around `|||` in lines that are no list without them."""

        def spaced(line: re.Match[bytes]) -> bytes:
            return line[0] if len(split_fields(line[0])) > 3 else line[0].replace(b"|||", b" ||| ")

        glued = _GLUED.search(file.data)
        return re.sub(rb"[^\n]+", spaced, file.data) if glued else file.data, ""


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
        others = rf"{_JOSHUA.pattern}|F\d+="  # names that Joshua and Marian have
        return named and not any(re.match(others, one) for row in rows for one in row[2].split())


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
        return named and any(_JOSHUA.match(token) for row in rows for token in row[2].split())


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
        features = re.compile(r"F0= *\S+(?: +[^\s=]+= *\S+)*")
        return all(len(row) in (4, 5, 6) and features.fullmatch(row[-2]) for row in rows)

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
            scored = bool(between) and between[-1].startswith(b"WordScores=")
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
