"""Measures how alike outputs are: identical segments, 1 - TER of one against another, Table 3."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric, Texts
from portmert.tuner.components import registry
from portmert.tuner.evaluation.comparison.model import Similarity
from portmert.tuner.texts.corpus import References, make_batch
from portmert.tuner.texts.statistics import compute_stats

if TYPE_CHECKING:
    from portmert.tuner.evaluation.comparison.material import Material


_AT_ONCE = 50_000
"""Pairs of texts compared in one call."""


def similarities(
    names: Sequence[str], material: Material, *, threads: int
) -> tuple[Similarity, ...]:
    """Compare the outputs of all pairs of systems, and the replicas of each system."""
    pairs = {
        (i, j): list(_pairs(material, i, j))
        for i, j in itertools.combinations_with_replacement(range(len(names)), 2)
    }
    measured = iter(_compare(material, list(itertools.chain(*pairs.values())), threads))
    found = []
    for (i, j), compared in pairs.items():
        if compared:
            identical, alike = np.mean([next(measured) for _ in compared], axis=0)
            found.append(Similarity(names[i], names[j], float(identical), float(alike)))
    return tuple(found)


def _pairs(material: Material, i: int, j: int) -> Iterator[tuple[int, int]]:
    """Yield outputs to compare: replica n of one system with replica n of the other.

    All pairs of replicas would say the same at the square of the time. Of systems of unequal
    numbers the last replica of the smaller one is compared with all that are left over.
    """
    ours, theirs = material.members(i), material.members(j)
    if i == j:
        yield from itertools.combinations(ours, 2)
        return
    for n in range(max(len(ours), len(theirs))):
        yield ours[min(n, len(ours) - 1)], theirs[min(n, len(theirs) - 1)]


def _compare(
    material: Material, pairs: Sequence[tuple[int, int]], threads: int
) -> Iterator[tuple[float, float]]:
    """Yield of each pair of outputs the share of identical segments and 1 - TER.

    TER is a mean of both directions. Two texts of a segment are compared once, whichever outputs
    have them, and a text is not compared with itself.
    """
    if not pairs:
        return
    ter, texts, rows = registry.metric("ter"), _distinct(material), len(material.texts)
    first, second = np.array(pairs).T
    differ = texts[first] != texts[second]
    codes = texts[first][differ] * rows + texts[second][differ]
    distinct, place = np.unique(codes, return_inverse=True)
    lengths = material.texts.tokens.lengths.reshape(texts.shape).sum(axis=1).astype(np.float64)
    rates: list[FloatArray] = []
    for hypotheses, references, of in (
        (distinct // rows, distinct % rows, second),
        (distinct % rows, distinct // rows, first),
    ):
        edits = _edits(ter, material.texts, hypotheses, references, threads)[place]
        total = np.bincount(np.nonzero(differ)[0], edits, minlength=len(pairs))
        rates.append(ter.score(np.column_stack([total, lengths[of]])))
    identical = (~differ).mean(axis=1)
    yield from zip(identical.tolist(), (1.0 - (rates[0] + rates[1]) / 2.0).tolist(), strict=True)


def _edits(
    ter: Metric, texts: Texts, hypotheses: IntArray, references: IntArray, threads: int
) -> FloatArray:
    """Return (P,) float64: the edits from each row of `references` to that of `hypotheses`."""
    found = np.empty(len(hypotheses))
    for begin in range(0, len(found), _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        offsets = np.arange(len(found[part]) + 1, dtype=np.int64)
        of = References(texts.take(references[part]), offsets)
        batch = make_batch(texts.take(hypotheses[part]), offsets, of)
        found[part] = compute_stats(ter, batch, threads=threads)[:, 0]
    return found


def _distinct(material: Material) -> IntArray:
    """Return (N, S) int64: of each text the first row with the same tokens in its segment."""
    segments, tokens = len(material), material.texts.tokens
    first: dict[tuple[int, bytes], int] = {}
    return np.array(
        [
            first.setdefault((row % segments, tokens.row(row).tobytes()), row)
            for row in range(len(tokens))
        ],
        dtype=np.int64,
    ).reshape(-1, segments)


def identical_segments(one: Texts, other: Texts) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return (S,) bool: whether both texts have the same tokens."""
    lengths = one.tokens.lengths
    same: np.ndarray[tuple[int], np.dtype[np.bool_]] = lengths == other.tokens.lengths
    segments = np.repeat(np.arange(len(one)), lengths)
    kept = same[segments]
    mine = one.tokens.values[one.tokens.offsets[0] : one.tokens.offsets[-1]][kept]
    within = np.arange(len(segments)) - np.repeat(one.tokens.offsets[:-1], lengths)
    at = np.repeat(other.tokens.offsets[:-1], lengths) + within + one.tokens.offsets[0]
    differs = mine != other.tokens.values[at[kept]]
    same[segments[kept][differs]] = False
    return same
