"""Defines the F-score of subtrees."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._trees import MOSES, Kind
from portmert.metrics.stm import Stm


@dataclass(frozen=True)
class StmF(Stm):
    """Computes the F-score of the mean precision and recall of the subtrees of `stm`.

    Recall of a depth counts against the reference whose number of subtrees so deep is closest to
    the hypothesis's (the smaller on a tie). Matches may come from another reference: recall and F
    can exceed 1. A reference without a parse is left out; without any the segment does not count.
    """

    kind: ClassVar[Kind] = "F"
    source: ClassVar[str] = MOSES
