"""Counts n-grams of tags in the place of words, for the part-of-speech metrics.

Popović and Ney, WMT 2009; formulas in docs/metrics/pos.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from portmert.metrics._base import Batch, FloatArray, Metric, Need, Texts
from portmert.metrics._bleu import Smoothing, bleu_score, bleu_stats, root
from portmert.metrics._ngrams import SMALLEST_COUNT, ReferenceLength, matched, totals
from portmert.metrics._references import best_reference

Mean = Literal["gm", "am"]
Figure = Literal["precision", "recall", "F"]
MAX_ORDER = 4

STAT_NAMES = tuple(
    f"{kind}_{n}" for n in range(1, MAX_ORDER + 1) for kind in ("matched", "total", "ref_total")
)


def in_tags(batch: Batch) -> Batch:
    """Return the batch with the tags of each text as its tokens; none where it is not tagged.

    Raises
    ------
    ValueError
        There are no tags, or a text has more or fewer tags than tokens.
    """
    return replace(
        batch,
        hypotheses=_tags_of(batch.hypotheses, "hypothesis"),
        references=_tags_of(batch.references, "reference"),
    )


def _tags_of(texts: Texts, what: str) -> Texts:
    if texts.tags is None:
        raise ValueError(f"the metric needs the part-of-speech tags of each {what}")
    found, expected = texts.tags.lengths, texts.tokens.lengths
    wrong = np.flatnonzero((found != expected) & (found != 0))
    if wrong.size:
        first = int(wrong[0])
        raise ValueError(
            f"{what} {first} has tags: {found[first]}, tokens: {expected[first]}; a text has one "
            f"tag a token, or none"
        )
    return replace(texts, tokens=texts.tags)


def tag_stats(batch: Batch) -> FloatArray:
    """Return (H, 12) float64 in the order of `STAT_NAMES`: n-grams of tags."""
    return best_reference(in_tags(batch), _counts, _choice)


def pooled_stats(batch: Batch) -> FloatArray:
    """Return (H, 12) float64 in the order of `STAT_NAMES`: n-grams of words and of tags."""

    def stats(single: Batch) -> FloatArray:
        return _counts(single, in_tags(single))

    return best_reference(batch, stats, _choice)


def _counts(*views: Batch) -> FloatArray:
    """Return (H, 12) float64: the counts of all views of one batch, added up."""
    stats = np.empty((len(views[0].hypotheses), len(STAT_NAMES)))
    matches = matched(views[0], MAX_ORDER)
    for view in views[1:]:
        matches += matched(view, MAX_ORDER)
    stats[:, 0::3] = matches
    stats[:, 1::3] = _totals([view.hypotheses for view in views])
    references = _totals([view.references for view in views])
    stats[:, 2::3] = np.repeat(references, np.diff(views[0].offsets), axis=0)
    return stats


def _totals(views: list[Texts]) -> FloatArray:
    """Return (N, 4) float64: the n-grams of all views; a text has as many tags as words, or none.

    So one view's counts are all views' counts.
    """
    lengths = [view.tokens.lengths for view in views]
    counts = totals(lengths[0].astype(np.float64), MAX_ORDER)
    for others in lengths[1:]:
        counts *= 1.0 + (others > 0)[:, np.newaxis]
    return counts


def _choice(stats: FloatArray) -> FloatArray:
    """Return what decides between references: gm is 0 for most single segments."""
    return f_score(stats, "am")


def mean_share(stats: FloatArray, kind: Literal["precision", "recall"], mean: Mean) -> FloatArray:
    """Return the mean over the orders (...) of matched / total n-grams."""
    column = 1 if kind == "precision" else 2
    shares = [
        stats[..., 3 * n] / np.maximum(stats[..., 3 * n + column], SMALLEST_COUNT)
        for n in range(MAX_ORDER)
    ]
    result = shares[0]
    for share in shares[1:]:
        result = result * share if mean == "gm" else result + share
    return root(result, MAX_ORDER) if mean == "gm" else np.asarray(result / MAX_ORDER)


def f_score(stats: FloatArray, mean: Mean) -> FloatArray:
    """Return 2 P R / (P + R) (...) of the mean precision and the mean recall."""
    precision, recall = (mean_share(stats, kind, mean) for kind in ("precision", "recall"))
    smallest = np.finfo(np.float64).tiny
    return np.asarray(2.0 * precision * recall / np.maximum(precision + recall, smallest))


def tag_parts(stats: FloatArray, mean: Mean) -> dict[str, float]:
    """Return mean precision, mean recall, F, those of each order and the counts of stats (12,)."""
    match, own, reference = (stats[k::3] for k in range(3))
    orders = range(1, MAX_ORDER + 1)
    precision, recall = (match / np.maximum(total, SMALLEST_COUNT) for total in (own, reference))
    return {
        "precision": float(mean_share(stats, "precision", mean)),
        "recall": float(mean_share(stats, "recall", mean)),
        "F": float(f_score(stats, mean)),
        **{f"p{n}": float(precision[n - 1]) for n in orders},
        **{f"r{n}": float(recall[n - 1]) for n in orders},
        **dict(zip(STAT_NAMES, stats.tolist(), strict=True)),
    }


@dataclass(frozen=True)
class TagMatch(Metric):
    """Scores the n-grams of tags that match, n = 1..4.

    A subclass says what of them it takes (`figure`), and whether words count as well.

    Parameters
    ----------
    mean
        Over the four orders: geometric (`gm`, better more often in the paper; 0 if an order has
        no match) or arithmetic (`am`).
    """

    mean: Mean = "gm"

    figure: ClassVar[Figure]
    with_words: ClassVar[bool] = False
    needs: ClassVar[frozenset[Need]] = frozenset({"tags"})
    source: ClassVar[str] = "Popović and Ney, WMT 2009"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """For each order the n-grams that match, those of the hypothesis and of the reference."""
        return STAT_NAMES

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 12) counts in the order of `stat_names`."""
        return pooled_stats(batch) if self.with_words else tag_stats(batch)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the precision, the recall or the F-score in 0..1 for stats (..., 12)."""
        if self.figure == "F":
            return f_score(stats, self.mean)
        return mean_share(stats, self.figure, self.mean)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return precision, recall, F and the counts of stats (12,)."""
        return tag_parts(stats, self.mean)


@dataclass(frozen=True)
class TagBleu(Metric):
    """Scores tags, or tags and words, by BLEU.

    Parameters
    ----------
    max_order
        The longest n-gram.
    reflen
        As in `bleu`: the reference length that is `closest` to the hypothesis's, the `shortest`,
        or the `average`.
    smooth
        As in `bleu`, for an order without a match: `none`, `exp`, `sacre-exp`, `add1`,
        as well as `moses+1`, `floor` (0.1 matches) and `add-k` (k is 1).
    """

    max_order: Annotated[int, Ge(1), Le(16)] = 4
    reflen: ReferenceLength = "closest"
    smooth: Smoothing = "none"

    needs: ClassVar[frozenset[Need]] = frozenset({"tags"})

    def counts(self, view: Batch) -> FloatArray:
        """Return (H, 2 N + 1) BLEU's counts of a batch, of words or of tags."""
        return bleu_stats(view, self.max_order, self.reflen)

    def bleu(self, counts: FloatArray) -> FloatArray:
        """Return BLEU (...) of its counts (..., 2 N + 1)."""
        return bleu_score(counts, self.max_order, self.smooth)
