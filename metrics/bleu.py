"""Defines BLEU."""

from __future__ import annotations

from typing import Annotated, ClassVar

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from portmert.metrics import _bleu
from portmert.metrics._base import Batch, FloatArray, Metric
from portmert.metrics._bleu import Smoothing
from portmert.metrics._ngrams import ReferenceLength
from portmert.metrics._pairs import WeightedLists


@dataclass(frozen=True)
class Bleu(Metric):
    """Computes the geometric mean of the clipped 1..N-gram precisions times the brevity penalty.

    Papineni et al. 2002; equations 1 and 3 to 5 of the PORT paper. Equal to sacrebleu on the same
    tokens.

    Parameters
    ----------
    max_order
        N, the longest n-gram.
    reflen
        The reference length of a segment with several references: `closest` to the hypothesis
        (the shorter one on a tie), `shortest`, or `average` (not rounded, other than in Moses).
    smooth
        What to do where an order has no match, on the summed counts.
        `none`: the score is 0 (IBM, Moses).
        `exp`: the k-th order without a match uses 1/2^k matches, an order without candidates
        counts as 1 (mteval-v13a; the smoothed BLEU of WMT's and the PORT paper's correlations).
        `sacre-exp`: the same, but 0 if an order has no candidates or if nothing matches
        (sacrebleu's `exp`).
        `add1`: (m + 1) / (t + 1) from the second order on (Lin and Och 2004).
        `moses+1`: (m + 1) / (t + 1) for every order (Moses' `smoothedSentenceBleu`).
        `floor`: `smooth_value` matches instead of none (sacrebleu; 0 if nothing matches at all).
        `add-k`: (m + k) / (t + k) from the second order on, k being `smooth_value` (sacrebleu).
    smooth_value
        The number that `floor` and `add-k` use, above 0; if left out 0.1 and 1, as in sacrebleu.
    """

    max_order: Annotated[int, Ge(1), Le(16)] = 4
    reflen: ReferenceLength = "closest"
    smooth: Smoothing = "none"
    smooth_value: Annotated[float, Ge(1e-9), Le(1e9)] | None = None

    source: ClassVar[str] = "Papineni et al., ACL 2002; PORT paper, equations 1, 3-5"

    def __post_init__(self) -> None:
        """Check that a value is for a method that has one."""
        if self.smooth_value is not None and self.smooth not in _bleu.SMOOTH_VALUES:
            raise ValueError(
                f"smooth_value is for smooth={' or '.join(_bleu.SMOOTH_VALUES)}, "
                f"found smooth={self.smooth}"
            )

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Matched and total n-grams of each order, then the reference length."""
        return _bleu.bleu_stat_names(self.max_order)

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2 N + 1) counts in the order of `stat_names`."""
        return _bleu.bleu_stats(batch, self.max_order, self.reflen)

    def mean_stats(self, lists: WeightedLists) -> FloatArray:
        """Return (H, 2 N + 1) mean counts."""
        return _bleu.mean_bleu_stats(lists, self.max_order)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return BLEU in 0..1 for stats (..., 2 N + 1)."""
        return _bleu.bleu_score(stats, self.max_order, self.smooth, self.smooth_value)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the precisions (unsmoothed), BP, counts and lengths of stats (2 N + 1,)."""
        return _bleu.bleu_parts(stats, self.max_order)
