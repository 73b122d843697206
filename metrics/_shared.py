"""Parts that several metrics share: n-gram counts, lengths, the choice of a reference, means.

Formulas in docs/metrics/ngrams.md.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ._base import Batch, FloatArray, IntArray, Metric, Ragged, Texts
from ._elementary import exp, power
from ._pairs import PairBatch, WeightedLists
from .kernels import ngrams, pairs
from .kernels.compiled import Segments, is_loaded

ReferenceLength = Literal["closest", "shortest", "average"]

SMALLEST_COUNT = 1e-9
"""Below every positive count, see `quotient`."""
SMALLEST = float(np.finfo(np.float64).tiny)
"""The same for shares, which may be smaller."""
FEW_TOKENS = 50_000
"""N-grams of so many tokens, of all calls together, are counted sooner without a kernel than numba
is loaded."""
_WITHOUT_KERNEL: Counter[str] = Counter()
ROUNDING = 1e-12
"""Sums and means of equal shares differ by less: P 1/2 and R 1/4 give the F of P 1 and R 1/5."""


def require_references(batch: Batch) -> None:
    """Raise ValueError if a segment has no reference."""
    empty = np.flatnonzero(np.diff(batch.reference_offsets) < 1)
    if empty.size:
        raise ValueError(f"segment {empty[0]} has no reference")


def check_rows(rows: Ragged, texts: Texts, side: str, names: tuple[str, str]) -> None:
    """Raise ValueError unless each text has one row value a token, or none.

    `names` are those of the values and of one of them: ("tags", "tag").
    """
    lengths, expected = rows.lengths, texts.tokens.lengths
    wrong = np.flatnonzero((lengths != expected) & (lengths != 0))
    if wrong.size:
        first = int(wrong[0])
        raise ValueError(
            f"{side} {first} has {names[0]}: {lengths[first]}, tokens: {expected[first]}; a text "
            f"has one {names[1]} a token, or none"
        )


def matched(batch: Batch, max_order: int) -> FloatArray:
    """Return (H, N) float64: the clipped matches of each hypothesis for n-grams of 1..N tokens."""
    counts: FloatArray
    if isinstance(batch, PairBatch):
        single = flat(batch.single.tokens)
        counts = pairs.pair_matches(
            single.values, single.offsets, batch.firsts, batch.lasts, batch.reference_of, max_order
        )
        return counts.T
    require_references(batch)
    segments = segments_of(batch)
    if not is_loaded():
        _WITHOUT_KERNEL["tokens"] += segments.tokens.size + segments.reference_tokens.size
        if _WITHOUT_KERNEL["tokens"] <= FEW_TOKENS:
            return few_matches(segments, max_order)
    all_one = (np.empty(0, dtype=np.int64), np.empty(0))  # every n-gram counts 1
    counts = ngrams.ngram_matches(segments, all_one, max_order)
    return counts


def few_matches(segments: Segments, max_order: int) -> FloatArray:
    """Return what `matched` returns, counted without a kernel."""
    tokens, token_offsets, offsets, reference_tokens, reference_token_offsets, references = (
        array.tolist() for array in segments
    )
    matches = np.zeros((len(token_offsets) - 1, max_order))

    def counted(text: list[int], n: int) -> Counter[tuple[int, ...]]:
        return Counter(zip(*(text[i:] for i in range(n)), strict=False))

    for s in range(len(offsets) - 1):
        texts = [
            reference_tokens[reference_token_offsets[r] : reference_token_offsets[r + 1]]
            for r in range(references[s], references[s + 1])
        ]
        for n in range(1, max_order + 1):
            limits: Counter[tuple[int, ...]] = Counter()
            for text in texts:
                limits |= counted(text, n)
            for h in range(offsets[s], offsets[s + 1]):
                counts = counted(tokens[token_offsets[h] : token_offsets[h + 1]], n)
                matches[h, n - 1] = (counts & limits).total()
    return matches


def mean_matched(lists: WeightedLists, max_order: int) -> FloatArray:
    """Return (H, N) float64: the mean clipped matches of each text with all texts of its list."""
    tokens = flat(lists.hypotheses.tokens)
    means: FloatArray = pairs.mean_matches(
        tokens.values, tokens.offsets, lists.offsets, lists.weights, max_order
    )
    return means


def totals(lengths: FloatArray, max_order: int) -> FloatArray:
    """Return (H, N) float64: how many n-grams texts of these (H,) lengths have, never below 0."""
    return np.maximum(lengths - np.arange(max_order, dtype=np.float64)[:, None], 0.0).T


def hypothesis_lengths(batch: Batch) -> FloatArray:
    """Return (H,) float64."""
    return batch.hypotheses.tokens.lengths.astype(np.float64)


def reference_lengths(batch: Batch, rule: ReferenceLength = "closest") -> FloatArray:
    """Return (H,) float64: the reference length that each hypothesis is compared with.

    `closest`: the length nearest to the hypothesis's own, the shorter one on a tie.
    """
    require_references(batch)
    lengths = batch.references.tokens.lengths.astype(np.float64)
    starts, per_segment = batch.reference_offsets[:-1], np.diff(batch.offsets)
    if len(batch) == 0:
        return np.empty(0)
    if rule == "shortest" or (np.diff(batch.reference_offsets) == 1).all():
        return np.repeat(np.minimum.reduceat(lengths, starts), per_segment)
    if rule == "average":
        counts = np.diff(batch.reference_offsets)
        return np.repeat(np.add.reduceat(lengths, starts) / counts, per_segment)
    hypothesis = hypothesis_lengths(batch)[:, np.newaxis]
    return closest_rows(batch, hypothesis, lengths[:, np.newaxis])[:, 0]


def closest_rows(
    batch: Batch,
    values: FloatArray,
    references: FloatArray,
    usable: NDArray[np.bool_] | None = None,
) -> FloatArray:
    """Return (H, D): for each value of a hypothesis the closest one of its references.

    Parameters
    ----------
    values, references : (H, D), (R, D) float64
        Values of hypotheses and of references. Of two equally close ones the smaller counts.
    usable : (R,) bool, optional
        The references that count; without any the result is 0.
    """
    per_segment = np.diff(batch.offsets)
    closest, least = np.zeros_like(values), np.full_like(values, np.inf)
    for numbers in _reference_rows(batch):
        rows = np.repeat(numbers, per_segment)
        candidate = references[rows]
        distance = np.abs(candidate - values)
        if usable is not None:
            distance = np.where(usable[rows, np.newaxis], distance, np.inf)
        nearer = (distance < least) | ((distance == least) & (candidate < closest))
        closest, least = np.where(nearer, candidate, closest), np.where(nearer, distance, least)
    return closest


def _reference_rows(batch: Batch) -> Iterator[IntArray]:
    """Yield the row of the first reference of each segment, then of the second, ...

    A segment with fewer references than others has its first one again.
    """
    starts, counts = batch.reference_offsets[:-1], np.diff(batch.reference_offsets)
    for k in range(int(counts.max(initial=0))):
        yield starts + np.where(k < counts, k, 0)


def each_reference(batch: Batch) -> Iterator[Batch]:
    """Yield the batch with one reference a segment: the first of each, then the second, ...

    A segment with fewer references than others has its first one again.
    """
    require_references(batch)
    if (np.diff(batch.reference_offsets) == 1).all():
        yield batch
        return
    for rows in _reference_rows(batch):
        yield replace(
            batch,
            references=batch.references.take(rows),
            reference_offsets=np.arange(len(batch) + 1),
            whole=batch.corpus,
        )


def best_reference(
    batch: Batch,
    stats: Callable[[Batch], FloatArray],
    score: Callable[[FloatArray], FloatArray],
    *,
    rounding: float = 0.0,
) -> FloatArray:
    """Return (H, K): the statistics against the reference under which each hypothesis scores best.

    `stats` sees batches with one reference a segment; of equal scores the first counts. Scores
    that differ by at most the share `rounding` are equal. It stays 0 for the metrics that have to
    choose as their own programs do, by the last bit.
    """
    singles = each_reference(batch)
    best = stats(next(singles))
    best_scores: FloatArray | None = None
    for single in singles:
        if best_scores is None:  # not before it is needed: most test sets have one reference
            best_scores = score(best)
        rows = stats(single)
        scores = score(rows)
        better = scores > best_scores
        if rounding:
            better &= ~np.isclose(scores, best_scores, rtol=rounding, atol=0.0)
        best = np.where(better[:, np.newaxis], rows, best)
        best_scores = np.where(better, scores, best_scores)
    return best


def one_length(single: Batch) -> FloatArray:
    """Return (H,) float64: the reference length of a batch with one reference a segment."""
    return np.repeat(single.references.tokens.lengths, np.diff(single.offsets)).astype(np.float64)


def flat(rows: Ragged) -> Ragged:
    """Return the rows in the one dtype and layout that kernels are compiled for, and no others."""
    alone = rows.alone()
    return Ragged(
        np.ascontiguousarray(alone.values, dtype=np.int32),
        np.ascontiguousarray(alone.offsets, dtype=np.int64),
    )


def segments_of(
    batch: Batch, hypotheses: Ragged | None = None, references: Ragged | None = None
) -> Segments:
    """Return what kernels read of a batch: its tokens, or other rows of its texts."""
    hypothesis_rows = flat(batch.hypotheses.tokens if hypotheses is None else hypotheses)
    reference_rows = flat(batch.references.tokens if references is None else references)
    return Segments(
        hypothesis_rows.values,
        hypothesis_rows.offsets,
        np.ascontiguousarray(batch.offsets, dtype=np.int64),
        reference_rows.values,
        reference_rows.offsets,
        np.ascontiguousarray(batch.reference_offsets, dtype=np.int64),
    )


def quotient(
    part: FloatArray, whole: FloatArray, undefined: FloatArray | float = 0.0
) -> FloatArray:
    """Return part / whole (...), and `undefined` where the whole is 0.

    All metrics divide by this function, so that no quotient without a value counts as the best
    one. docs/metrics/index.md has a table of the values.

    Parameters
    ----------
    part, whole : (...) float64
        The whole is a count or a weight, not below 0.
    undefined : (...) float64, optional
        The value that the reference implementation has, or the worst one.
    """
    shares = part / np.maximum(whole, SMALLEST_COUNT)
    defined = whole > 0.0
    if not np.all(defined):  # rare; the choice costs as much as the division
        shares = np.where(defined, shares, undefined)
    return np.asarray(shares)


def length_penalty(longer: FloatArray, shorter: FloatArray) -> FloatArray:
    """Return exp(1 - longer / shorter) (...), at most 1; 0 where only the shorter length is 0."""
    return exp(np.minimum(1.0 - longer / np.maximum(shorter, SMALLEST_COUNT), 0.0))


def harmonic_mean(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return 2ab / (a + b) (...), 0 where both are 0."""
    return np.asarray(2.0 * a * b / np.maximum(a + b, SMALLEST))


