"""Read lattices of OpenFst and Kaldi as text: `from to word cost`, or `from to word graph,acoustic`."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from pydantic.dataclasses import dataclass

from ...base.errors import InputError, counted, shown
from ...base.files import read_lines
from ..model import Builder, Columns, Graph, GraphFault
from ._base import Block, GraphReader

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

    def parsed(self, block: Block, columns: Columns) -> Graph:
        """Return the graph of a segment."""
        builder = Builder(columns)
        states: dict[int, int] = {}
        features = [columns.of(name)[0] for name in self.costs]
        length = columns.of("length")[0]
        finals = []

        def state(number: int, text: str) -> int:
            return states.setdefault(block.natural(number, text, "a state"), len(states))

        for number, line in block.lines():
            row = line.split()
            costs = [0.0] * len(self.costs)
            has_cost = len(row) in {2, 5} or (len(row) == 4 and self._is_cost(row[3]))
            if has_cost:
                parts = row[-1].split(",")[: len(costs)]
                if len(parts) < len(costs):
                    block.fail(number, f"'{shown(row[-1])}', expected {counted(2, 'cost')}: 1.5,20")
                costs = [block.number(number, part, "a cost") for part in parts]
            values = {column: -cost for column, cost in zip(features, costs, strict=True)}
            if len(row) < 3:
                finals.append((state(number, row[0]), values))
                continue
            if len(row) > 5:
                block.fail(number, f"{counted(len(row), 'field')}, expected at most 5")
            label = row[3] if len(row) - has_cost == 4 else row[2]
            word = self.words.get(label, "" if self.words else label)
            if self.words and not word:
                block.fail(number, f"word {shown(label)} is not in {self.symbols}")
            is_word = word not in {"<eps>", "<epsilon>", "<s>", "</s>", "#0"} and label != "0"
            if is_word:
                values[length] = 1.0
            tail = state(number, row[0])
            builder.step(tail, state(number, row[1]), word if is_word else "", values)
        if not finals:
            raise GraphFault("no final state; is the file cut off?")
        goal = len(states)
        for final, values in finals:
            builder.step(final, goal, "", values)
        builder.arc(0, (), ())
        return builder.graph(goal)

    def _is_cost(self, text: str) -> bool:
        """Whether the fourth of four fields is a cost and not the word that is written."""
        pattern = r"-?[\d.]+(e[+-]?\d+)?" + r",.*" * (len(self.costs) > 1)
        return re.fullmatch(pattern, text, re.IGNORECASE) is not None


@dataclass(frozen=True)
class KaldiLattice(Openfst):
    """Read text of Kaldi's `lattice-copy` and `lattice-best-path`: `from to word graph,acoustic,...`.

    The features `-graph` and `-acoustic` are the costs times -1, and `length` is the number of
    words.

    Parameters
    ----------
    symbols
        Kaldi's words.txt, where the lattices have numbers.
    """

    title: ClassVar[str] = "Kaldi lattice"
    costs: ClassVar[tuple[str, ...]] = ("-graph", "-acoustic")
