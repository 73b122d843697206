"""Reads human scores of several systems' outputs, and finds the outputs they are about.

The scores are a table with tabs between its columns. Its first line names them: `system`,
`segment` (line of the output, from 0), `score`, maybe `document`, `judge` and `group`. Or they are
the rankings of WMT 2010 to 2016, a CSV file with columns `srcIndex` (from 1), `system1Id`,
`system1rank` and so on; a rank of 1 is the best, -1 is none. The outputs
are a folder of files named after the systems, `SYSTEM.en`, one segment a line. A TOML file may
list several test sets, each a table `[[set]]` with the keys of `JudgedSet`; paths in it are
relative to the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import pydantic.dataclasses
from pydantic import Field, TypeAdapter

from portmert.metrics._base import FloatArray, IntArray
from portmert.tuner.base.compressed import COMPRESSED
from portmert.tuner.base.errors import InputError, counted, faults_at, suggest
from portmert.tuner.base.files import TextFile, called, read_lines
from portmert.tuner.base.json_toml import read_toml
from portmert.tuner.base.numbers import FINITE, parse_finite
from portmert.tuner.base.options import file_key
from portmert.tuner.texts.groups import Groups, numbered, read_groups

Several = Literal["refuse", "mean", "each"]
"""How to treat several judgments of one output: as a fault, by their mean, or one by one."""
OfSystems = Literal["mean", "weighted", "better", "better-or-equal"]
"""People's score of a system: mean over judgments, or the share of comparisons that it wins."""

_MOST_DIGITS = 7
"""Digits of a segment's number: a slip must not ask for a table as large as the memory."""
_MOST_CELLS, _SPARSEST = 10_000_000, 50
"""Largest table of systems and segments: this many cells, or this many cells a score."""


@dataclass(frozen=True, eq=False)
class Judgments:
    """J judgments, one by one.

    Parameters
    ----------
    segments, systems : (J,) int64
        Row and column of each in the table of scores.
    judges : (J,) int64
        Number of the judge; all 0 if the file names no judges.
    scores : (J,) float64
    """

    segments: IntArray
    systems: IntArray
    judges: IntArray
    scores: FloatArray

    def of_systems(self, columns: Sequence[int]) -> Judgments:
        """Return those of some systems, renumbered."""
        places = np.full(max(int(self.systems.max(initial=0)), *columns) + 1, -1, dtype=np.int64)
        places[list(columns)] = np.arange(len(columns))
        systems = places[self.systems]
        is_kept = systems >= 0
        return Judgments(
            self.segments[is_kept], systems[is_kept], self.judges[is_kept], self.scores[is_kept]
        )


