"""LRscore with Kendall similarity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from metrics import _bleu
from metrics._base import Metric, Need
from metrics._orders import (
    Encoding,
    Null,
    RefChoice,
    damped_similarity,
    weighted_mean,
)

if TYPE_CHECKING:
    from metrics._base import Batch, FloatArray

MAX_ORDER = 4


@dataclass(frozen=True)
class LrKendall(Metric):
    """LRscore: alpha times the Kendall similarity of word order plus 1 - alpha times BLEU.

    BLEU is that of metric `bleu` with its defaults, the similarity that of metric `kendall`.

    Parameters
    ----------
    alpha
        Weight of the similarity, in 0..1. The default is that of Moses' interpolated scorer;
        Birch and Osborne tune it for each language pair.
    null
        Where an unaligned source word stands in target order: `inherit` the place of the
        previous source word and follow it, or `plus_one` target position after it.
    encoding
        What is compared: the source positions in target order (`order`), or for each
        source word its rank in target order (`rank`), which does not depend on how the source is
        numbered.
    refchoice
        Of several references the one that gives most (`closest`, Moses' name for it), or the
        mean over all (`average`).
    """

    alpha: float = 0.5
    null: Null = "inherit"
    encoding: Encoding = "rank"
    refchoice: RefChoice = "closest"

    needs: ClassVar[frozenset[Need]] = frozenset({"links"})
    source: ClassVar[str] = "Birch and Osborne, WMT 2010 (LRscore)"
    bounds: ClassVar[dict[str, tuple[float, float]]] = {"alpha": (0.0, 1.0)}

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The similarity, 1, and the nine of `bleu`."""
        return ("kendall", "segments", *_bleu.bleu_stat_names(MAX_ORDER))

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 11) float64 in the order of `stat_names`."""
        values = damped_similarity(
            batch,
            "kendall",
            null=self.null,
            encoding=self.encoding,
            refchoice=self.refchoice,
        )
        counts = _bleu.bleu_stats(batch, MAX_ORDER, "closest")
        return np.column_stack([values, np.ones_like(values), counts])

    def score(self, stats: FloatArray) -> FloatArray:
        """Return LRscore in 0..1 for stats (..., 11)."""
        bleu = _bleu.bleu_score(stats[..., 2:], MAX_ORDER)
        return self.alpha * weighted_mean(stats) + (1.0 - self.alpha) * bleu

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the similarity, BLEU and BLEU's parts of stats (11,)."""
        return {
            "kendall": float(weighted_mean(stats)),
            "BLEU": float(_bleu.bleu_score(stats[2:], MAX_ORDER)),
            **_bleu.bleu_parts(stats[2:], MAX_ORDER),
        }
