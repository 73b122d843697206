"""The sufficient statistics of all hypotheses: known, or computed when first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray, Metric

from ..base.warn import notice

ROWS_AT_ONCE = 1 << 14
"""Hypotheses whose statistics are compared at once."""

COUNT_TYPES = (np.uint8, np.uint16, np.uint32)
"""Types that keep statistics that are counts, in a fraction of the memory of float64."""


class StatTable:
    """Sufficient statistics of hypotheses, all known or computed when first asked for.

    An expensive metric (one that parses, say) is asked only for hypotheses that win somewhere;
    the result is the same as with all of them known.

    Parameters
    ----------
    rows : (H, K)
        The statistics. With `compute`, the place where they are put; a row is not read before it
        is known.
    compute : callable, optional
        Takes (n,) int64 hypotheses, each once, rising, and returns their (n, K) statistics. It may
        be called from several threads, but not at the same time.

    Attributes
    ----------
    rows : (H, K)
        The statistics, in the narrowest type that holds all of them exactly.
    no_score : tuple of K float, or None
        Sums of statistics whose score is not finite: the least that `oriented_scores` found.
    """

    def __init__(
        self, rows: NDArray[Any], compute: Callable[[IntArray], FloatArray] | None = None
    ) -> None:
        self.rows: NDArray[Any] = narrowest(rows) if compute is None else rows
        self.no_score: tuple[float, ...] | None = None
        self._compute = compute
        self._known = None if compute is None else np.zeros(len(rows), dtype=bool)
        self._lock = threading.Lock()

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """(H,) whether the statistics of each hypothesis were needed so far; a copy."""
        return np.ones(len(self.rows), dtype=bool) if self._known is None else self._known.copy()

    @property
    def known(self) -> int:
        """Number of hypotheses whose statistics were needed so far."""
        return len(self.rows) if self._known is None else int(self._known.sum())

    @property
    def is_lazy(self) -> bool:
        """Whether statistics are computed when they are asked for."""
        return self._known is not None

    @property
    def can_travel(self) -> bool:
        """Whether it can be sent to other processes: all is known. Nothing is annotated for it."""
        return self.known == len(self.rows)

    def note_no_score(self, sums: tuple[float, ...]) -> None:
        """Keep the smallest sums without a finite score, so that threads change no message."""
        with self._lock:
            self.no_score = sums if self.no_score is None else min(self.no_score, sums)

    def rows_of(self, hypotheses: IntArray) -> FloatArray:
        """Return the (n, K) statistics of (n,) hypotheses; they are known from now on."""
        self.need(hypotheses)
        return self.take(hypotheses)

    def total(self, hypotheses: IntArray) -> FloatArray:
        """Return the (K,) summed statistics of (n,) hypotheses; they are known from now on."""
        total: FloatArray = self.rows_of(hypotheses).sum(axis=0)
        return total

    def score(self, metric: Metric, hypotheses: IntArray) -> float:
        """Return the metric's score of (n,) hypotheses; they are known from now on."""
        return float(metric.score(self.total(hypotheses)))

    def take(self, hypotheses: IntArray) -> FloatArray:
        """Return the (n, K) float64 statistics of (n,) known hypotheses, in any order."""
        return np.asarray(np.take(self.rows, hypotheses, axis=0), dtype=np.float64)

    def complete(self) -> None:
        """Make sure that all statistics are known: a table that travels computes none."""
        if not self.can_travel:
            notice(
                f"all {len(self.rows)} hypotheses are annotated here before workers search, not "
                f"only those that can win"
            )
            self.need(np.arange(len(self.rows)))

    def __reduce__(self) -> tuple[type[StatTable], tuple[NDArray[Any]]]:
        """Travel to other processes as rows, all of them known."""
        if not self.can_travel:
            raise ValueError("statistics that are not known yet cannot travel")
        return StatTable, (self.rows,)

    def need(self, hypotheses: IntArray) -> None:
        """Make sure that the statistics of `hypotheses` are known; any order, repeated or not."""
        if self._known is None or self._compute is None or self._known[hypotheses].all():
            return
        with self._lock:
            missing = np.unique(hypotheses[~self._known[hypotheses]])
            if missing.size:
                self.rows[missing] = self._compute(missing)
                self._known[missing] = True


def narrowest(stats: NDArray[Any]) -> NDArray[Any]:
    """Return statistics (H, K) in the first of `COUNT_TYPES` that holds all exactly, or float64.

    No value has a sign bit then: -0.0 stays float64.
    """
    if stats.dtype in COUNT_TYPES:
        return np.ascontiguousarray(stats)
    types = iter(COUNT_TYPES)
    narrow: type[np.generic] | None = next(types)
    for begin in range(0, len(stats), ROWS_AT_ONCE):
        block = stats[begin : begin + ROWS_AT_ONCE]
        while narrow is not None and not _holds(narrow, block):
            narrow = next(types, None)
    return np.ascontiguousarray(stats, dtype=narrow or np.float64)


def _holds(narrow: type[np.generic], stats: NDArray[Any]) -> bool:
    """Whether a type holds all of these exactly."""
    with np.errstate(invalid="ignore"):
        is_equal = stats.astype(narrow) == stats
    return bool(is_equal.all() and not np.signbit(stats).any())
