"""Read lattices of OpenFst and Kaldi as text: `from to word cost`."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.base.errors import InputError, counted, shown
from portmert.tuner.base.files import read_lines

from .._best_string_kernels import Graph
from ..model import Builder, FeatureColumns, GraphError
from ._base import Block, GraphReader

_EMPTY = {"<eps>", "<epsilon>", "<s>", "</s>", "#0"}
_ARC = re.compile(r"\d+\s+\d+\s+\S+(\s+\S+){0,2}$")


@dataclass(frozen=True)
class Openfst(GraphReader):
    """Read text of OpenFst's `fstprint`; an archive of several has the id above each.

    The first state is the start. The feature `-cost` is the cost times -1, and `length` the number
    of words.

    Parameters
    ----------
    symbols
        A file of `word number` lines, where the lattices have numbers.
    """

    symbols: Path | None = None

    title: ClassVar[str] = "OpenFst text"
    costs: ClassVar[tuple[str, ...]] = ("-cost",)
    scales: ClassVar[dict[str, tuple[float, ...]]] = {}
    """The start weights of costs that are not 1."""

    @classmethod
    def recognises(cls, head: str) -> bool:
        """Whether the first lines are arcs, with one cost each."""
        lines = [line for line in head.splitlines() if line.strip()]
        arcs = [line for line in lines if _ARC.match(line)]
        is_kaldi = any("," in line.split()[-1] for line in arcs)
        return bool(arcs) and lines[0] in arcs and is_kaldi == (len(cls.costs) > 1)

    @cached_property
    def words(self) -> dict[str, str]:
        """The word of each number; none where lattices have words."""
        if self.symbols is None:
            return {}
        rows = [line.split() for line in read_lines(self.symbols)]
        for number, row in enumerate(rows, 1):
            if len(row) != 2:
                raise InputError(f"{self.symbols}:{number}: expected a word and its number")
        return {row[1]: row[0] for row in rows}

    def parsed(self, block: Block, columns: FeatureColumns) -> Graph:
        """Return the graph of a segment."""
        builder = Builder(columns)
        states: dict[int, int] = {}
        features = [columns.columns_of(name)[0] for name in self.costs]
        length = columns.columns_of("length")[0]
        columns.start["length"] = (0.0,)
        columns.start |= self.scales
        finals = []

        def state(number: int, text: str) -> int:
            return states.setdefault(block.natural(number, text, "a state"), len(states))

        for number, line in block.lines():
            row, costs = self._split(block, number, line.split())
            values = {column: -cost for column, cost in zip(features, costs, strict=True)}
            tail = state(number, row[0])
            if len(row) == 1:
                finals.append((tail, values))
                continue
            word = self._word(block, number, row[-1])
            if word:
                values[length] = 1.0
            builder.step(tail, state(number, row[1]), word, values)
        if not finals:
            raise GraphError("no final state; is the file cut off?")
        goal = len(states)
        for final, values in finals:
            builder.step(final, goal, "", values)
        return builder.graph(goal, start=0)

    def _split(self, block: Block, number: int, row: list[str]) -> tuple[list[str], list[float]]:
        """Return states and words of a line, and its costs: 0 where it has none."""
        cost = r"[+-]?([\d.]+(e[+-]?\d+)?|inf|nan)" + r",.*" * (len(self.costs) > 1)
        if not (
            len(row) in {2, 5}
            or (len(row) == 4 and re.fullmatch(cost, row[3], re.IGNORECASE) is not None)
        ):
            if len(row) not in {1, 3, 4}:
                block.fail(number, f"{counted(len(row), 'field')}, expected at most 5")
            return row, [0.0] * len(self.costs)
        parts = row[-1].split(",")[: len(self.costs)]
        if len(parts) < len(self.costs):
            block.fail(number, f"'{shown(row[-1])}' has one cost, expected two, as 1.5,20")
        return row[:-1], [block.number(number, part, "a cost") for part in parts]

    def _word(self, block: Block, number: int, label: str) -> str:
        """Return the word that an arc writes, nothing for an empty one."""
        if self.words and label not in self.words:
            block.fail(number, f"word {shown(label)} is not in {self.symbols}")
        word = self.words.get(label, label)
        return "" if word in _EMPTY or label == "0" else word


@dataclass(frozen=True)
class KaldiLattice(Openfst):
    """Read Kaldi's lattices as text: `from to word graph,acoustic,...`, as `ark,t:` writes them.

    The features `-graph` and `-acoustic` are the costs times -1, and `length` is the number of
    words. The start weight of `-acoustic` is 0.1, Kaldi's usual acoustic scale.

    Parameters
    ----------
    symbols
        Kaldi's words.txt, where the lattices have numbers.
    """

    title: ClassVar[str] = "Kaldi lattice"
    costs: ClassVar[tuple[str, ...]] = ("-graph", "-acoustic")
    scales: ClassVar[dict[str, tuple[float, ...]]] = {"-acoustic": (0.1,)}
