"""Read n-best lists of any format and merge them: of equal hypotheses the first stays."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from portmert.metrics import _base
from portmert.metrics._shared import flat

from ..base.errors import InputError
from ..base.warn import notice
from .merging import Merger, Rows, empty_rows
from .model import ListStatistics, NBest
from .readers._base import Reader
from .readers.moses import MosesReader
from .records import ListFile, SegmentNames, read_list


def read_nbest(
    paths: Sequence[Path | str | ListFile],
    vocabulary: _base.Vocabulary,
    *,
    segments: int | None = None,
    reader: Reader | None = None,
    names: SegmentNames | None = None,
    dense: Collection[str] | None = None,
) -> NBest:
    """Read n-best lists and merge them: of equal hypotheses of a segment the first stays.

    Two are equal if tokens, feature values and links are the same. Files are read one after the
    other, so that no more than one is in memory as text. Features are matched by name; columns
    stand in the order of the first line. A feature that every hypothesis has, always with the
    same number of values, is dense, unless the decoder names its `dense` features; one that some
    lack is sparse and must have `_` in its name (Moses' rule for sparse names) and one value.

    Parameters
    ----------
    paths
        Plain, .gz, .bz2, .xz or .zst; `-` is stdin; or files in memory.
    vocabulary : Vocabulary
        Gets the tokens that are new.
    segments : int, optional
        Number of segments S of the references; every id must be in 0..S-1. Absent: one more than
        the largest id. Either way each segment needs a hypothesis.
    reader : Reader, optional
        The reader of the format; a notice then describes each list. Absent: Moses lists.
    names : SegmentNames, optional
        Knows the ids of the references, where these have ids.
    dense
        See `Merger`.

    Raises
    ------
    InputError
        A file is not what it should be; the message says where.
    """
    if not paths:
        raise ValueError("no n-best list given")
    merger = Merger(dense)
    segments_with_scores: set[int] = set()
    names = SegmentNames() if names is None else names
    for path in paths:
        names.lookups = 0
        file = path if isinstance(path, ListFile) else read_list(path)
        file = replace(file, names=names, segments=segments, remarks=[])
        format_reader = (reader or MosesReader()).detect(file)
        rows = format_reader.read(file, vocabulary)
        if names.ids and not names.lookups:
            raise InputError(
                f"{file.where}: its segments are numbers, those of another list are names"
            )
        if reader is not None:
            prefix = f"{file.where}: " if len(paths) > 1 else ""
            notice(prefix + format_reader.describe(rows, file))
        if format_reader.files:  # which have one number for each key
            in_list = set(rows.segments.tolist())
            if in_list & segments_with_scores:
                both = min(in_list & segments_with_scores)
                raise InputError(
                    f"{file.where}: another list has hypotheses of "
                    f"{names.ids[both] if names.ids else both} too, and --nbest-format names one "
                    f"file of scores for both; give a file for each list: --feature NAME=FILE,FILE"
                )
            segments_with_scores |= in_list
        merger.add(rows)
        del rows
    return merger.finish(vocabulary, segments, names)


def merge(lists: Sequence[NBest]) -> NBest:
    """Merge lists of the same segments: of equal hypotheses of a segment the first stays.

    Raises
    ------
    ValueError
        No list, or lists with different vocabularies.
    InputError
        The lists are of other segments, features or statistics.
    """
    if not lists:
        raise ValueError("no n-best list given")
    first, merger = lists[0], Merger()
    for number, nbest in enumerate(lists, 1):
        where = f"n-best list {number}"
        if nbest.texts.vocabulary is not first.texts.vocabulary and nbest.has_texts:
            raise ValueError(f"{where} has another vocabulary than list 1")
        for noun, there, here in zip(
            ("segments", "metric", "statistics", "hidden parts"),
            _kind(first),
            _kind(nbest),
            strict=True,
        ):
            if there != here:
                raise InputError(
                    f"lists that are merged must be of one text, model and metric; {noun}: "
                    f"{there} in list 1, {here} in list {number}"
                )
        merger.add(_rows_of(nbest, where))
    merged = merger.finish(first.texts.vocabulary, len(first))
    if first.statistics is None or merged.statistics is None:
        return merged
    return replace(merged, statistics=first.statistics._replace(rows=merged.statistics.rows))


def _kind(nbest: NBest) -> tuple[int, str, int, bool]:
    """Return what lists that are merged have in common, besides their features."""
    stats = ListStatistics(np.empty((0, 0))) if nbest.statistics is None else nbest.statistics
    return len(nbest), stats.metric, stats.rows.shape[1], bool(nbest.unlisted.size)


def _rows_of(nbest: NBest, where: str) -> Rows:
    """Return a list as the merger takes it."""
    features = np.add(nbest.features, 0.0, order="C")  # no -0.0
    tokens, sparse = flat(nbest.texts.tokens), nbest.sparse
    rows = empty_rows(len(features))._replace(
        segments=nbest.segment_of_row,
        features=features,
        tokens=tokens.values,
        token_offsets=tokens.offsets,
        scores=nbest.model_scores,
        unlisted=nbest.unlisted,
        names=nbest.feature_names,
        where=where,
    )
    if nbest.texts.links is not None:
        links = flat(nbest.texts.links)
        rows = rows._replace(links=links.values, link_offsets=links.offsets, has_links=True)
    if sparse is not None:
        rows = rows._replace(
            sparse_columns=sparse.columns,
            sparse_values=sparse.values + 0.0,
            sparse_offsets=sparse.offsets,
            sparse_names=sparse.names,
        )
    if nbest.statistics is not None:
        rows = rows._replace(stats=np.add(nbest.statistics.rows, 0.0, order="C"))
    return rows
