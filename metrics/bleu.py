"""BLEU; its statistics and its score serve other metrics too.

Formulas in docs/metrics/ngrams.md.
"""

from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from . import _pairs, _shared
from ._base import Batch, FloatArray, Metric

Smoothing = Literal["none", "exp", "mteval", "add1", "moses+1", "floor", "add-k"]

SMOOTH_VALUES = {"floor": 0.1, "add-k": 1.0}
"""The default values of the methods that have one; both are sacrebleu's."""


@dataclass(frozen=True)
class Bleu(Metric):
    """Computes the geometric mean of the clipped 1..N-gram precisions times the brevity penalty.

    Papineni et al. 2002; equations 1 and 3 to 5 of the PORT paper. Scores equal sacrebleu's on the
    same tokens.

    Parameters
    ----------
    max_order
        N, the longest n-gram.
    reflen
        The reference length of a segment with several references: `closest` to the hypothesis
        (the shorter one on a tie), `shortest`, or `average` (not rounded; Moses rounds it down).
    smooth
        How to count an n-gram order without a match. m of its t n-grams in the corpus match.
        `none`: the score is 0 (IBM, Moses).
        `exp`: the k-th order without a match uses 1/2^k matches; the score is 0 if an order has
        no candidates or if nothing matches (sacrebleu's `exp`).
        `mteval`: as `exp`, but an order without candidates has precision 1 (mteval-v13a; the
        smoothed BLEU of WMT's and the PORT paper's correlations).
        `add1`: (m + 1) / (t + 1) from the second order on (Lin and Och 2004).
        `moses+1`: (m + 1) / (t + 1) for every order (Moses' `smoothedSentenceBleu`).
        `floor`: `smooth_value` matches instead of 0 (sacrebleu; 0 if nothing matches at all).
        `add-k`: (m + k) / (t + k) from the second order on, with k = `smooth_value` (sacrebleu).
    smooth_value
        The value for `floor` and `add-k`. Default: 0.1 and 1, as in sacrebleu.
    effective_order
        Whether orders that are longer than the text are left out of the mean, as sacrebleu's
        option for the BLEU of single segments does. With `add1`, `add-k` and `moses+1` no order
        is.
    """

    max_order: Annotated[int, Ge(1), Le(16)] = 4
    reflen: _shared.ReferenceLength = "closest"
    smooth: Smoothing = "none"
    smooth_value: Annotated[float, Ge(1e-9), Le(1e9)] | None = None
    effective_order: bool = False

    signed_if_changed: ClassVar[frozenset[str]] = frozenset({"effective_order"})
    source: ClassVar[str] = "Papineni et al., ACL 2002; PORT paper, equations 1, 3-5"

    def __post_init__(self) -> None:
        """Check that `smooth_value` is given only to a method that uses it."""
        if self.smooth_value is not None and self.smooth not in SMOOTH_VALUES:
            raise ValueError(
                f"smooth_value is for smooth={' or '.join(SMOOTH_VALUES)}, "
                f"found smooth={self.smooth}"
            )

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Matched and total n-grams of each order, then the reference length."""
        return bleu_stat_names(self.max_order)

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2 N + 1) counts in the order of `stat_names`."""
        return bleu_stats(batch, self.max_order, self.reflen)

    def mean_stats(self, lists: _pairs.WeightedLists) -> FloatArray:
        """Return (H, 2 N + 1) mean counts."""
        lengths = _shared.hypothesis_lengths(lists)
        return _columns(_shared.mean_matched(lists, self.max_order), lengths, lists.mean(lengths))

    def score(self, stats: FloatArray) -> FloatArray:
        """Return BLEU in 0..1 for stats (..., 2 N + 1)."""
        return bleu_score(
            stats, self.smooth, self.smooth_value, effective_order=self.effective_order
        )

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the precisions (unsmoothed), BP, counts and lengths of stats (2 N + 1,)."""
        return bleu_parts(stats)


def bleu_stat_names(max_order: int) -> tuple[str, ...]:
    """Return the names of the 2 N + 1 statistics: Moses' order (`mert/BleuScorer.cpp`)."""
    orders = range(1, max_order + 1)
    return (*(f"{kind}_{n}" for n in orders for kind in ("matched", "total")), "ref_len")


