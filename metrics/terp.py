"""Defines TERp."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic.dataclasses import dataclass

from portmert.metrics._base import Batch, FloatArray, Metric
from portmert.metrics._edits import rate_parts
from portmert.metrics._lexicon import Lexicon, read_lexicon
from portmert.metrics._ngrams import SMALLEST_COUNT, reference_lengths
from portmert.metrics._terp import PRESETS, terp_counts


@dataclass(frozen=True)
class Terp(Metric):
    """Computes TER with a cost for each kind of edit, and with matches by meaning.

    Lower is better; 0 is perfect. Words of one stem and synonyms are edits of their own, and a
    phrase may become its paraphrase. Shifts are searched as in TER, but what is moved may also
    match by stem, synonym or paraphrase, is not made of stop words only, and pays for itself. Of
    several references the one with the least cost counts, over the mean length of all. Words are
    compared as they are; TERp lowercases unless told not to, here that is `lowercase` of the
    texts.

    A paraphrase of probability p and distance e costs max(0, w1 + w2 e log10(p) + w3 e p + w4 e),
    e being the cost of all other edits, shifts too, that make it the phrase.

    Parameters
    ----------
    costs
        What edits cost:
        `ter` 1 each, no stems, synonyms and paraphrases: TER;
        `terpa` tuned to adequacy;
        `terph` tuned to HTER.
    cap
        Whether a rate above 1 counts as 1; sums of edits are never capped.
    language
        Whose Snowball stemmer.
    synonyms
        The dict folder of WordNet: words that share a synset, as they are or in a base form, are
        synonyms.
    paraphrases
        A table of paraphrases (reference phrase first), TERp's plain format or Meteor's.
    stop_words
        A list of words, one a line; none are moved by themselves.
    """

    costs: Literal["ter", "terpa", "terph"] = "terpa"
    cap: bool = True
    language: str = "english"
    synonyms: Path | None = None
    paraphrases: Path | None = None
    stop_words: Path | None = None

    higher_is_better: ClassVar[bool] = False
    most_tokens: ClassVar[int | None] = 20_000
    source: ClassVar[str] = "Snover, Madnani, Dorr and Schwartz, WMT 2009; TERp 0.1"
    examples: ClassVar[dict[str, tuple[str, ...]]] = {
        "language": ("german",),
        "synonyms": (),
        "paraphrases": (),
        "stop_words": (),
    }

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

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Least cost of all edits, mean reference length."""
        return ("edits", "ref_len")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        edits = terp_counts(batch, self._lexicon, PRESETS[self.costs])[:, -1]
        return np.column_stack([edits, reference_lengths(batch, "average")])

    def score(self, stats: FloatArray) -> FloatArray:
        """Return TERp, 0 or more, for stats (..., 2)."""
        edits, length = stats[..., 0], stats[..., 1]
        rate = edits / np.maximum(length, SMALLEST_COUNT)
        rate = np.where(length > 0.0, rate, edits > 0.0)
        return np.minimum(rate, 1.0) if self.cap else np.asarray(rate)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the rate, the cost of edits and the reference length of stats (2,)."""
        return rate_parts(float(self.score(stats)), stats)
