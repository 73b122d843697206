"""Word order: from links to permutations, and how alike those of two texts are.

kernels/word_orders.py makes and compares the permutations.

Formulas in docs/metrics/port.md.
"""

from typing import ClassVar, Literal

import numpy as np
from pydantic.dataclasses import dataclass

from ._base import Batch, FloatArray, IntArray, Metric, Need, Texts, TokenArray, spans
from ._shared import hypothesis_lengths, require_references
from .kernels import word_orders as kernels

Order = Literal["v", "v1", "v2", "rho", "tau"]
Null = Literal["inherit", "plus_one"]
Encoding = Literal["order", "rank"]
Scale = Literal["linear", "clip"]


@dataclass(frozen=True)
class Linked(Metric):
    """Compares word orders, which follow from word alignments.

    Parameters
    ----------
    null
        Where to put an unaligned source word in target order: `inherit` puts it at the same target
        position as the previous source word, directly behind it; `plus_one` puts it one target
        position further.
    encoding
        The sequences to compare: the source positions in target order (`order`, as in the PORT
        paper), or the rank of each source word in target order (`rank`), which does not depend on
        how the source is numbered.
    """

    null: Null = "inherit"
    encoding: Encoding = "order"

    needs: ClassVar[frozenset[Need]] = frozenset({"links"})

    def pairs(self, batch: Batch, measure: int) -> FloatArray:
        """Return (P,) float64: every hypothesis against each reference of its segment in turn."""
        require_references(batch)
        if batch.source_lengths is None:
            raise ValueError("word order needs source_lengths, and this batch has none")
        lengths = batch.source_lengths.astype(np.int64)
        sides: list[IntArray | TokenArray] = []
        for texts, ends in (
            (batch.hypotheses, batch.offsets),
            (batch.references, batch.reference_offsets),
        ):
            offsets = np.ascontiguousarray(ends, dtype=np.int64)
            each = np.repeat(lengths, np.diff(offsets))
            sides += [word_orders(texts, each, null=self.null, encoding=self.encoding), offsets]
        values: FloatArray = kernels.compare_orders(*sides, lengths, measure)
        return values


@dataclass(frozen=True)
class Ordered(Linked):
    """Measures how similar the word orders of hypothesis and reference are.

    A subclass sets its measure (`order`); one that lacks an option sets it as a class
    variable.

    Parameters
    ----------
    scale
        How rho and tau are mapped from -1..1 to 0..1: `linear` is (x + 1) / 2, `clip` is max(0,
        x).
    tau_lr
        For tau only: use 1 - sqrt(share of discordant pairs), the form of LRscore, instead of the
        scaled tau.
    """

    scale: Scale = "linear"
    tau_lr: bool = False

    def check(self, order: Order) -> None:
        """Raise ValueError for options that have no effect on a measure."""
        if self.tau_lr and order != "tau":
            raise ValueError(f"tau_lr is for order=tau, found order={order}")
        if self.scale == "clip" and (order in kernels.MEASURES or self.tau_lr):
            option = "tau_lr" if self.tau_lr else f"order={order}"
            raise ValueError(
                f"scale maps -1..1 to 0..1, but {option} is in 0..1 already; leave it out"
            )

    def values(self, batch: Batch, order: Order) -> FloatArray:
        """Return (H,) float64 in 0..1: the measure against the reference that gives most.

        Texts without words have no order: the measure is 0 if either text is empty.
        """
        if order in kernels.MEASURES:
            values = self.pairs(batch, kernels.MEASURES[order])
        elif order == "tau" and self.tau_lr:
            values = 1.0 - np.sqrt(self.pairs(batch, kernels.DISCORDANCE))
        elif order == "tau" and self.scale == "linear":
            values = 1.0 - self.pairs(batch, kernels.DISCORDANCE)
        else:
            if order == "rho":
                values = self.pairs(batch, kernels.RHO)
            else:
                values = 1.0 - 2.0 * self.pairs(batch, kernels.DISCORDANCE)
            clipped = self.scale == "clip"
            values = np.maximum(values, 0.0) if clipped else (values + 1.0) / 2.0
        lengths, reference_lengths = pair_lengths(batch)
        values = np.where((lengths > 0.0) & (reference_lengths > 0.0), values, 0.0)
        return np.maximum.reduceat(values, pair_starts(batch)) if values.size else values


def word_orders(
    texts: Texts, source_lengths: IntArray, *, null: Null, encoding: Encoding
) -> TokenArray:
    """Return the permutations of all texts, one after the other, counted from 0.

    Parameters
    ----------
    source_lengths : (T,) int64
        Number of source tokens of each text.

    Raises
    ------
    ValueError
        The texts have no links, or a link points outside its sentence.
    """
    if texts.links is None:
        raise ValueError("word order needs links, and these texts have none")
    offsets = np.ascontiguousarray(texts.links.offsets, dtype=np.int64)
    lengths = texts.tokens.lengths
    orders, fault = kernels.permutations(
        np.ascontiguousarray(texts.links.values, dtype=np.int32).reshape(-1, 2),
        offsets,
        np.ascontiguousarray(source_lengths, dtype=np.int64),
        lengths,
        null == "plus_one",
        encoding == "rank",
    )
    if fault >= 0:
        text = int(np.searchsorted(offsets, fault, side="right")) - 1
        i, j = texts.links.values[fault]
        raise ValueError(
            f"text {text}: link {i}-{j}: the source has {source_lengths[text]} tokens and the "
            f"target {lengths[text]}"
        )
    return np.asarray(orders)


def references_each(batch: Batch) -> IntArray:
    """Return (H,) how many references the segment of each hypothesis has."""
    return np.repeat(np.diff(batch.reference_offsets), np.diff(batch.offsets))


def pair_lengths(batch: Batch) -> tuple[FloatArray, FloatArray]:
    """Return (P,) lengths of the hypothesis and of the reference of each of P pairs.

    A pair is a hypothesis and one of its references.
    """
    each = references_each(batch)
    firsts = np.repeat(batch.reference_offsets[:-1], np.diff(batch.offsets))
    reference_rows, _ = spans(firsts, each)
    lengths = batch.references.tokens.lengths.astype(np.float64)
    return np.repeat(hypothesis_lengths(batch), each), lengths[reference_rows]


def pair_starts(batch: Batch) -> IntArray:
    """Return (H,) where the pairs of each hypothesis begin."""
    each = references_each(batch)
    return np.cumsum(each) - each
