"""Defines the F-score of head-word chains."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._trees import MOSES, Kind
from portmert.metrics.hwcm import Hwcm


@dataclass(frozen=True)
class HwcmF(Hwcm):
    """Computes the F-score of the mean precision and recall of the head-word chains of `hwcm`.

    Recall of a length counts against the reference whose number of chains so long is closest to
    the hypothesis's (the smaller on a tie). Matches may come from another reference: recall and F
    can exceed 1. A reference without a parse is left out; without any the segment does not count.
    """

    kind: ClassVar[Kind] = "F"
    source: ClassVar[str] = MOSES
