"""Averages scores that are no counts: of files, of networks."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from portmert.metrics._base import FloatArray, Metric


@dataclass(frozen=True)
class MeanOfScores(Metric):
    """Averages numbers that something else gives each hypothesis; a subclass gets them."""

    compares_words: ClassVar[bool] = False
    in_percent: ClassVar[bool] = False

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The score, and 1 for the hypothesis."""
        return ("sum", "segments")

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the mean score of stats (..., 2)."""
        return np.asarray(stats[..., 0] / np.maximum(stats[..., 1], 1.0))

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the number of segments."""
        return {"segments": float(stats[1])}
