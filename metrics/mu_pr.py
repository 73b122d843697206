"""Defines the dependency pair match by a mean over decompositions."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._dependencies import Combination, DependencyMatch


@dataclass(frozen=True)
class MuPr(DependencyMatch):
    """Averages precision and recall of every decomposition harmonically, of the best parse.

    Of several references the one counts under which the hypothesis scores highest. Where a text
    has no parse, its links count as none and its n-grams as ever.
    """

    combination: ClassVar[Combination] = "mu-pr"  # type: ignore[misc]  # no option here
