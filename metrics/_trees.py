"""Counts chains, subtrees and fragments of parses, for the tree metrics.

Liu and Gildea 2005; formulas in docs/metrics/trees.md.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from portmert.metrics import _tree_kernels
from portmert.metrics._base import Batch, FloatArray, Metric, Ragged, Texts
from portmert.metrics._ngrams import (
    SMALLEST_COUNT,
    flat,
    kernel_arrays,
    reference_lengths,
    require_references,
)
from portmert.metrics._orders import Averaged, weighted_mean

Kind = Literal["precision", "F"]
Noparse = Literal["ignore", "worst"]
Average = Literal["corpus", "segments"]
Weight = Literal["one", "reflen"]
Items = Literal["chains", "subtrees"]

LIU_GILDEA = "Liu and Gildea, ACL workshop on evaluation measures 2005"
MOSES = f"{LIU_GILDEA}; Moses mert/HwcmScorer.cpp"

WEIGHT_NAMES: dict[Weight, str] = {"one": "segments", "reflen": "ref_len"}
"""What the sum of the weights is."""


def dependency_forest(texts: Texts, what: str) -> Ragged:
    """Return the forests of the best dependency parses: labels are words.

    Raises
    ------
    ValueError
        There are no parses, or a parse is not one of its text.
    """
    tokens, heads = texts.tokens, texts.heads
    if heads is None:
        raise ValueError(f"the metric needs the dependency parse of each {what}")
    lengths = heads.lengths
    wrong = np.flatnonzero((lengths != tokens.lengths) & (lengths != 0))
    if wrong.size:
        first = int(wrong[0])
        raise ValueError(
            f"{what} {first} has heads: {lengths[first]}, tokens: {tokens.lengths[first]}; a text "
            f"has one head a token, or none"
        )
    above = heads.values[heads.offsets[0] : heads.offsets[-1]].reshape(-1, 2)[:, 0]
    outside = np.flatnonzero((above < 0) | (above > np.repeat(lengths, lengths)))
    offsets = heads.offsets - heads.offsets[0]
    if outside.size:
        first = int(np.searchsorted(offsets, outside[0], side="right")) - 1
        raise ValueError(f"{what} {first} has a head outside 0..{lengths[first]}")
    nodes = np.empty((len(above), 2), dtype=np.int32)
    if len(above) == tokens.offsets[-1] - tokens.offsets[0]:
        nodes[:, 0] = tokens.values[tokens.offsets[0] : tokens.offsets[-1]]
    else:
        nodes[:, 0] = tokens.take(np.flatnonzero(lengths)).values
    nodes[:, 1] = above - 1
    return Ragged(nodes, offsets)


def constituency_forest(texts: Texts, what: str, *, lexical: bool = False) -> Ragged:
    """Return the best constituency parses, without the words unless `lexical`.

    Raises
    ------
    ValueError
        There are no parses, or a tree is not in preorder.
    """
    if texts.trees is None:
        raise ValueError(f"the metric needs the constituency parse of each {what}")
    trees = flat(texts.trees)
    values = trees.values[trees.offsets[0] : trees.offsets[-1]].reshape(-1, 2)
    whole = Ragged(values, trees.offsets - trees.offsets[0])
    nodes, offsets, fault = _tree_kernels.without_leaves(whole.values, whole.offsets)
    if fault >= 0:
        raise ValueError(f"the tree of {what} {fault} is not in preorder")
    return whole if lexical else Ragged(nodes, offsets)


@dataclasses.dataclass(frozen=True, eq=False)
class Forests:
    """Holds the forests of hypotheses and references, a row each; none without a parse."""

    hypotheses: Ragged
    references: Ragged

    @classmethod
    def dependency(cls, batch: Batch) -> Forests:
        """Return those of the dependency parses of a batch."""
        require_references(batch)
        return cls(
            dependency_forest(batch.hypotheses, "hypothesis"),
            dependency_forest(batch.references, "reference"),
        )

    @classmethod
    def constituency(cls, batch: Batch, *, lexical: bool = False) -> Forests:
        """Return those of the constituency parses of a batch."""
        require_references(batch)
        return cls(
            constituency_forest(batch.hypotheses, "hypothesis", lexical=lexical),
            constituency_forest(batch.references, "reference", lexical=lexical),
        )


@dataclass(frozen=True)
class Overlap(Metric):
    """Scores the items of parses that match: HWCM, STM, DSTM and their F.

    A subclass says which items of which parses (`items`, `needs`), and whether the score is the
    mean precision over the orders 1..depth, or F of that and the mean recall (`kind`).

    Parameters
    ----------
    depth
        D, the longest chain, or the most levels of a subtree.
    noparse
        The precision of a hypothesis without a parse (an empty one has none): `ignore` it, or
        count it as matching nothing of as many items as the reference has (`worst`). The recall
        always counts it. To tune on a precision take `worst`: else leaving out the parse, or the
        words, costs nothing.
    average
        `corpus` sums the counts over all segments first; `segments` is the mean of the scores of
        the segments, as the paper defines them. Of a precision, segments that `noparse` ignores
        are left out.
    """

    depth: Annotated[int, Ge(1), Le(16)] = 4
    noparse: Noparse = "ignore"
    average: Average = "corpus"

    kind: ClassVar[Kind] = "precision"
    items: ClassVar[Items]
    source: ClassVar[str] = LIU_GILDEA

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Of each order the items that match, those of the hypothesis and of the reference."""
        if self.average == "segments":
            return ("score", "segments")
        kinds = ("matched", "total", "ref_total")
        return tuple(f"{kind}_{n}" for n in range(1, self.depth + 1) for kind in kinds)

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 3 D) counts in the order of `stat_names`, (H, 2) of means over segments."""
        of_words = "heads" in self.needs
        forests = Forests.dependency(batch) if of_words else Forests.constituency(batch)
        parsed = forests.hypotheses.lengths > 0
        matches, totals, reference_totals = _tree_kernels.item_matches(
            *kernel_arrays(batch, forests.hypotheses, forests.references),
            self.depth,
            self.items == "chains",
        )
        closest = _closest_totals(batch, totals, reference_totals)
        if self.noparse == "worst":
            totals = np.where(parsed[:, np.newaxis], totals, closest)
        counts = np.empty((len(parsed), 3 * self.depth))
        counts[:, 0::3], counts[:, 1::3], counts[:, 2::3] = matches, totals, closest
        # Without a parsed reference a segment says nothing of any hypothesis.
        comparable = closest[:, 0] > 0.0
        counts[~comparable] = 0.0
        if self.average == "corpus":
            return counts
        counted = comparable
        if self.noparse == "ignore" and self.kind == "precision":
            counted = comparable & parsed
        return np.column_stack([self._of_counts(counts), counted])

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the score (...) of stats (..., K): 0..1, F of several references may be more."""
        return weighted_mean(stats) if self.average == "segments" else self._of_counts(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return precisions, recalls, their means and the counts of stats (K,)."""
        counts = dict(zip(self.stat_names, stats.tolist(), strict=True))
        if self.average == "segments":
            return {"score": float(self.score(stats)), "segments": float(stats[1])}
        means = {
            "precision": float(self._mean_share(stats, 1)),
            "recall": float(self._mean_share(stats, 2)),
        }
        shares = {
            f"{letter}{n + 1}": float(self._share(stats, n, column))
            for letter, column in (("p", 1), ("r", 2))
            for n in range(self.depth)
        }
        return means | shares | counts

    def _of_counts(self, counts: FloatArray) -> FloatArray:
        precision = self._mean_share(counts, 1)
        if self.kind == "precision":
            return precision
        recall = self._mean_share(counts, 2)
        smallest = np.finfo(np.float64).tiny
        return np.asarray(2.0 * precision * recall / np.maximum(precision + recall, smallest))

    def _mean_share(self, counts: FloatArray, column: int) -> FloatArray:
        # Added order by order: the layout in memory must not decide how rounding falls.
        total = np.zeros(counts.shape[:-1])
        for n in range(self.depth):
            total = total + self._share(counts, n, column)
        return np.asarray(total / self.depth)

    @staticmethod
    def _share(counts: FloatArray, n: int, column: int) -> FloatArray:
        match, items = counts[..., 3 * n], counts[..., 3 * n + column]
        # Where the closest reference has no item, another one's may match: that is no recall.
        return np.where(items > 0.0, match / np.maximum(items, SMALLEST_COUNT), 0.0)


def _closest_totals(batch: Batch, own: FloatArray, reference_totals: FloatArray) -> FloatArray:
    """Return (H, D) float64: of each order the number of items in a reference closest to its own.

    The smaller of two equally close ones; zeros where no reference has a parse.
    """
    starts, counts = batch.reference_offsets[:-1], np.diff(batch.reference_offsets)
    per_segment = np.diff(batch.offsets)
    closest, least = np.zeros_like(own), np.full_like(own, np.inf)
    for k in range(int(counts.max(initial=0))):
        # A segment with fewer references sees its first one again: no change.
        other = np.repeat(
            reference_totals[starts + np.where(k < counts, k, 0)], per_segment, axis=0
        )
        distance = np.where(other[:, :1] > 0.0, np.abs(other - own), np.inf)
        nearer = (distance < least) | ((distance == least) & (other < closest))
        closest, least = np.where(nearer, other, closest), np.where(nearer, distance, least)
    return closest


def similarity_stats(batch: Batch, forests: Forests, weight: Weight) -> FloatArray:
    """Return (H, 2) float64: weight times the similarity of parses, and weight.

    Both are 0 in a segment without a parsed reference: it says nothing of any hypothesis.
    """
    values = _tree_kernels.tree_similarities(
        *kernel_arrays(batch, forests.hypotheses, forests.references)
    )
    parsed = np.add.reduceat(forests.references.lengths, batch.reference_offsets[:-1])
    weights = np.repeat((parsed > 0).astype(np.float64), np.diff(batch.offsets))
    if weight == "reflen":
        weights *= reference_lengths(batch)
    return np.column_stack([values * weights, weights])


@dataclass(frozen=True)
class TreeKernel(Averaged):
    """Averages the cosine of the numbers of all fragments of parses.

    A subclass says of which parses (`needs`).

    Parameters
    ----------
    lexical
        Keep the words as leaves; else parts of speech are the leaves.
    weight
        Of a segment in the mean: `one`, or the length of the closest reference (`reflen`).
    """

    lexical: bool = False
    weight: Weight = "one"

    source: ClassVar[str] = (
        "Liu and Gildea, ACL workshop on evaluation measures 2005; Collins and Duffy, NIPS 2001"
    )

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Weight times the cosine, and the weight."""
        return (self.name(), WEIGHT_NAMES[self.weight])

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        of_words = "heads" in self.needs
        return similarity_stats(
            batch,
            Forests.dependency(batch)
            if of_words
            else Forests.constituency(batch, lexical=self.lexical),
            self.weight,
        )
