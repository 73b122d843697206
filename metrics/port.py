"""Defines PORT: precision, order, recall."""

from __future__ import annotations

from pydantic.dataclasses import dataclass

from portmert.metrics._port import PortFamily


@dataclass(frozen=True)
class Port(PortFamily):
    """Averages Qmean (n-gram precision and recall) and a measure of word order harmonically.

    Chen, Kuhn and Larkin 2012: PORT = 2 / (1 / Qmean + 1 / v^alpha).
    """
