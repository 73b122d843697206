"""Read the search graphs of Moses: the extended form and the hypergraph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, NoReturn

import numpy as np
from pydantic.dataclasses import dataclass

from portmert.metrics._base import FloatArray, IntArray, offsets_of
from portmert.tuner.base.errors import counted, shown
from portmert.tuner.base.numbers import LARGEST
from portmert.tuner.weights.feature_weights import FeatureNames, read_weights
from portmert.tuner.weights.moses_ini import read_moses_ini

from .._best_string_kernels import Graph
from ..model import Builder, FeatureColumns, GraphError
from ._base import Block, GraphReader, check_count

_ARC = re.compile(
    r"^(\d+) hyp=(\d+) stack=\d+ back=(\d+) \S+ \S+ (?:recombined=(\d+) )?forward=(-?\d+) \S+ "
    r'covered=(\d+)-(\d+) scores="core=\(([^)"]*)\) ?([^"]*)" +out="(?:[^|\n]*\|)?([^\n]*)"\r?$',
    re.MULTILINE,
)
_SEGMENT = re.compile(rb"^(\d+) hyp=0 ", re.MULTILINE)


@dataclass(frozen=True)
class Osgx(GraphReader):
    """Read what Moses writes with `-output-search-graph-extended`; numbers have three decimals.

    Parameters
    ----------
    config
        The moses.ini, which names the features. Default: that of `--weights`, if it is one; else
        they are the values of one feature, `core`.
    """

    config: Path | None = None

    title: ClassVar[str] = "Moses' extended search graph"
    begins: ClassVar[re.Pattern[str]] = re.compile(r"\A\d+ hyp=\d+ ")
    has_links: ClassVar[bool] = True

    def named_by(self, weights: Path) -> Osgx:
        """Return the reader with a moses.ini that names the features, if the weights are one."""
        is_ini = self.config is None and bool(read_moses_ini(weights).features)
        return replace(self, config=weights) if is_ini else self

    def blocks(self, file: Block) -> Iterator[Block]:
        """Yield the lines of each segment."""
        if "core=(" not in file.data[:4096].decode("utf-8", "replace") and b" out=" in file.data:
            file.fail(0, "no features; write the graph with -output-search-graph-extended")
        starts = [match.start() for match in _SEGMENT.finditer(file.data)][1:]
        line = file.line
        for begin, end in zip([0, *starts], [*starts, len(file.data)], strict=True):
            data = file.data[begin:end]
            segment = data.partition(b" ")[0].decode("utf-8", "replace")
            name = file.segment if file.segment and not starts else segment
            yield Block(file.where, name, line, data)
            line += data.count(b"\n")

    def parsed(self, block: Block, columns: FeatureColumns) -> Graph:
        """Return the graph of a segment."""
        try:
            text = block.data.decode("utf-8")
        except UnicodeDecodeError as error:
            block.fail(block.data.count(b"\n", 0, error.start), "not UTF-8; convert the file")
        rows = _ARC.findall(text)
        lines = [n for n, line in enumerate(text.split("\n")) if line and " hyp=0 " not in line]
        segment = text.partition(" ")[0]
        if len(rows) != len(lines) or any(row[0] != segment for row in rows):
            self._refuse(block, segment)
        if not rows:  # an empty source
            return Builder(columns).graph(0, start=0)
        _, hypotheses, tails, recombined, forward, first, last, cores, sparse, outs = zip(
            *rows, strict=True
        )
        heads = [r or h for r, h in zip(recombined, hypotheses, strict=True)]
        nodes, places = np.unique(
            np.array([*heads, *tails, 0], dtype=np.int64), return_inverse=True
        )
        arcs, goal = len(rows), len(nodes)
        final = np.unique(places[:arcs][np.array(forward) == "-1"])
        builder = Builder(columns)
        builder.heads, builder.tails = places[:arcs].tolist(), places[arcs:-1].tolist()
        builder.tail_offsets = [*range(arcs + 1)]
        bodies = [[-1, *map(columns.vocabulary.add, out.split())] for out in outs]
        builder.body = [item for body in bodies for item in body]
        builder.body_offsets = offsets_of([*map(len, bodies)]).tolist()
        builder.feature_offsets, builder.feature_columns, builder.values = (
            array.tolist() for array in self._features(block, lines, cores, sparse, columns)
        )
        builder.spans = np.array([first, last], dtype=np.int64).T
        for node in final.tolist():
            builder.step(node, goal, "", {})
        return builder.graph(goal, start=int(places[-1]))

    def _refuse(self, block: Block, segment: str) -> NoReturn:
        """Raise the error of the first line that is no arc of the segment."""
        for number, line in block.lines():
            match = _ARC.fullmatch(line)
            if match is None and " hyp=0 " not in line:
                block.fail(number, f"`{shown(line)}`, expected an arc of Moses; is it cut off?")
            if not line.startswith(f"{segment} "):
                block.fail(number, f"`{shown(line)}` is of another segment")
        block.fail(0, "no arc of Moses; is the file cut off?")

    def _features(
        self,
        block: Block,
        lines: Sequence[int],
        cores: Sequence[str],
        sparse: Sequence[str],
        columns: FeatureColumns,
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return offsets, columns and values of the features that are not 0."""
        width = cores[0].count(",") + 1
        try:
            table = np.array([core.split(",") for core in cores], dtype=np.float64)
        except ValueError:
            table = np.array([np.nan])
        if not (np.abs(table) <= LARGEST).all():
            for line, core in zip(lines, cores, strict=True):
                numbers = core.split(",")
                if len(numbers) != width:
                    count = counted(len(numbers), "feature value")
                    first = f"line {block.line + lines[0]} has {width}"
                    block.fail(line, f"{count}, {first}; is the file cut off?")
                for number in numbers:
                    block.number(line, number, "a feature")
        names = self._names(width)
        if self.config is None:
            columns.remarks["core"] = (
                "the graphs do not name their features; --graph-format osgx:config=moses.ini does"
            )
        dense = np.array(
            [column for name, size in names for column in columns.columns_of(name, size)]
        )
        rows, places = np.nonzero(table)
        named = [
            (
                row,
                columns.columns_of(name, sparse=True)[0],
                block.number(line, number, f"feature {name}"),
            )
            for row, (line, text) in enumerate(zip(lines, sparse, strict=True))
            for name, _, number in (item.rpartition("=") for item in text.split())
        ]
        more = np.array(named, dtype=np.float64).reshape(-1, 3)
        rows = np.concatenate([rows, more[:, 0].astype(np.int64)])
        order = np.argsort(rows, kind="stable")
        return (
            np.searchsorted(rows[order], np.arange(len(cores) + 1)),
            np.concatenate([dense[places], more[:, 1].astype(np.int64)])[order],
            np.concatenate([table[table != 0.0], more[:, 2]])[order],
        )

    def _names(self, width: int) -> FeatureNames:
        if self.config is None:
            return (("core", width),)
        weights = read_weights(self.config).values
        in_order = read_moses_ini(self.config).features
        names = tuple((name, len(weights[name])) for name in in_order if name in weights)
        if sum(size for _, size in names) != width:
            total = sum(size for _, size in names)
            raise GraphError(
                f"{counted(width, 'feature value')}, {self.config} weights {total}; is it the "
                f"moses.ini of this graph?"
            )
        return names


