"""Computes TERp's edits, as counts and as weighted sums.

Formulas in docs/metrics/terp.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portmert.metrics import _terp_kernels
from portmert.metrics._base import Batch, FloatArray, IntArray
from portmert.metrics._lexicon import Lexicon, found_phrases, segments_of
from portmert.metrics._lexicon_kernels import Occurrences, Segments, Words, first_alike
from portmert.metrics._lexicon_kernels import Phrases as FoundPhrases
from portmert.metrics._ngrams import flat
from portmert.metrics._references import best_reference
from portmert.metrics._terp_kernels import Limits, Worths

COUNTS = (
    "match", "insert", "delete", "substitute", "stem", "synonym", "shift",
    "phrases", "phrase_log", "phrase_probability", "phrase_edits",
)  # fmt: skip
"""TERp's features: seven counts of edits; phrase substitutions, and the sums of e * log10(p),
e * p and e over them."""
LIMITS = Limits(length=10, distance=50, tried=1000, tokens=1000, half_width=25)
"""Those of shifts are TERp's; texts of more tokens have the band that TER has."""
UNIT = 2.0**-40
"""Costs are compared as multiples of it, so that equal sums are equal."""


@dataclass(frozen=True)
class Costs:
    """Says what each edit costs.

    Parameters
    ----------
    edits
        Of the first seven `COUNTS`.
    phrase
        w1 to w4: a phrase costs max(0, w1 + w2 * e * log10(p) + w3 * e * p + w4 * e); None: there
        are no phrases.
    relaxed
        Whether words match by stem and synonym.
    """

    edits: tuple[float, ...]
    phrase: tuple[float, float, float, float] | None
    relaxed: bool


PRESETS = {
    "ter": Costs((0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0), None, relaxed=False),
    "terpa": Costs(
        (
            0.0, 0.2588527567630183, 1.4269364675533365, 1.5565478292505814, 0.0, 0.0,
            0.5620538767397316,
        ),
        (-0.2306579294476191, -0.1469465037633749, -0.07843705907022736, 0.17708577297831574),
        relaxed=True,
    ),
    "terph": Costs(
        (
            0.0, 0.5160029868027748, 0.8897481530721948, 1.6362908525843867, 0.9574806141940626,
            0.16474604979800672, 0.686718582391978,
        ),
        (1.0366410752548514, 0.6518645817002747, -0.008317921340980746, 1.1121928362344298),
        relaxed=True,
    ),
}  # fmt: skip
"""Those of TER, and those tuned to adequacy and to HTER (parameter files of TERp)."""


def terp_counts(
    batch: Batch, lexicon: Lexicon, costs: Costs, limits: Limits = LIMITS
) -> FloatArray:
    """Return (H, 12) float64: `COUNTS` against the cheapest reference, then the sum of costs."""
    edits = _Edits(lexicon, costs, limits)
    return best_reference(batch, edits.stats, lambda stats: -stats[..., -1])


@dataclass(frozen=True)
class _Edits:
    lexicon: Lexicon
    costs: Costs
    limits: Limits

    def stats(self, single: Batch) -> FloatArray:
        """Return (H, 12) of a batch with one reference a segment."""
        relations = single.once(self.lexicon)
        features = single.once(self)
        prices = np.zeros(len(features))
        if self.costs.phrase is not None:
            first, by_log, by_probability, by_edits = self.costs.phrase
            logs, probabilities, edits = features.T
            prices = first + by_log * logs + by_probability * probabilities + by_edits * edits
            prices = np.maximum(0.0, prices)
        segments = segments_of(single)
        phrases = found_phrases(relations, segments)
        return self._count(
            segments,
            first_alike(segments, relations.words, phrases),
            relations.words,
            phrases,
            Worths(_in_units(prices), features),
        )

    def __call__(self, corpus: Batch) -> FloatArray:
        """Return (E, 3) float64: e * log10(p), e * p and e of the phrases of a test set.

        e is the weighted distance of the two phrases, shifts allowed, but no phrases within.
        """
        relations = corpus.once(self.lexicon)
        left, right = flat(relations.phrases.left), flat(relations.phrases.right)
        ends = np.arange(len(left) + 1)
        none = np.empty(0, dtype=np.int64)
        distances = self._count(
            Segments(right.values, right.offsets, ends, left.values, left.offsets),
            ends[:-1],
            relations.words,
            FoundPhrases(
                Occurrences(np.zeros_like(ends), none, none),
                left.lengths,
                right.values,
                right.offsets,
            ),
            Worths(none, np.empty((0, 3))),
        )[:, -1]
        p = relations.phrases.probabilities
        return np.column_stack([distances * np.log10(p), distances * p, distances])

    def _count(
        self,
        segments: Segments,
        first: IntArray,
        words: Words,
        phrases: FoundPhrases,
        worths: Worths,
    ) -> FloatArray:
        counts: FloatArray = _terp_kernels.plus_edits(
            segments,
            first,
            words,
            phrases,
            worths,
            _in_units(np.array(self.costs.edits)),
            self.limits,
        )
        counts[:, -1] *= UNIT
        return counts


def _in_units(costs: FloatArray) -> IntArray:
    return np.rint(costs / UNIT).astype(np.int64)
