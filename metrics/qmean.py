"""Defines Qmean, the part of PORT that compares words."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics import _port
from portmert.metrics._base import Batch, FloatArray, Metric


@dataclass(frozen=True)
class Qmean(Metric):
    """Averages 1..4-gram precision and recall quadratically, each with its length penalty.

    With several references matches may come from a longer reference than the closest one, whose
    length recall divides by: then recall and Qmean can exceed 1.

    Parameters
    ----------
    recall_cap
        Limit the recall of each order to 1.
    """

    recall_cap: bool = False

    source: ClassVar[str] = "Chen, Kuhn and Larkin, ACL 2012 (PORT), equations 1, 2, 6-10"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The 16 of `port`, the last being 0."""
        return _port.port_stat_names("none")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 16) counts in the order of `stat_names`."""
        return _port.port_stats(batch, 0.0)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return Qmean for stats (..., 16)."""
        return _port.qmean(stats, recall_cap=self.recall_cap)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return precisions, recalls, penalties, Qmean, counts and lengths of stats (16,)."""
        return _port.port_parts(stats, recall_cap=self.recall_cap)
