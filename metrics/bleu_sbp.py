"""Defines BLEU with the strict brevity penalty."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from portmert.metrics import _port
from portmert.metrics._base import Batch, FloatArray, Metric
from portmert.metrics._bleu import root
from portmert.metrics._ngrams import SMALLEST_COUNT


@dataclass(frozen=True)
class BleuSbp(Metric):
    """Multiplies the geometric mean of 1..4-gram precisions with the strict brevity penalty.

    A baseline of the PORT paper. The penalty (Chiang et al. 2008) sums min(hypothesis length,
    closest reference length) over segments, so that a long segment cannot make up for a short one.
    """

    source: ClassVar[str] = "Chiang et al., EMNLP 2008; PORT paper, equations 1, 4, 8"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The 16 of `port`, the last being 0."""
        return _port.port_stat_names("none")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 16) counts in the order of `stat_names`."""
        return _port.port_stats(batch, 0.0)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the score in 0..1 for stats (..., 16)."""
        product = np.ones(stats.shape[:-1])
        for n in range(_port.MAX_ORDER):
            product *= stats[..., 3 * n] / np.maximum(stats[..., 3 * n + 1], SMALLEST_COUNT)
        return root(product, _port.MAX_ORDER) * _port.strict_brevity_penalty(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return precisions, recalls, penalties, Qmean, counts and lengths of stats (16,)."""
        return _port.port_parts(stats, recall_cap=False)
