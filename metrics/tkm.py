"""Defines the tree kernel metric."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._base import Need
from portmert.metrics._trees import TreeKernel


@dataclass(frozen=True)
class Tkm(TreeKernel):
    """Averages the cosine of the numbers of all fragments of constituency parses.

    A fragment is a connected part of a tree with at least one production, in which a node has all
    its children or none. Of several references the one that gives most counts. A hypothesis
    without a parse has 0; without a parsed reference the segment does not count. Two parses
    without any production are alike, 1, if they are equal.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({"trees"})
