"""METEOR; kernels/meteor.py aligns the words and counts the chunks.

Formulas in docs/metrics/meteor.md.
"""

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from . import _shared
from ._base import Batch, FloatArray, Metric, Ragged
from ._elementary import power
from ._lexicon import Lexicon, listed_words, matches, read_lexicon
from .kernels.meteor import alignments

_PENALTIES = {
    "2005": (0.9, 3.0, 0.5),
    "1.0": (0.81, 0.83, 0.28),
    "1.0-rank": (0.95, 0.5, 0.45),
}
"""Alpha, beta, gamma of the versions that do not weigh words."""
_TASKS = {
    "1.5": ((0.85, 0.20, 0.60, 0.75), (1.0, 0.6, 0.8, 0.6)),
    "1.5-adequacy": ((0.75, 1.40, 0.45, 0.70), (1.0, 1.0, 0.6, 0.8)),
    "1.5-hter": ((0.40, 1.50, 0.35, 0.55), (1.0, 0.2, 0.6, 0.8)),
    "1.5-tune": ((0.5, 1.0, 0.5, 0.5), (1.0, 0.5, 0.5, 0.5)),
    "1.5-any": ((0.75, 1.40, 0.70, 0.50), (1.0, 0.5, 0.5, 0.5)),
    "1.5-universal": ((0.70, 1.40, 0.30, 0.70), (1.0, 0.6, 0.0, 0.0)),
}
"""Alpha, beta, gamma, delta and the weights of the four modules, by task."""
_MODULES = ("exact", "stem", "synonym", "paraphrase")


