"""MBLEU and MTER: BLEU and TER after words have been mapped along METEOR's alignment.

Formulas in docs/metrics/meteor.md.
"""

from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from . import _shared
from ._base import Batch, FloatArray, Metric
from ._lexicon import NO_LEXICON
from .bleu import Bleu, bleu_score, bleu_stats
from .meteor import Meteor
from .terp import PRESETS, TER_LIMITS, Ter, terp_counts

PAPER = "Agarwal and Lavie, WMT 2008; named by Popović and Ney, WMT 2009"


@dataclass(frozen=True)
class _Flexible(Metric):
    """Replaces words of a hypothesis by the words of the reference that METEOR links them to.

    Parameters
    ----------
    stem
        Link words with the same stem.
    language
        Language of the Snowball stemmer.
    synonyms
        The folder `dict` of WordNet. Words are linked if they or their base forms share a synset.
    """

    stem: bool = True
    language: str = "english"
    synonyms: Path | None = None

    most_tokens: ClassVar[int | None] = 1000
    source: ClassVar[str] = PAPER

    def load(self) -> None:
        """Read the files that options name."""
        self._meteor.load()

    @cached_property
    def _meteor(self) -> Meteor:
        return Meteor(stem=self.stem, language=self.language, synonyms=self.synonyms)


def _smoothed(rows: FloatArray) -> FloatArray:
    """Return values (H,), highest for the reference to choose; an empty one for no words only."""
    undefined = (rows[:, -1] == 0.0) & (rows[:, 1] > 0.0)
    return np.where(undefined, -1.0, bleu_score(rows, "add1"))


# The options of the last base come first.
@dataclass(frozen=True)
class Mbleu(_Flexible, Bleu):
    """Computes BLEU of a hypothesis whose words METEOR has mapped to the reference.

    A word that METEOR links by stem or synonym becomes the word of the reference. With several
    references, the one with the highest BLEU of the segment counts, orders without a match
    smoothed by `add1`; the first on a tie.
    """

    reflen: ClassVar[_shared.ReferenceLength] = "closest"  # type: ignore[misc]  # one reference

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2 N + 1) counts in the order of `stat_names`."""
        return _shared.best_reference(
            batch,
            lambda single: bleu_stats(self._meteor.mapped(single), self.max_order, "closest"),
            _smoothed,
            rounding=_shared.ROUNDING,
        )

    def mean_stats(self, lists: object) -> None:  # type: ignore[override]
        """Return nothing: the mapping is of each pair."""


@dataclass(frozen=True)
class Mter(_Flexible, Ter):
    """Computes TER of a hypothesis whose words METEOR has mapped to the reference.

    Lower is better; 0 is perfect. A word that METEOR links by stem or synonym becomes the word of
    the reference. With several references, the fewest edits to any of them are divided by the mean
    length of all.
    """

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        tokenised = self._tokenised(batch)
        edits = [
            terp_counts(self._meteor.mapped(single), NO_LEXICON, PRESETS["ter"], TER_LIMITS)[:, -1]
            for single in _shared.each_reference(tokenised)
        ]
        lengths = _shared.reference_lengths(tokenised, "average")
        return np.column_stack([np.min(edits, axis=0), lengths])
