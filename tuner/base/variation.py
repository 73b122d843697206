"""How far values vary (nothing is said where nothing does), ties, and samples in chunks."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

TIE = 1e-12
"""Scores that differ by less (large ones by this share) are equal: a mean of scores is rounded."""


def chunks(count: int, entries: int, *, most: int = 1 << 22) -> Iterator[slice]:
    """Cut `count` rows into slices of at most `most` entries, or of one row.

    Parameters
    ----------
    entries
        Entries that one row adds to the largest array of a slice.
    """
    step = max(1, most // max(entries, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def is_constant(values: FloatArray | Sequence[float]) -> bool:
    """Return whether at most one value is there, or whether they differ by rounding only."""
    return len(values) < 2 or bool(np.ptp(values) <= TIE * max(1.0, np.abs(values).max()))


def deviation(values: FloatArray | Sequence[float]) -> float | None:
    """Return the standard deviation of a sample, n - 1; None if it `is_constant`.

    Equal values say nothing of how far others would vary.
    """
    return None if is_constant(values) else float(np.std(values, ddof=1))


def is_mostly_unknown(values: FloatArray) -> bool:
    """Return whether more than half of the samples have no value (NaN)."""
    return bool(2 * np.count_nonzero(np.isnan(values)) > len(values))


def interval(values: FloatArray, confidence: float) -> tuple[float, float] | None:
    """Return the quantiles of samples (B,) that enclose a share of them; NaN is left out.

    None if there is one sample only, or if all are equal: they say nothing of the deviation. None
    also if `is_mostly_unknown`.
    """
    finite = values[~np.isnan(values)]
    if is_constant(finite) or is_mostly_unknown(values):
        return None
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(finite, [tail, 1.0 - tail])
    return float(low), float(high)
