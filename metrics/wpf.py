"""Defines the F-score of words and part-of-speech tags as a metric."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._tags import Figure, TagMatch


@dataclass(frozen=True)
class Wpf(TagMatch):
    """Computes the F-score of the mean precision and recall of word and tag n-grams, n = 1..4.

    As `posf`, on the sums of the counts of words and of tags. Of an untagged hypothesis the words
    still count. Of several references the one with the highest F of arithmetic means counts, the
    first on a tie.
    """

    figure: ClassVar[Figure] = "F"
    with_words: ClassVar[bool] = True
