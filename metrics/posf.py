"""F-score of part-of-speech tags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from metrics import _tags
from metrics._base import Metric, Need
from metrics._tags import Mean  # noqa: TC001  its fields need the type when it is built

if TYPE_CHECKING:
    from metrics._base import Batch, FloatArray


@dataclass(frozen=True)
class Posf(Metric):
    """Harmonic mean of the mean precision and the mean recall of tag n-grams, n = 1..4.

    An untagged hypothesis matches nothing. Of several references the one with the highest F of
    arithmetic means counts, the first on a tie.

    Parameters
    ----------
    mean
        Over the four orders: geometric (`gm`, better more often in the paper; 0 if an order has
        no match) or arithmetic (`am`).
    """

    mean: Mean = "gm"

    needs: ClassVar[frozenset[Need]] = frozenset({"tags"})
    source: ClassVar[str] = "Popović and Ney, WMT 2009"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """For each order the n-grams that match, those of the hypothesis and of the reference."""
        return _tags.STAT_NAMES

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 12) counts in the order of `stat_names`."""
        return _tags.tag_stats(batch)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return POSF in 0..1 for stats (..., 12)."""
        return _tags.f_score(stats, self.mean)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return precision, recall, F and the counts of stats (12,)."""
        return _tags.tag_parts(stats, self.mean)
