"""Values that are missing: what becomes of the hypotheses that lack one.

`--drop-missing` is the rule `segment`; texts/joining.py carries it out for texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from portmert.metrics._base import FloatArray, IntArray

from ..base.errors import InputError, counted
from ..base.warn import warn
from ..weights.feature_weights import value_labels
from .model import NBest, columns_added, hypotheses_taken

Missing = Literal["error", "drop", "segment", "impute"]
MISSING = ".missing"
"""Ends the name of the feature that is 1 where another one is missing."""


def filled(
    table: FloatArray, labels: Sequence[str], segments: IntArray, rule: Missing
) -> FloatArray:
    """Return (n, F) features, NaN in all rows that the rule leaves out; say what was done.

    Parameters
    ----------
    table : (n, F) float64
        NaN where a value is missing. A column NAME.missing without any value becomes 1 where NAME
        is missing, else 0. Not modified.
    segments : (n,) int64
    rule
        `"impute"` takes the mean of the segment; 0 where the whole segment lacks the feature, so
        that it chooses nothing.
    """
    lacks = {label: np.isnan(column) for label, column in zip(labels, table.T, strict=True)}
    if not any(places.any() for places in lacks.values()):
        return table
    table = table.copy(order="K")
    for label, column in zip(labels, table.T, strict=True):
        places, base = lacks[label], label.removesuffix(MISSING)
        if base != label and places.all():
            column[:] = lacks.get(base, 0.0)
        elif rule == "impute" and places.any():
            counts = np.bincount(segments, ~places)
            sums = np.bincount(segments, np.where(places, 0.0, column))
            column[places] = (sums / np.maximum(counts, 1))[segments[places]]
            warn(f"{counted(int(places.sum()), 'value')} of {label} imputed by the segment's mean")
    is_out = np.isnan(table).any(axis=1)
    if rule == "segment":
        is_out = np.isin(segments, segments[is_out])
    if is_out.any():
        table[is_out] = np.nan
        count = int(is_out.sum())
        warn(f"{counted(count, 'hypothesis')} ranked last, where features are missing")
    return table


def settled(nbest: NBest, rule: Missing, wanted: Sequence[str] | None = None) -> NBest:
    """Return lists in which nothing is missing.

    Outcomes and texts are never imputed: such hypotheses are left out.

    Parameters
    ----------
    nbest
        NaN stands for a missing feature or outcome, and as a model score for a missing text.
    wanted
        Features that the lists shall have, because weights have them; of those that are not there
        all values are missing. None: NAME.missing of each feature that is imputed.

    Raises
    ------
    InputError
        Nothing is left.
    """
    if rule == "impute":
        nbest = _imputed(nbest, wanted)
    segments, columns = nbest.segment_of_row, dict(nbest.outcomes)
    columns |= zip(value_labels(nbest.feature_names), nbest.features.T, strict=True)
    lacks = {name: np.isnan(column) for name, column in columns.items()}
    lacks["a text"] = np.isnan(nbest.model_scores)
    if nbest.statistics is not None:
        lacks["a statistic"] = np.isnan(nbest.statistics.rows.sum(axis=1))
    is_out = np.any([*lacks.values()], axis=0)
    if not is_out.any():
        return nbest
    if rule == "segment":
        is_out = np.isin(segments, segments[is_out])
    if is_out.all():
        raise InputError("every hypothesis lacks a value; nothing is left")
    kept, left = hypotheses_taken(nbest, np.flatnonzero(~is_out))
    counts = [f"{name} ({places.sum()})" for name, places in lacks.items() if places.any()]
    gone = np.setdiff1d(np.arange(len(nbest)), left)
    of_segments = (
        f"; {counted(len(gone), 'segment')} with all of them, first '{nbest.names[gone[0]]}'"
        if len(gone)
        else ""
    )
    warn(
        f"{counted(int(is_out.sum()), 'hypothesis')} left out, where values are missing: "
        f"{', '.join(counts)}{of_segments}",
        left_out=len(gone),
    )
    return kept


def _imputed(nbest: NBest, wanted: Sequence[str] | None) -> NBest:
    """Return lists whose features are all there; see `settled`."""
    labels = value_labels(nbest.feature_names)
    if wanted is None:
        pairs = zip(labels, nbest.features.T, strict=True)
        wanted = [f"{label}{MISSING}" for label, column in pairs if np.isnan(column).any()]
    nothing = np.full(len(nbest.features), np.nan)
    nbest = columns_added(nbest, {name: nothing for name in wanted if name not in labels})
    labels = value_labels(nbest.feature_names)
    return replace(nbest, features=filled(nbest.features, labels, nbest.segment_of_row, "impute"))
