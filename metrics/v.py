"""Defines v, PORT's ordering measure, as a metric."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._order_metrics import MeanOrder
from portmert.metrics._orders import Order, Scale


@dataclass(frozen=True)
class V(MeanOrder):
    """Averages PORT's ordering measure v, weighted with the closest reference length.

    Of several references the one that gives most counts; an empty hypothesis has 0.
    """

    order: ClassVar[Order] = "v"
    scale: ClassVar[Scale] = "linear"  # type: ignore[misc]  # no option here
    tau_lr: ClassVar[bool] = False  # type: ignore[misc]  # no option here
    source: ClassVar[str] = "Chen, Kuhn and Larkin, ACL 2012 (PORT), equations 11-16"
