"""Make n-best lists of arrays of features, and of scores or statistics of the hypotheses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from portmert.metrics._base import FloatArray, IntArray

from ..base.errors import counted
from ..base.frames import ADVICE
from .model import ListStatistics, NBest, featured

SCORES = "mean"
"""The name of the outcome of arrays of scores, which is that of its metric."""


def lists_of_arrays(
    features: Any,
    offsets: Any,
    names: Sequence[str] | None,
    scores: Any,
    stats: Any,
    ids: Sequence[str] | None,
    *,
    may_lack: bool,
) -> NBest:
    """Check the shapes; parameters are those of `Lists.from_arrays`.

    Parameters
    ----------
    may_lack
        Whether NaN may stand for a value that is missing.
    """
    if scores is not None and stats is not None:
        raise ValueError("give scores or stats, not both")
    values, bounds, shape = _flat_features(_numbers("features", features, may_lack), offsets)
    rows, width = values.shape
    labels = [f"f{n}" for n in range(width)] if names is None else list(names)
    if len(labels) != width or len(set(labels)) != width:
        raise ValueError(f"{len(set(labels))} different names for {counted(width, 'feature')}")
    nbest = replace(
        featured(values, bounds, tuple((name, 1) for name in labels)),
        lines=np.arange(rows),
        list_sizes=(rows,),
        ranks=(np.arange(1, rows + 1) - np.repeat(bounds[:-1], np.diff(bounds))).astype(np.int32),
        ids=None if ids is None else _checked_ids(ids, len(bounds) - 1),
        dropped=np.empty((0, 4), dtype=np.int64),
    )
    if scores is not None:
        numbers = _numbers("scores", scores, may_lack)
        _check_shape("scores", numbers.shape, shape, "one score for each hypothesis")
        return replace(nbest, outcomes={SCORES: numbers.reshape(-1)})
    if stats is not None:
        numbers = _numbers("stats", stats, may_lack)
        _check_shape("stats", numbers.shape[:-1], shape, "a row for each hypothesis")
        table = np.ascontiguousarray(numbers.reshape(rows, -1))
        return replace(nbest, statistics=ListStatistics(table))
    return nbest


def _checked_ids(ids: Sequence[str], segments: int) -> tuple[str, ...]:
    """Return the ids of segments as texts, each once."""
    names = tuple(map(str, ids))
    if len(names) != segments or len(set(names)) != segments:
        raise ValueError(
            f"{counted(len(set(names)), 'different id')} for {counted(segments, 'segment')}; "
            f"give each segment one of its own"
        )
    return names


def _flat_features(
    values: FloatArray, offsets: Any
) -> tuple[FloatArray, IntArray, tuple[int, ...]]:
    """Return (H, F) features, (S + 1,) offsets, and the shape that scores must have."""
    expected = "(S, N, F), or (H, F) and offsets" if offsets is None else "(H, F) with offsets"
    if values.ndim != (3 if offsets is None else 2):
        raise ValueError(f"features of shape {values.shape}; expected {expected}")
    shape = values.shape[:-1]
    if not values.shape[-1]:
        raise ValueError(f"features of shape {values.shape}; a hypothesis has no feature")
    if offsets is None:
        segments, each, width = values.shape
        values = values.reshape(-1, width)
        bounds = np.arange(segments + 1, dtype=np.int64) * each
    else:
        bounds = np.asarray(offsets, dtype=np.int64)
    is_row = bounds.ndim == 1 and bounds.size > 1
    if not is_row or bounds[0] or bounds[-1] != len(values) or (np.diff(bounds) < 1).any():
        raise ValueError(
            f"offsets must rise from 0 to the {len(values)} hypotheses: each segment has one"
        )
    return np.asfortranarray(values), bounds, shape


def _check_shape(
    name: str, shape: tuple[int, ...], expected: tuple[int, ...], meaning: str
) -> None:
    """Raise ValueError if an array does not belong to the features."""
    if shape != expected:
        hint = ""
        if shape == expected[::-1]:
            hint = "; it is transposed"
        elif int(np.prod(shape)) == int(np.prod(expected)):
            hint = "; it is flattened"
        raise ValueError(f"{name} of shape {shape}; the features want {expected}, {meaning}{hint}")


def _numbers(name: str, array: Any, may_lack: bool) -> FloatArray:
    values = np.asarray(array, dtype=np.float64) + 0.0  # no -0.0
    if not np.isfinite(values).all() and not (may_lack and not np.isinf(values).any()):
        advice = "" if may_lack else f"; {ADVICE}" * bool(np.isnan(values).any())
        raise ValueError(f"{name} must be finite{advice}")
    return values
