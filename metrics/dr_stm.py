"""Defines the matching of paths in discourse representations."""

from __future__ import annotations

from typing import Annotated, ClassVar

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from portmert.metrics._base import Batch, Need
from portmert.metrics._semantics import Overlaps, SegmentMean, path_overlaps


@dataclass(frozen=True)
class DrStm(SegmentMean):
    """Averages over segments the share of paths that discourse representations have in common.

    A path of n labels goes down from a node to a child, n nodes. Of several references the best
    value counts.

    Parameters
    ----------
    length
        The longest path.
    average
        Whether a segment has the mean over lengths of what is shared, instead of all paths
        together.
    """

    length: Annotated[int, Ge(1), Le(9)] = 4
    average: bool = False

    needs: ClassVar[frozenset[Need]] = frozenset({"drs"})

    def _overlaps(self, single: Batch) -> Overlaps:
        return path_overlaps(single, self.length, average=self.average)
