"""Defines Kendall's tau of the word order as a metric."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._order_metrics import MeanOrder
from portmert.metrics._orders import Order


@dataclass(frozen=True)
class Tau(MeanOrder):
    """Averages Kendall's tau of the word order, weighted with the closest reference length.

    Of several references the one that gives most counts; an empty hypothesis has 0.
    """

    order: ClassVar[Order] = "tau"
