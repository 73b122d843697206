"""Defines lexical overlap."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from portmert.metrics._base import Batch, FloatArray
from portmert.metrics._orders import Averaged
from portmert.metrics._semantics import PAPER, best_lexical_overlap


@dataclass(frozen=True)
class Ol(Averaged):
    """Averages over segments the share of words that hypothesis and reference have in common.

    Words are lowercased, and counted as often as they occur: the smaller number of occurrences
    over the larger, summed over words. Of several references the best value counts. What stands
    in for metrics of meaning where an analysis is missing.
    """

    source: ClassVar[str] = PAPER

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The overlap, and 1."""
        return ("overlap", "segments")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        found = best_lexical_overlap(batch)
        return np.column_stack([found, np.ones(len(found))])
