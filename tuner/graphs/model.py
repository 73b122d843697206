"""A search graph as flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from portmert.metrics._base import (
    FloatArray,
    IntArray,
    TokenArray,
    Vocabulary,
    offsets_of,
    rows_taken,
)

from ..base.errors import counted
from ..weights.feature_weights import FeatureNames, FeatureWeights
from . import _best_string_kernels as kernels
from ._best_string_kernels import Arcs

MOST_ARCS = 2_000_000
"""Arcs of one segment: while they are read, 2.2 GB with two features each."""


class GraphError(ValueError):
    """A graph is not one; the message is the rest of a sentence."""


@dataclass
class Columns:
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
    """

    vocabulary: Vocabulary
    features: dict[str, list[int]] = field(default_factory=dict)
    sparse: set[str] = field(default_factory=set)
    start: dict[str, tuple[float, ...]] = field(default_factory=dict)
    count: int = 0

    def of(self, name: str, size: int = 1, *, sparse: bool = False) -> list[int]:
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


@dataclass(frozen=True, eq=False)
class Graph:
    """A segment's graph, without what no whole derivation has; the last node is the goal.

    Parameters
    ----------
    arcs : Arcs
    has_spans : bool
        Whether the source words of its arcs are known.
    """

    arcs: Arcs
    has_spans: bool = False

    @classmethod
    def of(
        cls,
        heads: ArrayLike,
        tails: tuple[ArrayLike, ArrayLike],
        body: tuple[ArrayLike, ArrayLike],
        features: tuple[ArrayLike, ArrayLike, ArrayLike],
        *,
        spans: IntArray | None = None,
        goal: int,
    ) -> Graph:
        """Order nodes and arcs, and drop those that no whole derivation has.

        Parameters
        ----------
        heads : (A,)
            Any node of 0..N-1.
        tails, body
            Offsets (A + 1,) and values, see `_best_string_kernels`.
        features
            Offsets (A + 1,), columns and values.

        Raises
        ------
        GraphError
            There is a cycle, or no derivation.
        """
        heads, tail_offsets, tail_nodes = (
            np.asarray(values, dtype=np.int64) for values in (heads, *tails)
        )
        nodes = 1 + max(goal, int(heads.max(initial=0)), int(tail_nodes.max(initial=0)))
        cycle, numbers = kernels.order_nodes(heads, tail_offsets, tail_nodes, nodes, goal)
        if cycle >= 0:
            raise GraphError(f"node {cycle} is behind itself; expected a graph without cycles")
        if numbers[goal] < 0:
            raise GraphError("no path leads from the start to the end")
        new_heads, new_tails = numbers[heads], numbers[tail_nodes]
        ends = np.concatenate([[0], np.cumsum(new_tails < 0)])[tail_offsets]
        kept = np.flatnonzero((new_heads >= 0) & (np.diff(ends) == 0))
        order = kept[np.argsort(new_heads[kept], kind="stable")]

        taken = [rows_taken(np.asarray(o, dtype=np.int64), order) for o, *_ in (body, features)]
        tail_places, new_tail_offsets = rows_taken(tail_offsets, order)
        (body_places, body_offsets), (feature_places, feature_offsets) = taken
        return cls(
            Arcs(
                np.searchsorted(new_heads[order], np.arange(numbers[goal] + 2)),
                new_tail_offsets,
                new_tails[tail_places],
                body_offsets,
                np.asarray(body[1], dtype=np.int32)[body_places],
                feature_offsets,
                np.asarray(features[1], dtype=np.int32)[feature_places],
                np.asarray(features[2], dtype=np.float64)[feature_places] + 0.0,
                np.full((len(order), 2), -1) if spans is None else spans[order],
            ),
            spans is not None,
        )

    def __len__(self) -> int:
        """Return the number of arcs."""
        return len(self.arcs.body_offsets) - 1

    def best(self, weights: FloatArray, size: int) -> Strings:
        """Return the `size` best distinct strings under the weights of the columns."""
        scores = kernels.score_arcs(self.arcs, weights)
        best, tokens, token_offsets, used, used_offsets, links, link_offsets = (
            kernels.best_strings(self.arcs, scores, size)
        )
        table = kernels.sum_features(self.arcs, used, used_offsets, len(weights))
        table = np.round(table, 9)  # without the noise of sums, numbers are short
        return Strings(best, tokens, token_offsets, table, links, link_offsets)


@dataclass(frozen=True, eq=False)
class Strings:
    """K strings of a graph, best first; the arrays are those of the kernel `best_strings`.

    `features` (K, C) are the sums over the arcs of each derivation.
    """

    scores: FloatArray
    tokens: TokenArray
    token_offsets: IntArray
    features: FloatArray
    links: TokenArray
    link_offsets: IntArray


class Builder:
    """Collects the arcs of a graph, one by one.

    Parameters
    ----------
    columns : Columns
        Numbers features and words.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.heads: list[int] = []
        self.tail_counts: list[int] = []
        self.tails: list[int] = []
        self.body_counts: list[int] = []
        self.body: list[int] = []
        self.feature_counts: list[int] = []
        self.feature_columns: list[int] = []
        self.values: list[float] = []

    def arc(
        self,
        head: int,
        tails: Sequence[int],
        body: Iterable[str | int],
        features: Iterable[tuple[int, float]] = (),
    ) -> None:
        """Add an arc; its body is words, and -1 - t for tail t."""
        items = [
            item if isinstance(item, int) else self.columns.vocabulary.add(item) for item in body
        ]
        pairs = [pair for pair in features if pair[1] != 0.0]
        self.heads.append(head)
        self.tail_counts.append(len(tails))
        self.tails.extend(tails)
        self.body_counts.append(len(items))
        self.body.extend(items)
        self.feature_counts.append(len(pairs))
        self.feature_columns.extend(column for column, _ in pairs)
        self.values.extend(value for _, value in pairs)

    def step(self, tail: int, head: int, words: str, features: Mapping[int, float]) -> None:
        """Add an arc of a lattice, which writes words behind those before it."""
        self.arc(head, (tail,), (-1, *words.split()), features.items())

    def graph(self, goal: int) -> Graph:
        """Return the graph.

        Raises
        ------
        GraphError
            There is a cycle, or no derivation.
        """
        return Graph.of(
            self.heads,
            (offsets_of(self.tail_counts), self.tails),
            (offsets_of(self.body_counts), self.body),
            (offsets_of(self.feature_counts), self.feature_columns, self.values),
            goal=goal,
        )
