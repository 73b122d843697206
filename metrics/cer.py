"""Defines 1 - character error rate as a metric."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._base import Batch, FloatArray
from portmert.metrics._characters import in_characters
from portmert.metrics._edits import DistanceRate


@dataclass(frozen=True)
class Cer(DistanceRate):
    """Computes 1 minus the insertions, deletions and substitutions of characters over the length.

    That is the number of characters (code points) of the reference. Otherwise as `wer`.

    Parameters
    ----------
    spaces
        Whether the space between two words is a character; several in a row are one.
    """

    spaces: bool = True

    compares_words: ClassVar[bool] = False
    source: ClassVar[str] = "jiwer's cer"

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) counts in the order of `stat_names`."""
        return super().stats(in_characters(batch, spaces=self.spaces))

    def details(self, batch: Batch) -> dict[str, float]:
        """Return how many edits are of which kind."""
        return super().details(in_characters(batch, spaces=self.spaces))
