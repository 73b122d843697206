"""What an aligner is, and the Pharaoh lines (`0-0 1-2`) in which links are written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Links = list[tuple[int, int]]
"""(source position, target position), 0-based, sorted, each once."""


@dataclass(frozen=True)
class Aligner(ABC):
    """A word aligner; its fields are the keys of the [aligner] table.

    A subclass is a frozen dataclass in a file of the aligner's name.
    """

    @abstractmethod
    def align(
        self, *, source: Sequence[str], target: Sequence[str], workdir: Path
    ) -> list[Links]:
        """Align line n of `source` with line n of `target` (tokens separated by spaces).

        What it keeps (models, logs) lies in `workdir`; called again with the same `workdir` it
        uses the model it trained there.
        """
