"""Defines the overlap of semantic roles."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._semantic_kernels import WORDS
from portmert.metrics._semantics import RoleOverlap


@dataclass(frozen=True)
class SrOr(RoleOverlap):
    """Averages over segments the share of words that arguments of the same role have in common.

    Of several references the best value counts. `type=names` compares the names of roles alone,
    one for each argument. Roles of a parse by rules are approximate.
    """

    items: ClassVar[int] = WORDS
