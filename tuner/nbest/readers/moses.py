"""Read lists of Moses, and of others that separate fields by |||; _bars.py cuts the lines."""

import re
from collections.abc import Iterator
from typing import ClassVar

from pydantic.dataclasses import dataclass

from ...base.errors import counted
from ...base.numbers import parse_number
from ..records import ListFile
from ._bars import BarsReader, are_named_values, split_fields

_JOSHUA = re.compile(r"tm_\w+_\d+=|lm_\d+=|OOVPenalty=")
_TREE = re.compile(r"[0-9]+ \|\|\| \(\S+\{[0-9]+-[0-9]+\} ")
_OLD_LABEL = re.compile(rb"[^\s:=]+:[ \t]+-?[0-9.]")
_OLD_LABELS = re.compile(rb"(?<!\S)([^\s:=]+):(?=\s)")
_LINK = re.compile(rb"[0-9]{1,9}-([0-9]{1,9})")


@dataclass(frozen=True)
class MosesReader(BarsReader):
    """Read `0 ||| hypothesis ||| LM0= -3.1 TM0= -1 -2 ||| -4.5`; segments and links are optional.

    A feature has as many values as follow its name. Only a feature with `_` in its name may be
    missing from some hypotheses.
    """

    title: ClassVar[str] = "Moses"
    absent_is_zero: ClassVar[bool] = False
    may_be_glued: ClassVar[bool] = True  # as for Moses' own reader, mert/Data.cpp
    example: ClassVar[tuple[str, ...]] = (
        "",
        "0 ||| a b ||| LM0= -1.5 TM0= 1 2 ||| -3\n",
        "0 ||| b ||| LM0= -1 TM0= 0 2 ||| -4\n",
        "1 |||  ||| LM0= -2 TM0= 1 1 ||| -5\n",
    )

    def lines(self, file: ListFile) -> Iterator[bytes] | None:
        """Return the lines with `d=` for the label `d:` of Moses before 2013; None without."""
        fields = (
            file.head[0].encode().split(b"|||", 3) if file.head else []
        )  # as in `_with_equals`
        if len(fields) < 3 or _OLD_LABEL.match(fields[2].strip()) is None:
            return None
        return map(_with_equals, file.byte_lines())

    @classmethod
    def fits(cls, rows: list[list[str]]) -> bool:
        """Whether names stand apart from their values, and none is Joshua's."""
        if all(_OLD_LABEL.match(row[2].encode()) for row in rows):
            return True
        return all(
            _are_apart(row[2]) and not row[2].startswith(("F0=", "WordScores=")) for row in rows
        ) and not any(_JOSHUA.match(token) for row in rows for token in row[2].split())


def _with_equals(line: bytes) -> bytes:
    """Return a line with `=` behind the labels of its features, which its third field has."""
    fields = line.split(b"|||", 3)
    if len(fields) > 3:
        fields[2] = _OLD_LABELS.sub(rb"\1=", fields[2])
    return b"|||".join(fields)


def _are_apart(features: str) -> bool:
    """Whether features begin with a name that stands apart from its values."""
    return "=" in features and features.split(maxsplit=1)[0].endswith("=")


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
    """Read `0 ||| hypothesis ||| tm_pt_0=-3.1 lm_0=-19.1 ||| -4.5`; a missing feature is 0.

    Values may stand apart from their names, as in Moses' lists.
    """

    title: ClassVar[str] = "Joshua"
    example: ClassVar[tuple[str, ...]] = (
        "",
        "0 ||| a b ||| tm_pt_0=-1.5 lm_0=2 ||| -3\n",
        "0 ||| b ||| lm_0=2 ||| -4\n",
        "1 |||  ||| tm_pt_0=-2 lm_0=1 ||| -5\n",
    )

    @classmethod
    def fits(cls, rows: list[list[str]]) -> bool:
        """Whether some names are Joshua's."""
        named = all(are_named_values(row[2]) or _are_apart(row[2]) for row in rows)
        return named and any(_JOSHUA.match(token) for row in rows for token in row[2].split())

    def lines(self, file: ListFile) -> None:
        """Leave the lines as they are; raise InputError for derivation trees in place of texts."""
        if file.head and _TREE.match(file.head[0]):
            file.fail(
                1,
                "the hypothesis is a derivation tree, as Joshua writes it; expected its text: set "
                "use_tree_nbest = false in Joshua's configuration, and decode again",
            )


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

    def lines(self, file: ListFile) -> Iterator[bytes]:
        """Yield the lines with score and features exchanged."""
        for number, line in enumerate(file.byte_lines(), 1):
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
            yield b" ||| ".join(fields)


