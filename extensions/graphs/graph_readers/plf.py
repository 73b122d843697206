"""Read lattices in the Python form (PLF), as Moses and cdec take them: a line for each segment."""

from __future__ import annotations

import ast
import re
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.base.errors import shown

from .._best_string_kernels import Graph
from ..model import Builder, FeatureColumns
from ._base import Block, GraphReader


@dataclass(frozen=True)
class Plf(GraphReader):
    """Read `((('a',0.5,1),('b',0.1,2),),(('c',1.0,1),),)`: words, numbers, how far the arc leads.

    The numbers are the feature `LatticeCost`, which Moses and cdec add with a positive weight; a
    dict in place of them names features.
    """

    title: ClassVar[str] = "PLF"
    arc_mark: ClassVar[bytes] = b"',"
    begins: ClassVar[re.Pattern[str]] = re.compile(r"""\A *\( *\( *\( *['"]""")
    blocks = GraphReader.each_line

    def parsed(self, block: Block, columns: FeatureColumns) -> Graph:
        """Return the graph of a segment."""
        try:
            nodes: Any = ast.literal_eval(block.data.decode("utf-8").strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            block.fail(0, f"`{shown(block.data.decode('utf-8', 'replace'))}` is no lattice")
        builder = Builder(columns)
        for node, arcs in enumerate(nodes):
            # What is no tuple of arcs is reported below, as an arc without parts.
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
                    columns.columns_of(str(name))[0]: block.number(0, str(value), str(name))
                    for name, value in named.items()
                }
                if numbers:
                    places = columns.columns_of("LatticeCost", len(numbers))
                    values |= {
                        place: block.number(0, str(value), "LatticeCost")
                        for place, value in zip(places, numbers, strict=True)
                    }
                builder.step(node, head, word if word != "*EPS*" else "", values)
        return builder.graph(len(nodes), start=0)
