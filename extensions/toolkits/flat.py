"""Read hypotheses one per line, N for each source segment."""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar

from annotated_types import Ge
from pydantic.dataclasses import dataclass

from portmert.tuner.base import options
from portmert.tuner.base.errors import ConfigError, InputError, counted, shown
from portmert.tuner.base.numbers import parse_number
from portmert.tuner.nbest.readers._base import Reader
from portmert.tuner.nbest.records import Hypothesis, ListFile

_BETWEEN = re.compile(r"\t|(?:^|(?<= ))\|\|\|(?= |$)")
_WITH_ID = re.compile(r"[0-9]{1,9} \|\|\|(?: (?:(?!\|\|\|).)*)?")
_ROLES = {"id", "text", "links", "features", "-"}
_NAMED = re.compile(r"(\S+?)(?:=|: )\s*([^\s=:]+)(?=\s|$)")
"""A feature as `name=value` or `name: value`."""


@dataclass(frozen=True)
class Flat(Reader):
    """Read a hypothesis a line, `n` lines a segment; scores may follow it, behind tabs.

    `fields` reads other orders, between tabs or `|||`: `fields=score+text` those of OpenNMT-tf and
    CTranslate2, `fields=text+links+score` that of OpenNMT-py. Lines `0 ||| hypothesis`, without
    scores, are recognised. With `--ids` and `n=1` lines may begin with the ids of the references.

    Parameters
    ----------
    n
        Number of hypotheses of each segment. It may be missing if lines have an `id`.
    names
        Names of the scores, joined by `+`. Default: F0, F1, ...
    fields
        What a line has, in order, joined by `+`: `text`, `id`, `links` (`0-0 1-1`, or soft as
        OpenNMT-tf writes them), `features` (`name=value` or `name: value`, as Joshua and Phrasal
        write them), `-` for what is not used, or the name of a score. Default: `text` and scores.
    """

    n: Annotated[int, Ge(1)] | None = None
    names: str = ""
    fields: str = ""

    title: ClassVar[str] = "flat"
    joined: ClassVar[tuple[str, ...]] = ("names", "fields")
    example: ClassVar[tuple[str, ...]] = ("", "a b\t-1.5\n", "b\t-1\n", "\t-2\n", "c\t0\n")

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether the lines have an id and a hypothesis; other plain text is anything."""
        return all(_WITH_ID.fullmatch(line) for line in head)

    def records(self, file: ListFile) -> Iterator[Hypothesis]:
        """Yield the hypotheses of a whole file."""
        lines = list(file.lines())
        fields = self._fields(file, lines)
        if not self.fields and self.n == 1 and self._begin_with_ids(file, lines):
            lines = [re.sub(r"[ \t]+|$", "\t", line, count=1) for line in lines]
            fields = ["id", *fields]
        if "id" not in fields:
            self._check_size(file, len(lines))
        scores = [field for field in fields if field not in _ROLES]
        for number, line in enumerate(lines, 1):
            if "id" in fields and not line.strip():
                continue
            cells = [cell.strip(" ") for cell in _BETWEEN.split(line)] if self.fields else None
            if cells is None:
                cells = _BETWEEN.split(line) if "id" in fields else line.split("\t")
            if len(cells) != len(fields):
                file.fail(
                    number,
                    f"{counted(len(cells), 'field')} between tabs or |||, expected "
                    f"{len(fields)}: {', '.join(fields)}",
                )
            row = dict(zip(fields, cells, strict=True))
            features = {name: file.number(number, row[name], f"score {name}") for name in scores}
            features |= _named(file, number, row.get("features", ""))
            segment = row["id"].strip() if "id" in row else (number - 1) // (self.n or 1)
            links = _links(file, number, row["links"]) if "links" in row else None
            yield Hypothesis(number, segment, row["text"], features, links=links)

    def _fields(self, file: ListFile, lines: Sequence[str]) -> list[str]:
        """Return the role of each field of a line, or the name of its score."""
        if self.fields:
            fields = options.names(self.fields, "+")
            scores = [field for field in fields if field != "-"]
            if "text" not in fields or len(set(scores)) < len(scores):
                raise ConfigError(
                    f"fields={self.fields}: expected `text` and what else a line has, each with a "
                    f"name of its own, as score+text"
                )
            return fields
        if self.n is None and self.recognises(file.head):
            return ["id", "text"]
        columns = lines[0].count("\t")
        names = options.names(self.names, "+") if self.names else [f"F{k}" for k in range(columns)]
        if len(names) != columns or len({*names, *_ROLES}) < columns + len(_ROLES):
            raise InputError(
                f"{file.where}: names={self.names} must be {columns} different names: there are "
                f"{counted(columns, 'column')} behind tabs"
            )
        return ["text", *names]

    def _begin_with_ids(self, file: ListFile, lines: Sequence[str]) -> bool:
        """Whether lines are `id text`, as Kaldi writes them, and ids are those of references."""
        ids = file.names.in_references
        first = next(iter(lines[0].split(maxsplit=1)), "")
        return ids is not None and file.names.strict and first in ids

    def _check_size(self, file: ListFile, lines: int) -> None:
        """Raise the error of a list that has not `n` hypotheses for each segment."""
        if self.n is None:
            raise InputError(
                f"{file.where}: how many hypotheses has a segment? give flat:n=N, or name the "
                f"field of the id, as flat:fields=id+text"
            )
        if lines % self.n:
            raise InputError(
                f"{file.where}: {counted(lines, 'line')}, no multiple of n={self.n}; every "
                f"segment has n hypotheses"
            )
        segments = file.segments
        if segments is not None and lines != segments * self.n:
            raise InputError(
                f"{file.where}: {counted(lines, 'line')} with n={self.n}: "
                f"{counted(lines // self.n, 'segment')}, the references have {segments}"
            )


def _named(file: ListFile, line: int, text: str) -> dict[str, float]:
    """Return the features of a field `name=value name: value`."""
    pairs = _NAMED.findall(text)
    if _NAMED.sub("", text).strip():
        file.fail(line, f"'{shown(text)}', expected features as name=value or name: value")
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        file.fail_of_names(max(names, key=names.count))
    return {name: file.number(line, value, f"feature {name}") for name, value in pairs}


def _links(file: ListFile, line: int, text: str) -> list[tuple[int, int]]:
    """Return the links of a hypothesis; soft ones have a `;` between words of the hypothesis."""
    rows = [row.split() for row in text.split(";")]
    if all(parse_number(item) is not None for row in rows for item in row or [""]):
        return file.hard_links(line, rows)
    return file.links(line, text)
