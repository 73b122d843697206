"""TER and TERp: edits and shifts, as counts and as weighted sums.

kernels/terp.py searches the shifts.

Formulas in docs/metrics/edits.md and docs/metrics/terp.md.
"""

import dataclasses
import math
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic.dataclasses import dataclass

from . import _shared
from ._base import Batch, FloatArray, IntArray, Metric, Texts, Vocabulary
from ._lexicon import NO_LEXICON, Lexicon, matches, read_lexicon
from .kernels.compiled import Segments
from .kernels.lexicon import Occurrences, Phrases, Words
from .kernels.terp import Limits, plus_edits

COUNTS = (
    "match", "insert", "delete", "substitute", "stem", "synonym", "shift",
    "phrases", "phrase_log", "phrase_probability", "phrase_edits",
)  # fmt: skip
"""TERp's features: seven counts of edits; phrase substitutions, and the sums of e * log10(p),
e * p and e over them."""
TERP_LIMITS = Limits(length=10, distance=50, tried=1000, tokens=1000, half_width=25)
"""TERp's limits of shifts; the edit distance of longer texts has the band that TER has."""
TER_LIMITS = TERP_LIMITS._replace(tokens=0)
"""The limits of sacrebleu, of shifts also tercom's; the edit distance of any text has a band."""
UNIT = 2.0**-40
"""Costs are compared as multiples of it, so that equal sums are equal."""


@dataclasses.dataclass(frozen=True)
class Costs:
    """The cost of each edit.

    Parameters
    ----------
    edits
        Costs of the first seven `COUNTS`.
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


@dataclass(frozen=True)
class _EditRate(Metric):
    """Divides the cost of edits by the reference length."""

    higher_is_better: ClassVar[bool] = False
    is_error_rate: ClassVar[bool] = True
    most_tokens: ClassVar[int | None] = 20_000

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Least cost of all edits, mean reference length."""
        return ("edits", "ref_len")

    def _stats(
        self, batch: Batch, lexicon: Lexicon, costs: Costs, limits: Limits = TERP_LIMITS
    ) -> FloatArray:
        edits = terp_counts(batch, lexicon, costs, limits)[:, -1]
        return np.column_stack([edits, _shared.reference_lengths(batch, "average")])

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the rate, 0 or more, for stats (..., 2)."""
        edits, length = stats[..., 0], stats[..., 1]
        return _shared.quotient(edits, length, (edits > 0.0).astype(np.float64))

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the rate, the cost of edits and the reference length of stats (2,)."""
        rate = float(self.score(stats))
        return {"rate": rate, "edits": float(stats[0]), "ref_len": float(stats[1])}


@dataclass(frozen=True)
class Ter(_EditRate):
    """Counts insertions, deletions, substitutions and shifts over the reference length.

    Lower is better; 0 is perfect, and there is no highest value. Shifts are searched as in tercom
    0.7.25 and sacrebleu, and scores equal sacrebleu's on the same tokens. Those programs lowercase
    by default; here the text step `lowercase` does that. With several references, the fewest edits
    to any of them are divided by the mean length of all. If all references are empty, TER is 1 if
    there are edits, otherwise 0.

    The options are sacrebleu's and tercom's. With any of them, texts are also cut at the white
    space of other scripts, as there. `case_sensitive=false` is the default of these programs.

    Parameters
    ----------
    normalized
        Whether XML escapes become their characters, and punctuation becomes tokens of its own.
    no_punct
        Whether these are removed: . , ? : ; ! " ( )
    asian_support
        Whether `normalized` also makes each Chinese character a token, and `no_punct` also
        removes East Asian and full-width punctuation.
    case_sensitive
        Whether upper and lower case are different.
    """

    normalized: bool = False
    no_punct: bool = False
    asian_support: bool = False
    case_sensitive: bool = True

    signed_if_changed: ClassVar[frozenset[str]] = frozenset(
        {"normalized", "no_punct", "asian_support", "case_sensitive"}
    )
    source: ClassVar[str] = "Snover et al., AMTA 2006; sacrebleu metrics/lib_ter.py"

    @property
    def compares_words(self) -> bool:  # type: ignore[override]
        """Whether tokens should be words: not if the metric makes words of them itself."""
        return not (self.normalized or self.no_punct)

    def __post_init__(self) -> None:
        """Check that `asian_support` changes something."""
        if self.asian_support and not (self.normalized or self.no_punct):
            raise ValueError("asian_support changes nothing without normalized or no_punct")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        return self._stats(self._tokenised(batch), NO_LEXICON, PRESETS["ter"], TER_LIMITS)

    def _tokenised(self, batch: Batch) -> Batch:
        """Return the batch with the texts that sacrebleu compares."""
        if self.case_sensitive and not (self.normalized or self.no_punct):
            return batch
        from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer  # noqa: PLC0415  start-up

        change = TercomTokenizer(
            self.normalized, self.no_punct, self.asian_support, self.case_sensitive
        )
        vocabulary = Vocabulary()

        def tokenised(texts: Texts) -> Texts:
            lines = (change(" ".join(texts.words(row))) for row in range(len(texts)))
            return Texts.from_lines(lines, vocabulary)

        # The words are others: what was computed once for the whole test set does not fit them.
        return dataclasses.replace(batch.changed(tokenised), whole=None)


