"""Defines PORT with Kendall's tau as the ordering measure."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._orders import Order
from portmert.metrics._port import PortFamily


@dataclass(frozen=True)
class PortTau(PortFamily):
    """Computes PORT(tau): Kendall's tau stands in the place of v; all else is as in `port`.

    Section 3.3 of the PORT paper compares it with v.
    """

    order: ClassVar[Order] = "tau"  # type: ignore[misc]  # no option here
    source: ClassVar[str] = "Chen, Kuhn and Larkin, ACL 2012 (PORT), section 3.3"
