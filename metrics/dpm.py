"""Defines the dependency pair match."""

from __future__ import annotations

from pydantic.dataclasses import dataclass

from portmert.metrics._dependencies import DependencyMatch


@dataclass(frozen=True)
class Dpm(DependencyMatch):
    """Counts words, word pairs and dependency links that match, of the best parse of each text.

    Of several references the one counts under which the hypothesis scores highest. Where a text
    has no parse, its links count as none and its n-grams as ever.
    """