@dataclass(frozen=True)
class Meteor(Metric):
    """Computes a weighted mean of precision and recall of linked words, lowered for each chunk.

    Words of a hypothesis and a reference are linked one to one: equal words and, by option, words
    with the same stem, synonyms, and paraphrases of several words. The alignment with most linked
    words counts (in 1.5 a link of unequal words counts half); of these the one with fewest chunks
    (runs of links that are adjacent on both sides); of these the one with the least distance. The
    search is exact unless more than 512 partial alignments (fewer in texts of hundreds of words)
    compete at one place, as in segments of mostly the same few words. Then only the most promising
    ones are kept. With several references, the best score counts.

    The versions 1.5 give function words and modules weights of their own, and do not penalise a
    perfect hypothesis. Case is kept, as by the program without `-norm` and `-lower`; the text step
    `lowercase` compares in lower case.

    Parameters
    ----------
    version
        The formula and its parameters:
        `2005`: precision and recall of links, Banerjee and Lavie;
        `1.0`: the same formula, tuned to adequacy and fluency;
        `1.0-rank`: the same formula, tuned to rankings;
        `1.5`: with weights for words and modules, tuned to rankings of English;
        `1.5-adequacy`: tuned to adequacy of English;
        `1.5-hter`: tuned to HTER of English;
        `1.5-tune`: made for tuning systems;
        `1.5-any`: for any language;
        `1.5-universal`: Meteor Universal.
    alpha
        Weight of recall relative to precision. Default: that of the version.
    beta
        Exponent of the share of chunks. Default: that of the version.
    gamma
        Weight of the penalty. Default: that of the version.
    delta
        Weight of content words, in 1.5. Default: that of the version.
    stem
        Link words with the same stem.
    language
        Language of the Snowball stemmer.
    synonyms
        The folder `dict` of WordNet. Words are linked if they or their base forms share a synset.
    paraphrases
        In 1.5: a table of paraphrases, in Meteor's format or TERp's plain one.
    function_words
        In 1.5: a list of function words, one per line. Without it all words are content words.
    """

    version: Literal[
        "2005", "1.0", "1.0-rank",
        "1.5", "1.5-adequacy", "1.5-hter", "1.5-tune", "1.5-any", "1.5-universal",
    ] = "2005"  # fmt: skip
    alpha: Annotated[float, Ge(0), Le(1)] | None = None
    beta: Annotated[float, Ge(0), Le(100)] | None = None
    gamma: Annotated[float, Ge(0), Le(1)] | None = None
    delta: Annotated[float, Ge(0), Le(1)] | None = None
    stem: bool = False
    language: str = "english"
    synonyms: Path | None = None
    paraphrases: Path | None = None
    function_words: Path | None = None

    most_tokens: ClassVar[int | None] = 1000
    source: ClassVar[str] = (
        "Banerjee and Lavie, ACL 2005; Lavie and Agarwal, WMT 2007; Denkowski and Lavie, WMT 2014"
    )

    def __post_init__(self) -> None:
        """Check that options of 1.5 come with one of its versions."""
        if not self.weighted:
            for key in ("delta", "paraphrases", "function_words"):
                if getattr(self, key) is not None:
                    raise ValueError(
                        f"version {self.version} has no {key}; take 1.5 or one of its tasks"
                    )

    def load(self) -> None:
        """Read the files that options name."""
        _ = self._lexicon

    @cached_property
    def _lexicon(self) -> Lexicon:
        return read_lexicon(
            language=self.language,
            stem=self.stem,
            synonyms=self.synonyms,
            paraphrases=self.paraphrases,
            words=self.function_words,
            both_ways=True,
        )

    @property
    def weighted(self) -> bool:
        """Whether the version weighs words and modules."""
        return self.version in _TASKS

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Lengths, links and chunks; in 1.5 those of `-ssOut`."""
        if not self.weighted:
            return ("hyp_len", "ref_len", "matched", "chunks")
        return (
            "hyp_len", "ref_len", "hyp_function", "ref_function",
            *(
                f"{side}_{kind}_{module}"
                for module in _MODULES
                for kind in ("content", "function")
                for side in ("hyp", "ref")
            ),
            "chunks", "hyp_matched", "ref_matched",
        )  # fmt: skip

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 4), in 1.5 (H, 23), float64 in the order of `stat_names`."""
        return _shared.best_reference(batch, self._stats, self.score)

    def _stats(self, single: Batch) -> FloatArray:
        counts, _ = self._aligned(single)
        relations = single.once(self._lexicon)
        counts[:, 0], counts[:, 1] = _shared.hypothesis_lengths(single), _shared.one_length(single)
        if not self.weighted:
            return np.column_stack([counts[:, k] for k in (0, 1, 21, 20)])
        counts[:, 2] = listed_words(single.hypotheses, relations)
        each = np.diff(single.offsets)
        counts[:, 3] = np.repeat(listed_words(single.references, relations), each)
        whole = (counts[:, 21] == counts[:, 0]) & (counts[:, 22] == counts[:, 1])
        counts[whole & (counts[:, 20] == 1.0), 20] = 0.0
        return counts

    def mapped(self, single: Batch) -> Batch:
        """Return the batch, of one reference a segment, with linked words as the reference's."""
        _, tokens = self._aligned(single)
        texts = replace(single.hypotheses, tokens=tokens)
        return replace(single, hypotheses=texts, whole=single.corpus)

    def _aligned(self, single: Batch) -> tuple[FloatArray, Ragged]:
        """Return counts (H, 23) of the kernel and the mapped tokens of hypotheses."""
        relations, segments = single.once(self._lexicon), _shared.segments_of(single)
        phrases, first = matches(relations, segments)
        counts, tokens = alignments(
            segments, first, relations.words, phrases, (2, 1) if self.weighted else (1, 1)
        )
        return counts, Ragged(tokens, segments.token_offsets)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return METEOR in [0, 1] for stats (..., K)."""
        precision, recall = self._shares(stats)
        alpha, beta, gamma, _ = self._parameters
        mean = _shared.quotient(precision * recall, alpha * precision + (1.0 - alpha) * recall)
        return np.asarray(mean * (1.0 - gamma * power(self._fragmentation(stats), beta)))

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return precision, recall, share of chunks and the counts of stats (K,)."""
        precision, recall = self._shares(stats)
        return {
            "precision": float(precision),
            "recall": float(recall),
            "fragmentation": float(self._fragmentation(stats)),
            "matched_words": float(stats[..., -2]),
            "total_chunks": float(stats[..., -1 if not self.weighted else -3]),
            "hyp_len": float(stats[0]),
            "ref_len": float(stats[1]),
        }

    @property
    def _parameters(self) -> tuple[float, float, float, float]:
        defaults = _TASKS[self.version][0] if self.weighted else (*_PENALTIES[self.version], 0.5)
        options = (self.alpha, self.beta, self.gamma, self.delta)
        alpha, beta, gamma, delta = (
            default if value is None else value
            for value, default in zip(options, defaults, strict=True)
        )
        return alpha, beta, gamma, delta

    def _shares(self, stats: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return precision and recall (...)."""
        if not self.weighted:
            matched = stats[..., 2]
            precision, recall = (_shared.quotient(matched, stats[..., k]) for k in (0, 1))
            return precision, recall
        delta = self._parameters[3]
        counts = stats[..., 4:20].reshape(*stats.shape[:-1], 4, 2, 2)  # module, kind, side
        kinds = np.array([delta, 1.0 - delta])
        weights = np.array(_TASKS[self.version][1])
        shares = []
        for side in (0, 1):
            length, function = stats[..., side], stats[..., 2 + side]
            total = delta * (length - function) + (1.0 - delta) * function
            linked = ((counts[..., side] * kinds).sum(axis=-1) * weights).sum(axis=-1)
            shares.append(_shared.quotient(linked, total))
        return shares[0], shares[1]

    def _fragmentation(self, stats: FloatArray) -> FloatArray:
        """Return chunks over linked words (...), 0 where there is none."""
        if not self.weighted:
            chunks, matched = stats[..., 3], stats[..., 2]
        else:
            chunks, matched = stats[..., 20], (stats[..., 21] + stats[..., 22]) / 2.0
        return _shared.quotient(chunks, matched)
