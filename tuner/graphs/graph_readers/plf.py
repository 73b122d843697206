"""Read lattices in the Python form (PLF), as Moses and cdec take them: a line for each segment."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from ...base.errors import shown
from ..model import Builder, Columns, Graph
from ._base import Block, GraphReader


def lines_as_blocks(file: Block) -> Iterator[Block]:
    """Yield each line that is not blank; several are numbered."""
    lines = [pair for pair in enumerate(file.data.split(b"\n")) if pair[1].strip()]
    for segment, (number, line) in enumerate(lines):
        name = file.segment if len(lines) == 1 else str(segment)
        yield file._replace(segment=name, line=file.line + number, data=line)


@dataclass(frozen=True)
class Plf(GraphReader):
    """Read `((('a',0.5,1),('b',0.1,2),),(('c',1.0,1),),)`: words, numbers, how far the arc leads.

    The numbers are the feature `LatticeCost`, which Moses and cdec add with a positive weight; a
    dict in place of them names features.
    """

    title: ClassVar[str] = "PLF"
    arc_mark: ClassVar[bytes] = b"',"

    @classmethod
    def recognises(cls, head: str) -> bool:
        """Whether it begins with three brackets and a quoted word."""
        return head.replace(" ", "").startswith(("((('", '((("'))

    def blocks(self, file: Block) -> Iterator[Block]:
        """Yield each line."""
        return lines_as_blocks(file)

    def parsed(self, block: Block, columns: Columns) -> Graph:
        """Return the graph of a segment."""
        try:
            nodes: Any = ast.literal_eval(block.data.decode("utf-8").strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            block.fail(0, f"`{shown(block.data.decode('utf-8', 'replace'))}` is no lattice")
        builder = Builder(columns)
        for node, arcs in enumerate(nodes):
            for arc in arcs if isinstance(arcs, tuple) else ((),):
                match arc:
                    case (str(word), *costs, int(distance)) if distance > 0:
                        head = node + distance
                    case _:
                        block.fail(0, f"{shown(repr(arc))} is no arc ('word', cost, distance)")
                if head > len(nodes):
                    block.fail(0, f"{shown(repr(arc))} leads to node {head} of {len(nodes)}")
                named = costs[0] if len(costs) == 1 and isinstance(costs[0], dict) else {}
                numbers = [] if named else costs
                values = {
                    columns.of(str(name))[0]: block.number(0, str(value), str(name))
                    for name, value in named.items()
                }
                if numbers:
                    places = columns.of("LatticeCost", len(numbers))
                    values |= {
                        place: block.number(0, str(value), "LatticeCost")
                        for place, value in zip(places, numbers, strict=True)
                    }
                builder.step(node, head, word if word != "*EPS*" else "", values)
        builder.arc(0, (), ())
        return builder.graph(len(nodes))
