"""PORT with Spearman's rho as the ordering measure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from metrics import _port
from metrics._base import Metric, Need
from metrics._orders import (
    Encoding,
    Null,
    Scale,
    ordering,
)

if TYPE_CHECKING:
    from metrics._base import Batch, FloatArray


@dataclass(frozen=True)
class PortRho(Metric):
    """PORT(rho): Spearman's rho stands in the place of v; all else is as in `port`.

    Section 3.3 of the PORT paper compares it with v.

    Parameters
    ----------
    alpha
        Exponent of the ordering measure; more gives word order more weight.
    recall_cap
        Limit the recall of each n-gram order to 1, which several references can exceed.
    null
        Where an unaligned source word stands in target order: `inherit` the place of the
        previous source word and follow it, or `plus_one` target position after it.
    encoding
        What is compared: the source positions in target order (`order`, as in the paper), or for
        each source word its rank in target order (`rank`), which does not depend on how the source
        is numbered.
    scale
        From -1..1 to 0..1: `linear`, (x + 1) / 2, or `clip`, max(0, x).
    """

    alpha: float = 0.25
    recall_cap: bool = False
    null: Null = "inherit"
    encoding: Encoding = "order"
    scale: Scale = "linear"

    needs: ClassVar[frozenset[Need]] = frozenset({"links"})
    source: ClassVar[str] = "Chen, Kuhn and Larkin, ACL 2012 (PORT), section 3.3"
    bounds: ClassVar[dict[str, tuple[float, float]]] = {"alpha": (0.0, 100.0)}

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The 16 of `port`, the last with rho."""
        return _port.port_stat_names("rho")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 16) float64 in the order of `stat_names`."""
        values = ordering(
            batch,
            "rho",
            null=self.null,
            encoding=self.encoding,
            scale=self.scale,
        )
        return _port.port_stats(batch, values)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return PORT(rho) for stats (..., 16)."""
        return _port.port_score(stats, alpha=self.alpha, recall_cap=self.recall_cap)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return precisions, recalls, penalties, Qmean, ordering and counts of stats (16,)."""
        return _port.port_parts(stats, recall_cap=self.recall_cap, ordering="rho")
