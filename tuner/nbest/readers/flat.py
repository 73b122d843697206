"""Read hypotheses one a line, N for each source segment."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from annotated_types import Ge
from pydantic.dataclasses import dataclass

from portmert.tuner.ground.errors import InputError, counted
from portmert.tuner.ground.files import read_lines
from portmert.tuner.nbest.readers._base import CollectingReader, Collector, ListFile, finite_number


@dataclass(frozen=True)
class Flat(CollectingReader):
    """Read a hypothesis a line, `n` lines a segment; scores follow tabs or are in other files.

    Parameters
    ----------
    n
        Number of hypotheses of each segment.
    scores
        Files with one score a line, joined by `+`: `scores=nmt.txt+lm.txt`.
    names
        Names of the scores, joined by `+`: first the columns, then the files. Default: F0, F1, ...
    """

    n: Annotated[int, Ge(1)]
    scores: str = ""
    names: str = ""

    title: ClassVar[str] = "flat"
    beside: ClassVar[tuple[str, ...]] = ("scores",)
    example: ClassVar[tuple[str, ...]] = ("", "a b\t-1.5\n", "b\t-1\n", "\t-2\n", "c\t0\n")
    example_options: ClassVar[str] = "n=2"

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:  # noqa: ARG003  only a user knows n
        """Never: plain text is anything."""
        return False

    def collect(self, file: ListFile, segments: int | None) -> Collector:
        """Return the hypotheses of a whole file."""
        lines = file.lines()
        if len(lines) % self.n:
            raise InputError(
                f"{file.where}: {counted(len(lines), 'line')}, no multiple of n={self.n}; every "
                f"segment has n hypotheses"
            )
        if segments is not None and len(lines) != segments * self.n:
            raise InputError(
                f"{file.where}: {counted(len(lines), 'line')} with n={self.n}: "
                f"{counted(len(lines) // self.n, 'segment')}, the references have {segments}"
            )
        others = [self._scores(path, len(lines), file) for path in self.scores.split("+") if path]
        columns = lines[0].count("\t")
        names = self._names(columns, len(others), file)
        collector = Collector(file, tuple((name, 1) for name in names), segments)
        for number, line in enumerate(lines, 1):
            text, *cells = line.split("\t")
            if len(cells) != columns:
                file.fail(
                    number,
                    f"{counted(len(cells), 'score')} behind tabs, line 1 has {columns}",
                )
            values = [
                finite_number(file, number, cell, f"score {name}")
                for cell, name in zip(cells, names, strict=False)
            ]
            values += [column[number - 1] for column in others]
            collector.add(number, segment=(number - 1) // self.n, text=text, values=values)
        return collector

    def _names(self, columns: int, files: int, file: ListFile) -> list[str]:
        if not self.names:
            return [f"F{k}" for k in range(columns + files)]
        names = self.names.split("+")
        if len(names) != columns + files or len(set(names)) != len(names) or "" in names:
            raise InputError(
                f"{file.where}: names={self.names} must be {columns + files} different names: "
                f"there are {counted(columns, 'column')} behind tabs and {counted(files, 'file')} "
                f"of scores"
            )
        return names

    @staticmethod
    def _scores(path: str, expected: int, file: ListFile) -> list[float]:
        lines = read_lines(path)
        if len(lines) != expected:
            raise InputError(
                f"{path}: {counted(len(lines), 'score')}, {file.where} has "
                f"{counted(expected, 'hypothesis')}; give one number a hypothesis"
            )
        own = ListFile(path, b"")
        return [finite_number(own, n, line, "the score") for n, line in enumerate(lines, 1)]