@dataclass(frozen=True)
class Nematus(BarsReader):
    """Read `0 ||| hypothesis ||| -4.5`; rescoring adds more scores behind the first.

    The features are F0, F1 and so on; the score of the list is the first. If scores are costs
    (less is better), their weights become negative. Scores without names are also read from lists
    of older decoders, `0 ||| hypothesis ||| -3.1 -19.1 ||| -4.5`, whose last field is the score.
    """

    title: ClassVar[str] = "Nematus"
    column: ClassVar[str] = "score"
    numbers_of_fields: ClassVar[range] = range(3, 5)
    example: ClassVar[tuple[str, ...]] = (
        "",
        "0 ||| a b ||| -3\n",
        "0 ||| b ||| -4\n",
        "1 |||  ||| -5\n",
    )

    @classmethod
    def fits(cls, rows: list[list[str]]) -> bool:
        """Whether the fields behind the hypothesis have numbers alone, at least one."""
        return all(
            field and None not in map(parse_number, field.split())
            for row in rows
            for field in row[2:]
        )

    def lines(self, file: ListFile) -> Iterator[bytes]:
        """Yield the lines with named features, and the score last: the first if none is."""
        form: tuple[int, int] | None = None
        for number, line in enumerate(file.byte_lines(), 1):
            fields = split_fields(line)
            scores = fields[2].split() if len(fields) > 2 else []
            form = form or (min(max(len(fields), 3), 4), max(len(scores), 1))
            if (len(fields), len(scores)) != form:
                file.fail(
                    number,
                    f"{counted(len(fields), 'field')} separated by |||, the third with "
                    f"{counted(len(scores), 'score')}; expected {form[0]}: id, hypothesis, "
                    f"{counted(form[1], 'score')}{', score of the list' * (form[0] - 3)}",
                )
            named = b" ".join(b"F%d= %s" % item for item in enumerate(scores))
            yield b" ||| ".join([fields[0], fields[1], named, (*fields, scores[0])[3]])


@dataclass(frozen=True)
class Marian(BarsReader):
    """Read `0 ||| hypothesis [||| 0-0 1-1] [||| WordScores= ...] ||| F0= -3.1 ||| -0.4`.

    F0, F1, ... are the scores of the models; those of marian-scorer (`Score=`, or the name of
    `--n-best-feature`) may stand in any field. A single score may follow its `=` without a space.
    Word scores are not used. A soft alignment becomes a hard one: each word is linked to the
    source word of the highest probability. Marian also aligns the end of the sentence; links to
    the position after the last token are left out.
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
        """Whether the features before the last field begin with F0, one value each.

        Word scores, of which each word has one, may stand among them.
        """
        features = re.compile(rb"F0= *\S+(?: +[^\s=]+= *\S+)*")
        fields = ([_WORD_SCORES.sub(b"", x.encode()).strip() for x in row[2:-1]] for row in rows)
        return all(features.fullmatch(next(filter(None, each[::-1]), b"")) for each in fields)

    def lines(self, file: ListFile) -> Iterator[bytes]:
        """Yield the lines with the word alignment last, without word scores."""
        first: tuple[bool, bool] | None = None
        remarks: dict[str, None] = {}
        for number, line in enumerate(file.byte_lines(), 1):
            fields = split_fields(line)
            if len(fields) < 4:
                file.fail(
                    number,
                    f"{counted(len(fields), 'field')} separated by |||, expected at least 4: id, "
                    f"hypothesis, then maybe alignment and word scores, features, score",
                )
            features, alignments = _marian_fields(fields[2:-1])
            form = any(b"WordScores=" in field for field in fields[2:-1]), bool(alignments)
            first = form if first is None else first
            if form != first:
                file.fail(
                    number,
                    f"{_form(*form)}, line 1 has {_form(*first)}",
                )
            row = [fields[0], fields[1], features, fields[-1]]
            if alignments:
                row.append(_inner_links(file, number, fields[1], alignments[0]))
            if form[0]:
                remarks["word scores not used"] = None
            if len(alignments) > 1:
                remarks["the first of two word alignments used"] = None
            if alignments and b"," in alignments[0]:
                remarks["soft alignment made hard"] = None
            yield b" ||| ".join(row)
        file.remarks.extend(remarks)


_WORD_SCORES = re.compile(rb"WordScores=[ \t]*(?:[^\s=]+(?:[ \t]+|$))*")
_NAMED = re.compile(rb"(?:^|(?<=[ \t]))[^\s=]+=")


def _marian_fields(fields: list[bytes]) -> tuple[bytes, list[bytes]]:
    """Return the features without word scores, and the word alignments.

    marian-scorer adds its score to the third field, whatever that is: word scores, an alignment.
    """
    named, alignments = [], []
    for field in fields:
        label = _NAMED.search(field)
        alignment = field[: label.start()].strip() if label else field
        if alignment or not field:
            alignments.append(alignment)
        if label:
            named.append(_WORD_SCORES.sub(b"", field[label.start() :]).strip())
    return b" ".join(filter(None, named)), alignments


def _inner_links(file: ListFile, line: int, hypothesis: bytes, alignment: bytes) -> bytes:
    """Return the links but those to the end of the sentence."""
    if b"," in alignment:
        rows = [row.split(",") for row in alignment.decode(errors="replace").split()]
        alignment = b" ".join(b"%d-%d" % pair for pair in file.hard_links(line, rows))
    length = len(hypothesis.split())
    inner = []
    for item in alignment.split():
        match = _LINK.fullmatch(item)
        if match is not None and int(match[1]) > length:
            file.fail(
                line,
                f"link {item.decode()}, but the hypothesis has {counted(length, 'token')}; Marian "
                f"aligns subwords: let it print them (--no-spm-decode) and join them by --text",
            )
        if match is None or int(match[1]) != length:
            inner.append(item)
    return b" ".join(inner)


def _form(scored: bool, linked: bool) -> str:
    parts = [
        "a word alignment" if linked else "no word alignment",
        "word scores" if scored else "no word scores",
    ]
    return " and ".join(parts)