def root(product: FloatArray, degree: int) -> FloatArray:
    """Return the root of a degree; for the usual 4 by square roots, which are cheaper."""
    if degree == 4:
        return np.asarray(np.sqrt(np.sqrt(product)))
    return power(product, 1.0 / degree)


def mean_of_orders(
    shares: Sequence[FloatArray], items: Sequence[FloatArray] = (), *, geometric: bool = False
) -> FloatArray:
    """Return (...): the mean of the shares (...) of N orders, added from the first to the last.

    Parameters
    ----------
    shares
        The share of each order.
    items
        How many items of each order there are on both sides (...). An order without any is left
        out; without `items` none is.
    geometric
        Whether the mean is geometric, not arithmetic.
    """
    present = [item > 0.0 for item in items]
    if items:
        parts = zip(present, shares, strict=True)
        shares = [np.where(is_there, share, float(geometric)) for is_there, share in parts]
    total = shares[0]
    for share in shares[1:]:
        total = total * share if geometric else total + share
    if not items:
        return root(total, len(shares)) if geometric else np.asarray(total / len(shares))
    counts = np.sum(present, axis=0)
    if not geometric:
        return quotient(total, counts)
    mean = np.zeros_like(total)
    for number in range(1, len(shares) + 1):
        mean = np.where(counts == number, root(total, number), mean)
    return mean


def items_of_orders(counts: FloatArray, orders: int) -> list[FloatArray]:
    """Return the items on both sides (...) of orders with three counts each, matches first."""
    return [counts[..., n + 1] + counts[..., n + 2] for n in range(0, 3 * orders, 3)]


def weighted_mean(stats: FloatArray) -> FloatArray:
    """Return (...): `stats[..., 0] / stats[..., 1]`, 0 where the weight is 0."""
    return quotient(stats[..., 0], stats[..., 1])


def named(names: Sequence[str], stats: FloatArray) -> dict[str, float]:
    """Return the statistics of one row (K,) by their names."""
    return dict(zip(names, stats.tolist(), strict=True))


class WeightedMean(Metric):
    """Averages a value of segments: the statistics are a weight times it, and the weight."""

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the mean (...) for stats (..., 2)."""
        return weighted_mean(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the mean and the sum of the weights of stats (2,)."""
        return {self.name(): float(weighted_mean(stats)), self.stat_names[1]: float(stats[1])}
