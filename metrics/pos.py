"""Metrics of part-of-speech tags: n-grams of tags in the place of words, or beside them.

Popović and Ney, WMT 2009; formulas in docs/metrics/pos.md.
"""

from dataclasses import replace
from typing import ClassVar, Literal, get_args

import numpy as np
from pydantic.dataclasses import dataclass

from . import _shared, bleu
from ._base import Batch, FloatArray, Metric, Need, Texts

Mean = Literal["gm", "am"]
Figure = Literal["precision", "recall", "F"]
MAX_ORDER = 4


@dataclass(frozen=True)
class _TagMatch(Metric):
    """Scores the n-grams of tags that match, n = 1..4.

    A subclass says which figure it is (`figure`), and whether words count as well.

    Parameters
    ----------
    mean
        The mean over the four orders: geometric (`gm`, which more often did better in the paper; 0
        if an order has no match) or arithmetic (`am`).
    effective_order
        Leave out of the mean the orders of which neither side has an n-gram.
    """

    mean: Mean = "gm"
    effective_order: bool = False

    signed_if_changed: ClassVar[frozenset[str]] = frozenset({"effective_order", "f_first"})
    figure: ClassVar[Figure]
    f_first: ClassVar[bool] = False
    with_words: ClassVar[bool] = False
    needs: ClassVar[frozenset[Need]] = frozenset({"tags"})
    source: ClassVar[str] = "Popović and Ney, WMT 2009"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """For each order the n-grams that match, those of the hypothesis and of the reference."""
        return tuple(
            f"{kind}_{n}"
            for n in range(1, MAX_ORDER + 1)
            for kind in ("matched", "total", "ref_total")
        )

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 12) counts in the order of `stat_names`."""

        def stats(single: Batch) -> FloatArray:
            return _counts(single, in_tags(single)) if self.with_words else _counts(single)

        # The geometric mean cannot choose a reference: it is 0 for most single segments.
        return _shared.best_reference(
            batch if self.with_words else in_tags(batch),
            stats,
            _am_f,
            rounding=_shared.ROUNDING,
        )

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the precision, the recall or the F-score in 0..1 for stats (..., 12)."""
        return self._figure(stats, self.figure)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return means, F, precision and recall of each order and the counts of stats (12,)."""
        match, hypothesis, reference = (stats[k::3] for k in range(3))
        precision, recall = (_shared.quotient(match, items) for items in (hypothesis, reference))
        return {
            **{key: float(self._figure(stats, key)) for key in get_args(Figure)},
            **{f"p{n}": value for n, value in enumerate(precision.tolist(), 1)},
            **{f"r{n}": value for n, value in enumerate(recall.tolist(), 1)},
            **dict(zip(self.stat_names, stats.tolist(), strict=True)),
        }

    def _figure(self, stats: FloatArray, figure: Figure) -> FloatArray:
        """Return the precision, the recall or the F-score (...) of stats (..., 12)."""
        if figure == "F" and not self.f_first:
            return _shared.harmonic_mean(
                self._figure(stats, "precision"), self._figure(stats, "recall")
            )
        return _mean_share(stats, figure, self.mean, effective_order=self.effective_order)


@dataclass(frozen=True)
class _TagF(_TagMatch):
    """Computes an F-score.

    Parameters
    ----------
    f_first
        Take the F-score of each order first, then their mean. By default the mean precision and
        the mean recall come first.
    """

    f_first: bool = False  # type: ignore[misc]  # an option here

    figure: ClassVar[Figure] = "F"


@dataclass(frozen=True)
class Posp(_TagMatch):
    """Averages the precision of tag n-grams over n = 1..4.

    A precision has no length penalty, so tuning on it rewards short output; `posf` does not. With
    several references, the one with the highest F of arithmetic means counts, the first on a tie.
    """

    figure: ClassVar[Figure] = "precision"


@dataclass(frozen=True)
class Posr(_TagMatch):
    """Averages the recall of tag n-grams over n = 1..4.

    A recall has no length penalty, so tuning on it rewards long output; `posf` does not. With
    several references, the one with the highest F of arithmetic means counts, the first on a tie.
    """

    figure: ClassVar[Figure] = "recall"


@dataclass(frozen=True)
class Posf(_TagF):
    """Computes the F-score of the mean precision and recall of tag n-grams, n = 1..4.

    An untagged hypothesis matches nothing. With several references, the one with the highest F
    of arithmetic means counts, the first on a tie.
    """


@dataclass(frozen=True)
class Wpf(_TagF):
    """Computes the F-score of the mean precision and recall of word and tag n-grams, n = 1..4.

    As `posf`, but the counts of words and of tags are added. The words of an untagged hypothesis
    still count. With several references, the one with the highest F of arithmetic means counts,
    the first on a tie.
    """

    with_words: ClassVar[bool] = True


@dataclass(frozen=True)
class _TagBleu(bleu.Bleu):
    """Scores tags, or tags and words, by BLEU.

    Parameters
    ----------
    smooth
        How to count an order without a match, as in `bleu`: `none`, `exp`, `mteval`, `add1` or
        Moses' `moses+1`, `floor` (0.1 matches) or `add-k` (k = 1).
    """

    smooth_value: ClassVar[None] = None  # type: ignore[misc]  # no option here

    needs: ClassVar[frozenset[Need]] = frozenset({"tags"})


@dataclass(frozen=True)
class Posbleu(_TagBleu):
    """Computes BLEU of part-of-speech tags instead of words.

    An untagged text counts as empty.
    """

    source: ClassVar[str] = "Popović and Ney, WMT 2009"

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2 N + 1) counts in the order of `stat_names`."""
        return super().stats(in_tags(batch))


