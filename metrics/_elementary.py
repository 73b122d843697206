"""Exponentials, logarithms, powers, sums and inner products, the same on every processor.

NumPy and matrix libraries have other code for other processors, and each version of NumPy has its
own. The results differ in the last digit. A search that goes on from such results ends at other
weights: the derivatives of `min-risk` alone multiply a difference by a million. So scores, and all
that a search computes, use these.
"""

import math

import numpy as np

from ._base import FloatArray
from .kernels import elementary
from .kernels.compiled import Compiled, is_loaded

ROW = 8192
"""NumPy adds so many numbers in one order in every version. Longer rows it halves in
version 2.4, and adds part by part in 1.26."""

FEW = 2_000
"""So many values are computed faster by the same calls of the C library without numba than numba
is loaded."""


def exp(values: FloatArray | float) -> FloatArray:
    """Return e to the power of each value, in an array of the same shape."""
    return _each(elementary.exponentials, values)


def log(values: FloatArray | float) -> FloatArray:
    """Return the natural logarithm of each value, all above 0, in an array of the same shape."""
    return _each(elementary.logarithms, values)


def power(values: FloatArray | float, exponent: float) -> FloatArray:
    """Return each value, none below 0, to the power of `exponent`, in the same shape."""
    return _each(elementary.powers, values, float(exponent))


def _each(kernel: Compiled, values: FloatArray | float, *more: float) -> FloatArray:
    """Return what a kernel computes of each value."""
    numbers = np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
    out = np.empty(np.shape(values))
    if numbers.size <= FEW and not is_loaded():
        try:
            kernel.plain(numbers.tolist(), *more, out.reshape(-1))
        except (ArithmeticError, ValueError):  # Python refuses what is infinite in C
            pass
        else:
            return out
    kernel(numbers, *more, out.reshape(-1))
    return out


def summed(values: FloatArray, before: FloatArray | float = 0.0) -> FloatArray:
    """Return the (...) sums of values (..., n) along the last axis, added to those `before`."""
    parts = [values[..., k : k + ROW].sum(axis=-1) for k in range(0, values.shape[-1], ROW)]
    return np.asarray(sum(parts, np.zeros(values.shape[:-1]) + before))


def inner(first: FloatArray, second: FloatArray) -> float:
    """Return the sum of the products of two vectors (n,)."""
    is_short = np.size(first) <= FEW and not is_loaded()
    add = elementary.inner.plain if is_short else elementary.inner
    total: float = add(
        np.ascontiguousarray(first, dtype=np.float64),
        np.ascontiguousarray(second, dtype=np.float64),
    )
    return float(total)


def norm(vector: FloatArray) -> float:
    """Return the Euclidean length of a vector (n,)."""
    return math.sqrt(inner(vector, vector))