@dataclass(frozen=True)
class Terp(_EditRate):
    """Computes TER with a cost for each kind of edit, and with matches by meaning.

    Lower is better; 0 is perfect. Replacing a word by one with the same stem, by a synonym, or a
    phrase by its paraphrase are edits with costs of their own. Shifts are searched as in TER, but
    the words moved may match by stem, synonym or paraphrase too, must not all be stop words, and
    must save at least what the shift costs. With several references, the least cost to any of them
    is divided by the mean length of all. Case is kept. TERp lowercases by default; here the text
    step
    `lowercase` does that.

    A paraphrase of probability p and distance e costs max(0, w1 + w2 e log10(p) + w3 e p + w4 e).
    Here e is what it would cost to make the one phrase the other by all other edits.

    Parameters
    ----------
    costs
        The costs of edits:
        `ter`: 1 each, without stems, synonyms and paraphrases, as in TER;
        `terpa`: tuned to adequacy;
        `terph`: tuned to HTER.
    cap
        Whether a score above 1 counts as 1. Sums of edits are never capped.
    language
        Language of the Snowball stemmer.
    synonyms
        The folder `dict` of WordNet. Words are synonyms if they or their base forms share a
        synset.
    paraphrases
        A table of paraphrases, the reference phrase first, in TERp's plain format or Meteor's.
    stop_words
        A list of words, one per line. Shifts never move stop words alone.
    """

    costs: Literal["ter", "terpa", "terph"] = "terpa"
    cap: bool = True
    language: str = "english"
    synonyms: Path | None = None
    paraphrases: Path | None = None
    stop_words: Path | None = None

    source: ClassVar[str] = "Snover, Madnani, Dorr and Schwartz, WMT 2009; TERp 0.1"

    def __post_init__(self) -> None:
        """Check that TER's costs come without synonyms and paraphrases."""
        for key in ("synonyms", "paraphrases"):
            if self.costs == "ter" and getattr(self, key) is not None:
                raise ValueError(f"costs=ter has no {key}; take costs=terpa or costs=terph")

    def load(self) -> None:
        """Read the files that options name."""
        _ = self._lexicon

    @cached_property
    def _lexicon(self) -> Lexicon:
        return read_lexicon(
            language=self.language,
            stem=PRESETS[self.costs].relaxed,
            synonyms=self.synonyms,
            paraphrases=self.paraphrases,
            words=self.stop_words,
            both_ways=False,
        )

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        return self._stats(batch, self._lexicon, PRESETS[self.costs])

    def score(self, stats: FloatArray) -> FloatArray:
        """Return TERp, 0 or more, for stats (..., 2)."""
        rate = super().score(stats)
        return np.minimum(rate, 1.0) if self.cap else rate


def terp_counts(
    batch: Batch, lexicon: Lexicon, costs: Costs, limits: Limits = TERP_LIMITS
) -> FloatArray:
    """Return (H, 12) float64: `COUNTS` against the cheapest reference, then the sum of costs."""
    edits = _Edits(lexicon, costs, limits)
    return _shared.best_reference(batch, edits.stats, lambda stats: -stats[..., -1])


@dataclasses.dataclass(frozen=True)
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
            constant, by_log, by_probability, by_edits = self.costs.phrase
            logs, probabilities, edits = features.T
            prices = constant + by_log * logs + by_probability * probabilities + by_edits * edits
            prices = np.maximum(0.0, prices)
        segments = _shared.segments_of(single)
        phrases, first = matches(relations, segments)
        return self._count(segments, first, relations.words, phrases, prices, features)

    def __call__(self, corpus: Batch) -> FloatArray:
        """Return (E, 3) float64: e * log10(p), e * p and e of the phrases of a test set.

        e is the weighted distance of the two phrases, shifts allowed, but no phrases within.
        """
        relations = corpus.once(self.lexicon)
        left, right = _shared.flat(relations.left), _shared.flat(relations.right)
        ends = np.arange(len(left) + 1)
        none = np.empty(0, dtype=np.int64)
        distances = self._count(
            Segments(right.values, right.offsets, ends, left.values, left.offsets, ends),
            ends[:-1],
            relations.words,
            Phrases(
                Occurrences(np.zeros_like(ends), none, none),
                left.lengths,
                right.values,
                right.offsets,
            ),
            np.empty(0),
            np.empty((0, 3)),
        )[:, -1]
        p = relations.probabilities
        logs = np.fromiter(map(math.log10, p), np.float64, len(p))  # as on every processor
        return np.column_stack([distances * logs, distances * p, distances])

    def _count(
        self,
        segments: Segments,
        first: IntArray,
        words: Words,
        phrases: Phrases,
        prices: FloatArray,
        features: FloatArray,
    ) -> FloatArray:
        edits = np.rint(np.array(self.costs.edits) / UNIT).astype(np.int64)
        priced = np.rint(prices / UNIT).astype(np.int64)
        counts: FloatArray = plus_edits(
            segments, first, words, phrases, priced, features, edits, self.limits
        )
        counts[:, -1] *= UNIT
        return counts
