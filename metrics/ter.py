"""Defines the translation edit rate."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from portmert.metrics._base import Batch, FloatArray, Metric
from portmert.metrics._edits import rate_parts
from portmert.metrics._lexicon import NO_LEXICON
from portmert.metrics._ngrams import SMALLEST_COUNT, reference_lengths
from portmert.metrics._terp import PRESETS, terp_counts
from portmert.metrics._terp_kernels import Limits

LIMITS = Limits(length=10, distance=50, tried=1000, tokens=0, half_width=25)
"""Those of sacrebleu, of shifts also tercom's; the edit distance of any text has a band."""


@dataclass(frozen=True)
class Ter(Metric):
    """Counts insertions, deletions, substitutions and shifts over the reference length.

    Lower is better; 0 is perfect, and there is no highest value. Shifts are searched as in tercom
    0.7.25 and sacrebleu; equal to sacrebleu on the same tokens. Those programs lowercase unless
    told not to; here that is `lowercase` of the texts. Of several references the one with fewest
    edits counts, over the mean length of all. Where all references are empty, TER is 1 if there
    are edits, otherwise 0.
    """

    higher_is_better: ClassVar[bool] = False
    most_tokens: ClassVar[int | None] = 20_000
    source: ClassVar[str] = "Snover et al., AMTA 2006; sacrebleu metrics/lib_ter.py"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Fewest edits, mean reference length."""
        return ("edits", "ref_len")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        edits = terp_counts(batch, NO_LEXICON, PRESETS["ter"], LIMITS)[:, -1]
        return np.column_stack([edits, reference_lengths(batch, "average")])

    def score(self, stats: FloatArray) -> FloatArray:
        """Return TER, 0 or more, for stats (..., 2)."""
        edits, length = stats[..., 0], stats[..., 1]
        rate = edits / np.maximum(length, SMALLEST_COUNT)
        return np.asarray(np.where(length > 0.0, rate, edits > 0.0))

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the rate, the edits and the reference length of stats (2,)."""
        return rate_parts(float(self.score(stats)), stats)
