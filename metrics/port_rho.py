"""Defines PORT with Spearman's rho as the ordering measure."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._orders import Order
from portmert.metrics._port import PortFamily


@dataclass(frozen=True)
class PortRho(PortFamily):
    """Computes PORT(rho): Spearman's rho stands in the place of v; all else is as in `port`.

    Section 3.3 of the PORT paper compares it with v.
    """

    order: ClassVar[Order] = "rho"  # type: ignore[misc]  # no option here
    tau_lr: ClassVar[bool] = False  # type: ignore[misc]  # no option here
    source: ClassVar[str] = "Chen, Kuhn and Larkin, ACL 2012 (PORT), section 3.3"
