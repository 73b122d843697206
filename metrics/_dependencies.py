"""Expected counts of words, word pairs and dependency links: what the DPM family is made of."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from metrics._base import Arcs, ExpectedArcs, Need, Ragged, Texts
from metrics._dependency_kernels import item_matches
from metrics._ngrams import flat, hypothesis_lengths, matched, totals
from metrics._references import best_reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metrics._base import Batch, FloatArray

Combination = Literal["f", "mu-pr"]

PAPER = "Kahn, Snover & Ostendorf, Machine Translation 23 (2009)"

_ROOT = -1
"""Stands for the head of a root; no word has this id."""

_COLUMNS = {"dlh": [0, 1, 2], "dl": [0, 1], "lh": [1, 2], "dh": [0, 2]}
"""What of a link (dependent, label, head) makes an item of a decomposition."""

_NGRAM = re.compile(r"[1-9]g")


class ItemCounts(NamedTuple):
    """Expected counts of H hypotheses, a column for each of C decompositions.

    Parameters
    ----------
    match : (H, C) float64
        Sum over items of min(expected count, that in the reference).
    hyp, ref : (H, C) float64
        Sum over items of the expected count in the hypothesis, in the reference.
    """

    match: FloatArray
    hyp: FloatArray
    ref: FloatArray


def decompositions(of: str) -> tuple[str, ...]:
    """Return the decompositions named by `1g+2g+dl+lh` and the like.

    Raises
    ------
    ValueError
        None, an unknown one, or one that is named twice.
    """
    names = tuple(of.split("+"))
    for number, name in enumerate(names):
        if name not in _COLUMNS and _NGRAM.fullmatch(name) is None:
            raise ValueError(
                f"of={of}: '{name}' is no decomposition; choose from 1g to 9g, dl, lh, dh, dlh, "
                f"joined by + without spaces"
            )
        if name in names[:number]:
            raise ValueError(f"of={of}: {name} is named twice")
    return names


def links_need(of: str, *, parses: int, gamma: float) -> frozenset[Need]:
    """Return what the decompositions `of` need: nothing if all are n-grams.

    Of one parse gamma says nothing: any best parse will do.
    """
    if not any(name in _COLUMNS for name in decompositions(of)):
        return frozenset()
    return frozenset({"heads"} if parses == 1 else {Arcs(parses, gamma)})


def names_of_counts(of: str) -> tuple[str, ...]:
    """Return the names of the statistics: `match_dl`, `hyp_dl`, `ref_dl` for each."""
    return tuple(f"{what}_{name}" for name in of.split("+") for what in ItemCounts._fields)


def item_counts(batch: Batch, need: Need | None, of: Sequence[str]) -> ItemCounts:
    """Count the items of each hypothesis and of the one reference of its segment.

    A text without a parse has no links; its n-grams count all the same.

    Parameters
    ----------
    batch
        With one reference a segment, as `each_reference` yields.
    need
        Where links come from: `heads`, or `Arcs`; None where `of` has n-grams only.
    of
        C decompositions: `1g` to `9g`, `dl`, `lh`, `dh`, `dlh`.

    Raises
    ------
    ValueError
        A segment has not exactly one reference, or the batch lacks what is needed.
    """
    if (np.diff(batch.reference_offsets) != 1).any():
        raise ValueError("item counts are of one reference a segment; see each_reference")
    shape = (len(batch.hypotheses), len(of))
    counts = ItemCounts(np.empty(shape), np.empty(shape), np.empty(shape))
    per_segment = np.diff(batch.offsets)
    orders = [int(name[0]) for name in of if name not in _COLUMNS]
    if orders:
        longest = max(orders)
        references = batch.references.tokens.lengths.astype(np.float64)
        found = matched(batch, longest)
        own = totals(hypothesis_lengths(batch), longest)
        others = np.repeat(totals(references, longest), per_segment, axis=0)
    if len(orders) < len(of):
        if need is None:
            raise ValueError("dependency links need parses")
        links = _items(batch.hypotheses, need), _items(batch.references, need)
        own_links, other_links = (_sums(each) for each in links)
    for c, name in enumerate(of):
        if name in _COLUMNS:
            counts.match[:, c] = _matches(batch, links, _COLUMNS[name])
            counts.hyp[:, c] = own_links
            counts.ref[:, c] = np.repeat(other_links, per_segment)
        else:
            n = int(name[0]) - 1
            counts.match[:, c], counts.hyp[:, c] = found[:, n], own[:, n]
            counts.ref[:, c] = others[:, n]
    return counts


def dependency_stats(
    batch: Batch, needs: frozenset[Need], of: str, how: Combination
) -> FloatArray:
    """Return (H, 3C): `names_of_counts` against the reference of the highest score.

    Raises
    ------
    ValueError
        As `item_counts`.
    """
    names = decompositions(of)
    need = next(iter(needs), None)
    # Less is cut per reference.
    batch = replace(
        batch, hypotheses=_only(batch.hypotheses, need), references=_only(batch.references, need)
    )

    def stats(single: Batch) -> FloatArray:
        counts = np.stack(item_counts(single, need, names), axis=-1)
        return counts.reshape(len(counts), 3 * len(names))

    return best_reference(batch, stats, lambda rows: combined(rows, how))


def combined(stats: FloatArray, how: Combination) -> FloatArray:
    """Return (...): the score of counts (..., 3C).

    `f`: the harmonic mean of precision and recall of all counts added up. `mu-pr`: the harmonic
    mean of the precision and the recall of every decomposition.
    """
    match, hyp, ref = (stats[..., k::3] for k in range(3))
    if how == "f":
        # 2PR / (P + R) with P = match / hyp and R = match / ref.
        lengths = _added(hyp) + _added(ref)
        return np.asarray(2.0 * _added(match) / np.where(lengths > 0, lengths, 1.0))
    zero = (match <= 0).any(axis=-1)
    inverse = _added((hyp + ref) / np.where(match > 0, match, 1.0))
    return np.where(zero, 0.0, 2.0 * match.shape[-1] / np.where(zero, 1.0, inverse))


def parts_of(stats: FloatArray, of: str) -> dict[str, float]:
    """Return P and R of each decomposition, for one row (3C,) of summed counts."""
    parts: dict[str, float] = {}
    for c, name in enumerate(of.split("+")):
        match, hyp, ref = (float(value) for value in stats[3 * c : 3 * c + 3])
        parts[f"p_{name}"] = match / hyp if hyp else 0.0
        parts[f"r_{name}"] = match / ref if ref else 0.0
    return parts


def _added(values: FloatArray) -> FloatArray:
    """Add up the last axis, in one order whatever the layout in memory is."""
    total = values[..., 0].copy()
    for c in range(1, values.shape[-1]):
        total += values[..., c]
    return total


def _only(texts: Texts, need: Need | None) -> Texts:
    """Return texts with nothing but tokens and, if it is there, what is needed."""
    heads = texts.heads if need == "heads" else None
    arcs = {key: value for key, value in texts.arcs.items() if key == need}
    return Texts(texts.vocabulary, texts.tokens, heads=heads, arcs=arcs)


def _items(texts: Texts, need: Need) -> ExpectedArcs:
    """Return the expected links with words in place of positions: dependent, label, head."""
    if not texts.has(need):
        what = "dependency parses" if need == "heads" else "weighted dependency parses"
        raise ValueError(f"the metric needs {what}")
    tokens = flat(texts.tokens)
    arcs = texts.arcs[need] if isinstance(need, Arcs) else _one_parse(texts)
    first, last = arcs.links.offsets[0], arcs.links.offsets[-1]
    links = arcs.links.values[first:last]
    starts = np.repeat(tokens.offsets[:-1], arcs.links.lengths)
    items = np.empty((len(links), 3), dtype=np.int32)
    items[:, 0] = tokens.values[starts + links[:, 0]]
    items[:, 1] = links[:, 2]
    rooted = links[:, 1] == 0
    items[:, 2] = tokens.values[starts + np.where(rooted, links[:, 0], links[:, 1] - 1)]
    items[rooted, 2] = _ROOT
    offsets = np.ascontiguousarray(arcs.links.offsets - first, dtype=np.int64)
    weights = np.ascontiguousarray(arcs.weights[first:last], dtype=np.float64)
    return ExpectedArcs(Ragged(items, offsets), weights)


def _one_parse(texts: Texts) -> ExpectedArcs:
    """Return the links of the best parses, each of weight 1."""
    heads = texts.heads
    assert heads is not None  # noqa: S101  the caller has seen to it
    first, last = heads.offsets[0], heads.offsets[-1]
    values = heads.values[first:last].reshape(-1, 2)
    dependents = np.arange(first, last) - np.repeat(heads.offsets[:-1], heads.lengths)
    links = np.column_stack([dependents.astype(np.int32), values])
    return ExpectedArcs(Ragged(links, heads.offsets - first), np.ones(len(links)))


def _sums(arcs: ExpectedArcs) -> FloatArray:
    """Return (N,): the summed weights of each text's links."""
    rows = np.repeat(np.arange(len(arcs.links)), arcs.links.lengths)
    return np.bincount(rows, arcs.weights, minlength=len(arcs.links)).astype(np.float64)


def _matches(
    batch: Batch, links: tuple[ExpectedArcs, ExpectedArcs], columns: list[int]
) -> FloatArray:
    hypotheses, references = links
    matches: FloatArray = item_matches(
        np.ascontiguousarray(hypotheses.links.values[:, columns]),
        hypotheses.weights,
        hypotheses.links.offsets,
        np.ascontiguousarray(batch.offsets, dtype=np.int64),
        np.ascontiguousarray(references.links.values[:, columns]),
        references.weights,
        references.links.offsets,
    )
    return matches
