"""chrF."""

from collections.abc import Callable
from typing import Annotated, ClassVar, TypeVar

import numpy as np
from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from . import _characters, _pairs, _shared
from ._base import Batch, FloatArray, Metric
from ._shared import SMALLEST

T = TypeVar("T", bound=Batch)

EPSILON = 1e-16
"""The precision, recall or F-score of an order that has none, under `eps_smoothing`."""


@dataclass(frozen=True)
class Chrf(Metric):
    """Computes the F-score of the mean precision and the mean recall of character n-grams.

    An order is left out of the means if the hypothesis or the
    reference has no n-gram that long. Scores equal sacrebleu's chrF. With several references, the
    one with the highest score counts, the first on a tie.

    Parameters
    ----------
    max_order
        The longest character n-gram.
    beta
        Weight of recall relative to precision.
    word_order
        The longest word n-gram, counted in addition to character n-grams; 0 counts none. chrF++
        has 2.
    whitespace
        Whether the space between two words counts as a character. Several in a row are one.
    eps_smoothing
        Whether the F-scores of all orders are averaged instead. An order that the hypothesis or
        the reference lacks then counts as 0, as in chrF++.py, NLTK and Moses.
    """

    max_order: Annotated[int, Ge(1), Le(16)] = 6
    beta: Annotated[float, Ge(0), Le(1000)] = 2.0
    word_order: Annotated[int, Ge(0), Le(16)] = 0
    whitespace: bool = False
    eps_smoothing: bool = False

    signed_if_changed: ClassVar[frozenset[str]] = frozenset(
        {"word_order", "whitespace", "eps_smoothing"}
    )
    compares_words: ClassVar[bool] = False
    source: ClassVar[str] = "Popović, WMT 2015; sacrebleu metrics/chrf.py"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """For each order the n-grams of hypothesis and reference, and those that match."""
        kinds = ("total", "ref_total", "matched")
        return tuple(
            f"{unit}{kind}_{n}"
            for unit, orders in (("", self.max_order), ("word_", self.word_order))
            for n in range(1, orders + 1)
            for kind in kinds
        )

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 3 N) counts in the order of `stat_names`."""
        return _shared.best_reference(
            batch, lambda single: self._of_units(single, _counts), self.score
        )

    def mean_stats(self, lists: _pairs.WeightedLists) -> FloatArray:
        """Return (H, 3 N) mean counts."""
        return self._of_units(lists, _mean_counts)

    def _of_units(self, batch: T, count: Callable[[T, int], FloatArray]) -> FloatArray:
        """Return the counts of characters, and of words where they are asked for."""
        characters = count(
            _characters.in_characters(batch, spaces=self.whitespace), self.max_order
        )
        if not self.word_order:
            return characters
        words = count(_characters.without_punctuation(batch), self.word_order)
        return np.concatenate([characters, words], axis=1)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return chrF in 0..1 for stats (..., 3 N)."""
        weight = self.beta * self.beta
        if self.eps_smoothing:
            return self._mean_of_orders(stats, weight)
        precision, recall = self._means(stats)
        product = (1.0 + weight) * precision * recall
        return _shared.quotient(product, weight * precision + recall)

    def _mean_of_orders(self, stats: FloatArray, weight: float) -> FloatArray:
        """Return the mean of the F-scores of all orders (...) for stats (..., 3 N)."""
        hypothesis, reference, match = stats[..., 0::3], stats[..., 1::3], stats[..., 2::3]
        total = np.zeros(stats.shape[:-1])
        for n in range(hypothesis.shape[-1]):  # order by order: see _means
            # As in sacrebleu, so that of references without a match the same one counts.
            precision, recall = (
                _shared.quotient(match[..., n], all_of, EPSILON)
                for all_of in (hypothesis[..., n], reference[..., n])
            )
            below = weight * precision + recall
            product = (1.0 + weight) * precision * recall
            total = total + np.where(below > 0.0, product / np.maximum(below, SMALLEST), EPSILON)
        return np.asarray(total / hypothesis.shape[-1])

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return mean precision and recall and the counts of stats (3 N,)."""
        precision, recall = self._means(stats)
        counts = zip(self.stat_names, stats.tolist(), strict=True)
        return {"precision": float(precision), "recall": float(recall), **dict(counts)}

    def _means(self, stats: FloatArray) -> tuple[FloatArray, FloatArray]:
        hypothesis, reference, match = stats[..., 0::3], stats[..., 1::3], stats[..., 2::3]
        both = (hypothesis > 0.0) & (reference > 0.0)
        orders = np.maximum(both.sum(axis=-1), 1)
        # Added order by order: the layout in memory must not decide how rounding falls.
        precision = recall = np.zeros(stats.shape[:-1])
        for n in range(both.shape[-1]):
            shared = np.where(both[..., n], match[..., n], 0.0)
            precision = precision + _shared.quotient(shared, hypothesis[..., n])
            recall = recall + _shared.quotient(shared, reference[..., n])
        return precision / orders, recall / orders


def _counts(single: Batch, max_order: int) -> FloatArray:
    """Return (H, 3 N): for each order the n-grams of both sides, and those that match."""
    hypothesis = _shared.totals(_shared.hypothesis_lengths(single), max_order)
    reference = _shared.totals(_shared.one_length(single), max_order)
    stats = np.empty((len(hypothesis), 3 * max_order), order="F")
    stats[:, 0::3] = np.where(reference > 0.0, hypothesis, 0.0)
    stats[:, 1::3] = reference
    stats[:, 2::3] = _shared.matched(single, max_order)
    return stats


def _mean_counts(lists: _pairs.WeightedLists, max_order: int) -> FloatArray:
    """Return (H, 3 N): the means of `_counts` against all texts of the list."""
    hypothesis = _shared.totals(_shared.hypothesis_lengths(lists), max_order)
    stats = np.empty((len(hypothesis), 3 * max_order), order="F")
    stats[:, 0::3] = hypothesis * lists.mean((hypothesis > 0.0).astype(np.float64))
    stats[:, 1::3] = lists.mean(hypothesis)
    stats[:, 2::3] = _shared.mean_matched(lists, max_order)
    return stats
