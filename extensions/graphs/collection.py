"""The graphs of a text: read from a file, a folder or an archive, and asked for k-best lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path

import numpy as np

from portmert.metrics._base import FloatArray, Vocabulary
from portmert.tuner.base import threads
from portmert.tuner.base.columns import in_natural_order
from portmert.tuner.base.errors import InputError, counted, shown
from portmert.tuner.base.files import called, read_bytes, stamps
from portmert.tuner.base.warn import notice, warn
from portmert.tuner.families import component, names
from portmert.tuner.nbest.merging import (
    Merger,
    Rows,
    beyond,
    empty_rows,
    extend_rows,
    with_sparse,
)
from portmert.tuner.nbest.model import NBest
from portmert.tuner.nbest.records import SegmentNames
from portmert.tuner.weights.feature_weights import FeatureWeights, start_weights

from ._best_string_kernels import Graph, Strings, best_strings
from .graph_readers._base import Block, GraphReader
from .model import FeatureColumns

_KEY = re.compile(rb"\s*([^\s={(#|]+)[ \t]*\r?\n")
_LIST = re.compile(rb"[^\s{#]\S* \|\|\| ")
_COMPRESSED = re.compile(r"\.(gz|bz2|xz|zst)$")
HEAD = 2000
"""Bytes that a format is recognised by."""


def files_of(paths: Iterable[Path | str]) -> list[Path | str]:
    """Return the files, of a folder those in it; in natural order of their names.

    Raises
    ------
    InputError
        A folder is empty.
    """
    files: list[Path | str] = []
    for path in paths:
        if not Path(path).is_dir():
            files.append(path)
            continue
        names_in = [file.name for file in Path(path).iterdir() if file.is_file()]
        ordered = [names_in[place] for place in in_natural_order(names_in)]
        # Moses puts its weights beside its hypergraphs.
        in_folder = [Path(path, name) for name in ordered if name[0] != "." and name != "weights"]
        if not in_folder:
            raise InputError(f"{path}: an empty folder, expected a graph for each segment")
        files += in_folder
    return files


def blocks_in(
    paths: Iterable[Path | str], reader: GraphReader | None, weights: Path | None = None
) -> Iterator[tuple[GraphReader, Block]]:
    """Yield the text of each graph, and the reader of its format.

    An archive has the id of a segment above its graph, and a blank line behind it.
    """
    files = files_of(paths)
    first: dict[tuple[str, str], Block] = {}
    for file in files:
        where, data = called(file), read_bytes(file)
        name = Path(_COMPRESSED.sub("", Path(file).name)).stem if len(files) > 1 else ""
        parts = _archived(where, data) if _KEY.match(data) else [Block(where, name, 1, data)]
        number = 0
        for part in parts:
            if not part.data.strip():
                part.fail(0, "empty, expected a search graph")
            if _LIST.match(part.data):
                part.fail(0, f"`{part.shown()}` is an n-best list; give it as --nbest")
            reader = reader or _recognised(part)
            reader = reader.named_by(weights) if weights else reader
            for block in reader.blocks(part):
                named = block._replace(segment=block.segment or str(number))
                # Files that were named for their segments are one text; other files are merged.
                key = "" if named.segment == name else where, named.segment
                if key in first:
                    before = f"{first[key].where}:{first[key].line}"
                    named.fail(0, f"stands twice, first in {before}; leave out one of the two")
                first[key] = named._replace(data=b"")
                yield reader, named
                number += 1


def _archived(where: str, data: bytes) -> Iterator[Block]:
    """Yield the graphs of an archive."""
    line, end = 1, 0
    for match in re.finditer(rb"(?:[^\n]*\S[^\n]*(?:\n|$))+", data):
        line += data.count(b"\n", end, match.start())
        key = _KEY.match(match[0] + b"\n")
        begin = Block(where, "", line, match[0])
        if key is None:
            begin.fail(0, f"`{begin.shown()}`, expected an id")
        yield Block(where, key[1].decode("utf-8", "replace"), line + 1, match[0][key.end() :])
        line, end = line + match[0].count(b"\n"), match.end()


def _recognised(block: Block) -> GraphReader:
    """Return the reader of the format that a graph shows."""
    head = block.data[:HEAD].decode("utf-8", "replace")
    head = head[: head.rfind("\n") + 1] or head
    fitting = []
    for name in names("graph-reader"):
        with suppress(Exception):  # one of another package, which is told where it is named
            fitting += [cls for cls in [component("graph-reader", name)] if cls.recognises(head)]
    if len(fitting) != 1:
        formats = ", ".join(names("graph-reader"))
        block.fail(0, f"`{block.shown()}` fits no format; formats of graphs: {formats}")
    reader: GraphReader = fitting[0]()
    return reader


@dataclass(frozen=True, eq=False)
class Graphs:
    """The graphs of S segments, in the order of the files; several may be of one segment.

    Parameters
    ----------
    files : tuple of str
        The file of each.
    segments : tuple of str
        Their ids: names, or numbers from 0.
    graphs : tuple of Graph
    columns : FeatureColumns
        The features and words of all.
    has_links : bool
        Whether the source words of their arcs are known.
    """

    files: tuple[str, ...]
    segments: tuple[str, ...]
    graphs: tuple[Graph, ...]
    columns: FeatureColumns
    has_links: bool

    def start(self, path: Path | None = None) -> FeatureWeights:
        """Return the weights of a file or those that graphs name; else 1, if sparse 0."""
        weights = start_weights(self.columns.dense, sorted(self.columns.sparse), path)
        in_graphs = {} if path else self.columns.start
        return FeatureWeights({**weights.values, **in_graphs})

    def nbest(
        self,
        weights: Sequence[FeatureWeights],
        sizes: Sequence[int],
        *,
        names: SegmentNames | None = None,
        segments: int | None = None,
        features: FeatureWeights | None = None,
    ) -> NBest:
        """Return the best distinct strings of each graph under each weights, merged.

        Parameters
        ----------
        weights, sizes
            Weights, and the number of strings under each of them; under one vector best first.
        names, segments
            See `nbest.read.read_nbest`.
        features
            Leave out features that have no weight here; model scores then leave them out.

        Raises
        ------
        InputError
            A feature has no weight, or an id is no segment of the references.
        """
        columns = self.columns
        vectors = [columns.vector(each) for each in weights]
        names = SegmentNames() if names is None else names
        numbers = self._numbers(names, segments)
        dense = tuple(p for p in columns.dense if features is None or p[0] in features.values)
        places = [column for name, _ in dense for column in columns.features[name]]
        sparse = [columns.features[name][0] for name in columns.features if name in columns.sparse]
        left_out = None if features is None else vectors[0].copy()
        if left_out is not None:
            left_out[[*places, *sparse]] = 0.0

        def of_graph(number: int) -> list[Rows]:
            graph, segment = self.graphs[number], numbers[number]
            return [
                _rows_of(best_strings(graph, vector, size), segment, places, sparse, left_out)
                for vector, size in zip(vectors, sizes, strict=True)
            ]

        lists = threads.each(of_graph, len(self.graphs), phase="decoding")
        rows = empty_rows(0, features=len(places))
        for block in chain.from_iterable(lists):
            extend_rows(rows, block)
        merger = Merger()
        merger.add(
            rows._replace(
                names=dense,
                sparse_names=tuple(name for name in columns.features if name in columns.sparse),
                has_links=self.has_links,
                where=self.files[0],
            )
        )
        return merger.finish(columns.vocabulary, segments, names)

    def _numbers(self, names: SegmentNames, segments: int | None) -> list[int]:
        """Return the number of each graph's segment."""
        numbers = []
        for where, segment in zip(self.files, self.segments, strict=True):
            if names.decide(segment):
                try:
                    numbers.append(names.number(segment, segments))
                except ValueError as error:
                    raise InputError(f"{where}: {error}") from None
                continue
            if not segment.isdecimal():
                raise InputError(f"{where}: segment '{shown(segment)}' is no number")
            numbers.append(int(segment))
            if segments is not None and numbers[-1] >= segments:
                raise InputError(f"{where}: {beyond(numbers[-1], segments)}")
        return numbers


