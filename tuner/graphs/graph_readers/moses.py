"""Read the search graphs of Moses: the extended form and the hypergraph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from portmert.metrics._base import FloatArray, IntArray, offsets_of

from ...base.errors import InputError, counted, shown
from ...base.numbers import parse_finite
from ...texts._kernels import intern_tokens
from ...weights.feature_weights import FeatureNames, read_weights
from ...weights.moses_ini import read_moses_ini
from .. import _kernels as kernels
from ..model import Builder, Columns, Graph, GraphFault
from ._base import Block, GraphReader, check_count

_SEGMENT = re.compile(rb"^(\d+) hyp=0 ", re.MULTILINE)
_COMPONENT = re.compile(r"(.+)_([0-9]+)")


@dataclass(frozen=True)
class Osgx(GraphReader):
    """Read what Moses writes with `-output-search-graph-extended`; numbers have three decimals.

    Parameters
    ----------
    config
        The moses.ini, which names the features; without it they are the values of one feature,
        `core`.
    """

    config: Path | None = None

    title: ClassVar[str] = "Moses' extended search graph"

    @classmethod
    def recognises(cls, head: str) -> bool:
        """Whether a line begins with a segment and a hypothesis."""
        return re.match(r"\d+ hyp=\d+ ", head) is not None

    def blocks(self, file: Block) -> Iterator[Block]:
        """Yield the lines of each segment."""
        if "core=(" not in file.data[:4096].decode("utf-8", "replace") and b" out=" in file.data:
            file.fail(0, "no features; write the graph with -output-search-graph-extended")
        starts = [match.start() for match in _SEGMENT.finditer(file.data)]
        line = file.line
        for begin, end in zip([0, *starts[1:]], [*starts[1:], len(file.data)], strict=True):
            data = file.data[begin:end]
            yield Block(file.where, data.partition(b" ")[0].decode("utf-8", "replace"), line, data)
            line += data.count(b"\n")

    def parsed(self, block: Block, columns: Columns) -> Graph:
        """Return the graph of a segment."""
        data = block.data
        lines = data.count(b"\n") + 1
        text = np.frombuffer(data, dtype=np.uint8)
        osgx = kernels.parse_osgx(text, lines, data.count(b",") + 2 * lines)
        if osgx.code != kernels.OK:
            self._refuse(block, osgx.code, osgx.position)
        if not len(osgx.heads):
            raise GraphFault("no arc")
        self._put_slow_numbers(block, osgx)
        features = self._features(block, osgx, columns)
        tokens, offsets, spans = intern_tokens(text, osgx.cuts, 0, len(data) // 2 + 1)
        words = [columns.vocabulary.add(_text(block, data, span)) for span in spans.tolist()]
        nodes, places = np.unique(
            np.concatenate([osgx.heads, osgx.tails, [0]]), return_inverse=True
        )
        arcs, goal = len(osgx.heads), len(nodes)
        heads, tails, start = places[:arcs], places[arcs:-1], places[-1]
        final = np.unique(heads[osgx.is_final != 0])
        more = len(final) + 1  # each end leads to the goal, and nothing to the start
        # The body of an arc is its tail and its words.
        counts = np.diff(offsets) + 1
        body = np.full(len(tokens) + arcs, -1)
        is_word = np.ones(len(body), dtype=np.bool_)
        is_word[offsets_of(counts)[:-1]] = False
        body[is_word] = np.array(words, dtype=np.int64)[tokens] if words else tokens
        ones, none = np.ones(len(final), dtype=np.int64), [0]
        return Graph.of(
            np.concatenate([heads, np.full(len(final), goal), [start]]),
            (
                offsets_of(np.concatenate([np.ones(arcs, dtype=np.int64), ones, none])),
                np.concatenate([tails, final]),
            ),
            (offsets_of(np.concatenate([counts, ones, none])), np.concatenate([body, -ones])),
            (np.concatenate([features[0], np.full(more, features[0][-1])]), *features[1:]),
            spans=np.concatenate([osgx.spans, np.full((more, 2), -1)]),
            goal=goal,
        )

    def _refuse(self, block: Block, code: int, position: int) -> None:
        line = block.data.count(b"\n", 0, position)
        begin = shown(block.data[position:].partition(b"\n")[0].decode("utf-8", "replace"))
        faults = {
            kernels.NO_NODE: "no hyp= or no back=",
            kernels.NO_VALUES: "no values behind core=(",
            kernels.OTHER_SEGMENT: "another segment's line",
            kernels.NO_TEXT: 'no out="source|target"',
        }
        block.fail(line, f"{faults[code]} in `{begin}`; is the file cut off?")

    def _put_slow_numbers(self, block: Block, osgx: kernels.OsgxLines) -> None:
        """Parse what the kernel left to Python; `values` is modified in place."""
        for index, begin, end in osgx.slow.tolist():
            line = block.data.count(b"\n", 0, begin)
            number = block.data[begin:end].decode("utf-8", "replace")
            osgx.values[index] = block.number(line, number, "a feature")

    def _features(
        self, block: Block, osgx: kernels.OsgxLines, columns: Columns
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return offsets, columns and values of the features that are not 0."""
        sizes = np.diff(osgx.value_offsets)
        width = int(sizes[0])
        for arc in np.flatnonzero(sizes != width)[:1].tolist():
            block.fail(
                int(osgx.lines[arc]),
                f"{counted(int(sizes[arc]), 'feature value')}, line "
                f"{block.line + int(osgx.lines[0])} has {width}; is the file cut off?",
            )
        names = self._names(width)
        dense = np.array([column for name, size in names for column in columns.of(name, size)])
        rows, places = np.nonzero(osgx.values.reshape(-1, width))
        all_columns = dense[places]
        values = osgx.values[osgx.values != 0.0]
        if len(osgx.sparse):
            pairs = [_sparse(block, osgx, entry) for entry in osgx.sparse.tolist()]
            more = [columns.of(name, sparse=True)[0] for name, _ in pairs]
            order = np.argsort(np.concatenate([rows, osgx.sparse[:, 0]]), kind="stable")
            rows = np.concatenate([rows, osgx.sparse[:, 0]])[order]
            all_columns = np.concatenate([all_columns, more])[order]
            values = np.concatenate([values, [value for _, value in pairs]])[order]
        offsets = np.searchsorted(rows, np.arange(len(sizes) + 1)).astype(np.int64)
        return offsets, all_columns, values

    def _names(self, width: int) -> FeatureNames:
        if self.config is None:
            return (("core", width),)
        names = moses_features(self.config)
        if sum(size for _, size in names) != width:
            total = sum(size for _, size in names)
            raise GraphFault(
                f"{counted(width, 'feature value')}, {self.config} weights {total}; is it the "
                f"moses.ini of this graph?"
            )
        return names