@dataclass(frozen=True)
class MosesHypergraph(GraphReader):
    """Read what Moses writes with `-output-search-graph-hypergraph`: a folder, a file a segment.

    Features have names and six decimals. There is no word alignment.
    """

    title: ClassVar[str] = "Moses' hypergraph"
    begins: ClassVar[re.Pattern[str]] = re.compile(
        r"\A# target \|\|\| features \|\|\| source-covered"
    )

    def parsed(self, block: Block, columns: FeatureColumns) -> Graph:
        """Return the graph of a segment."""
        rows = ((n, line) for n, line in block.lines() if not line.startswith("# "))
        builder = Builder(columns)
        number, header = next(rows, (0, ""))
        sizes = header.split()
        if len(sizes) != 2:
            block.fail(number, f"'{shown(header)}', expected the number of nodes and of arcs")
        nodes, arcs = (block.natural(number, size, "a size") for size in sizes)
        node, left, components = -1, 0, {}  # type: ignore[var-annotated]
        for number, line in rows:
            if not left:
                node, left = node + 1, block.natural(number, line, "a number of arcs")
                continue
            left -= 1
            fields = line.split(" ||| ")
            if len(fields) != 3:
                block.fail(number, f"{counted(len(fields), 'field')} separated by |||, expected 3")
            tails: list[int] = []
            body: list[str | int] = []
            for item in fields[0].split():
                if re.fullmatch(r"\[[0-9]{1,9}\]", item):
                    tails.append(int(item[1:-1]))
                    body.append(-len(tails))  # in its place the string of this tail
                    if tails[-1] >= nodes:
                        block.fail(number, f"{item} is no node, there are {nodes}")
                elif item not in {"<s>", "</s>"}:
                    body.append(item)
            pairs = [item.rpartition("=") for item in fields[1].split()]
            if pairs and not components:
                components = _components([name for name, _, _ in pairs], columns)
            values = [
                (
                    components[name]
                    if name in components
                    else columns.columns_of(name, sparse=True)[0],
                    block.number(number, value, f"feature {name}"),
                )
                for name, _, value in pairs
            ]
            builder.arc(node, tails, body, values)
        check_count(block, number, "arc", len(builder.heads), arcs)
        check_count(block, number, "node", node + 1, nodes)
        return builder.graph(nodes - 1)


def _components(names: list[str], columns: FeatureColumns) -> dict[str, int]:
    """Return the columns of dense features; an arc has all of them, `Name_1 Name_2`, and others.

    Sparse features, which stand behind them, have `_` in their names too, but are not numbered.
    """
    sizes: dict[str, int] = {}
    for name in names:
        feature, _, number = name.rpartition("_")
        is_numbered = f"{feature}_1" in names and f"{feature}_2" in names
        if is_numbered and number == str(sizes.get(feature, 0) + 1):
            sizes[feature] = int(number)
        elif "_" not in name:
            sizes[name] = 1
    by_name = {}
    for name, size in sizes.items():
        for k, column in enumerate(columns.columns_of(name, size), 1):
            by_name[name if size == 1 else f"{name}_{k}"] = column
    return by_name
