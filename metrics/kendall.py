"""Defines the Kendall similarity of the word order as a metric."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._order_metrics import Similar
from portmert.metrics._orders import Measure


@dataclass(frozen=True)
class Kendall(Similar):
    """Averages the Kendall similarity of word order times a brevity factor.

    The similarity is 1 - sqrt(share of discordant pairs of source words);
    the factor min(1, exp(1 - reference length / hypothesis length)). An empty hypothesis has 0.
    Moses rounds each segment to 5 places; here nothing is rounded.
    """

    measure: ClassVar[Measure] = "kendall"