@dataclass(frozen=True, eq=False)
class HumanScores:
    """Human scores of M systems' translations of S segments.

    Parameters
    ----------
    path : Path
        The file they were read from; messages begin with it.
    systems : tuple of str
        M names, in the order of the file.
    scores : (S, M) float64
        Higher is better. The mean of several judgments; NaN for a segment without a judgment.
    partitions
        `document` and `group` (a domain, a genre), those that are known.
    judgments : Judgments or None
        If every judgment is a data point of its own.
    is_ranking
        Whether they were ranks, which are negated.
    """

    path: Path
    systems: tuple[str, ...]
    scores: FloatArray
    partitions: Mapping[str, Groups] = field(default_factory=dict)
    judgments: Judgments | None = None
    is_ranking: bool = False

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def complete(self) -> IntArray:
        """Segments with a score of every system, rising; with single judgments, those with any."""
        missing = np.isnan(self.scores)
        left_out = missing.any(axis=1) if self.judgments is None else missing.all(axis=1)
        return np.flatnonzero(~left_out).astype(np.int64)

    def negated(self) -> HumanScores:
        """Return penalties, for which lower is better, as scores."""
        judgments = self.judgments and replace(self.judgments, scores=-self.judgments.scores)
        return replace(self, scores=-self.scores, judgments=judgments)

    def of_systems(self, names: Sequence[str]) -> HumanScores:
        """Return the scores of some systems, in the order given.

        Raises
        ------
        InputError
            A system without scores, or named twice.
        """
        for position, name in enumerate(names):
            if name not in self.systems:
                raise InputError(
                    f"{self.path}: no score of system '{name}'{suggest(name, self.systems)}"
                )
            if name in names[:position]:
                raise InputError(f"system '{name}' is named twice, expected each once")
        columns = [self.systems.index(name) for name in names]
        return replace(
            self,
            systems=tuple(names),
            scores=self.scores[:, columns],
            judgments=self.judgments and self.judgments.of_systems(columns),
        )

    def of_segments(self, numbers: IntArray) -> HumanScores:
        """Return the scores of some segments, rising."""
        judgments = self.judgments
        if judgments is not None:
            rows = np.isin(judgments.segments, numbers)
            places = np.searchsorted(numbers, judgments.segments[rows]).astype(np.int64)
            judgments = Judgments(
                places, judgments.systems[rows], judgments.judges[rows], judgments.scores[rows]
            )
        partitions = {level: x.of_segments(numbers) for level, x in self.partitions.items()}
        return replace(
            self, scores=self.scores[numbers], partitions=partitions, judgments=judgments
        )

    def of_length(self, segments: int, *, origin: Path | str) -> HumanScores:
        """Return the scores extended to all segments of a test set.

        Parameters
        ----------
        segments
            Number of lines of the file `origin`, for the message.

        Raises
        ------
        InputError
            A score belongs to a segment that the test set lacks.
        """
        if len(self) > segments:
            raise InputError(
                f"{self.path}: a score of segment {len(self) - 1} (counted from 0), but {origin} "
                f"has {counted(segments, 'line')}; are both of the same test set?"
            )
        missing = segments - len(self)
        partitions = {
            level: replace(x, of_segment=np.pad(x.of_segment, (0, missing), constant_values=-1))
            for level, x in self.partitions.items()
        }
        scores = np.pad(self.scores, ((0, missing), (0, 0)), constant_values=np.nan)
        return replace(self, scores=scores, partitions=partitions)

    def in_groups(self, groups: TextFile) -> HumanScores:
        """Return the scores with the group of each segment, which a file names.

        Raises
        ------
        InputError
            As `read_groups`, or groups are known already.
        """
        if "group" in self.partitions:
            raise InputError(
                f"{self.path}: has a column group; take it out, or leave out {called(groups)}"
            )
        read = read_groups(groups, len(self))
        return replace(self, partitions={**self.partitions, "group": read})


class NameInLine(NamedTuple):
    """The name of a segment's document or group, and the first line that says it."""

    name: str
    line: int


def read_human_scores(path: Path, judgments: Several = "refuse") -> HumanScores:
    """Read a table of human scores.

    Parameters
    ----------
    judgments
        How to treat several judgments of one system's output of a segment.

    Raises
    ------
    InputError
        A column is missing; a score is no finite number; a segment is no number, has two scores of
        one system (or of one judge, if several may judge), or is in two documents. The message
        names the line.
    """
    lines = read_lines(path)
    if len(lines) < 2:
        state = "no scores behind the column names" if lines else "the file is empty"
        raise InputError(f"{path}: {state}; expected a line of column names, then a line a score")
    is_ranking = "system1rank" in lines[0].split(",")
    names, named_rows = (_rankings if is_ranking else _table)(path, lines)
    if is_ranking and judgments == "refuse":
        judgments = "each"
    line_of: dict[tuple[str, int, str], int] = {}
    rows: list[_Row] = []
    of_segments: dict[str, dict[int, NameInLine]] = {
        name: {} for name in ("document", "group") if name in names
    }
    for number, row in named_rows:
        system, segment = row["system"], _segment(row["segment"], path, number)
        judge = row.get("judge", "") if judgments != "refuse" else ""
        if judgments == "refuse" or "judge" in row:
            first_line = line_of.setdefault((system, segment, judge), number)
            if first_line != number:
                fault = (
                    f"system '{system}' has a score of segment {segment} in line {first_line} "
                    f"already; several judgments of one output are taken with --judgments"
                    if judgments == "refuse"
                    else f"judge '{judge}' has judged system '{system}' in segment {segment} in "
                    f"line {first_line} already; leave one"
                )
                raise InputError(f"{path}:{number}: {fault}")
        rows.append(_Row(system, segment, judge, _score(row["score"], path, number)))
        for column, name_of_segment in of_segments.items():
            first = name_of_segment.setdefault(segment, NameInLine(row[column], number))
            if first.name != row[column]:
                raise InputError(
                    f"{path}:{number}: segment {segment} is in {column} '{row[column]}', but line "
                    f"{first.line} has it in '{first.name}'"
                )
    scores = replace(_arrays(path, rows, of_segments), is_ranking=is_ranking)
    return scores if judgments == "each" else replace(scores, judgments=None)


