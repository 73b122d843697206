"""Read the hypergraphs of cdec in JSON: a line for each segment."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from .._best_string_kernels import Graph
from ..model import Builder, FeatureColumns, GraphError
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

    def parsed(self, block: Block, columns: FeatureColumns) -> Graph:
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

    def _graph(self, block: Block, columns: FeatureColumns, pairs: list[tuple[str, Any]]) -> Graph:
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
                    rule = edge["rule"] if isinstance(edge["rule"], str) else rules[edge["rule"]]
                    tails = edge.get("tail") or []
                    body = self._body(block, rule, tails, nodes)
                    builder.arc(nodes, tails, body, self._values(block, columns, edge, names))
                if not numbers:
                    builder.arc(nodes, (), ())  # where a lattice starts
                nodes += 1
        if not nodes:
            raise GraphError("no node")
        return builder.graph(nodes - 1)

    def _body(self, block: Block, rule: str, tails: list[int], node: int) -> list[str | int]:
        """Return what an edge writes, with numbers for the strings of its tails."""
        for tail in tails:
            if not 0 <= tail < node:
                block.fail(0, f"an edge of node {node} leads from node {tail}, not before it")
        body: list[str | int] = []
        for item in rule.split(" ||| ")[2].split():
            match = _TAIL.fullmatch(item)
            body.append(-int(match[1]) if match else item)
        if sorted(-item for item in body if isinstance(item, int)) != [*range(1, len(tails) + 1)]:
            block.fail(0, f"rule `{rule}` has other tails than its edge of node {node}")
        return body

    def _values(
        self, block: Block, columns: FeatureColumns, edge: dict[str, Any], names: list[str]
    ) -> Iterator[tuple[int, float]]:
        """Yield the features of an edge."""
        features = edge.get("feats") or []
        for key, value in zip(features[::2], features[1::2], strict=True):
            column = columns.columns_of(names[key] if isinstance(key, int) else key)[0]
            yield column, block.number(0, str(value), f"feature {key}")
