"""Turns plain arrays into lists that can be searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from portmert.metrics._base import Batch, FloatArray, IntArray, Metric
from portmert.tuner.components.external import MeanOfScores
from portmert.tuner.ground.errors import counted
from portmert.tuner.nbest.model import NBest, without_texts


@dataclass(frozen=True)
class Mean(MeanOfScores):
    """Averages scores that are given, one number for each hypothesis."""

    source: ClassVar[str] = "whatever made the numbers"
    reads_references: ClassVar[bool] = False

    @classmethod
    def name(cls) -> str:
        """Return what signatures call it."""
        return "mean"

    def stats(self, batch: Batch) -> FloatArray:  # noqa: ARG002  the base's signature
        """Refuse texts: the scores are given."""
        raise TypeError("scores are given, texts are not scored")


def lists_of_arrays(
    features: Any,
    scores: Any,
    stats: Any,
    offsets: Any,
    names: Sequence[str] | None,
    metric: Metric | None,
) -> tuple[NBest, FloatArray, Metric]:
    """Return hypotheses, their (H, K) statistics, and the metric these are of.

    Parameters
    ----------
    features, scores, stats, offsets, names
        As of `optimize`.

    Raises
    ------
    ValueError
        Shapes that do not fit, or numbers that are not finite.
    """
    values, bounds = _flat_features(features, offsets)
    rows, width = values.shape
    if scores is not None:
        if stats is not None or metric is not None:
            raise ValueError("give scores, or stats and their metric")
        numbers = _finite("scores", scores).reshape(-1)
        if len(numbers) != rows:
            raise ValueError(f"{counted(len(numbers), 'score')} for {counted(rows, 'hypothesis')}")
        table, metric = np.column_stack([numbers, np.ones(rows)]), Mean()
    elif metric is None:
        raise ValueError("stats need the metric that they are of")
    else:
        table = _finite("stats", stats)
        table = np.ascontiguousarray(table.reshape(-1, table.shape[-1]))
        if table.shape != (rows, len(metric.stat_names)):
            raise ValueError(
                f"stats of {counted(table.shape[0], 'hypothesis')} with "
                f"{counted(table.shape[1], 'number')} each; "
                f"expected {rows} with {len(metric.stat_names)}: {', '.join(metric.stat_names)}"
            )
    called = [f"f{n}" for n in range(width)] if names is None else list(names)
    if len(called) != width or len(set(called)) != width:
        raise ValueError(f"{len(set(called))} different names for {counted(width, 'feature')}")
    nbest = without_texts(values, bounds, tuple((name, 1) for name in called), None)
    return nbest, table, metric


def _flat_features(features: Any, offsets: Any) -> tuple[FloatArray, IntArray]:
    """Return (H, F) features and (S + 1,) offsets."""
    values = _finite("features", features)
    if offsets is None:
        if values.ndim != 3:
            raise ValueError(
                f"features of shape {values.shape}; expected (S, N, F), or (H, F) and offsets"
            )
        segments, each, width = values.shape
        values = values.reshape(-1, width)
        bounds = np.arange(segments + 1, dtype=np.int64) * each
    else:
        bounds = np.asarray(offsets, dtype=np.int64)
        if values.ndim != 2:
            raise ValueError(f"features of shape {values.shape}; expected (H, F) with offsets")
    is_row = bounds.ndim == 1 and bounds.size > 1
    if not is_row or bounds[0] or bounds[-1] != len(values) or (np.diff(bounds) < 1).any():
        raise ValueError(
            f"offsets must rise from 0 to the {len(values)} hypotheses: each segment has one"
        )
    return np.asfortranarray(values), bounds


def _finite(name: str, given: Any) -> FloatArray:
    values = np.asarray(given, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite")
    return values