_RANKED = ("system", "segment", "judge", "score")
_Rows = Iterator[tuple[int, dict[str, str]]]
"""Number of a line, and what it says by the name of the column."""


def _table(path: Path, lines: Sequence[str]) -> tuple[list[str], _Rows]:
    """Return the names of columns and the rows of a table with tabs."""
    names = lines[0].removeprefix("\ufeff").split("\t")
    for needed in ("system", "segment", "score"):
        if names.count(needed) != 1:
            raise InputError(
                f"{path}:1: {'no' if needed not in names else 'more than one'} column '{needed}'; "
                f"expected columns system, segment, score and maybe document, tabs between them"
            )
    return names, _named(path, lines, names, "\t")


def _named(path: Path, lines: Sequence[str], names: Sequence[str], between: str) -> _Rows:
    for number, line in enumerate(lines[1:], 2):
        cells = line.split(between)
        if len(cells) != len(names):
            raise InputError(
                f"{path}:{number}: {counted(len(cells), 'column')}, the first line names "
                f"{len(names)}"
            )
        yield number, dict(zip(names, cells, strict=True))


def _rankings(path: Path, lines: Sequence[str]) -> tuple[list[str], _Rows]:
    """Return the same of WMT's rankings. Each is a judge of its own; references are no systems.

    Columns as in the README of WMT 2011. Callison-Burch et al., WMT 2010, compare within a ranking
    alone, so a judge may rank a segment twice.
    """
    columns = lines[0].removeprefix("\ufeff").split(",")
    count = sum(name.endswith("rank") for name in columns)
    needed = [f"system{n}{part}" for n in range(1, count + 1) for part in ("Id", "rank")]
    for name in ("srclang", "trglang", "srcIndex", *needed):
        if columns.count(name) != 1:
            raise InputError(
                f"{path}:1: rankings of WMT, but {columns.count(name)} columns '{name}'; expected "
                f"srclang, trglang, srcIndex, system1Id, system1rank and so on, one of each"
            )

    def rows() -> _Rows:
        pair: tuple[str, str] | None = None
        for number, row in _named(path, lines, columns, ","):
            languages = row["srclang"], row["trglang"]
            if languages != (pair := pair or languages):
                raise InputError(
                    f"{path}:{number}: a ranking of {'-'.join(languages)}, those before are of "
                    f"{'-'.join(pair)}; keep the lines of one pair of languages"
                )
            index = row["srcIndex"]
            if not re.fullmatch("[1-9][0-9]{0,6}", index):
                raise InputError(f"{path}:{number}: srcIndex is '{index}', expected a line from 1")
            for n in range(1, count + 1):
                system, rank = row[f"system{n}Id"], row[f"system{n}rank"]
                if rank == "-1" or system.startswith("_ref"):
                    continue
                if not re.fullmatch("[1-9][0-9]{0,6}", rank):
                    raise InputError(
                        f"{path}:{number}: system{n}rank is '{rank}'; expected a whole number "
                        f"from 1, or -1 for none"
                    )
                segment, judge = str(int(index) - 1), f"of line {number}"
                values = (system, segment, judge, f"-{rank}")
                yield number, dict(zip(_RANKED, values, strict=True))

    return list(_RANKED), rows()


