"""Metrics of parse trees: chains, subtrees and fragments that match.

Liu and Gildea 2005; formulas in docs/metrics/trees.md.
"""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from . import _shared
from ._base import Batch, FloatArray, Metric, Need, Ragged, Texts
from .kernels.trees import item_matches, tree_similarities, without_leaves

Kind = Literal["precision", "F"]
Noparse = Literal["ignore", "worst"]
Average = Literal["corpus", "segments"]
Weight = Literal["one", "reflen"]
Items = Literal["chains", "subtrees"]

LIU_GILDEA = "Liu and Gildea, ACL workshop on evaluation measures 2005"
MOSES = f"{LIU_GILDEA}; Moses mert/HwcmScorer.cpp"


@dataclass(frozen=True)
class _Overlap(Metric):
    """Scores the items of parses that match: HWCM, STM, DSTM and their F.

    A subclass says which items of which parses (`items`, `needs`), and whether the score is the
    mean precision over the orders 1..depth, or F of that and the mean recall (`kind`).

    Parameters
    ----------
    depth
        D, the number of words of the longest chain, or of levels of the deepest subtree.
    noparse
        How the precision counts a hypothesis without a parse, such as an empty one: `ignore`
        leaves it out; `worst` counts as many items as the reference has, none of them matched. The
        recall always counts it. Take `worst` to tune on a precision, or else a hypothesis without
        a parse or without words costs nothing.
    average
        `corpus`: the score of the counts summed over all segments.
        `segments`: the mean of the scores of single segments, as in the paper; a precision leaves
        out the segments that `noparse` ignores.
    effective_order
        Leave out of the mean the orders of which neither side has an item, as the long chains of
        a short sentence. By default they count 0, and the divisor is always D.
    """

    depth: Annotated[int, Ge(1), Le(16)] = 4
    noparse: Noparse = "ignore"
    average: Average = "corpus"
    effective_order: bool = False

    signed_if_changed: ClassVar[frozenset[str]] = frozenset({"effective_order"})
    kind: ClassVar[Kind] = "precision"
    items: ClassVar[Items]
    source: ClassVar[str] = LIU_GILDEA

    @property
    def best(self) -> float:
        """The score that none surpasses; F of several references has none."""
        return 1.0 if self.kind == "precision" else np.inf

    @property
    def stat_names(self) -> tuple[str, ...]:
        """For each order: items that match, items of the hypothesis, items of the reference."""
        if self.average == "segments":
            return ("score", "segments")
        kinds = ("matched", "total", "ref_total")
        return tuple(f"{kind}_{n}" for n in range(1, self.depth + 1) for kind in kinds)

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 3 D) counts in the order of `stat_names`, (H, 2) of means over segments."""
        forests, references = _forests(batch, of_words="heads" in self.needs)
        parsed = forests.lengths > 0
        matches, totals, reference_totals = item_matches(
            _shared.segments_of(batch, forests, references), self.depth, self.items == "chains"
        )
        closest = _shared.closest_rows(
            batch, totals, reference_totals, reference_totals[:, 0] > 0.0
        )
        if self.noparse == "worst":
            totals = np.where(parsed[:, np.newaxis], totals, closest)
        counts = np.empty((len(parsed), 3 * self.depth))
        counts[:, 0::3], counts[:, 1::3], counts[:, 2::3] = matches, totals, closest
        # A segment without a parsed reference cannot rank hypotheses.
        comparable = closest[:, 0] > 0.0
        counts[~comparable] = 0.0
        if self.average == "corpus":
            return counts
        counted = comparable
        if self.noparse == "ignore" and self.kind == "precision":
            counted = comparable & parsed
        return np.column_stack([self._of_counts(counts), counted.astype(np.float64)])

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the score (...) of stats (..., K): 0..1, F of several references may be more."""
        return (
            _shared.weighted_mean(stats) if self.average == "segments" else self._of_counts(stats)
        )

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return precisions, recalls, their means and the counts of stats (K,)."""
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
        return means | shares | _shared.named(self.stat_names, stats)

    def _of_counts(self, counts: FloatArray) -> FloatArray:
        precision = self._mean_share(counts, 1)
        if self.kind == "precision":
            return precision
        return _shared.harmonic_mean(precision, self._mean_share(counts, 2))

    def _mean_share(self, counts: FloatArray, column: int) -> FloatArray:
        return _shared.mean_of_orders(
            [self._share(counts, n, column) for n in range(self.depth)],
            _shared.items_of_orders(counts, self.depth if self.effective_order else 0),
        )

    @staticmethod
    def _share(counts: FloatArray, n: int, column: int) -> FloatArray:
        # Where the closest reference has no item, another one's may match: that is no recall.
        return _shared.quotient(counts[..., 3 * n], counts[..., 3 * n + column])


@dataclass(frozen=True)
class Hwcm(_Overlap):
    """Averages the precision of the head-word chains of 1..D words in dependency parses.

    A chain of n words is a path down the parse: a word, a dependent of it, a dependent of that,
    and so on; one word is a chain by itself. A chain matches at most as often as it occurs in the
    reference with most of it. References without a parse are left out, and so is a segment that
    has no other. A precision has no length penalty, so tuning on it rewards short output; `hwcm-f`
    does not.
    """

    items: ClassVar[Items] = "chains"
    needs: ClassVar[frozenset[Need]] = frozenset({"heads"})


@dataclass(frozen=True)
class HwcmF(Hwcm):
    """Computes the F-score of the mean precision and recall of the head-word chains of `hwcm`.

    With several references the recall takes, for each length, the one whose number of chains is
    closest to the hypothesis's (the smaller on a tie). Matches may come from another reference, so
    recall and F can exceed 1. References without a parse are left out, and so is a segment that
    has no other.
    """

    kind: ClassVar[Kind] = "F"
    source: ClassVar[str] = MOSES


@dataclass(frozen=True)
class Stm(_Overlap):
    """Averages the precision of subtrees of 1..D levels of constituency parses without words.

    A subtree of n levels is a node with everything below it down to the n-th level, which it must
    reach; one level is the node alone. A subtree matches at most as often as it occurs in the
    reference with most of it. References without a parse are left out, and so is a segment that
    has no other. A precision has no length penalty, so tuning on it rewards short output; `stm-f`
    does not.
    """

    items: ClassVar[Items] = "subtrees"
    needs: ClassVar[frozenset[Need]] = frozenset({"trees"})


@dataclass(frozen=True)
class StmF(Stm):
    """Computes the F-score of the mean precision and recall of the subtrees of `stm`.

    With several references the recall takes, for each depth, the one whose number of subtrees is
    closest to the hypothesis's (the smaller on a tie). Matches may come from another reference, so
    recall and F can exceed 1. References without a parse are left out, and so is a segment that
    has no other.
    """

    kind: ClassVar[Kind] = "F"
    source: ClassVar[str] = MOSES


@dataclass(frozen=True)
class Dstm(_Overlap):
    """Averages the precision of subtrees of 1..D levels of dependency parses, labelled by words.

    A subtree of n levels is a word with everything below it down to the n-th level, which it must
    reach; one level is the word alone. A subtree matches at most as often as it occurs in the
    reference with most of it. References without a parse are left out, and so is a segment that
    has no other. A precision has no length penalty, so tuning on it rewards short output; `dstm-f`
    does not.
    """

    items: ClassVar[Items] = "subtrees"
    needs: ClassVar[frozenset[Need]] = frozenset({"heads"})


@dataclass(frozen=True)
class DstmF(Dstm):
    """Computes the F-score of the mean precision and recall of the subtrees of `dstm`.

    With several references the recall takes, for each depth, the one whose number of subtrees is
    closest to the hypothesis's (the smaller on a tie). Matches may come from another reference, so
    recall and F can exceed 1. References without a parse are left out, and so is a segment that
    has no other.
    """

    kind: ClassVar[Kind] = "F"
    source: ClassVar[str] = MOSES


@dataclass(frozen=True)
class _TreeKernel(_shared.WeightedMean):
    """Averages the cosine of the fragment counts of two parses.

    A subclass says of which parses (`needs`).

    Parameters
    ----------
    lexical
        Keep the words as leaves; else parts of speech are the leaves.
    weight
        Weight of a segment in the mean: `one`, or the length of the closest reference (`reflen`).
    """

    lexical: bool = False
    weight: Weight = "one"

    source: ClassVar[str] = (
        "Liu and Gildea, ACL workshop on evaluation measures 2005; Collins and Duffy, NIPS 2001"
    )

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Weight times the cosine, and the weight."""
        return (self.name(), {"one": "segments", "reflen": "ref_len"}[self.weight])

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`.

        Both are 0 in a segment without a parsed reference: such a segment cannot rank hypotheses.
        """
        forests, references = _forests(batch, of_words="heads" in self.needs, lexical=self.lexical)
        values = tree_similarities(_shared.segments_of(batch, forests, references))
        parsed = np.add.reduceat(references.lengths, batch.reference_offsets[:-1])
        weights = np.repeat((parsed > 0).astype(np.float64), np.diff(batch.offsets))
        if self.weight == "reflen":
            weights *= _shared.reference_lengths(batch)
        return np.column_stack([values * weights, weights])


@dataclass(frozen=True)
class Tkm(_TreeKernel):
    """Averages the cosine of the fragment counts of two constituency parses.

    A fragment is a connected part of a tree with at least one production, in which a node has all
    its children or none. With several references, the highest value counts. A hypothesis without a
    parse has 0. A segment without a parsed reference does not count. If neither parse has a
    production, the value is 1 for equal parses and 0 for others.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({"trees"})


@dataclass(frozen=True)
class Dtkm(_TreeKernel):
    """Averages the cosine of the fragment counts of two dependency parses, labelled by words.

    A fragment is a connected part of a tree with at least one production, in which a node has all
    its children or none. With several references, the highest value counts. A hypothesis without a
    parse has 0. A segment without a parsed reference does not count. If neither parse has a
    production, the value is 1 for equal parses and 0 for others.
    """

    lexical: ClassVar[bool] = False  # type: ignore[misc]  # no option here
    needs: ClassVar[frozenset[Need]] = frozenset({"heads"})


def _dependency_forest(texts: Texts, side: str) -> Ragged:
    """Return the forests of the best dependency parses: labels are words.

    Raises
    ------
    ValueError
        There are no parses, or a parse is not one of its text.
    """
    tokens, heads = texts.tokens, texts.heads
    if heads is None:
        raise ValueError(f"the metric needs the dependency parse of each {side}")
    _shared.check_rows(heads, texts, side, ("heads", "head"))
    lengths, offsets = heads.lengths, heads.alone().offsets
    above = heads.alone().values.reshape(-1, 2)[:, 0]
    outside = np.flatnonzero((above < 0) | (above > np.repeat(lengths, lengths)))
    if outside.size:
        first = int(np.searchsorted(offsets, outside[0], side="right")) - 1
        raise ValueError(f"{side} {first} has a head outside 0..{lengths[first]}")
    nodes = np.empty((len(above), 2), dtype=np.int32)
    words = tokens.alone().values
    parsed = words if len(above) == len(words) else tokens.take(np.flatnonzero(lengths)).values
    nodes[:, 0], nodes[:, 1] = parsed, above - 1
    return Ragged(nodes, offsets)


def _constituency_forest(texts: Texts, side: str, *, lexical: bool = False) -> Ragged:
    """Return the best constituency parses, without the words unless `lexical`.

    Raises
    ------
    ValueError
        There are no parses, or a tree is not in preorder.
    """
    if texts.trees is None:
        raise ValueError(f"the metric needs the constituency parse of each {side}")
    trees = _shared.flat(texts.trees)
    whole = replace(trees, values=trees.values.reshape(-1, 2))
    nodes, offsets, fault = without_leaves(whole.values, whole.offsets)
    if fault >= 0:
        raise ValueError(f"the tree of {side} {fault} is not in preorder")
    return whole if lexical else Ragged(nodes, offsets)


def _forests(batch: Batch, *, of_words: bool, lexical: bool = False) -> list[Ragged]:
    """Return the forests of hypotheses and of references, a row each; none without a parse.

    They are dependency parses with `of_words`, otherwise constituency parses.
    """
    _shared.require_references(batch)
    sides = ((batch.hypotheses, "hypothesis"), (batch.references, "reference"))
    if of_words:
        return [_dependency_forest(*side) for side in sides]
    return [_constituency_forest(*side, lexical=lexical) for side in sides]
