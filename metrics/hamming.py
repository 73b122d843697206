"""Defines the Hamming similarity of the word order as a metric."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._order_metrics import Similar
from portmert.metrics._orders import Encoding, Measure


@dataclass(frozen=True)
class Hamming(Similar):
    """Averages the Hamming similarity of word order times a brevity factor.

    The similarity is the share of source words with the same rank in target order;
    the factor min(1, exp(1 - reference length / hypothesis length)). An empty hypothesis has 0.
    Moses rounds each segment to 5 places; here nothing is rounded.
    """

    measure: ClassVar[Measure] = "hamming"
    encoding: ClassVar[Encoding] = "rank"  # type: ignore[misc]  # no option here
