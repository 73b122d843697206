"""Mean of the BLEU of words and the BLEU of part-of-speech tags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from metrics import _bleu, _tags
from metrics._base import Metric, Need
from metrics._bleu import Smoothing  # noqa: TC001  its fields need the types when it is built
from metrics._ngrams import ReferenceLength  # noqa: TC001

if TYPE_CHECKING:
    from metrics._base import Batch, FloatArray


@dataclass(frozen=True)
class Wpbleu(Metric):
    """Arithmetic mean of the BLEU of words (`bleu`) and that of tags (`posbleu`).

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
    source: ClassVar[str] = "after Popović and Ney, WMT 2009; Popović, WMT 2011, names it only"
    bounds: ClassVar[dict[str, tuple[float, float]]] = {"max_order": (1, 16)}

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Those of `bleu`, of words and then of tags."""
        names = _bleu.bleu_stat_names(self.max_order)
        return tuple(f"{unit}.{name}" for unit in ("words", "tags") for name in names)

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 4 N + 2) counts in the order of `stat_names`."""
        views = (batch, _tags.in_tags(batch))
        return np.concatenate(
            [_bleu.bleu_stats(view, self.max_order, self.reflen) for view in views], axis=1
        )

    def score(self, stats: FloatArray) -> FloatArray:
        """Return WPBLEU in 0..1 for stats (..., 4 N + 2)."""
        words, tags = (self._bleu(half) for half in self._halves(stats))
        return np.asarray((words + tags) / 2.0)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return both BLEUs, and precisions, BP, counts and lengths of both, of stats."""
        halves = dict(zip(("words", "tags"), self._halves(stats), strict=True))
        parts = {f"{unit}.BLEU": float(self._bleu(half)) for unit, half in halves.items()}
        for unit, half in halves.items():
            bleu = _bleu.bleu_parts(half, self.max_order)
            parts |= {f"{unit}.{name}": value for name, value in bleu.items()}
        return parts

    def _bleu(self, half: FloatArray) -> FloatArray:
        return _bleu.bleu_score(half, self.max_order, self.smooth)

    def _halves(self, stats: FloatArray) -> tuple[FloatArray, FloatArray]:
        middle = 2 * self.max_order + 1
        return stats[..., :middle], stats[..., middle:]
