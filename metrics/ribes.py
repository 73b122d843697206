"""RIBES."""

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from . import _shared
from ._base import Batch, FloatArray
from ._elementary import exp, power
from ._shared import SMALLEST_COUNT
from .kernels.ribes import rank_agreements


@dataclass(frozen=True)
class Ribes(_shared.WeightedMean):
    """Averages the rank correlation of matched words, lowered for missing words.

    A hypothesis word is linked to an equal reference word if it is unique in both texts, alone or
    with the shortest context to its left or right that makes it unique. The value of a segment is
    the share of pairs of links in the same order, times (links / hypothesis length) ** alpha,
    times BLEU's brevity penalty ** beta. With several references, the highest value counts. Fewer
    than two links give 0, unless the reference has one word.

    Parameters
    ----------
    alpha
        Exponent of the share of linked words; a larger one gives it more weight.
    beta
        Exponent of the brevity penalty.
    """

    alpha: Annotated[float, Ge(0), Le(100)] = 0.25
    beta: Annotated[float, Ge(0), Le(100)] = 0.10

    most_tokens: ClassVar[int | None] = 20_000
    source: ClassVar[str] = "Isozaki et al., EMNLP 2010; RIBES.py 1.03"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The value of the segment and 1."""
        return ("ribes", "segments")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        values = np.max([self._values(single) for single in _shared.each_reference(batch)], axis=0)
        return np.column_stack([values, np.ones_like(values)])

    def _values(self, single: Batch) -> FloatArray:
        agreement, links = rank_agreements(_shared.segments_of(single)).T
        lengths = np.maximum(_shared.hypothesis_lengths(single), SMALLEST_COUNT)
        # Where there is no link the agreement is 0; elsewhere no text is empty.
        brevity = np.minimum(1.0 - _shared.one_length(single) / lengths, 0.0)
        product = agreement * power(links / lengths, self.alpha) * exp(brevity * self.beta)
        return np.asarray(product)
