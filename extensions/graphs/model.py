"""Search graphs as flat arrays, made of arcs in any order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from portmert.metrics._base import (
    FloatArray,
    IntArray,
    Vocabulary,
    offsets_of,
    rows_taken,
)
from portmert.tuner.base.errors import counted
from portmert.tuner.weights.feature_weights import FeatureNames, FeatureWeights

from . import _best_string_kernels as kernels
from ._best_string_kernels import Graph

MOST_ARCS = 2_000_000
"""Arcs of one segment: while they are read, 2.2 GB with two features each."""


class GraphError(ValueError):
    """A graph is not one; the message is the rest of a sentence."""


@dataclass
class FeatureColumns:
    """The columns of features, numbered in the order of arrival over all graphs.

    Parameters
    ----------
    features : dict
        Name of a feature -> its columns.
    sparse : set of str
        Features that only some arcs name, with one column each.
    start : dict
        Start weights of features, where graphs or their format name some.
    vocabulary : Vocabulary
        The words of all graphs.
    remarks : dict
        Name of a feature -> what is odd about it in the first file where it is.
    """

    vocabulary: Vocabulary
    features: dict[str, list[int]] = field(default_factory=dict)
    sparse: set[str] = field(default_factory=set)
    start: dict[str, tuple[float, ...]] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    count: int = 0

    def columns_of(self, name: str, size: int = 1, *, sparse: bool = False) -> list[int]:
        """Return the columns of a feature, new ones if it is new.

        Raises
        ------
        GraphError
            It had another number of values before.
        """
        if name not in self.features:
            self.features[name] = list(range(self.count, self.count + size))
            self.count += size
            if sparse:
                self.sparse.add(name)
        elif len(self.features[name]) != size:
            raise GraphError(
                f"feature {name} has {counted(size, 'value')}, before it had "
                f"{len(self.features[name])}"
            )
        return self.features[name]

    @property
    def dense(self) -> FeatureNames:
        """Names and sizes of the features that are not sparse."""
        return tuple(
            (name, len(columns))
            for name, columns in self.features.items()
            if name not in self.sparse
        )

    def vector(self, weights: FeatureWeights) -> FloatArray:
        """Return the weight of each column; a sparse feature without a weight has 0.

        Raises
        ------
        InputError
            A dense feature has no weight.
        """
        weights.vector(self.dense)
        vector = np.zeros(self.count)
        for name, columns in self.features.items():
            vector[columns] = weights.values.get(name, (0.0,))
        return vector


class Builder:
    """Collects the arcs of a graph, in any order.

    Parameters
    ----------
    columns : FeatureColumns
        Numbers features and words.

    Attributes
    ----------
    heads, tails, body, feature_columns, values : list
    tail_offsets, body_offsets, feature_offsets : list of int
        Where the tails, the body and the features of each arc begin; see `Graph`.
    spans : (n, 2) int64
        The source words of the first n arcs.
    """

    def __init__(self, columns: FeatureColumns) -> None:
        self.columns = columns
        self.heads: list[int] = []
        self.tails, self.tail_offsets = list[int](), [0]
        self.body, self.body_offsets = list[int](), [0]
        self.feature_columns, self.values, self.feature_offsets = list[int](), list[float](), [0]
        self.spans: IntArray = np.empty((0, 2), dtype=np.int64)

    def arc(
        self,
        head: int,
        tails: Sequence[int],
        body: Iterable[str | int],
        features: Iterable[tuple[int, float]] = (),
    ) -> None:
        """Add an arc; its body is words, and -1 - t for tail t."""
        add = self.columns.vocabulary.add
        self.heads.append(head)
        self.tails += tails
        self.tail_offsets.append(len(self.tails))
        self.body += [item if isinstance(item, int) else add(item) for item in body]
        self.body_offsets.append(len(self.body))
        for column, value in features:
            if value != 0.0:
                self.feature_columns.append(column)
                self.values.append(value)
        self.feature_offsets.append(len(self.values))

    def step(self, tail: int, head: int, words: str, features: Mapping[int, float]) -> None:
        """Add an arc of a lattice, which writes words behind those before it."""
        self.arc(head, (tail,), (-1, *words.split()), features.items())

    def graph(self, goal: int, *, start: int | None = None) -> Graph:
        """Order nodes and arcs, and drop those that no whole derivation of the goal has.

        Parameters
        ----------
        start
            The first node of a lattice, which has the empty string.

        Raises
        ------
        GraphError
            There is a cycle, or no derivation.
        """
        if start is not None:
            self.arc(start, (), ())
        heads, tail_offsets, tails = map(_ints, (self.heads, self.tail_offsets, self.tails))
        nodes = 1 + max(goal, int(heads.max(initial=0)), int(tails.max(initial=0)))
        arc_of_tail = np.repeat(np.arange(len(heads)), np.diff(tail_offsets))
        cycle, numbers, lacking = kernels.order_nodes(
            heads,
            tail_offsets,
            tails,
            (_firsts(heads, nodes), np.argsort(heads, kind="stable")),
            (_firsts(tails, nodes), arc_of_tail[np.argsort(tails, kind="stable")]),
            goal,
        )
        if cycle >= 0:
            raise GraphError(f"node {cycle} is behind itself; expected a graph without cycles")
        if numbers[goal] < 0:
            raise GraphError("no path leads from the start to the end; is the file cut off?")
        kept = np.flatnonzero((numbers[heads] >= 0) & (lacking == 0))
        order = kept[np.argsort(numbers[heads[kept]], kind="stable")]
        tail_places, tail_offsets = rows_taken(tail_offsets, order)
        body_places, body_offsets = rows_taken(_ints(self.body_offsets), order)
        feature_places, feature_offsets = rows_taken(_ints(self.feature_offsets), order)
        spans = np.full((len(heads), 2), -1)
        spans[: len(self.spans)] = self.spans
        return Graph(
            _firsts(numbers[heads[order]], numbers[goal] + 1),
            tail_offsets,
            numbers[tails[tail_places]],
            body_offsets,
            np.array(self.body, dtype=np.int32)[body_places],
            feature_offsets,
            np.array(self.feature_columns, dtype=np.int32)[feature_places],
            np.array(self.values, dtype=np.float64)[feature_places] + 0.0,
            spans[order],
        )


def _ints(values: Sequence[int]) -> IntArray:
    return np.array(values, dtype=np.int64)


def _firsts(nodes_of_arcs: IntArray, nodes: int) -> IntArray:
    """Return (nodes + 1,) where the arcs of each node begin, if they stand in the nodes' order."""
    return offsets_of(np.bincount(nodes_of_arcs, minlength=nodes))
