"""Read hypotheses one a line, N for each source segment."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from annotated_types import Ge
from pydantic.dataclasses import dataclass

from portmert.tuner.ground import options
from portmert.tuner.ground.errors import InputError, counted
from portmert.tuner.nbest.readers._base import CollectingReader, Collector, ListFile, finite_number


@dataclass(frozen=True)
class Flat(CollectingReader):
    """Read a hypothesis a line, `n` lines a segment; scores may follow it, behind tabs.

    Parameters
    ----------
    n
        Number of hypotheses of each segment.
    names
        Names of the scores, joined by `+`. Default: F0, F1, ...
    """

    n: Annotated[int, Ge(1)]
    names: str = ""

    title: ClassVar[str] = "flat"
    joined: ClassVar[tuple[str, ...]] = ("names",)
    example: ClassVar[tuple[str, ...]] = ("", "a b\t-1.5\n", "b\t-1\n", "\t-2\n", "c\t0\n")

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:  # noqa: ARG003  only a user knows n
        """Never: plain text is anything."""
        return False

    def collect(self, file: ListFile) -> Collector:
        """Return the hypotheses of a whole file."""
        lines = file.lines()
        if len(lines) % self.n:
            raise InputError(
                f"{file.where}: {counted(len(lines), 'line')}, no multiple of n={self.n}; every "
                f"segment has n hypotheses"
            )
        segments = file.segments
        if segments is not None and len(lines) != segments * self.n:
            raise InputError(
                f"{file.where}: {counted(len(lines), 'line')} with n={self.n}: "
                f"{counted(len(lines) // self.n, 'segment')}, the references have {segments}"
            )
        columns = lines[0].count("\t")
        names = self._names(columns, file)
        collector = Collector(file, tuple((name, 1) for name in names))
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
            collector.add(number, segment=(number - 1) // self.n, text=text, values=values)
        return collector

    def _names(self, columns: int, file: ListFile) -> list[str]:
        if not self.names:
            return [f"F{k}" for k in range(columns)]
        names = options.names(self.names, "+")
        if len(names) != columns or len(set(names)) != len(names):
            raise InputError(
                f"{file.where}: names={self.names} must be {columns} different names: there are "
                f"{counted(columns, 'column')} behind tabs"
            )
        return names
