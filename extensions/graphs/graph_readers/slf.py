"""Read word lattices of HTK, pocketsphinx and others: the standard lattice format."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.base.errors import shown

from .._best_string_kernels import Graph
from ..model import Builder, FeatureColumns, GraphError
from ._base import Block, GraphReader, check_count

_FIELD = re.compile(r'([A-Za-z]\w*)=("(?:[^"\\]|\\.)*"|\S*)')
_LONG = {
    "acoustic": "a", "language": "l", "ngram": "n", "pron": "r", "posterior": "p", "START": "S",
    "END": "E", "WORD": "W", "NODES": "N", "LINKS": "L", "time": "t", "var": "v",
}  # fmt: skip
_NAMES = {"a": "acoustic", "l": "language", "n": "ngram", "r": "pron"}
_SCALES = {"acscale": "acoustic", "lmscale": "language", "prscale": "pron"}
_SILENT = {"!NULL", "!SENT_START", "!SENT_END", "<s>", "</s>", "<sil>", "-", ""}
_NOISE = re.compile(r"\[.*\]|\+\+.*\+\+")
NO_PATH = -1e4
"""pocketsphinx writes a lower acoustic score where a link cannot be passed. Long words of other
programs have such scores too."""


@dataclass(frozen=True)
class Slf(GraphReader):
    r"""Read HTK's standard lattice format (SLF), one lattice a file.

    The features are the logarithms `acoustic`, `language`, `ngram`, `pron`, `x1` and so on, as far
    as links have them, and `length`, the number of words. Start weights are `acscale`, `lmscale`,
    `prscale` and `wdpenalty` of the header, else 1, and 0 for words; 0.1 for `acoustic` beside a
    language model without a scale.

    Parameters
    ----------
    silent
        More words that are not written, joined by `+`, besides `<s>`, `<sil>`, `!NULL` and what
        stands in brackets or between `++`.
    """

    silent: str = ""

    title: ClassVar[str] = "SLF"
    begins: ClassVar[re.Pattern[str]] = re.compile(
        r"^(VERSION=|N(ODES)?=\d+\s+L(INKS)?=\d+)", re.MULTILINE
    )

    def blocks(self, file: Block) -> Iterator[Block]:
        """Yield the lattice, named as its header says if the file has no name."""
        match = re.search(rb"^UTTERANCE=(\S+)", file.data, re.MULTILINE)
        yield file._replace(
            segment=file.segment or (match[1].decode("utf-8", "replace") if match else "")
        )

    def _parts(
        self, block: Block
    ) -> tuple[dict[str, str], dict[int, str], list[tuple[int, dict[str, str]]]]:
        """Return the header, the word of each node, and the line and the fields of each link."""
        header: dict[str, str] = {}
        nodes: dict[int, str] = {}
        links: list[tuple[int, dict[str, str]]] = []
        last = 0
        for number, line in block.lines():
            last = number
            if line.startswith("#"):
                continue
            pairs: list[tuple[str, str]] = _FIELD.findall(line)
            fields = {_LONG.get(key, key): text for key, text in pairs}
            if "I" in fields:
                nodes[block.natural(number, fields["I"], "a node")] = fields.get("W", "!NULL")
            elif "J" in fields:
                links.append((number, fields))
            elif fields:
                header |= fields
            else:
                block.fail(number, f"`{shown(line)}`, expected fields like I=0 or J=0 S=0 E=1")
        if "x1scale" in header:
            raise GraphError(
                "Moses writes on a link what the whole hypothesis has, not what the link adds; "
                "decode with -output-search-graph-extended FILE and give FILE"
            )
        for key, meaning, count in (("N", "node", len(nodes)), ("L", "link", len(links))):
            if key not in header:
                block.fail(0, f"the header has no {key}=; is it a lattice?")
            check_count(block, last, meaning, count, block.natural(0, header[key], f"{key}="))
        return header, nodes, links

    def parsed(self, block: Block, columns: FeatureColumns) -> Graph:
        """Return the graph of a segment."""
        header, nodes, links = self._parts(block)
        base = block.number(0, header.get("base", "2.718281828459045"), "base")
        builder = Builder(columns)
        length, written = columns.columns_of("length")[0], _SILENT | set(self.silent.split("+"))
        tails, heads, counts = set(), set(), Counter[int]()
        is_sphinx = b"PocketSphinx" in block.data[:100]
        for number, fields in links:
            ends = [block.natural(number, fields.get(key, ""), key) for key in "SE"]
            for node in ends:
                if node not in nodes:
                    block.fail(number, f"node {node} has no line I={node}")
            tails.add(ends[0])
            heads.add(ends[1])
            features, is_passed = {}, True
            for key, text in fields.items():
                if key in _NAMES or re.fullmatch(r"x\d+", key):
                    value = block.number(number, text, key)
                    features[columns.columns_of(_NAMES.get(key, key))[0]] = self._log(value, base)
                    is_passed = is_passed and (value > NO_PATH or not is_sphinx)
            word = fields.get("W", nodes[ends[1]]).strip('"')
            is_written = word not in written and not _NOISE.fullmatch(word)
            if is_written:
                features[length] = 1.0
                counts.update([*features])
            if is_passed:
                builder.step(ends[0], ends[1], word if is_written else "", features)
        self._remark(block, columns, counts)
        self._name_start(block, header, columns, base)
        start = self._end(block, header, "start", set(nodes) - heads)
        goal = self._end(block, header, "end", set(nodes) - tails)
        return builder.graph(goal, start=start)

    def _remark(self, block: Block, columns: FeatureColumns, counts: Counter[int]) -> None:
        """Note scores that only some links with words have; the format leaves it open."""
        words = counts[columns.columns_of("length")[0]]
        for name, (column, *_) in columns.features.items():
            if 0 < counts[column] < words:
                lacking = f"{words - counts[column]} of {words} links with words have no {name}"
                columns.remarks.setdefault(name, f"{block.where}: {lacking} score; it counts as 0")

    def _name_start(
        self, block: Block, header: dict[str, str], columns: FeatureColumns, base: float
    ) -> None:
        """Take the recogniser's weights as start, of the first file that has them."""
        penalty = block.number(0, header.get("wdpenalty", "0"), "wdpenalty")
        columns.start.setdefault("length", (self._log(penalty, base or 1.0),))
        for key, name in _SCALES.items():
            if key in header and name in columns.features:
                columns.start.setdefault(name, (block.number(0, header[key], key),))
        if {
            "acoustic",
            "language",
        } <= columns.features.keys() and not header.keys() & _SCALES.keys():
            columns.start.setdefault("acoustic", (0.1,))

    def _log(self, value: float, base: float) -> float:
        """Return a natural logarithm; of base 0, values are probabilities."""
        if base > 0.0:
            return value * math.log(base) if base != 1.0 else value
        return math.log(value) if value > 0.0 else NO_PATH

    def _end(self, block: Block, header: dict[str, str], key: str, nodes: set[int]) -> int:
        """Return the first or the last node: as the header says, else the only one it can be."""
        if key in header:
            return block.natural(0, header[key], key)
        if len(nodes) != 1:
            block.fail(0, f"{len(nodes)} nodes may be the {key}; expected {key}=NODE")
        return min(nodes)
