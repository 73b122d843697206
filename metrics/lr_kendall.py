"""Defines LRscore with Kendall similarity."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._order_metrics import LrScore
from portmert.metrics._orders import Measure


@dataclass(frozen=True)
class LrKendall(LrScore):
    """Computes LRscore: alpha times the Kendall similarity of order plus 1 - alpha times BLEU.

    BLEU is that of metric `bleu` with its defaults, the similarity that of metric `kendall`.
    """

    measure: ClassVar[Measure] = "kendall"
