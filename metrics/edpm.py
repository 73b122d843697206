"""Defines the expected dependency pair match."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from portmert.metrics._dependencies import DependencyMatch


@dataclass(frozen=True)
class Edpm(DependencyMatch):
    """Counts words, word pairs and links that match, expected over the best parses.

    Of several references the one counts under which the hypothesis scores highest. Where a text
    has no parse, its links count as none and its n-grams as ever.
    """

    parses: Annotated[int, Ge(1), Le(1000)] = 50
