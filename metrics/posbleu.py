"""Defines the BLEU of part-of-speech tags."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics import _bleu, _tags
from portmert.metrics._base import Batch, FloatArray


@dataclass(frozen=True)
class Posbleu(_tags.TagBleu):
    """Computes BLEU with part-of-speech tags in the place of words.

    An untagged text counts as empty.
    """

    source: ClassVar[str] = "Popović and Ney, WMT 2009"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Matched and total n-grams of each order, then the reference length."""
        return _bleu.bleu_stat_names(self.max_order)

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2 N + 1) counts in the order of `stat_names`."""
        return self.counts(_tags.in_tags(batch))

    def score(self, stats: FloatArray) -> FloatArray:
        """Return POSBLEU in 0..1 for stats (..., 2 N + 1)."""
        return self.bleu(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the precisions (unsmoothed), BP, counts and lengths of stats (2 N + 1,)."""
        return _bleu.bleu_parts(stats, self.max_order)
