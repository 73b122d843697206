"""Reads and writes Moses' file of sparse weights: `name value` a line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from portmert.tuner.ground.errors import InputError
from portmert.tuner.ground.files import TextFile, read_lines
from portmert.tuner.ground.numbers import parse_number


def sparse_text(weights: Mapping[str, Sequence[float]]) -> str:
    """Return the text of the file.

    Raises
    ------
    InputError
        A feature has more than one weight: the file has no place for them.
    """
    for name, values in weights.items():
        if len(values) != 1:
            raise InputError(
                f"feature {name} has {len(values)} weights, and a file of sparse weights holds "
                f"one of each feature; name a moses.ini or our JSON first"
            )
    return "".join(f"{name} {values[0]!r}\n" for name, values in weights.items())


def read_sparse(path: TextFile) -> dict[str, tuple[float, ...]]:
    """Read the file; a name may end with `=`.

    Raises
    ------
    InputError
        A line is something else, a weight is not finite, or a name stands twice.
    """
    found: dict[str, tuple[float, ...]] = {}
    for number, line in enumerate(read_lines(path), 1):
        if line.startswith("#") or not line.strip():
            continue
        name, *values = line.split()
        value = parse_number(values[0]) if len(values) == 1 else None
        if value is None:
            raise InputError(
                f"{path}:{number}: '{line}' is not a sparse weight, expected `name value`"
            )
        name = name.removesuffix("=")
        if not math.isfinite(value):
            raise InputError(
                f"{path}:{number}: weight {values[0]} of feature {name} is not finite"
            )
        if name in found:
            raise InputError(f"{path}:{number}: feature {name} stands twice; leave one line of it")
        found[name] = (value,)
    return found