def _rows_of(
    strings: Strings,
    segment: int,
    dense: Sequence[int],
    sparse: Sequence[int],
    left_out: FloatArray | None,
) -> Rows:
    """Return strings as hypotheses of a segment, with the features of some columns.

    Their scores are those of the columns that are left out, if (C,) weights of these are given.
    """
    count = len(strings.scores)
    table = np.round(strings.features, 9) + 0.0  # without the noise of sums, numbers are short
    offsets, links = strings.link_offsets, strings.links
    width = 1 + int(links.max(initial=0))
    keys = np.repeat(np.arange(count), np.diff(offsets)) * width + links[:, 0]
    keys = keys * width + links[:, 1]
    keys.sort()  # by row, source and target
    rows = empty_rows(count)._replace(
        segments=np.full(count, segment),
        tokens=strings.tokens,
        token_offsets=strings.token_offsets,
        links=np.stack([keys // width % width, keys % width], axis=1).astype(np.int32),
        link_offsets=offsets,
        features=np.ascontiguousarray(table[:, dense]),
        scores=(strings.scores if left_out is None else strings.features @ left_out) + 0.0,
    )
    in_sparse = table[:, sparse]
    of_rows, columns = np.nonzero(in_sparse)
    return with_sparse(rows, of_rows, columns, in_sparse[of_rows, columns])


def read_graphs(
    paths: Iterable[Path | str],
    reader: GraphReader | None = None,
    vocabulary: Vocabulary | None = None,
    weights: Path | None = None,
) -> Graphs:
    """Read graphs; a second call in the same process uses what the first one read.

    A file of weights may name the features of graphs that have no names.

    Raises
    ------
    InputError
        A file is missing, or not what it should be; the message says which line and segment.
    """
    files = tuple(files_of(paths))
    return _read(files, reader, vocabulary, weights, stamps(files))


@lru_cache(maxsize=4)  # those to tune on and those of a test set, or of some decodings
def _read(
    files: tuple[Path | str, ...],
    reader: GraphReader | None,
    vocabulary: Vocabulary | None,
    weights: Path | None,
    _: tuple[tuple[int, int], ...],
) -> Graphs:
    columns = FeatureColumns(Vocabulary() if vocabulary is None else vocabulary)
    read = [
        (of_block, block.where, block.segment, of_block.graph(block, columns))
        for of_block, block in blocks_in(files, reader, weights)
    ]
    if not read:
        raise ValueError("no graph given")
    readers, where, segments, graphs = zip(*read, strict=True)
    for remark in columns.remarks.values():
        warn(remark)
    arcs = sum(len(graph.spans) for graph in graphs) // len(graphs)
    notice(
        f"{called(files[0])}: {readers[0].title}, {counted(len(graphs), 'graph')}, {arcs} arcs on "
        f"average"
    )
    return Graphs(where, segments, graphs, columns, readers[0].has_links)
