"""Defines the overlap of discourse representations."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._base import Need
from portmert.metrics._semantics import DiscourseOverlap


@dataclass(frozen=True)
class DrOr(DiscourseOverlap):
    """Averages over segments the share of words that nodes of the same type have in common.

    Nodes are those of discourse representations; a node has the words at it and below it. Of
    several references the best value counts.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({"drs"})
