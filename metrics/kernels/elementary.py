"""Computes exponentials, logarithms, powers and sums of products, one number after another."""

import math

from .._base import FloatArray
from .compiled import kernel


@kernel
def exponentials(values: FloatArray, out: FloatArray) -> None:
    """Write e to the power of each (n,) value to `out` (n,)."""
    for i in range(len(values)):
        out[i] = math.exp(values[i])


@kernel
def logarithms(values: FloatArray, out: FloatArray) -> None:
    """Write the natural logarithm of each (n,) value, above 0, to `out` (n,)."""
    for i in range(len(values)):
        out[i] = math.log(values[i])


@kernel
def powers(values: FloatArray, exponent: float, out: FloatArray) -> None:
    """Write each (n,) value, not below 0, to the power of `exponent` to `out` (n,)."""
    for i in range(len(values)):
        out[i] = values[i] ** exponent


@kernel
def inner(first: FloatArray, second: FloatArray) -> float:
    """Return the sum of the products of two vectors (n,), added from the first to the last."""
    total = 0.0
    for i in range(len(first)):
        total += first[i] * second[i]
    return total
