"""Numbers among options."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click import Context, Parameter


class FiniteRange(click.FloatRange):
    """Accepts a finite number in a range; for click NaN is in all of them."""

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> float:
        """Return the number, or fail as wrong usage."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number
