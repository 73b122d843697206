"""A reader of search graphs: `from to word`, a line an edge."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.extensions.graphs.graph_readers._base import GraphReader
from portmert.extensions.graphs.model import Builder


@dataclass(frozen=True)
class Edges(GraphReader):
    """Reads edges; the last node is the end."""

    title: ClassVar[str] = "edges"

    @classmethod
    def recognises(cls, head):
        return head.startswith("edges ")

    def parsed(self, block, columns):
        builder = Builder(columns)
        rows = [line.split() for _, line in block.lines()][1:]
        for tail, head, word in rows:
            builder.step(int(tail), int(head), word, {columns.columns_of("one")[0]: 1.0})
        return builder.graph(max(int(head) for _, head, _ in rows), start=0)
