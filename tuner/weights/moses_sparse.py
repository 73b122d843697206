"""Reads and writes Moses' file of sparse weights: `name value` a line."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tuner.errors import InputError
from tuner.files import read_lines
from tuner.numbers import parse_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def sparse_text(weights: Mapping[str, Sequence[float]]) -> str:
    """Return the text of the file; a feature has one weight."""
    return "".join(f"{name} {values[0]!r}\n" for name, values in weights.items())


def read_sparse(path: Path | str) -> dict[str, tuple[float, ...]]:
    """Read the file; a name may end with `=`.

    Raises
    ------
    InputError
        A line is something else.
    """
    found: dict[str, tuple[float, ...]] = {}
    for number, line in enumerate(read_lines(path), 1):
        if line.startswith("#") or not line.strip():
            continue
        name, *values = line.split()
        value = parse_number(values[0]) if len(values) == 1 else None
        if value is None or not math.isfinite(value):
            raise InputError(
                f"{path}:{number}: '{line}' is not a sparse weight, expected `name value`"
            )
        found[name.removesuffix("=")] = (value,)
    return found
