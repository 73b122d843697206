"""Types of options."""

import math
from pathlib import Path
from typing import Any

import click

from ..base.numbers import LARGEST, MOST, bounded

FILE = click.Path(dir_okay=False, path_type=Path)
LIST = click.Path(path_type=Path)
"""A file of n-best lists, or a folder."""
FOLDER = click.Path(file_okay=False, path_type=Path)
OUT_FILE = click.Path(dir_okay=False, path_type=Path, allow_dash=True)
EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True)


class FiniteRange(click.FloatRange):
    """A finite number in a range; for click, NaN is in every range."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or fail as wrong usage."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(bounded(number)):
            self.fail(f"{value} is not a finite number of at most {LARGEST:g}.", param, ctx)
        return number


class Whole(click.IntRange):
    """A whole number from `lowest` on, small enough for an array."""

    name = "number"

    def __init__(self, lowest: int, highest: int = MOST) -> None:
        super().__init__(lowest, highest)

    def _describe_range(self) -> str:
        return super()._describe_range() if self.max != MOST else f"x>={self.min}"


class Name(click.types.StringParamType):
    """A name that a text can hold: not empty, and UTF-8."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, or fail as wrong usage."""
        name: str = super().convert(value, param, ctx)
        if not name:
            self.fail("a name is empty.", param, ctx)
        if not name.isascii() and name != name.encode(errors="replace").decode():
            self.fail(f"{name!a} is not UTF-8.", param, ctx)
        return name
