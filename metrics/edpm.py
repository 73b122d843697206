"""Expected dependency pair match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from metrics._base import Arcs, Need
from metrics._dependencies import DependencyMatch


@dataclass(frozen=True)
class Edpm(DependencyMatch):
    """Words, word pairs and dependency links that match, expected over the best parses.

    Of several references the one counts under which the hypothesis scores highest. Where a text
    has no parse, its links count as none and its n-grams as ever.
    """

    parses: int = 50

    needs: ClassVar[frozenset[Need]] = frozenset({Arcs(50, 0.25)})
