"""N-best lists as flat arrays, which every step takes, and their text form.

Who holds what, in the order in which a list comes to be tuned on:

    Rows           one file as its reader leaves it, in order of arrival       merging.py
    NBest          the hypotheses of all files, merged, segment by segment     here
    MergedLists    the NBest of each iteration of a run, merged                runs/loop.py
    Lists          what the user gave, and the NBest that it becomes           api/lists.py
    PreparedLists  Lists with texts as metrics see them, and their statistics  api/optimizing.py
    TuningProblem  arrays of features, statistics and offsets                  search/problem.py
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from portmert.metrics._base import (
    FloatArray,
    IntArray,
    Ragged,
    Texts,
    TokenArray,
    Vocabulary,
    offsets_of,
    rows_taken,
)

from ..base import errors, files
from ..texts.corpus import References
from ..weights.feature_weights import MOST_SHOWN, FeatureNames, FeatureWeights

BLOCK = 1 << 14
"""Hypotheses that are scored at once: what a processor keeps near."""


class ListStatistics(NamedTuple):
    """The sufficient statistics that lists have in place of texts.

    Parameters
    ----------
    rows : (H, K) float64
    metric
        The name of their metric, if a file has it.
    where, origin
        Their names in messages, and in signatures.
    """

    rows: FloatArray
    metric: str = ""
    where: str = "stats"
    origin: str = "arrays"


@dataclass(frozen=True, eq=False)
class NBest:
    """The hypotheses of S segments with their feature values.

    Parameters
    ----------
    texts : Texts
        H hypotheses, segment by segment, in the order of the list; `links` is None if the list has
        no word alignments.
    offsets : (S + 1,) int64
        Hypotheses of segment s are rows `offsets[s]:offsets[s + 1]`.
    features : (H, F) float64, Fortran order (each feature's column is contiguous)
    feature_names : FeatureNames
        Names and sizes of the dense features, F columns in all.
    model_scores : (H,) float64
        The model score of each hypothesis as it is in the list.
    sparse : SparseFeatures or None
    lines : (H,) int64 or None
        The place of each row among all hypotheses of the files, counted from 0, before duplicates
        were dropped. None if the list was not read from files.
    list_sizes : tuple of int
        Number of hypotheses in each file.
    ranks : (H,) int32
        The number of each row among the hypotheses of its segment in its file, from 1. Kaldi's
        files have it in their keys. Empty if the list was not read from files.
    ids : (S,) tuple of str or None
        The ids of the segments in the lists; None if they are numbers.
    dropped : (D, 4) int64 or None
        The place in the files (see `lines`), the segment and the rank of each hypothesis that was
        dropped because it is equal to another, and the place of that one.
    unlisted : (H,) float64, or empty for 0
        The part of each model score that comes from no feature of the list; no search changes it.
    outcomes : mapping
        (H,) float64 by name: what others say of each hypothesis, as the scores of a file.
    statistics : ListStatistics or None
        Those of lists without texts.
    beside : References or None
        References and source of the segments, before any text step. If there is a source alone,
        its references are empty.
    """

    texts: Texts
    offsets: IntArray
    features: FloatArray
    feature_names: FeatureNames
    model_scores: FloatArray
    sparse: SparseFeatures | None = None
    lines: IntArray | None = None
    list_sizes: tuple[int, ...] = ()
    ranks: TokenArray = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    ids: tuple[str, ...] | None = None
    dropped: IntArray | None = None
    unlisted: FloatArray = field(default_factory=lambda: np.empty(0))
    outcomes: Mapping[str, FloatArray] = field(default_factory=dict)
    statistics: ListStatistics | None = None
    beside: References | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def names(self) -> tuple[str, ...]:
        """(S,) the ids of the segments; numbers from 0 where they have none."""
        return self.ids or tuple(map(str, range(len(self))))

    @property
    def counted(self) -> ListStatistics:
        """The statistics of lists that have some in place of texts."""
        assert self.statistics is not None  # noqa: S101  the caller has seen to it
        return self.statistics

    @property
    def has_texts(self) -> bool:
        """Whether any hypothesis has a word."""
        return len(self.texts.vocabulary.words) > 0 and bool(self.texts.tokens.lengths.any())

    @property
    def segment_of_row(self) -> IntArray:
        """(H,) the segment of each hypothesis."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def in_files(self) -> tuple[IntArray, IntArray]:
        """(L,) segments, and ranks, of all hypotheses of the files; -1 of those left out."""
        if self.lines is None or self.dropped is None:
            raise errors.InputError("these lists were not read from files")
        values = np.full((2, sum(self.list_sizes)), -1, dtype=np.int64)
        values[:, self.lines] = self.segment_of_row, self.ranks
        values[:, self.dropped[:, 0]] = self.dropped[:, 1:3].T
        return values[0], values[1]

    def __repr__(self) -> str:
        return f"NBest({self.described})"

    @property
    def described(self) -> str:
        """Their numbers and features, in a line."""
        names = [name for name, _ in self.feature_names]
        more = [f"and {len(names) - MOST_SHOWN} more"] if len(names) > MOST_SHOWN else []
        features = " ".join([*names[:MOST_SHOWN], *more])
        return f"segments={len(self)}, hypotheses={len(self.features)}, features={features}"


@dataclass(frozen=True, eq=False)
class SparseFeatures:
    """Features that only some hypotheses have, in compressed rows (CSR).

    Parameters
    ----------
    names : tuple of str
    offsets : (H + 1,) int64
        Entries of hypothesis h are `offsets[h]:offsets[h + 1]`, their columns ascend.
    columns : (E,) int32
        Index into `names`.
    values : (E,) float64
    """

    names: tuple[str, ...]
    offsets: IntArray
    columns: TokenArray
    values: FloatArray


def digest(nbest: NBest) -> str:
    """Return a digest of everything in lists on which results depend."""
    content = hashlib.sha256()
    tokens = nbest.texts.tokens.alone()
    arrays = (nbest.offsets, nbest.features, tokens.values, tokens.offsets, nbest.model_scores)
    counts = () if nbest.statistics is None else (nbest.statistics.rows,)
    for array in (*arrays, *counts, *nbest.outcomes.values()):
        content.update(np.ascontiguousarray(array).tobytes() + b"|")
    names = (nbest.ids, nbest.feature_names, [*nbest.outcomes], nbest.texts.vocabulary.words)
    content.update(repr(names).encode())
    return content.hexdigest()


def without_texts(nbest: NBest) -> NBest:
    """Return only features, `unlisted` and offsets of lists; all texts are empty."""
    bare = featured(nbest.features, nbest.offsets, nbest.feature_names, nbest.sparse)
    return replace(bare, unlisted=nbest.unlisted)


def featured(
    features: FloatArray,
    offsets: IntArray,
    feature_names: FeatureNames,
    sparse: SparseFeatures | None = None,
) -> NBest:
    """Return hypotheses that have only features; all texts are empty."""
    empty = Ragged(np.empty(0, dtype=np.int32), np.zeros(len(features) + 1, dtype=np.int64))
    scores = np.zeros(len(features))
    texts = Texts(Vocabulary(), empty)
    return NBest(texts, offsets, features, feature_names, scores, sparse)


def model_scores(nbest: NBest, weights: FeatureWeights, *, origin: str = "weights") -> FloatArray:
    """Return (H,) weights . features, and what is `unlisted`; equal rows have equal bits.

    A sparse feature without a weight has weight 0, as in Moses.

    Raises
    ------
    InputError
        A dense feature has no weight; `origin` names where the weights are from.
    """
    vector = weights.vector(nbest.feature_names, origin=origin)
    # Column by column: a matrix product may sum rows in different orders, and break ties.
    scores = nbest.unlisted.copy() if nbest.unlisted.size else np.zeros(len(nbest.features))
    for begin in range(0, len(scores), BLOCK):
        rows = slice(begin, begin + BLOCK)
        for column, weight in enumerate(vector):
            scores[rows] += weight * nbest.features[rows, column]
    return scores if nbest.sparse is None else scores + sparse_scores(nbest.sparse, weights)


def sparse_scores(sparse: SparseFeatures | None, weights: FeatureWeights) -> FloatArray:
    """Return (H,) weights . sparse features, of a feature without a weight 0; (0,) of none."""
    if sparse is None:
        return np.empty(0)
    rows = len(sparse.offsets) - 1
    by_column = np.array([weights.values.get(name, (0.0,))[0] for name in sparse.names])
    row_of = np.repeat(np.arange(rows), np.diff(sparse.offsets))
    products = by_column[sparse.columns] * sparse.values
    return np.bincount(row_of, products, minlength=rows).astype(np.float64, copy=False)


def finite_feature(name: str, values: FloatArray, nbest: NBest) -> FloatArray:
    """Return (H,) values computed for a feature; raise `InputError` if one is not finite."""
    for row in np.flatnonzero(~np.isfinite(values))[:1].tolist():
        segment = int(np.searchsorted(nbest.offsets, row, side="right")) - 1
        place = nbest.ranks[row] if len(nbest.ranks) else row - nbest.offsets[segment] + 1
        raise errors.InputError(
            f"feature {name}: segment {nbest.ids[segment] if nbest.ids else segment}, hypothesis "
            f"{place}: its value is {values[row]}, expected a finite number; take another metric, "
            f"or let this one return a number for every hypothesis, also where it divides by 0"
        )
    return values


def best_hypotheses(nbest: NBest, weights: FeatureWeights) -> IntArray:
    """Return (S,) the hypothesis of the highest model score in each segment; see `highest`."""
    return highest(model_scores(nbest, weights), nbest.offsets)


def highest(scores: FloatArray, offsets: IntArray) -> IntArray:
    """Return (S,) the row of the highest score in each segment; of equal ones the first."""
    starts = offsets[:-1]
    tops = np.maximum.reduceat(scores, starts)
    is_top = np.flatnonzero(scores == np.repeat(tops, np.diff(offsets)))
    return is_top[np.searchsorted(is_top, starts)]


def best_rows(scores: FloatArray, offsets: IntArray, *, size: int) -> tuple[IntArray, IntArray]:
    """Return the rows of the `size` highest scores of each segment, highest first.

    Parameters
    ----------
    scores : (H,) float64
    offsets : (S + 1,) int64
        Segment s is rows `offsets[s]:offsets[s + 1]`.

    Returns
    -------
    rows : (M,) int64
        If scores are equal, the lower row is first.
    new_offsets : (S + 1,) int64
        Segment s is `rows[new_offsets[s]:new_offsets[s + 1]]`.
    """
    lengths = np.diff(offsets)
    segments = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((-scores, segments))  # stable
    rank = np.arange(len(order)) - np.repeat(offsets[:-1] - offsets[0], lengths)
    new_offsets = offsets_of(np.minimum(lengths, size))
    return order[rank < size], new_offsets


def taken(nbest: NBest, rows: IntArray, offsets: IntArray) -> NBest:
    """Return the hypotheses `rows`, those of segment s at `offsets[s]:offsets[s + 1]`."""
    sparse = None
    if nbest.sparse is not None:
        entries, ends = rows_taken(nbest.sparse.offsets, rows)
        sparse = SparseFeatures(
            nbest.sparse.names, ends, nbest.sparse.columns[entries], nbest.sparse.values[entries]
        )
    return NBest(
        texts=nbest.texts.take(rows),
        offsets=offsets,
        features=np.asfortranarray(nbest.features[rows]),
        feature_names=nbest.feature_names,
        model_scores=nbest.model_scores[rows],
        sparse=sparse,
        unlisted=nbest.unlisted[rows] if nbest.unlisted.size else nbest.unlisted,
        outcomes={name: values[rows] for name, values in nbest.outcomes.items()},
        statistics=nbest.statistics
        and nbest.statistics._replace(rows=nbest.statistics.rows[rows]),
    )


def segments_taken(nbest: NBest, segments: IntArray) -> NBest:
    """Return the lists of some segments, in the given order."""
    return _taken_of(nbest, *rows_taken(nbest.offsets, segments), segments)


def hypotheses_taken(nbest: NBest, rows: IntArray) -> tuple[NBest, IntArray]:
    """Return lists of some rows, which ascend, and the numbers of the segments that have some."""
    counts = np.bincount(nbest.segment_of_row[rows], minlength=len(nbest))
    segments = np.flatnonzero(counts)
    if len(segments) < len(nbest):  # they keep their names, by which texts are joined
        nbest = replace(nbest, ids=nbest.names)
    return _taken_of(nbest, rows, offsets_of(counts[segments]), segments), segments


def _taken_of(nbest: NBest, rows: IntArray, offsets: IntArray, segments: IntArray) -> NBest:
    """Return rows of some segments, with all that is known of where they are from."""
    dropped = nbest.dropped
    if dropped is not None:
        places = np.full(len(nbest), -1, dtype=np.int64)
        places[segments] = np.arange(len(segments))
        dropped = dropped.copy()
        dropped[:, 1] = places[dropped[:, 1]]
        dropped = dropped[dropped[:, 1] >= 0]
    return replace(
        taken(nbest, rows, offsets),
        lines=None if nbest.lines is None else nbest.lines[rows],
        list_sizes=nbest.list_sizes,
        ranks=nbest.ranks[rows] if len(nbest.ranks) else nbest.ranks,
        ids=None if nbest.ids is None else tuple(nbest.ids[number] for number in segments),
        dropped=dropped,
        beside=nbest.beside and nbest.beside.take(segments.tolist()),
    )


def columns_added(nbest: NBest, columns: Mapping[str, FloatArray]) -> NBest:
    """Return lists with more features of one value, (H,) by name, behind their own."""
    if not columns:
        return nbest
    return replace(
        nbest,
        features=np.asfortranarray(np.column_stack([nbest.features, *columns.values()])),
        feature_names=(*nbest.feature_names, *((name, 1) for name in columns)),
    )


def write_nbest(nbest: NBest, path: Path | str, weights: FeatureWeights | None = None) -> None:
    """Write a Moses n-best list, whole or not at all; reading it gives `nbest` again.

    Numbers have as many digits as it takes to read the same float64. With `weights` the model
    scores are weights . features, not those of the list.

    Raises
    ------
    InputError
        A hypothesis has the token `|||`, a feature's name is not one word, or a dense feature has
        no weight.
    """
    if weights is not None:
        nbest = replace(nbest, model_scores=model_scores(nbest, weights))
    with files.writing(path) as out:
        out.writelines(nbest_lines(nbest, where=str(path)))


def nbest_lines(nbest: NBest, *, where: str) -> Iterator[bytes]:
    """Yield the lines of each segment of a Moses n-best list; see `write_nbest`."""
    sparse = () if nbest.sparse is None else nbest.sparse.names
    for name in (*(name for name, _ in nbest.feature_names), *sparse):
        if name.split() != [name] or name == "|||":
            raise errors.InputError(
                f"{where}: feature '{name}' cannot be in a Moses list: a name there is one word; "
                f"rename it"
            )
    words, bars = nbest.texts.vocabulary.words, "|||"
    forbidden = {token for token, word in enumerate(words) if word == bars}
    # Few values are distinct, and printing a float is what takes the time.
    printed: dict[float, str] = {}
    for segment in range(len(nbest)):
        lines = []
        for row in range(int(nbest.offsets[segment]), int(nbest.offsets[segment + 1])):
            tokens = nbest.texts.tokens.row(row).tolist()
            if forbidden and not forbidden.isdisjoint(tokens):
                raise errors.InputError(
                    f"{where}: segment {segment}: a hypothesis has the token |||, which "
                    f"separates fields; escape it"
                )
            fields = [str(segment), " ".join([words[token] for token in tokens])]
            fields.append(_features_text(nbest, row, printed))
            fields.append(shortest(float(nbest.model_scores[row])))
            if nbest.texts.links is not None:
                links = nbest.texts.links.row(row).tolist()
                fields.append(" ".join([f"{i}-{j}" for i, j in links]))
            lines.append(" ||| ".join(fields).rstrip() + "\n")
        yield "".join(lines).encode("utf-8")


def shortest(value: float) -> str:
    """Return a number with as few digits as read back to it; never -0."""
    return repr(value + 0.0).removesuffix(".0")


def _features_text(nbest: NBest, row: int, printed: dict[float, str]) -> str:
    parts, column = [], 0
    values = nbest.features[row].tolist()
    for value in values:
        if value not in printed:
            printed[value] = shortest(value)
    for name, size in nbest.feature_names:
        parts.append(f"{name}=")
        parts.extend([printed[value] for value in values[column : column + size]])
        column += size
    sparse = nbest.sparse
    if sparse is not None:
        for entry in range(int(sparse.offsets[row]), int(sparse.offsets[row + 1])):
            name = sparse.names[sparse.columns[entry]]
            parts.append(f"{name}= {shortest(float(sparse.values[entry]))}")
    return " ".join(parts)


def new_outputs(earlier: NBest, last: NBest) -> float:
    """Return the share of segments whose first hypothesis in a list is in no earlier list."""
    if earlier.feature_names != last.feature_names:
        return 1.0
    firsts = last.features[last.offsets[:-1]]
    is_equal = np.ones(len(earlier.features), dtype=bool)
    segments = np.repeat(np.arange(len(earlier)), np.diff(earlier.offsets))
    for column, values in zip(earlier.features.T, firsts.T, strict=True):
        is_equal &= column == values[segments]
    return 1.0 - float(np.logical_or.reduceat(is_equal, earlier.offsets[:-1]).mean())
