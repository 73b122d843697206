"""Defines the overlap of semantic roles of the same verb."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._semantic_kernels import WORDS
from portmert.metrics._semantics import RoleOverlap


@dataclass(frozen=True)
class SrOrv(RoleOverlap):
    """Averages over segments the share of words that arguments have in common, by role and verb.

    As `sr-or`, words being those of an argument of one verb, as it is written.
    """

    items: ClassVar[int] = WORDS
    with_verb: ClassVar[bool] = True
