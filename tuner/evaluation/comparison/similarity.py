"""Measures how alike outputs are: identical segments, 1 - TER of one against another, Table 3."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from tuner.components import registry
from tuner.evaluation.comparison.model import Similarity
from tuner.texts.corpus import References, make_batch
from tuner.texts.statistics import compute_stats

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metrics._base import Texts
    from tuner.evaluation.comparison.material import Material


def similarities(
    names: Sequence[str], material: Material, *, threads: int
) -> tuple[Similarity, ...]:
    """Compare the outputs of all pairs of systems, and the replicas of each system."""
    found = []
    for i, j in itertools.combinations_with_replacement(range(len(names)), 2):
        pairs = list(_pairs(material, i, j))
        if not pairs:
            continue
        measured = [_compare(material.outputs[a], material.outputs[b], threads) for a, b in pairs]
        identical, alike = np.mean(measured, axis=0)
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


def _compare(one: Texts, other: Texts, threads: int) -> tuple[float, float]:
    """Return the share of identical segments and 1 - TER, a mean of both directions."""
    offsets = np.arange(len(one) + 1, dtype=np.int64)
    ter = registry.metric("ter")
    rates = []
    for hypotheses, references in ((one, other), (other, one)):
        batch = make_batch(hypotheses, offsets, References(references, offsets))
        total = compute_stats(ter, batch, threads=threads).sum(axis=0)
        rates.append(float(ter.score(total)))
    return float(identical_segments(one, other).mean()), 1.0 - sum(rates) / 2.0


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
