"""Read and write numbers as people do; none is too large to calculate with."""

import math
import re
from typing import Annotated

from annotated_types import Ge, Le

LARGEST = 1e30
"""The largest number that is accepted: sums of products of a few such numbers are finite."""
MOST = 2**63 - 1
"""The largest whole number, option or count: the largest one that arrays hold."""
FINITE = f"finite, none beyond {LARGEST:g}"
"""The rule for numbers, for messages."""

Natural = Annotated[int, Ge(0)]
"""0 or more. The command line reads this name and the next ones in signatures."""
Positive = Annotated[int, Ge(1)]
"""1 or more."""
NonNegative = Annotated[float, Ge(0), Le(LARGEST)]
"""0 or more."""
Share = float
"""From 0 to 1."""
PositiveShare = float
"""More than 0 and at most 1."""
Level = float
"""More than 0 and less than 1."""

LOWEST_P = 0.0001
"""The smallest p that is printed as a number: it has four decimals."""

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


def parse_finite(text: str) -> float | None:
    """Return the finite number that `text` stands for, as `parse_number`; else None."""
    value = parse_number(text)
    return value if value is not None and math.isfinite(value) else None


def shown_p(p: float) -> str:
    """Return a p with four decimals; one that has none but zeros is below the last."""
    return f"{p:.4f}" if p >= LOWEST_P / 2 else f"<{LOWEST_P:.4f}"
