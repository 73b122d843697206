"""The best strings of search graphs as lists, for `Lists.from_graphs`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from portmert.metrics._base import Vocabulary
from portmert.tuner.base import programs, streams
from portmert.tuner.base.pipes import STDIN
from portmert.tuner.base.warn import collected_notices
from portmert.tuner.components import registry
from portmert.tuner.nbest.list_source import ListSource
from portmert.tuner.nbest.model import NBest
from portmert.tuner.nbest.records import SegmentNames
from portmert.tuner.weights.feature_weights import FeatureWeights, read_weights

from .collection import Graphs, files_of, read_graphs
from .graph_readers._base import GraphReader

AROUND = 8
"""Random weights: strings of one graph under so many gained more than longer lists did."""


def drawn_around(
    weights: FeatureWeights, nbest: NBest, rng: np.random.Generator
) -> list[FeatureWeights]:
    """Return random weights around those that lists were made under.

    Each weight moves by about half of itself or, if its feature contributes little to differences
    of scores, by what makes it contribute a quarter of the mean. Sparse features keep theirs.
    """
    dense = FeatureWeights({name: weights.values[name] for name, _ in nbest.feature_names})
    vector, sizes = dense.vector(nbest.feature_names), np.diff(nbest.offsets)
    means = np.add.reduceat(nbest.features, nbest.offsets[:-1]) / sizes[:, np.newaxis]
    deviations = np.std(nbest.features - np.repeat(means, sizes, axis=0), axis=0)
    share = np.sum(np.abs(vector) * deviations) / max(2 * len(vector), 1)
    least = np.divide(share, deviations, out=np.zeros(len(vector)), where=deviations > 0.0)
    spread = np.maximum(np.abs(vector), least) / 2
    drawn = vector + spread * rng.standard_normal((AROUND, len(vector)))
    rows = [FeatureWeights.from_vector(dense.names, row).values for row in drawn]
    return [FeatureWeights({**weights.values, **row}) for row in rows]


@dataclass(frozen=True)
class BestStrings(ListSource):
    """The best strings of graphs, as lists that are yet to be made.

    Parameters
    ----------
    paths, reader
        See `collection.read_graphs`.
    weights : tuple of FeatureWeights
        The strings under the first ones come first. Empty: `Graphs.start`.
    size : int
        Number of strings under each weights.
    around : bool
        Whether half as many strings are added under each of some random weights around the first.
    weights_file : Path or None
        The file of the first weights, which may name the features.
    """

    paths: tuple[Path | str, ...]
    reader: GraphReader | None
    weights: tuple[FeatureWeights, ...]
    size: int
    around: bool
    weights_file: Path | None = None

    @classmethod
    def of(
        cls,
        paths: Sequence[Path | str],
        weights: Path | str | Mapping[str, float | Sequence[float]] | FeatureWeights | None,
        *,
        size: int,
        around: bool,
        graph_format: str,
    ) -> BestStrings:
        """Return the strings that `Lists.from_graphs` describes."""
        file = None
        if isinstance(weights, Path | str):
            file = None if str(weights) == STDIN else Path(weights)
            weights = read_weights(weights)
        elif isinstance(weights, Mapping):
            weights = FeatureWeights.of(weights)
        first = () if weights is None else (weights,)
        return cls(tuple(paths), registry.graph_reader(graph_format), first, size, around, file)

    @property
    def graphs(self) -> Graphs:
        """The graphs; they are read once."""
        return read_graphs(self.paths, self.reader, weights=self.weights_file)

    @property
    def content(self) -> tuple[Any, ...]:
        """What the strings depend on but the graphs: the reader's options and files, and so on."""
        options = [] if self.reader is None else [*asdict(self.reader).values()]
        return (
            type(self.reader).__name__,
            *options,
            *map(str, self.weights),
            self.size,
            self.around,
        )

    @property
    def files(self) -> Sequence[Path | str]:
        """The files of the graphs."""
        return files_of(self.paths)

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of all graphs."""
        return self.graphs.columns.vocabulary

    def under(self, weights: Iterable[FeatureWeights]) -> BestStrings:
        """Return these strings and the best ones under more weights."""
        return replace(self, weights=(self.start, *self.weights[1:], *weights))

    def only_under(self, weights: FeatureWeights) -> BestStrings:
        """Return the best strings under these weights alone."""
        return replace(self, weights=(weights,), around=False)

    def of_test_set(self, paths: Sequence[Path | str]) -> BestStrings:
        """Return the strings of other graphs, without those under random weights."""
        return replace(self, paths=tuple(paths), around=False)

    @property
    def start(self) -> FeatureWeights:
        """The first weights."""
        return self.weights[0] if self.weights else self.graphs.start()

    def nbest(self, segments: int | None, names: SegmentNames) -> NBest:
        """Return the lists; see `nbest.read.read_nbest`."""
        graphs = self.graphs
        first, more = self.start, list(self.weights[1:])
        sizes = [self.size] * (1 + len(more))
        if self.around:
            nbest = graphs.nbest([first], [self.size], names=names, segments=segments)
            more += drawn_around(first, nbest, streams.graph_weights(1, 1))
            sizes += [max(1, self.size // 2)] * AROUND
        return graphs.nbest([first, *more], sizes, names=names, segments=segments)


def warm_up() -> None:
    """Read a graph and list its strings, so that it is compiled."""
    with programs.scratch(name="graph") as folder, collected_notices():
        (folder / "graph").write_text("((('a',-1.0,1),('b',-2.0,1),),)")
        graphs = read_graphs([folder / "graph"])
        graphs.nbest([graphs.start()], [2])
