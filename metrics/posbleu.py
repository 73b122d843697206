"""BLEU of part-of-speech tags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from metrics import _bleu, _tags
from metrics._base import Metric, Need
from metrics._bleu import Smoothing  # noqa: TC001  its fields need the types when it is built
from metrics._ngrams import ReferenceLength  # noqa: TC001

if TYPE_CHECKING:
    from metrics._base import Batch, FloatArray


@dataclass(frozen=True)
class Posbleu(Metric):
    """BLEU with part-of-speech tags in the place of words.

    An untagged text counts as empty.

    Parameters
    ----------
    max_order
        The longest n-gram.
    reflen
        As in `bleu`: the reference length that is `closest` to the hypothesis's, the `shortest`,
        or the `average`.
    smooth
        As in `bleu`, for an order without a match: `none`, `exp`, `sacre-exp`, `add1`,
        as well as `moses+1`, `floor` (0.1 matches) and `add-k` (k is 1).
    """

    max_order: int = 4
    reflen: ReferenceLength = "closest"
    smooth: Smoothing = "none"

    needs: ClassVar[frozenset[Need]] = frozenset({"tags"})
    source: ClassVar[str] = "Popović and Ney, WMT 2009"
    bounds: ClassVar[dict[str, tuple[float, float]]] = {"max_order": (1, 16)}

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Matched and total n-grams of each order, then the reference length."""
        return _bleu.bleu_stat_names(self.max_order)

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2 N + 1) counts in the order of `stat_names`."""
        return _bleu.bleu_stats(_tags.in_tags(batch), self.max_order, self.reflen)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return POSBLEU in 0..1 for stats (..., 2 N + 1)."""
        return _bleu.bleu_score(stats, self.max_order, self.smooth)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the precisions (unsmoothed), BP, counts and lengths of stats (2 N + 1,)."""
        return _bleu.bleu_parts(stats, self.max_order)
