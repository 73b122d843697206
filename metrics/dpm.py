"""Dependency pair match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from metrics._base import Metric, Need
from metrics._dependencies import (
    PAPER,
    Combination,
    combined,
    dependency_stats,
    links_need,
    names_of_counts,
    parts_of,
)

if TYPE_CHECKING:
    from metrics._base import Batch, FloatArray


@dataclass(frozen=True)
class Dpm(Metric):
    """Words, word pairs and dependency links that match, of the best parse of each text.

    Of several references the one counts under which the hypothesis scores highest. Where a text
    has no parse, its links count as none and its n-grams as ever.

    Parameters
    ----------
    of
        The decompositions, joined by `+`: `1g` to `9g` are surface n-grams; of each word and its
        head in the dependency parse, `dlh` is word, label and head word, `dl` word and
        label, `lh` label and head word, `dh` word and head word. N-grams alone need no parse.
    parses
        So many best parses are counted, each by its weight; 1 is the best parse alone.
    gamma
        How much better parses count more: the weight of a parse is proportional to its
        probability to this power. 1: as the parser says. 0: all parses the same.
    combination
        `f`: the harmonic mean of precision and recall of the counts of all decompositions added
        up.
        `mu-pr`: the harmonic mean of the precision and the recall of every decomposition; 0 if
        one of them is 0.
    """

    of: str = "1g+2g+dl+lh"
    parses: int = 1
    gamma: float = 0.25
    combination: Combination = "f"

    needs: ClassVar[frozenset[Need]] = frozenset({"heads"})
    source: ClassVar[str] = PAPER
    bounds: ClassVar[dict[str, tuple[float, float]]] = {"parses": (1, 1000), "gamma": (0.0, 1.0)}
    examples: ClassVar[dict[str, tuple[str, ...]]] = {"of": ("1g+3g+dlh+dh",)}

    def __post_init__(self) -> None:
        """Check the options, and say what these decompositions need.

        Raises
        ------
        ValueError
            As in the base class, or `of` is no list of decompositions.
        """
        super().__post_init__()
        needs = links_need(self.of, parses=self.parses, gamma=self.gamma)
        object.__setattr__(self, "needs", needs)

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Expected counts that match, in the hypothesis, in the reference: `match_dl`, ..."""
        return names_of_counts(self.of)

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, K) in the order of `stat_names`."""
        return dependency_stats(batch, self.needs, self.of, self.combination)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return DPM in 0..1 for stats (..., K)."""
        return combined(stats, self.combination)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return precision and recall of each decomposition."""
        return parts_of(stats, self.of)
