"""Compares the texts of lists with each other: batches that repeat texts without copies."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ._base import Batch, FloatArray, IntArray, Ragged, Texts, spans


class Repeated(Ragged):
    """Repeats rows; their values are copied only where somebody asks for them.

    Parameters
    ----------
    single : Ragged
        The rows that are repeated.
    indices : (N,) int64
        Which of them each row is.
    """

    def __init__(self, single: Ragged, indices: IntArray) -> None:
        self.single = single
        self.indices = indices

    def __getattr__(self, name: str) -> Any:
        """Copy the rows when their values or offsets are needed."""
        if name not in {"values", "offsets"}:
            raise AttributeError(name)
        copied = self.single.take(self.indices)
        vars(self).update(values=copied.values, offsets=copied.offsets)
        return vars(self)[name]

    @property
    def lengths(self) -> IntArray:
        """(N,) number of values in each row."""
        return self.single.lengths[self.indices]

    def __len__(self) -> int:
        return len(self.indices)


@dataclass(frozen=True, eq=False, kw_only=True)
class PairBatch(Batch):
    """Compares every text of some lists with texts of its list, as a batch of other segments.

    Its segment q has all texts of a list as hypotheses and one of them as its reference.

    Parameters
    ----------
    single : Texts
        H texts.
    firsts, lasts : (Q,) int64
        Segment q has the texts firsts[q]..lasts[q]-1.
    reference_of : (Q,) int64
        The reference of segment q, one of these. Segments of one list follow each other.
    """

    single: Texts
    firsts: IntArray
    lasts: IntArray
    reference_of: IntArray

    @classmethod
    def of(cls, single: Texts, firsts: IntArray, lasts: IntArray, reference_of: IntArray) -> Self:
        """Return the batch; the parameters are the fields of the class."""
        rows, offsets = spans(firsts, lasts - firsts)
        vocabulary, tokens = single.vocabulary, single.tokens
        return cls(
            Texts(vocabulary, Repeated(tokens, rows)),
            offsets,
            Texts(vocabulary, Repeated(tokens, reference_of)),
            np.arange(len(reference_of) + 1),
            single=single,
            firsts=firsts,
            lasts=lasts,
            reference_of=reference_of,
        )

    def changed(self, change: Callable[[Texts], Texts]) -> Self:
        """Return the batch with other texts in place of those that it repeats."""
        changed = self.of(change(self.single), self.firsts, self.lasts, self.reference_of)
        return replace(changed, whole=self.corpus)


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedLists(Batch):
    """Compares every text of a list with all texts of the list together, each with its weight.

    Hypotheses and references of a segment are the same texts.

    Parameters
    ----------
    weights : (H,) float64
        Weight of each text as a reference; those of a segment add to 1.
    """

    weights: FloatArray

    @classmethod
    def of(cls, texts: Texts, offsets: IntArray, weights: FloatArray) -> Self:
        """Return the lists of these texts."""
        return cls(texts, offsets, texts, offsets, weights=weights)

    def changed(self, change: Callable[[Texts], Texts]) -> Self:
        """Return the lists with other texts."""
        texts = change(self.hypotheses)
        return replace(self, hypotheses=texts, references=texts, whole=self.corpus)

    def mean(self, values: FloatArray) -> FloatArray:
        """Return (H, ...): for each text the mean over its list of values (H, ...)."""
        weighted = (values.T * self.weights).T
        sizes = np.diff(self.offsets)
        return np.asarray(np.repeat(np.add.reduceat(weighted, self.offsets[:-1]), sizes, axis=0))
