"""Defines 1 - position-independent error rate."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from portmert.metrics._base import Batch, FloatArray, Metric
from portmert.metrics._edits import one_length
from portmert.metrics._ngrams import SMALLEST_COUNT, hypothesis_lengths, matched
from portmert.metrics._references import best_reference


@dataclass(frozen=True)
class Per(Metric):
    """Computes the share of reference words in the hypothesis, less its words too many.

    The order of words plays no role. 1 is perfect; below 0 where the hypothesis is much too long;
    0 without any reference word. Moses takes one reference; here of several the one with the
    highest score counts, the first on a tie.
    """

    source: ClassVar[str] = "Tillmann et al., Eurospeech 1997; Moses mert/PerScorer.cpp"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Words in common, lengths of the hypothesis and the reference."""
        return ("correct", "hyp_len", "ref_len")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 3) counts in the order of `stat_names`."""
        return best_reference(batch, _one_reference, self.score)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return 1 - per, at most 1, for stats (..., 3)."""
        correct, own, length = stats[..., 0], stats[..., 1], stats[..., 2]
        share = (correct - np.maximum(own - length, 0.0)) / np.maximum(length, SMALLEST_COUNT)
        return np.asarray(np.where(length > 0.0, share, 0.0))

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the rate, the words in common and the lengths of stats (3,)."""
        return {
            "rate": 1.0 - float(self.score(stats)),
            "correct": float(stats[0]),
            "hyp_len": float(stats[1]),
            "ref_len": float(stats[2]),
        }


def _one_reference(single: Batch) -> FloatArray:
    return np.column_stack([matched(single, 1), hypothesis_lengths(single), one_length(single)])
