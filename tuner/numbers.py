"""Reads numbers as people write them, none too large to calculate with."""

from __future__ import annotations

import math
import re

LARGEST = 1e30
"""Of what comes from outside: products of a few such numbers, summed, are still finite."""
MOST = 2**63 - 1
"""Of whole numbers, options and counts: what arrays hold. Seeds of replicas go up to it."""
FINITE = f"finite, none beyond {LARGEST:g}"
"""What is expected of numbers, for messages."""

_NUMBER = re.compile(
    r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)", re.ASCII | re.IGNORECASE
)


def bounded(value: float) -> float:
    """Return the number, or an infinite one where it is too large to calculate with; -0 is 0."""
    if value != value:  # noqa: PLR0124  NaN
        return math.nan
    if abs(value) <= LARGEST:
        return float(value) + 0.0
    return math.inf if value > 0 else -math.inf


def parse_number(text: str) -> float | None:
    """Return the number that `text` stands for, maybe inf or nan; None if it is no number.

    Unlike `float`: no `1_000`, no digits but 0 to 9; -0 is 0; inf from `LARGEST` on.
    """
    return bounded(float(text)) if _NUMBER.fullmatch(text) else None