def bleu_stats(batch: Batch, max_order: int, reflen: _shared.ReferenceLength) -> FloatArray:
    """Return (H, 2 N + 1) float64 in the order of `bleu_stat_names`."""
    lengths, references = (
        _shared.hypothesis_lengths(batch),
        _shared.reference_lengths(batch, reflen),
    )
    return _columns(_shared.matched(batch, max_order), lengths, references)


def _columns(matches: FloatArray, lengths: FloatArray, references: FloatArray) -> FloatArray:
    max_order = matches.shape[1]
    stats = np.empty((len(lengths), 2 * max_order + 1), order="F")
    stats[:, 0:-1:2] = matches
    stats[:, 1:-1:2] = _shared.totals(lengths, max_order)
    stats[:, -1] = references
    return stats


def brevity_penalty(stats: FloatArray) -> FloatArray:
    """Return BP (...) of BLEU statistics (..., 2 N + 1)."""
    return _shared.length_penalty(stats[..., -1], stats[..., 1])


def geometric_precision(counts: FloatArray, max_order: int, each: int = 2) -> FloatArray:
    """Return P_g (...): the unsmoothed geometric mean of the precisions.

    Each order has `each` counts; the first two are the matched and all n-grams.
    """
    product = _shared.quotient(counts[..., 0], counts[..., 1])
    for n in range(each, each * max_order, each):
        product = product * _shared.quotient(counts[..., n], counts[..., n + 1])
    return _shared.root(product, max_order)


def bleu_score(
    stats: FloatArray,
    smooth: Smoothing = "none",
    smooth_value: float | None = None,
    *,
    effective_order: bool = False,
) -> FloatArray:
    """Return BLEU (...) in 0..1 for statistics (..., 2 N + 1)."""
    max_order = stats.shape[-1] // 2
    if smooth == "none" and not effective_order:
        return geometric_precision(stats, max_order) * brevity_penalty(stats)
    match, total = stats[..., 0:-1:2], stats[..., 1:-1:2]
    valid = total[..., 0] > 0.0
    if smooth not in ("mteval", "moses+1"):
        valid = valid & (match > 0.0).any(axis=-1)
    if smooth in ("exp", "floor") and not effective_order:
        valid = valid & (total > 0.0).all(axis=-1)
    if smooth == "moses+1":
        match, total = match + 1.0, total + 1.0
    elif smooth in ("add1", "add-k"):
        value = 1.0 if smooth_value is None else smooth_value
        later = value * (np.arange(max_order) > 0)
        match, total = match + later, total + later
    elif smooth == "floor":
        value = SMOOTH_VALUES["floor"] if smooth_value is None else smooth_value
        match = np.where(match > 0.0, match, value)
    elif smooth != "none":
        unmatched = (match <= 0.0) & (total > 0.0)
        match = np.where(unmatched, 0.5 ** np.cumsum(unmatched, axis=-1), match)
    orders = (total > 0.0).sum(axis=-1)
    if smooth == "mteval" or effective_order:
        match, total = np.where(total > 0.0, match, 1.0), np.where(total > 0.0, total, 1.0)
    product = np.where(valid, _shared.quotient(match, total).prod(axis=-1), 0.0)
    smoothed = _shared.root(product, max_order)
    for fewer in range(1, max_order) if effective_order else ():
        smoothed = np.where(orders == fewer, _shared.root(product, fewer), smoothed)
    return smoothed * brevity_penalty(stats)


def bleu_parts(stats: FloatArray) -> dict[str, float]:
    """Return p1..pN (unsmoothed), BP, the counts and the lengths of one row (2 N + 1,)."""
    ratios = _shared.quotient(stats[0:-1:2], stats[1:-1:2])
    parts = {f"p{n}": value for n, value in enumerate(ratios.tolist(), 1)}
    parts["BP"] = float(brevity_penalty(stats)) if stats[1] > 0.0 else float(stats[-1] == 0.0)
    *counts, length = stats.tolist()
    parts |= dict(zip(bleu_stat_names(len(ratios)), counts, strict=False))
    return parts | {"hyp_len": float(stats[1]), "ref_len": length}