def moses_features(config: Path) -> FeatureNames:
    """Return the dense features of a moses.ini in Moses' order: as [feature] names them."""
    weights = read_weights(config).values
    counts: dict[str, int] = {}
    names = []
    for line in read_moses_ini(config).values("feature"):
        kind, *options = line.split()
        number = counts[kind] = counts.get(kind, -1) + 1
        written = [option[5:] for option in options if option.startswith("name=")]
        names.append(written[0] if written else f"{kind}{number}")
    return tuple((name, len(weights[name])) for name in names if name in weights)


def _text(block: Block, data: bytes, span: list[int]) -> str:
    try:
        return data[span[0] : span[1]].decode("utf-8")
    except UnicodeDecodeError:
        block.fail(data.count(b"\n", 0, span[0]), "not UTF-8; convert the file to UTF-8")


def _sparse(block: Block, osgx: kernels.OsgxLines, entry: list[int]) -> tuple[str, float]:
    """Return name and value of a sparse feature."""
    arc, begin, end = entry
    text = _text(block, block.data, [begin, end])
    name, _, number = text.rpartition("=")
    return name, block.number(int(osgx.lines[arc]), number, f"sparse feature {name}")


@dataclass(frozen=True)
class MosesHypergraph(GraphReader):
    """Read what Moses writes with `-output-search-graph-hypergraph`: a folder, a file a segment.

    Features have names and six decimals. There is no word alignment.
    """

    title: ClassVar[str] = "Moses' hypergraph"

    @classmethod
    def recognises(cls, head: str) -> bool:
        """Whether the header of the format stands there."""
        return head.startswith("# target ||| features ||| source-covered")

    def parsed(self, block: Block, columns: Columns) -> Graph:
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
                block.fail(
                    number, f"{counted(len(fields), 'field')} separated by |||, expected 3"
                )
            tails: list[int] = []
            body: list[str | int] = []
            for item in fields[0].split():
                if re.fullmatch(r"\[[0-9]{1,9}\]", item):
                    tails.append(int(item[1:-1]))
                    body.append(-len(tails))
                    if tails[-1] >= nodes:
                        block.fail(number, f"{item} is no node, there are {nodes}")
                elif item not in {"<s>", "</s>"}:
                    body.append(item)
            pairs = [item.rpartition("=") for item in fields[1].split()]
            if pairs and not components:
                components = _components([name for name, _, _ in pairs], columns)
            values = [
                (
                    components.get(name) or columns.of(name, sparse=True)[0],
                    block.number(number, value, f"feature {name}"),
                )
                for name, _, value in pairs
            ]
            builder.arc(node, tails, body, values)
        check_count(block, number, "arc", len(builder.heads), arcs)
        check_count(block, number, "node", node + 1, nodes)
        return builder.graph(nodes - 1)


def _components(names: list[str], columns: Columns) -> dict[str, int]:
    """Return the columns of dense features; an arc has all of them, `Name_1 Name_2`, and others.

    Sparse features, which stand behind them, have `_` in their names too, but are not numbered.
    """
    sizes: dict[str, int] = {}
    for place, name in enumerate(names):
        match = _COMPONENT.fullmatch(name)
        if match and int(match[2]) == sizes.get(match[1], 0) + 1:
            is_first = int(match[2]) == 1
            if not is_first or f"{match[1]}_2" in names[place + 1 : place + 2]:
                sizes[match[1]] = int(match[2])
                continue
        if "_" not in name:
            sizes[name] = 1
    by_name = {}
    for name, size in sizes.items():
        for k, column in enumerate(columns.of(name, size), 1):
            by_name[name if size == 1 else f"{name}_{k}"] = column
    return by_name
