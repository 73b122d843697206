"""Defines LRscore with Hamming similarity."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._order_metrics import LrScore
from portmert.metrics._orders import Encoding, Measure


@dataclass(frozen=True)
class LrHamming(LrScore):
    """Computes LRscore: alpha times the Hamming similarity of order plus 1 - alpha times BLEU.

    BLEU is that of metric `bleu` with its defaults, the similarity that of metric `hamming`.
    """

    measure: ClassVar[Measure] = "hamming"
    encoding: ClassVar[Encoding] = "rank"  # type: ignore[misc]  # no option here
