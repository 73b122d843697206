"""Defines the matching of semantic roles."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._semantic_kernels import STRINGS
from portmert.metrics._semantics import RoleOverlap


@dataclass(frozen=True)
class SrMr(RoleOverlap):
    """Averages over segments the share of arguments that are the same in the same role.

    Of several references the best value counts. Roles of a parse by rules are approximate.
    """

    items: ClassVar[int] = STRINGS
