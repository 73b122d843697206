"""Defines the matching of semantic roles of the same verb."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._semantic_kernels import STRINGS
from portmert.metrics._semantics import RoleOverlap


@dataclass(frozen=True)
class SrMrv(RoleOverlap):
    """Averages over segments the share of arguments that are the same, by role and verb.

    As `sr-mr`, arguments being those of one verb, as it is written.
    """

    items: ClassVar[int] = STRINGS
    with_verb: ClassVar[bool] = True