@dataclass(frozen=True)
class Wpbleu(_TagBleu):
    """Averages the BLEU of words (`bleu`) and that of tags (`posbleu`)."""

    source: ClassVar[str] = "after Popović and Ney, WMT 2009; Popović, WMT 2011, names it only"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Those of `bleu`, of words and then of tags."""
        names = super().stat_names
        return tuple(f"{unit}.{name}" for unit in ("words", "tags") for name in names)

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 4 N + 2) counts in the order of `stat_names`."""
        return np.hstack([super().stats(batch), super().stats(in_tags(batch))])

    def score(self, stats: FloatArray) -> FloatArray:
        """Return WPBLEU in 0..1 for stats (..., 4 N + 2)."""
        halves = self._halves(stats)
        words, tags = super().score(halves["words"]), super().score(halves["tags"])
        return np.asarray((words + tags) / 2.0)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return both BLEUs, and precisions, BP, counts and lengths of both, of stats."""
        scores: dict[str, float] = {}
        parts: dict[str, float] = {}
        for unit, half in self._halves(stats).items():
            scores[f"{unit}.BLEU"] = float(super().score(half))
            parts |= {f"{unit}.{name}": value for name, value in super().parts(half).items()}
        return scores | parts

    def _halves(self, stats: FloatArray) -> dict[str, FloatArray]:
        middle = 2 * self.max_order + 1
        return {"words": stats[..., :middle], "tags": stats[..., middle:]}


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


def _tags_of(texts: Texts, side: str) -> Texts:
    if texts.tags is None:
        raise ValueError(f"the metric needs the part-of-speech tags of each {side}")
    _shared.check_rows(texts.tags, texts, side, ("tags", "tag"))
    return replace(texts, tokens=texts.tags)


def _counts(*views: Batch) -> FloatArray:
    """Return (H, 12) float64: the counts of all views of one batch, added up."""
    stats = np.empty((len(views[0].hypotheses), 3 * MAX_ORDER))
    matches = _shared.matched(views[0], MAX_ORDER)
    for view in views[1:]:
        matches += _shared.matched(view, MAX_ORDER)
    stats[:, 0::3] = matches
    stats[:, 1::3] = _totals([view.hypotheses for view in views])
    references = _totals([view.references for view in views])
    stats[:, 2::3] = np.repeat(references, np.diff(views[0].offsets), axis=0)
    return stats


def _totals(views: list[Texts]) -> FloatArray:
    """Return (N, 4) float64: the n-grams of all views of the same texts, added up."""
    lengths = (view.tokens.lengths.astype(np.float64) for view in views)
    return np.asarray(sum(_shared.totals(each, MAX_ORDER) for each in lengths))


def _mean_share(
    stats: FloatArray, figure: Figure, mean: Mean, *, effective_order: bool = False
) -> FloatArray:
    """Return the mean over the orders (...) of their precision, recall or F-score."""
    orders = range(0, 3 * MAX_ORDER, 3)
    if figure == "F":
        totals = [items / 2.0 for items in _shared.items_of_orders(stats, MAX_ORDER)]
    else:
        totals = [stats[..., n + (1 if figure == "precision" else 2)] for n in orders]
    shares = [_shared.quotient(stats[..., n], k) for n, k in zip(orders, totals, strict=True)]
    items = _shared.items_of_orders(stats, MAX_ORDER if effective_order else 0)
    return _shared.mean_of_orders(shares, items, geometric=mean == "gm")


def _am_f(stats: FloatArray) -> FloatArray:
    """Return 2 P R / (P + R) (...) of the arithmetic means of precision and recall."""
    return _shared.harmonic_mean(
        _mean_share(stats, "precision", "am"), _mean_share(stats, "recall", "am")
    )
