"""A metric: the share of hypotheses that have the length of their first reference."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge
from pydantic.dataclasses import dataclass

from portmert.metrics._base import Metric


@dataclass(frozen=True)
class Share(Metric):
    """Counts hypotheses about as long as their first reference.

    Parameters
    ----------
    slack
        So many tokens more or less are allowed.
    """

    slack: Annotated[int, Ge(0)] = 0

    source: ClassVar[str] = "nobody"

    @property
    def stat_names(self):
        return ("hits", "segments")

    def stats(self, batch):
        lengths = batch.hypotheses.tokens.lengths
        reference_lengths = batch.references.tokens.lengths[batch.reference_offsets[:-1]]
        reference_lengths = np.repeat(reference_lengths, np.diff(batch.offsets))
        hits = np.abs(lengths - reference_lengths) <= self.slack
        return np.column_stack([hits, np.ones(len(lengths))]).astype(np.float64)

    def score(self, stats):
        return stats[..., 0] / np.maximum(stats[..., 1], 1.0)

    def parts(self, stats):
        return {"hits": float(stats[0])}
