"""Defines the mean of the BLEU of words and the BLEU of part-of-speech tags."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from portmert.metrics import _bleu, _tags
from portmert.metrics._base import Batch, FloatArray


@dataclass(frozen=True)
class Wpbleu(_tags.TagBleu):
    """Averages the BLEU of words (`bleu`) and that of tags (`posbleu`)."""

    source: ClassVar[str] = "after Popović and Ney, WMT 2009; Popović, WMT 2011, names it only"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Those of `bleu`, of words and then of tags."""
        names = _bleu.bleu_stat_names(self.max_order)
        return tuple(f"{unit}.{name}" for unit in ("words", "tags") for name in names)

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 4 N + 2) counts in the order of `stat_names`."""
        views = (batch, _tags.in_tags(batch))
        return np.concatenate([self.counts(view) for view in views], axis=1)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return WPBLEU in 0..1 for stats (..., 4 N + 2)."""
        words, tags = (self.bleu(half) for half in self._halves(stats))
        return np.asarray((words + tags) / 2.0)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return both BLEUs, and precisions, BP, counts and lengths of both, of stats."""
        halves = dict(zip(("words", "tags"), self._halves(stats), strict=True))
        parts = {f"{unit}.BLEU": float(self.bleu(half)) for unit, half in halves.items()}
        for unit, half in halves.items():
            bleu = _bleu.bleu_parts(half, self.max_order)
            parts |= {f"{unit}.{name}": value for name, value in bleu.items()}
        return parts

    def _halves(self, stats: FloatArray) -> tuple[FloatArray, FloatArray]:
        middle = 2 * self.max_order + 1
        return stats[..., :middle], stats[..., middle:]
