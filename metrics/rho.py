"""Defines Spearman's rho of the word order as a metric."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._order_metrics import MeanOrder
from portmert.metrics._orders import Order


@dataclass(frozen=True)
class Rho(MeanOrder):
    """Averages Spearman's rho of the word order, weighted with the closest reference length.

    Of several references the one that gives most counts; an empty hypothesis has 0.
    """

    order: ClassVar[Order] = "rho"
    tau_lr: ClassVar[bool] = False  # type: ignore[misc]  # no option here
