"""Computes TERp's edits, as counts and as weighted sums.

Formulas in docs/metrics/terp.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metrics import _terp_kernels
from metrics._lexicon import occurrences
from metrics._ngrams import flat
from metrics._references import best_reference

if TYPE_CHECKING:
    from metrics._base import Batch, FloatArray, IntArray, Ragged
    from metrics._lexicon import Lexicon, Phrases, Relations

COUNTS = (
    "match", "insert", "delete", "substitute", "stem", "synonym", "shift",
    "phrases", "phrase_log", "phrase_probability", "phrase_edits",
)  # fmt: skip
"""TERp's features: seven counts of edits; phrase substitutions, and the sums of e * log10(p),
e * p and e over them."""
SHIFT_LIMITS = (50, 1000)
"""Longest distance of a shift, most shifts tried for a hypothesis."""
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


def terp_counts(batch: Batch, lexicon: Lexicon, costs: Costs) -> FloatArray:
    """Return (H, 12) float64: `COUNTS` against the cheapest reference, then the sum of costs."""
    edits = _Edits(lexicon, costs)
    return best_reference(batch, edits.stats, lambda stats: -stats[..., -1])


@dataclass(frozen=True)
class _Edits:
    lexicon: Lexicon
    costs: Costs

    def stats(self, single: Batch) -> FloatArray:
        """Return (H, 12) of a batch with one reference a segment."""
        relations = single.once(self.lexicon)
        features = single.once(self)
        found = occurrences(relations.phrases, single.references)
        prices = np.zeros(len(features))
        if self.costs.phrase is not None:
            first, by_log, by_probability, by_edits = self.costs.phrase
            logs, probabilities, edits = features.T
            prices = first + by_log * logs + by_probability * probabilities + by_edits * edits
            prices = np.maximum(0.0, prices)
        hypotheses, references = flat(single.hypotheses.tokens), flat(single.references.tokens)
        return self._count(
            hypotheses,
            np.ascontiguousarray(single.offsets, dtype=np.int64),
            references,
            relations,
            (found.offsets, found.places, found.entries),
            (relations.phrases, prices, features),
        )

    def __call__(self, corpus: Batch) -> FloatArray:
        """Return (E, 3) float64: e * log10(p), e * p and e of the phrases of a test set.

        e is the weighted distance of the two phrases, shifts allowed, but no phrases within.
        """
        relations = corpus.once(self.lexicon)
        phrases = relations.phrases
        none = np.empty(0, dtype=np.int64)
        distances = self._count(
            phrases.right,
            np.arange(len(phrases.left) + 1),
            phrases.left,
            relations,
            (np.zeros(len(phrases.left) + 1, dtype=np.int64), none, none),
            (phrases, np.zeros(len(phrases.left)), np.zeros((len(phrases.left), 3))),
        )[:, -1]
        p = phrases.probabilities
        return np.column_stack([distances * np.log10(p), distances * p, distances])

    def _count(
        self,
        hypotheses: Ragged,
        offsets: IntArray,
        references: Ragged,
        relations: Relations,
        found: tuple[IntArray, IntArray, IntArray],
        phrases: tuple[Phrases, FloatArray, FloatArray],
    ) -> FloatArray:
        entries, prices, features = phrases
        hypotheses, references = flat(hypotheses), flat(references)
        synonyms, right = flat(relations.synonyms), flat(entries.right)
        counts: FloatArray = _terp_kernels.plus_edits(
            (hypotheses.values, hypotheses.offsets, offsets),
            (references.values, references.offsets),
            (relations.stems, synonyms.values, synonyms.offsets, relations.listed),
            found,
            (
                entries.left.lengths, right.values, right.offsets,
                np.rint(prices / UNIT).astype(np.int64), features,
            ),
            np.rint(np.array(self.costs.edits) / UNIT).astype(np.int64),
            SHIFT_LIMITS,
        )  # fmt: skip
        counts[:, -1] *= UNIT
        return counts
