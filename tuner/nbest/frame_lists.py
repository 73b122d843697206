"""Make n-best lists of the columns of data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray, Vocabulary

from ..base.errors import InputError, counted
from ..base.frames import Frame
from ..base.warn import warn
from ..weights.feature_weights import FeatureWeights
from . import _merging_kernels as kernels
from ._merging_kernels import Rows
from .merging import ListArrays, Merger, empty_rows, keys_of
from .model import NBest
from .readers._arrays import interned
from .records import SegmentNames

Missing = Literal["error", "drop", "segment", "impute"]
MISSING = ".missing"
"""Ends the name of the feature that is 1 where another one is missing."""


@dataclass(frozen=True)
class FrameColumns:
    """Which columns of a frame hold what; `Lists.from_frame` explains them."""

    segment: str
    features: tuple[str, ...]
    index: str | None = None
    text: str | None = None
    missing: Missing = "error"


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
    names, table = feature_table(frame, columns.features, segments, columns.missing)
    may_lack = columns.missing != "error"
    by_name = {name: frame.numbers(name, missing=may_lack) for name in outcomes}
    texts = None if columns.text is None else frame.texts(columns.text)
    lacks = np.zeros(len(table), dtype=np.bool_)
    for values in (*table.T, *by_name.values()):
        lacks |= np.isnan(values)
    if texts is not None and None in texts:
        if not may_lack:
            frame.fail(str(columns.text), texts.index(None), "no text is there")
        lacks |= np.array([text is None for text in texts])
    rows = _kept(frame, lacks, segments, columns.missing)
    vocabulary, segment_names = Vocabulary(), SegmentNames(are_names=True)
    left, numbers = np.unique(segments[rows], return_inverse=True)
    for number in left.tolist():
        segment_names.number(ids[number], None)
    part = empty_rows(len(rows), features=0, stats=0)._replace(
        segments=numbers.astype(np.int64),
        features=table if len(rows) == len(table) else table[rows],
        scores=np.zeros(len(rows)),
        ranks=ranks[rows] if len(ranks) else ranks,
    )
    if texts is not None:
        tokens, offsets = interned([texts[row] or "" for row in rows.tolist()], vocabulary)
        part = part._replace(tokens=tokens, token_offsets=offsets)
    merger = Merger()
    merger.add(
        ListArrays(
            part, tuple((name, 1) for name in names), (), has_links=False, where=frame.where
        )
    )
    nbest = merger.finish(vocabulary, None, segment_names)
    outcomes_of_part = {name: values[rows] for name, values in by_name.items()}
    _warn_of_opposites(frame, outcomes_of_part, part, nbest)
    return replace(
        nbest, outcomes={name: values[nbest.lines] for name, values in outcomes_of_part.items()}
    )


def feature_table(
    frame: Frame, features: Sequence[str], segments: IntArray, missing: Missing
) -> tuple[list[str], FloatArray]:
    """Return names, and (n, F) values in C order; NaN where one is missing and not imputed.

    Parameters
    ----------
    features
        Columns; `-NAME` is the column NAME negated. NAME.missing is 1 where NAME is missing.
    segments : (n,) int64
        The segment of each row.
    """
    present, may_lack = set(frame.names), missing != "error"
    names, columns = list(features), []
    for name in features:
        negated = name.startswith("-") and name not in present
        column = name.removeprefix("-") if negated else name
        if column.endswith(MISSING) and column not in present:
            base = column.removesuffix(MISSING).removeprefix("-")
            columns.append(np.isnan(frame.numbers(base, missing=True)).astype(np.float64))
            continue
        values = frame.numbers(column, missing=may_lack)
        lacks = np.isnan(values)
        if missing == "impute" and lacks.any():
            count = np.bincount(segments, ~lacks)
            sums = np.bincount(segments, np.where(lacks, 0.0, values))
            of_segments = sums / np.maximum(count, 1)
            # Where a whole segment lacks it, every value is as good: it chooses nothing.
            values = np.where(lacks, of_segments[segments], values)
            if f"{name}{MISSING}" not in names:
                names.append(f"{name}{MISSING}")
            warn(
                f"{frame.where}: {counted(int(lacks.sum()), 'value')} of {column} imputed, by the "
                f"mean of the segment"
            )
        columns.append(0.0 - values if negated else values)
    if len(names) > len(features):
        _, more = feature_table(frame, names[len(features) :], segments, missing)
        columns += list(more.T)
    table = np.empty((len(frame), len(names)))
    for place, values in enumerate(columns):
        table[:, place] = values
    return names, table


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


def _kept(
    frame: Frame, lacks: NDArray[np.bool_], segments: IntArray, missing: Missing
) -> IntArray:
    """Return the rows that stay where values are missing; warn of the others."""
    if missing == "segment":
        lacks = np.isin(segments, segments[lacks])
    rows = np.flatnonzero(~lacks)
    if not len(rows):
        raise InputError(f"{frame.where}: every row lacks a value; nothing is left")
    if len(rows) < len(lacks):
        gone = len(np.unique(segments)) - len(np.unique(segments[rows]))
        of = f" ({counted(gone, 'segment')} with all of them)" if gone else ""
        warn(
            f"{frame.where}: {counted(len(lacks) - len(rows), 'hypothesis')} left out{of}: a "
            f"value is missing"
        )
    return rows


def _warn_of_opposites(
    frame: Frame, outcomes: Mapping[str, FloatArray], part: Rows, nbest: NBest
) -> None:
    """Warn of hypotheses that are dropped, as equal to others with different outcomes."""
    if nbest.lines is None or nbest.dropped is None or not len(nbest.dropped):
        return
    hashes, dropped = kernels.hash_rows(*keys_of(part)), nbest.dropped[:, 0]
    of_hypotheses = hashes[nbest.lines]
    order = np.argsort(of_hypotheses)
    equal = nbest.lines[order[np.searchsorted(of_hypotheses, hashes[dropped], sorter=order)]]
    for name, values in outcomes.items():
        if count := int((values[dropped] != values[equal]).sum()):
            warn(
                f"{frame.where}: {counted(count, 'hypothesis')} equal to an earlier one of the "
                f"segment but for {name}: that of the first counts"
            )


def ranked_rows(
    frame: Frame, columns: FrameColumns, weights: FeatureWeights
) -> tuple[Frame, IntArray, FloatArray, IntArray]:
    """Return a frame, and of its n rows the segments, the model scores, and the ranks from 1.

    Of equal scores the first in the segment ranks highest. Where a value is missing that is not
    imputed, the score is NaN and the rank the last.
    """
    _, segments = frame.ids(columns.segment)
    _, table = feature_table(frame, list(weights.values), segments, columns.missing)
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