def _segment(text: str, path: Path, number: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise InputError(
            f"{path}:{number}: segment is '{text}'; expected a line number counted from 0, of at "
            f"most {_MOST_DIGITS} digits"
        )
    return int(text)


def _score(text: str, path: Path, number: int) -> float:
    value = parse_finite(text.strip())
    if value is None:
        raise InputError(
            f"{path}:{number}: score is '{text}'; expected a number, {FINITE} (leave the line "
            f"out if the segment was not judged)"
        )
    return value


class _Row(NamedTuple):
    system: str
    segment: int
    judge: str
    score: float


def _arrays(
    path: Path,
    rows: Sequence[_Row],
    of_segments: Mapping[str, Mapping[int, NameInLine]],
) -> HumanScores:
    """Return the scores of a file: the mean judgment of each segment and system.

    Parameters
    ----------
    of_segments
        For each column that groups segments, the name of each segment's group.
    """
    systems, columns = numbered(row.system for row in rows)
    _, judges = numbered(row.judge for row in rows)
    judgments = Judgments(
        np.array([row.segment for row in rows], dtype=np.int64),
        columns,
        judges,
        np.array([row.score for row in rows]),
    )
    count = int(judgments.segments.max()) + 1
    if count * len(systems) > max(_MOST_CELLS, _SPARSEST * len(rows)):
        raise InputError(
            f"{path}: {counted(len(rows), 'score')} of {len(systems)} systems, but one is of "
            f"segment {count - 1}; is that number a slip?"
        )
    place = judgments.segments * len(systems) + judgments.systems
    judged = np.bincount(place, minlength=count * len(systems))
    total = np.bincount(place, judgments.scores, minlength=count * len(systems))
    table = np.where(judged > 0, total / np.maximum(judged, 1), np.nan).reshape(count, -1)
    partitions = {}
    for column, name_of_segment in of_segments.items():
        names, numbers = numbered(first.name for first in name_of_segment.values())
        of_segment = np.full(count, -1, dtype=np.int64)
        of_segment[list(name_of_segment)] = numbers
        partitions[column] = Groups(names, of_segment, f"the {column}s")
    return HumanScores(path, systems, table, partitions, judgments)


def find_outputs(
    folder: Path, systems: Sequence[str], *, others_allowed: bool = False
) -> dict[str, Path]:
    """Return the output file of each system: `SYSTEM`, or `SYSTEM.` and one more suffix.

    Parameters
    ----------
    folder
        Its hidden files and its folders are ignored.
    systems
        In the order of the result.
    others_allowed
        Whether the folder may have outputs of other systems too.

    Raises
    ------
    InputError
        A system without an output or with two, or an output of another system.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; expected a folder of files SYSTEM.en")
    outputs: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or not path.is_file():
            continue
        name = path.name
        for suffix in sorted(COMPRESSED):
            name = name.removesuffix(suffix)
        name = name if name in systems else name.rpartition(".")[0] or name
        if name in outputs:
            raise InputError(
                f"{folder}: two outputs of system '{name}': {outputs[name].name} and {path.name}; "
                f"leave one"
            )
        if name not in systems and not others_allowed:
            raise InputError(
                f"{path}: system '{name}' has no human scores; take the file away, or name the "
                f"systems to compare (--system)"
            )
        outputs[name] = path
    for name in systems:
        if name not in outputs:
            raise InputError(
                f"{folder}: no output of system '{name}', which has human scores; add the file, "
                f"or name the systems to compare (--system)"
            )
    return {name: outputs[name] for name in systems}


Name = Annotated[str, Field(min_length=1)]


@pydantic.dataclasses.dataclass(frozen=True)
class JudgedSet:
    """A test set with human scores of several systems' outputs.

    Parameters
    ----------
    human
        Human scores: tab-separated columns system, segment (from 0), score, and optionally
        document, judge and group.
    outputs : DIR
        Folder of system outputs, files such as SYSTEM.en, one segment a line.
    refs
        Reference translations: FILE, FILE.jsonl#KEY or FILE.tsv#COLUMN.
    source
        Source text: FILE, FILE.jsonl#KEY or FILE.tsv#COLUMN. Metrics of word order need it.
    name
        The name of the test set in tables.
    group
        The data points of all sets with the same group are taken together.
    scenario
        Name of a scenario. Scenarios are shown in the order of their first sets.
    links : DIR
        Folder of word alignments of source and outputs, SYSTEM.links, with lines as 0-0 1-2.
    ref_links
        Word alignment of source and reference; one for each of `refs`, in the same order.
    penalties
        The human scores are penalties, such as HTER: lower is better.
    judgments
        What to do with several judgments of one output: stop with an error, take their mean, or
        use each as a data point.
    system_scores
        The human score of a system: the mean of its judgments, plain or weighted by length. Or
        the share of comparisons that it wins, or does not lose, as in WMT 2008 to 2010: with
        another system, on one segment, by one judge.
    systems
        Use only this system. Default: all.
    groups
        Group of each segment, such as its domain: FILE with a name per line, FILE.jsonl#KEY or
        FILE.tsv#COLUMN. A column `group` of the human scores does the same.
    missing
        Treatment of segments that lack a text or a value: an `error`, or leave out the `segment`.
        A warning counts them. Default: error.
    """

    __test__ = False  # pytest takes it for a test

    human: Path
    outputs: Path
    refs: Annotated[tuple[Path, ...], Field(min_length=1)]
    name: str = ""
    group: str = ""
    scenario: str = ""
    source: Path | None = None
    links: Path | None = None
    ref_links: tuple[Path, ...] = ()
    penalties: bool = False
    judgments: Several = "refuse"
    system_scores: OfSystems = "mean"
    systems: tuple[Name, ...] = ()
    groups: Path | None = None
    missing: Literal["error", "segment"] | None = None


def read_judged_sets(path: Path) -> tuple[JudgedSet, ...]:
    """Read the test sets of a file. Paths in it are taken from its folder.

    Raises
    ------
    InputError
        It is not TOML, lists nothing, has another key or a value of another kind, names two test
        sets alike, or a file that is not there.
    """
    content = read_toml(path)
    tables = content.get("set")
    if set(content) != {"set"} or not isinstance(tables, list) or not tables:
        raise InputError(f"{path}: expected tables [[set]], one of each test set, nothing else")
    sets: list[JudgedSet] = []
    keys = [key.name for key in fields(JudgedSet)]
    for number, table in enumerate(tables, 1):
        for key in table if isinstance(table, dict) else ():
            if key not in keys:
                near = suggest(key, keys)
                raise InputError(f"{path}: test set {number}: no key '{key}'{near}")
        with faults_at(f"{path}: test set {number}", ValueError, InputError):
            judged_set = TypeAdapter(JudgedSet).validate_python(table)
        if not judged_set.name:
            raise InputError(f'{path}: test set {number} has no name; add name = "..."')
        if judged_set.name in (earlier.name for earlier in sets):
            raise InputError(f"{path}: two test sets are named '{judged_set.name}'")
        sets.append(_in_folder(judged_set, path.parent, f"{path}: test set {number}"))
    return tuple(sets)


def _in_folder(judged_set: JudgedSet, folder: Path, where: str) -> JudgedSet:
    """Return a test set whose paths are taken from a folder; all are there."""

    def checked(key: str, path: Path, *, is_folder: bool = False) -> Path:
        path = folder / path
        name, _ = file_key(str(path))
        # os.path takes long names.
        if not os.path.exists(name) or os.path.isdir(name) != is_folder:  # noqa: PTH110, PTH112
            kind = "folder" if is_folder else "file"
            raise InputError(f"{where}: {key}: there is no {kind} {path}")
        return path

    source, links, groups = judged_set.source, judged_set.links, judged_set.groups
    return replace(
        judged_set,
        human=checked("human", judged_set.human),
        outputs=checked("outputs", judged_set.outputs, is_folder=True),
        source=source and checked("source", source),
        links=links and checked("links", links, is_folder=True),
        groups=groups and checked("groups", groups),
        refs=tuple(checked("refs", path) for path in judged_set.refs),
        ref_links=tuple(checked("ref_links", path) for path in judged_set.ref_links),
    )
