"""The base class of readers of search graphs, and the text of one segment's graph.

To add a format, write one public file in this folder with one frozen pydantic dataclass that
derives from `GraphReader`, and an entry point of its name in `portmert.graph_readers`.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, NamedTuple, NoReturn

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as component_dataclass

from portmert.tuner.base.components import Component
from portmert.tuner.base.errors import InputError, counted, shown
from portmert.tuner.base.files import decode_line
from portmert.tuner.base.numbers import FINITE, parse_number

from .._best_string_kernels import Graph
from ..model import MOST_ARCS, FeatureColumns, GraphError


class Block(NamedTuple):
    """The graph of one segment as text.

    Parameters
    ----------
    where
        The name of its file in messages.
    segment
        Its id; "" where the format has none.
    line
        The number of its first line in the file, from 1.
    data
    """

    where: str
    segment: str
    line: int
    data: bytes

    def fail(self, line: int, message: str) -> NoReturn:
        """Raise the error of a line of the block, from 0."""
        segment = f"segment {shown(self.segment)}: " if self.segment else ""
        raise InputError(f"{self.where}:{self.line + line}: {segment}{message}")

    def shown(self) -> str:
        """Return how it begins, for a message."""
        return shown(self.data[:60].decode("utf-8", "replace"))

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are not blank and their numbers, from 0."""
        for number, line in enumerate(self.data.split(b"\n")):
            if line.strip():
                yield number, decode_line(line, self.where, self.line + number).rstrip()

    def number(self, line: int, text: str, meaning: str) -> float:
        """Return a finite number, or raise the error of the line; `meaning` names the number."""
        value = parse_number(text)
        if value is None:
            self.fail(line, f"'{shown(text)}' for {meaning} is not a number")
        if not math.isfinite(value):
            self.fail(line, f"{meaning} is {shown(text)}; values must be {FINITE}")
        return value

    def natural(self, line: int, text: str, meaning: str) -> int:
        """Return the number of a node, or raise the error of the line."""
        if not text.isdecimal() or len(text) > 9:
            self.fail(line, f"'{shown(text)}' for {meaning} is not a whole number")
        return int(text)


@component_dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class GraphReader(Component):
    """Read one format of search graphs."""

    title: ClassVar[str]
    """The name of the format for users."""
    begins: ClassVar[re.Pattern[str]]
    """How graphs of this format begin, and no others."""
    arc_mark: ClassVar[bytes] = b"\n"
    """What stands once for each arc: arcs are counted before they are read."""
    has_links: ClassVar[bool] = False
    """Whether graphs have `spans`."""
    _family: ClassVar[str] = "graph-reader"

    @classmethod
    def recognises(cls, head: str) -> bool:
        """Whether the first lines of a graph can only be of this format."""
        return cls.begins.search(head) is not None

    def named_by(self, weights: Path) -> GraphReader:  # noqa: ARG002  most graphs have names
        """Return the reader with the names of features that a file of weights has."""
        return self

    def blocks(self, file: Block) -> Iterator[Block]:
        """Yield the graphs of a file that holds several in the format's own way; else itself."""
        yield file

    def each_line(self, file: Block) -> Iterator[Block]:
        """Yield each line that is not blank; several are numbered. For `blocks`."""
        lines = [pair for pair in enumerate(file.data.split(b"\n")) if pair[1].strip()]
        for segment, (number, line) in enumerate(lines):
            name = file.segment if len(lines) == 1 else str(segment)
            yield file._replace(segment=name, line=file.line + number, data=line)

    def graph(self, block: Block, columns: FeatureColumns) -> Graph:
        """Return the graph of a segment.

        Raises
        ------
        InputError
            It is not what it should be; the message says which line.
        """
        arcs = block.data.count(self.arc_mark)
        if arcs > MOST_ARCS:
            block.fail(
                0,
                f"a graph of up to {arcs} arcs, at most {MOST_ARCS} fit into memory; prune it, "
                f"or decode with a smaller beam",
            )
        try:
            graph = self.parsed(block, columns)
        except GraphError as error:
            block.fail(0, f"{self.title}: {error}")
        end = block.data.rpartition(b"\n")[2]
        if self.arc_mark == b"\n" and end.strip():
            block.fail(
                block.data.count(b"\n"),
                f"`{shown(end.decode('utf-8', 'replace'))}`: the last line has no line end; is "
                f"the file cut off? If it is whole, end the line",
            )
        return graph

    @abstractmethod
    def parsed(self, block: Block, columns: FeatureColumns) -> Graph:
        """Return the graph of a text that fits into memory; see `graph`."""


def check_count(block: Block, line: int, meaning: str, count: int, expected: int) -> None:
    """Raise the error of a graph that has another number of arcs or nodes than it says."""
    if count != expected:
        block.fail(
            line, f"{counted(count, meaning)}, the header says {expected}; is the file cut off?"
        )
