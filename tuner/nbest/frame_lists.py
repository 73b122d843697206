"""Make n-best lists of the columns of data frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray, Vocabulary

from ..base.errors import InputError
from ..base.frames import ADVICE, Frame
from ..weights.feature_weights import FeatureWeights
from .findings import warn_of_dropped_outcomes
from .merging import Merger, empty_rows
from .missing import MISSING, Missing, filled
from .model import NBest
from .readers._arrays import interned, scores_of_texts
from .records import SegmentNames


@dataclass(frozen=True)
class FrameColumns:
    """Which columns of a frame hold what; `Lists.from_frame` explains them."""

    segment: str
    features: tuple[str, ...]
    index: str | None = None
    text: str | None = None
    missing: Missing = "error"
    library: str = "dict"


def lists_of_frame(frame: Frame, columns: FrameColumns, outcomes: Sequence[str]) -> NBest:
    """Return the lists of a frame, segments in the order of their first rows.

    Equal hypotheses of a segment are one, the first; so are their outcomes.

    Raises
    ------
    InputError
        A column is not there, or a value is not what it must be; says which column and row.
    """
    if not len(frame):
        raise InputError(f"{frame.where}: no row, expected one for each hypothesis")
    ids, segments = frame.ids(columns.segment)
    ranks = _ranks(frame, columns.index, ids, segments)
    may_lack = columns.missing != "error"
    table = feature_table(frame, columns.features, may_lack=may_lack)
    by_name = {name: frame.numbers(name, missing=may_lack) for name in outcomes}
    vocabulary, names = Vocabulary(), SegmentNames(are_names=True)
    for name in ids:  # gives each id its number
        names.number(name, None)
    rows = empty_rows(len(table))._replace(
        segments=segments,
        features=table,
        scores=np.broadcast_to(0.0, len(table)),
        ranks=ranks,
        names=tuple((name, 1) for name in columns.features),
        where=frame.where,
    )
    if columns.text is not None:
        texts = frame.texts(columns.text)
        if None in texts and not may_lack:
            frame.fail(columns.text, texts.index(None), f"no text is there; {ADVICE}")
        tokens, offsets = interned(texts, vocabulary)
        rows = rows._replace(
            tokens=tokens, token_offsets=offsets, scores=scores_of_texts(texts, rows.scores)
        )
    merger = Merger()
    merger.add(rows)
    nbest = merger.finish(vocabulary, None, names)
    warn_of_dropped_outcomes(nbest, by_name)
    return replace(  # a column at a time: they are large
        nbest, outcomes={name: by_name.pop(name)[nbest.lines] for name in list(by_name)}
    )


def feature_table(frame: Frame, features: Sequence[str], *, may_lack: bool) -> FloatArray:
    """Return (n, F) values in Fortran order, which merging keeps; NaN where one is missing.

    `-NAME` is the column NAME negated; NAME.missing, unless it is there, is missing.
    """
    table, present = np.empty((len(frame), len(features)), order="F"), set(frame.names)
    for place, name in enumerate(features):
        negated = name.startswith("-") and name not in present
        column = name.removeprefix("-") if negated else name
        if column.endswith(MISSING) and column not in present:
            table[:, place] = np.nan
            continue
        values = frame.numbers(column, missing=may_lack)
        table[:, place] = 0.0 - values if negated else values
    return table


def _ranks(
    frame: Frame, index: str | None, ids: Sequence[str], segments: IntArray
) -> NDArray[np.int32]:
    """Return (n,) the number of each row in its segment, from 1; none twice."""
    if index is None:
        return np.empty(0, dtype=np.int32)
    values = frame.numbers(index)
    for row in np.flatnonzero((values < 0) | (values != np.floor(values)))[:1].tolist():
        frame.fail(index, row, f"{values[row]:g}, expected 0, 1, 2 ...")
    ranks = values.astype(np.int64)
    order = np.lexsort((ranks, segments))
    same = (np.diff(ranks[order]) == 0) & (np.diff(segments[order]) == 0)
    for place in np.flatnonzero(same)[:1].tolist():
        first, row = order[place : place + 2].tolist()
        name = ids[int(segments[row])]
        frame.fail(
            index, row, f"hypothesis {ranks[row]} of '{name}' stands twice, first in row {first}"
        )
    return (ranks + 1 - min(1, int(ranks.min()))).astype(np.int32)


def ranked_rows(
    frame: Frame, columns: FrameColumns, weights: FeatureWeights
) -> tuple[Frame, IntArray, FloatArray, IntArray]:
    """Return a frame, and of its n rows the segments, the model scores, and the ranks from 1.

    Of equal scores the first in the segment ranks highest. Where a value is missing that is not
    imputed, the score is NaN and the rank the last.
    """
    _, segments = frame.ids(columns.segment)
    names, rule = list(weights.values), columns.missing
    table = filled(feature_table(frame, names, may_lack=rule != "error"), names, segments, rule)
    scores = np.zeros(len(frame))
    for place, (weight,) in enumerate(weights.values.values()):  # so `rerank` adds them up
        scores += weight * table[:, place]
    first = np.arange(len(frame)) if columns.index is None else frame.numbers(columns.index)
    order = np.lexsort((first, -scores, segments))
    ranks = np.empty(len(frame), dtype=np.int64)
    begins = np.flatnonzero(np.diff(segments[order], prepend=-1))
    sizes = np.diff(begins, append=len(frame))
    ranks[order] = np.arange(1, len(frame) + 1) - np.repeat(begins, sizes)
    return frame, segments, scores, ranks
