"""NIST."""

import math
from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from . import _shared
from ._base import Batch, FloatArray, IntArray, Metric
from ._elementary import exp, log
from ._shared import SMALLEST_COUNT
from .kernels.ngrams import ngram_information, ngram_matches

MAX_ORDER = 5


@dataclass(frozen=True)
class Nist(Metric):
    """Computes the mean information of matched 1..5-grams, times a brevity penalty.

    0 is the worst score; the best depends on the references. The information of an n-gram is
    log2(count of the n-gram without its last word / count of the n-gram). The counts are from all
    references of the test set, so scores on different references cannot be compared. Matches are
    clipped as in BLEU. The reference length is the mean over the references of a segment.
    """

    in_percent: ClassVar[bool] = False
    source: ClassVar[str] = "Doddington, HLT 2002; mteval-v13a.pl"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Matched information and all n-grams of each order, then the two lengths."""
        return (
            *(f"{kind}_{n}" for n in range(1, MAX_ORDER + 1) for kind in ("info", "total")),
            "hyp_len",
            "ref_len",
        )

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 12) float64 in the order of `stat_names`."""
        _shared.require_references(batch)
        lengths = _shared.hypothesis_lengths(batch)
        stats = np.empty((len(lengths), 2 * MAX_ORDER + 2))
        stats[:, 0:-2:2] = ngram_matches(
            _shared.segments_of(batch), batch.once(_information), MAX_ORDER
        )
        stats[:, 1:-2:2] = _shared.totals(lengths, MAX_ORDER)
        stats[:, -2] = lengths
        stats[:, -1] = _shared.reference_lengths(batch, "average")
        return stats

    def score(self, stats: FloatArray) -> FloatArray:
        """Return NIST, 0 or more, for stats (..., 12)."""
        total = np.zeros(stats.shape[:-1])
        for n in range(MAX_ORDER):
            total = total + _shared.quotient(stats[..., 2 * n], stats[..., 2 * n + 1])
        return total * _brevity_penalty(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return information per n-gram, brevity penalty and lengths of stats (12,)."""
        values = _shared.quotient(stats[0:-2:2], stats[1:-2:2])
        return {
            **{f"info_{n + 1}": float(values[n]) for n in range(MAX_ORDER)},
            "BP": float(_brevity_penalty(stats)),
            "hyp_len": float(stats[-2]),
            "ref_len": float(stats[-1]),
        }


def _information(corpus: Batch) -> tuple[IntArray, FloatArray]:
    references = _shared.flat(corpus.references.tokens)
    table: tuple[IntArray, FloatArray] = ngram_information(
        references.values, references.offsets, MAX_ORDER
    )
    return table


def _brevity_penalty(stats: FloatArray) -> FloatArray:
    hypothesis, reference = stats[..., -2], stats[..., -1]
    # An empty text has the score 0 whatever its penalty; only its logarithm has to be finite.
    shorter = np.maximum(np.minimum(hypothesis, reference), SMALLEST_COUNT)
    short = log(shorter / np.maximum(reference, SMALLEST_COUNT))
    # It is 1/2 for references 1.5 times as long as the hypotheses.
    return exp(-math.log(2.0) / math.log(1.5) ** 2 * short**2)
