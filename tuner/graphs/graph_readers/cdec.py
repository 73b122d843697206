"""Read the hypergraphs of cdec in JSON: a line for each segment."""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from .._best_string_kernels import Graph
from ..model import Builder, Columns, GraphError
from ._base import Block, GraphReader

_TAIL = re.compile(r"\[(?:[^\[\]\s]*,)?([1-9][0-9]{0,2})\]")


@dataclass(frozen=True)
class CdecJson(GraphReader):
    """Read `{"rules": [1, "[X] ||| a ||| a"], "features": [...], "edges": [...], "node": {...}}`.

    Nodes stand behind their edges, and the last one is the goal. A feature that an edge has not is
    0.
    """

    title: ClassVar[str] = "cdec JSON"
    arc_mark: ClassVar[bytes] = b'"rule"'
    begins: ClassVar[re.Pattern[str]] = re.compile(r'\A\{\s*"(rules|features|is_sorted)"\s*:')
    blocks = GraphReader.each_line

    def parsed(self, block: Block, columns: Columns) -> Graph:
        """Return the graph of a segment."""
        try:
            pairs = json.loads(
                block.data.rstrip(b'" \r\n').decode("utf-8"), object_pairs_hook=list
            )
            return self._graph(block, columns, pairs)
        except (ValueError, RecursionError) as error:
            raise GraphError(f"{error}; is the file cut off?") from None
        except (TypeError, KeyError, IndexError, AttributeError):
            raise GraphError("expected rules, features, edges and nodes") from None

    def _graph(self, block: Block, columns: Columns, pairs: list[tuple[str, Any]]) -> Graph:
        rules: dict[int, str] = {}
        names: list[str] = []
        edges: list[dict[str, Any]] = []
        builder, nodes = Builder(columns), 0
        for key, content in pairs:
            if key == "rules":
                rules = dict(zip(content[::2], content[1::2], strict=True))
            elif key == "features":
                names = content
            elif key == "edges":
                edges += [dict(edge) for edge in content]
            elif key == "node":
                numbers = dict(content)["in_edges"]
                for edge in [edges[number] for number in numbers]:
                    self._add(block, builder, nodes, edge, (rules, names))
                if not numbers:
                    builder.arc(nodes, (), ())  # where a lattice starts
                nodes += 1
        if not nodes:
            raise GraphError("no node")
        return builder.graph(nodes - 1)

    def _add(
        self,
        block: Block,
        builder: Builder,
        node: int,
        edge: dict[str, Any],
        known: tuple[dict[int, str], list[str]],
    ) -> None:
        """Add an edge to its node."""
        tails = edge.get("tail") or []
        for tail in tails:
            if not 0 <= tail < node:
                block.fail(0, f"an edge of node {node} leads from node {tail}, not before it")
        rule = edge["rule"] if isinstance(edge["rule"], str) else known[0][edge["rule"]]
        body: list[str | int] = []
        for item in rule.split(" ||| ")[2].split():
            match = _TAIL.fullmatch(item)
            body.append(-int(match[1]) if match else item)
        if sorted(-item for item in body if isinstance(item, int)) != [*range(1, len(tails) + 1)]:
            block.fail(0, f"rule `{rule}` has other tails than its edge of node {node}")
        feats = edge.get("feats") or []
        values = [
            (
                builder.columns.of(known[1][key] if isinstance(key, int) else key)[0],
                block.number(0, str(value), f"feature {key}"),
            )
            for key, value in zip(feats[::2], feats[1::2], strict=True)
        ]
        builder.arc(node, tails, body, values)
