"""Lists whose statistics are known without texts: arrays, and what extensions read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from portmert.metrics._base import Batch, FloatArray, IntArray, Metric, rows_taken

from ..base.columns import in_natural_order, unordered
from ..base.errors import counted
from ..components import external
from ..nbest.model import NBest, featured, segments_taken
from ..search.stat_table import StatTable


@dataclass(frozen=True)
class Mean(external.MeanOfScores):
    """The mean of given scores, one for each hypothesis."""

    source: ClassVar[str] = "whatever made the numbers"
    reads_references: ClassVar[bool] = False

    @classmethod
    def name(cls) -> str:
        """Return its name in signatures."""
        return "mean"

    def stats(self, batch: Batch) -> FloatArray:  # noqa: ARG002  the base's signature
        """Refuse texts: the scores are given."""
        raise TypeError("scores are given, texts are not scored")


@dataclass(frozen=True, eq=False, kw_only=True)
class ArrayLists(NBest):
    """Lists with scores or statistics in place of texts; of arrays, if they are of no subclass.

    Parameters
    ----------
    stats : (H, K) float64
        The statistics; of scores the score and 1.
    of_scores
        Whether they were made of scores.

    Attributes
    ----------
    called, origin
        Their name in messages, and in signatures.
    takes_features
        Whether features can be added.
    """

    called: ClassVar[str] = "arrays"
    origin: ClassVar[str] = "arrays"
    takes_features: ClassVar[bool] = True
    stats: FloatArray
    of_scores: bool = False

    def counted_by(self, metric: Metric | None) -> tuple[Metric, StatTable]:
        """Return the metric of the statistics, and them, if they can be those of the metric."""
        if self.of_scores:
            if metric is not None:
                raise ValueError("the arrays have scores: give no metric, or stats of the metric")
            metric = Mean()
        elif metric is None:
            raise ValueError("stats need the metric that they are of")
        elif self.stats.shape[1] != len(metric.stat_names):
            raise ValueError(
                f"stats with {counted(self.stats.shape[1], 'number')} for each hypothesis; "
                f"{metric.name()} has {len(metric.stat_names)}: {', '.join(metric.stat_names)}"
            )
        return metric, StatTable(self.stats)


def lists_of_arrays(
    features: Any,
    offsets: Any,
    names: Sequence[str] | None,
    scores: Any,
    stats: Any,
    ids: Sequence[str] | None,
) -> NBest:
    """Check the shapes; parameters are those of `Lists.from_arrays`."""
    if scores is not None and stats is not None:
        raise ValueError("give scores or stats, not both")
    values, bounds, shape = _flat_features(features, offsets)
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
        dropped=np.empty((0, 3), dtype=np.int64),
    )
    if scores is not None:
        numbers = _finite("scores", scores)
        _check_shape("scores", numbers.shape, shape, "one score for each hypothesis")
        table = np.column_stack([numbers.reshape(-1), np.ones(rows)])
    elif stats is not None:
        numbers = _finite("stats", stats)
        _check_shape("stats", numbers.shape[:-1], shape, "a row for each hypothesis")
        table = np.ascontiguousarray(numbers.reshape(rows, -1))
    else:
        return nbest
    return ArrayLists(**vars(nbest), stats=table, of_scores=scores is not None)


def _checked_ids(ids: Sequence[str], segments: int) -> tuple[str, ...]:
    """Return the ids of segments as texts, each once."""
    names = tuple(map(str, ids))
    if len(names) != segments or len(set(names)) != segments:
        raise ValueError(
            f"{counted(len(set(names)), 'different id')} for {counted(segments, 'segment')}; "
            f"give each segment one of its own"
        )
    return names


def in_order(lists: ArrayLists) -> ArrayLists:
    """Return the lists in the order of their ids; so no result depends on that of the arrays."""
    if lists.ids is None or unordered(lists.ids) is None:
        return lists
    order = np.array(in_natural_order(lists.ids))
    rows, _ = rows_taken(lists.offsets, order)
    return replace(lists, **vars(segments_taken(lists, order)), stats=lists.stats[rows])


def _flat_features(features: Any, offsets: Any) -> tuple[FloatArray, IntArray, tuple[int, ...]]:
    """Return (H, F) features, (S + 1,) offsets, and the shape that scores must have."""
    values = _finite("features", features)
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


def _finite(name: str, array: Any) -> FloatArray:
    values = np.asarray(array, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite")
    return values
