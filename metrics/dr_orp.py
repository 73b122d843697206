"""Defines the overlap of parts of speech in discourse representations."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._base import Need
from portmert.metrics._semantics import DiscourseOverlap


@dataclass(frozen=True)
class DrOrp(DiscourseOverlap):
    """Averages over segments the share of tags that nodes of the same type have in common.

    As `dr-or` with the tags of words in place of the words, and without dates.
    """

    of_tags: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset({"drs", "tags"})
