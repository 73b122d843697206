"""N-best lists: what is in them, as flat arrays; reading, merging and writing Moses' text form.

`NBest` is what every reader returns and every later step takes. A line of a Moses list is

    id ||| hypothesis ||| Name0= v v name_x= v ||| score [||| segmentation] [||| word alignment]

Fields are separated by the token `|||`, tokens by ASCII white space.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from metrics._base import Ragged, Texts, Vocabulary
from tuner.errors import InputError
from tuner.files import writing
from tuner.nbest.arrived import ArrivedList
from tuner.nbest.pool import HypothesisPool, empty_rows, segment_sizes, with_sparse
from tuner.nbest.readers._base import ListFile, read_list
from tuner.nbest.readers.moses import Moses
from tuner.weights.feature_weights import FeatureWeights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from metrics._base import FloatArray, IntArray, TokenArray
    from tuner.nbest.pool import Rows
    from tuner.nbest.readers._base import Reader
    from tuner.weights.feature_weights import FeatureNames


@dataclass(frozen=True, eq=False)
class NBest:
    """The hypotheses of S segments with their feature values.

    Parameters
    ----------
    texts : Texts
        H hypotheses, segment by segment, in the order of the list; `links` is None where the
        list has no word alignment.
    offsets : (S + 1,) int64
        Hypotheses of segment s are rows `offsets[s]:offsets[s + 1]`.
    features : (H, F) float64, Fortran order (each feature's column is contiguous)
    feature_names : FeatureNames
        Names and sizes of the dense features, F columns in all.
    model_scores : (H,) float64
        The decoder's own score of each hypothesis.
    sparse : SparseFeatures or None
    lines : (H,) int64 or None
        Which hypothesis of the files each row is, counted from 0 over all files as they were
        read, before any was dropped as a duplicate. None where the list was not read.
    list_sizes : tuple of int
        Hypotheses of each file.
    """

    texts: Texts
    offsets: IntArray
    features: FloatArray
    feature_names: FeatureNames
    model_scores: FloatArray
    sparse: SparseFeatures | None = None
    lines: IntArray | None = None
    list_sizes: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.offsets) - 1


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


def read_nbest(
    paths: Sequence[Path | str],
    vocabulary: Vocabulary,
    *,
    segments: int | None = None,
    notice: Callable[[str], None] | None = None,
    reader: Reader | None = None,
) -> NBest:
    """Read n-best lists and merge them: of equal hypotheses of a segment the first stays.

    Equal are those with the same tokens, feature values and links. Files are read one after the
    other, so that no more than one is in memory as text. Features are matched by name; columns
    stand in the order of the first line. A feature that every hypothesis has, always with the
    same number of values, is dense; one that some lack is sparse and must have `_` in its name
    (Moses' rule for sparse names) and one value.

    Parameters
    ----------
    paths
        Plain, .gz, .xz or .zst; `-` is stdin.
    vocabulary : Vocabulary
        Gets the tokens that are new.
    segments : int, optional
        Number of segments S of the references; every id must be in 0..S-1. Absent: one more than
        the largest id. Either way each segment needs a hypothesis.
    notice : callable, optional
        Called with one line for what is accepted but worth knowing.
    reader : Reader, optional
        Of the lists' format, each list is then described by a notice. Absent: Moses lists.

    Raises
    ------
    InputError
        A file is not what it should be; the message says where.
    """
    if not paths:
        raise ValueError("no n-best list given")
    say = notice or _ignore
    chosen = reader or Moses()
    if chosen.one_file and len(paths) > 1:
        raise InputError(
            f"{len(paths)} n-best lists, but the files of scores belong to one; put the scores "
            f"into the lists, as columns behind a tab"
        )
    merger = _Merger(say)
    for path in paths:
        file = read_list(path)
        now = chosen.detect(file)
        new = now.read(file, vocabulary, segments, say)
        if reader is not None:
            prefix = f"{file.where}: " if len(paths) > 1 else ""
            say(prefix + now.describe(new))
        merger.add(new)
    return merger.finish(vocabulary, segments, from_files=True)


def read_first_hypotheses(path: Path, vocabulary: Vocabulary, *, segments: int) -> NBest:
    """Read a Moses list's first hypothesis of each segment: the decoder's own output.

    The others are not parsed.

    Raises
    ------
    InputError
        As `read_nbest`.
    """
    file = read_list(path)
    firsts: dict[bytes, bytes] = {}
    for line in file.byte_lines:
        firsts.setdefault(line.partition(b"|||")[0].strip(), line)
    data = b"".join(line + b"\n" for line in firsts.values())
    merger = _Merger(_ignore)
    merger.add(Moses().read(ListFile(file.where, data), vocabulary, segments, _ignore))
    return merger.finish(vocabulary, segments, from_files=True)


def without_texts(
    features: FloatArray,
    offsets: IntArray,
    feature_names: FeatureNames,
    sparse: SparseFeatures | None,
) -> NBest:
    """Return hypotheses of which nothing is known but their features; all texts are empty."""
    empty = Ragged(np.empty(0, dtype=np.int32), np.zeros(len(features) + 1, dtype=np.int64))
    scores = np.zeros(len(features))
    texts = Texts(Vocabulary(), empty)
    return NBest(texts, offsets, features, feature_names, scores, sparse)


def merge(lists: Sequence[NBest], *, notice: Callable[[str], None] | None = None) -> NBest:
    """Merge lists of the same segments: of equal hypotheses of a segment the first stays.

    Raises
    ------
    ValueError
        No list, lists with different vocabularies, or of different numbers of segments.
    InputError
        The lists have different features.
    """
    if not lists:
        raise ValueError("no n-best list given")
    vocabulary = lists[0].texts.vocabulary
    merger = _Merger(notice or _ignore)
    for number, nbest in enumerate(lists, 1):
        if nbest.texts.vocabulary is not vocabulary:
            raise ValueError(f"n-best list {number} has another vocabulary than list 1")
        if len(nbest) != len(lists[0]):
            raise ValueError(
                f"n-best list {number} has {len(nbest)} segments, list 1 has {len(lists[0])}"
            )
        merger.add(_as_list(nbest, f"n-best list {number}"))
    return merger.finish(vocabulary, len(lists[0]))


def model_scores(nbest: NBest, weights: FeatureWeights, *, origin: str = "weights") -> FloatArray:
    """Return (H,) weights . features; equal rows have scores equal to the last bit.

    A sparse feature without a weight has weight 0, as in Moses.

    Raises
    ------
    InputError
        A dense feature has no weight; `origin` names where the weights are from.
    """
    vector = weights.vector(nbest.feature_names, origin=origin)
    # Column by column: a matrix product may sum rows in different orders, and break ties.
    scores = np.zeros(len(nbest.features))
    for column, weight in enumerate(vector):
        scores += weight * nbest.features[:, column]
    if nbest.sparse is not None:
        by_column = np.array([weights.values.get(name, (0.0,))[0] for name in nbest.sparse.names])
        rows = np.repeat(np.arange(len(scores)), np.diff(nbest.sparse.offsets))
        products = by_column[nbest.sparse.columns] * nbest.sparse.values
        scores += np.bincount(rows, products, minlength=len(scores))
    return scores


def best_hypotheses(nbest: NBest, scores: FloatArray) -> IntArray:
    """Return (S,) rows with the highest score of each segment; of equal ones the first."""
    starts = nbest.offsets[:-1]
    highest = np.maximum.reduceat(scores, starts)
    is_best = np.flatnonzero(scores == np.repeat(highest, np.diff(nbest.offsets)))
    best: IntArray = is_best[np.searchsorted(is_best, starts)]
    return best


def check_links(nbest: NBest, source_lengths: NDArray[np.int32]) -> None:
    """Check that every link begins at a token of its source segment.

    Parameters
    ----------
    source_lengths : (S,) int32

    Raises
    ------
    InputError
        Source and list have different numbers of segments, or a link is out of range.
    """
    if len(source_lengths) != len(nbest):
        raise InputError(
            f"the source has {len(source_lengths)} segments, the n-best list has {len(nbest)}; "
            f"give the source of this list"
        )
    links = nbest.texts.links
    if links is None:
        return
    per_segment = links.offsets[nbest.offsets]
    limits = np.repeat(np.asarray(source_lengths), np.diff(per_segment))
    wrong = np.flatnonzero(links.values[per_segment[0] : per_segment[-1], 0] >= limits)
    if len(wrong):
        at = int(wrong[0] + per_segment[0])
        segment = int(np.searchsorted(per_segment, at, side="right")) - 1
        row = int(np.searchsorted(links.offsets, at, side="right")) - 1
        source, target = links.values[at]
        raise InputError(
            f"n-best list: segment {segment}, hypothesis {row - nbest.offsets[segment] + 1}: link "
            f"{source}-{target} is out of range, the source has {source_lengths[segment]} tokens; "
            f"is it the source of this list?"
        )


@dataclass(frozen=True)
class ScoreMismatch:
    """How far a list's model scores are from weights . features.

    Parameters
    ----------
    hypotheses, off : int
        Number of hypotheses; of those whose two scores differ by more than printed digits do.
    largest : float
        The largest difference; 0 if none is off.
    scale : float
        Model scores were compared with `scale` times weights . features.
    segment, hypothesis : int
        The first that is off (hypotheses of a segment count from 1); -1 if none is.
    expected, found : float
        Its scaled weights . features (plus the segment's offset, if allowed) and model score.
    """

    hypotheses: int
    off: int
    largest: float
    scale: float = 1.0
    segment: int = -1
    hypothesis: int = -1
    expected: float = math.nan
    found: float = math.nan

    def __str__(self) -> str:
        """One line for the user."""
        times = "" if self.scale == 1.0 else f" times {self.scale:.6g}"
        if not self.off:
            return f"model scores equal weights . features{times}"
        return (
            f"{self.off} of {self.hypotheses} model scores ({100 * self.off / self.hypotheses:.1f}"
            f"%) are not weights . features{times}, by up to {self.largest:.6g} (first: segment "
            f"{self.segment}, hypothesis {self.hypothesis}: the list says {self.found:.6g}, the "
            f"weights give {self.expected:.6g}); the decoder did not use these weights"
        )


def model_score_mismatch(
    nbest: NBest,
    weights: FeatureWeights,
    *,
    per_segment_offset: bool = False,
    digits: int = 6,
    origin: str = "weights",
) -> ScoreMismatch:
    """Compare the decoder's scores with weights . features.

    A positive factor is allowed for: mert-moses.pl hands Moses weights whose absolute values add
    to 1. It is the median ratio of the two scores, and taken where it explains more of them.

    Parameters
    ----------
    per_segment_offset : bool
        Allow the difference to be any number that is the same for all hypotheses of a segment:
        the median one is taken off. Such a constant moves no hypothesis above another. Moses'
        lists need it where words are unknown: the score has their penalty (-100 each), the
        features do not.
    digits : int
        Significant digits to which feature values, weights and scores were printed (Moses: 6);
        each of them may be off by half a unit of the last one.

    Raises
    ------
    InputError
        A dense feature has no weight.
    """
    found = nbest.model_scores
    expected = model_scores(nbest, weights, origin=origin)
    absolute = FeatureWeights({name: tuple(map(abs, v)) for name, v in weights.values.items()})
    sizes = model_scores(_absolute(nbest), absolute)
    half_unit = 0.5 * 10.0 ** (1 - digits)
    counts = np.diff(nbest.offsets)
    usable = expected != 0
    ratio = float(np.median(found[usable] / expected[usable])) if usable.any() else 1.0
    best: tuple[int, float, FloatArray, FloatArray] | None = None
    for scale in (1.0, ratio) if ratio > 0 and math.isfinite(ratio) else (1.0,):
        scaled = scale * expected
        # A product errs by half a unit for the value and one for the weight, the score for itself.
        tolerance = half_unit * (2 * scale * sizes + np.abs(found)) * 1.1 + 1e-9
        if scale != 1.0:
            tolerance *= 2  # the ratio errs as its hypothesis does
        if per_segment_offset:
            gaps = found - scaled
            order = np.lexsort((gaps, np.repeat(np.arange(len(nbest)), counts)))
            middle = nbest.offsets[:-1] + (counts - 1) // 2
            scaled += np.repeat(gaps[order[middle]], counts)
            tolerance *= 2  # the median errs as its hypothesis does
        off = int(np.count_nonzero(np.abs(found - scaled) > tolerance))
        if best is None or off < best[0]:
            best = off, scale, scaled, tolerance
    if best is None:
        raise AssertionError("the loop ran")
    _, scale, expected, tolerance = best
    difference = np.abs(found - expected)
    wrong = np.flatnonzero(difference > tolerance)
    if not len(wrong):
        return ScoreMismatch(len(found), 0, 0.0, scale)
    first = int(wrong[0])
    segment = int(np.searchsorted(nbest.offsets, first, side="right")) - 1
    return ScoreMismatch(
        hypotheses=len(found),
        off=len(wrong),
        largest=float(difference[wrong].max()),
        scale=scale,
        segment=segment,
        hypothesis=first - int(nbest.offsets[segment]) + 1,
        expected=float(expected[first]),
        found=float(found[first]),
    )


def write_nbest(nbest: NBest, path: Path | str, weights: FeatureWeights | None = None) -> None:
    """Write a Moses n-best list, whole or not at all; reading it gives `nbest` again.

    Numbers have as many digits as it takes to read the same float64. With `weights` the model
    scores are weights . features, not those of the list.

    Raises
    ------
    InputError
        A hypothesis has the token `|||`, or a dense feature has no weight.
    """
    words, bars = nbest.texts.vocabulary.words, "|||"
    forbidden = {token for token, word in enumerate(words) if word == bars}
    scores = nbest.model_scores if weights is None else model_scores(nbest, weights)
    # Few values are distinct, and printing a float is what takes the time.
    printed: dict[float, str] = {}
    with writing(path) as out:
        for segment in range(len(nbest)):
            lines = []
            for row in range(int(nbest.offsets[segment]), int(nbest.offsets[segment + 1])):
                tokens = nbest.texts.tokens.row(row).tolist()
                if forbidden and not forbidden.isdisjoint(tokens):
                    raise InputError(
                        f"{path}: segment {segment}: a hypothesis has the token |||, which "
                        f"separates fields; escape it"
                    )
                fields = [str(segment), " ".join([words[token] for token in tokens])]
                fields.append(_features_text(nbest, row, printed))
                fields.append(_shortest(float(scores[row])))
                if nbest.texts.links is not None:
                    links = nbest.texts.links.row(row).tolist()
                    fields.append(" ".join([f"{i}-{j}" for i, j in links]))
                lines.append(" ||| ".join(fields).rstrip() + "\n")
            out.write("".join(lines).encode("utf-8"))


def _ignore(_: str) -> None:
    """Say nothing."""


def _shortest(value: float) -> str:
    text = repr(value)
    return text.removesuffix(".0")


def _features_text(nbest: NBest, row: int, printed: dict[float, str]) -> str:
    parts, column = [], 0
    values = nbest.features[row].tolist()
    for value in values:
        # 0 and -0 are one key; which of them is printed first must not matter.
        if value not in printed:
            printed[value] = _shortest(value) if value else "0"
    for name, size in nbest.feature_names:
        parts.append(f"{name}=")
        parts.extend([printed[value] for value in values[column : column + size]])
        column += size
    sparse = nbest.sparse
    if sparse is not None:
        for entry in range(int(sparse.offsets[row]), int(sparse.offsets[row + 1])):
            name = sparse.names[sparse.columns[entry]]
            parts.append(f"{name}= {_shortest(float(sparse.values[entry]))}")
    return " ".join(parts)


def _absolute(nbest: NBest) -> NBest:
    """Return the list with all feature values made positive."""
    sparse = nbest.sparse
    if sparse is not None:
        sparse = replace(sparse, values=np.abs(sparse.values))
    return replace(nbest, features=np.abs(nbest.features), sparse=sparse)


class _Merger:
    """Brings lists to common columns and pools their hypotheses."""

    def __init__(self, notice: Callable[[str], None]) -> None:
        self._notice = notice
        self._pool = HypothesisPool(features=0)
        self._scores = np.empty(0)
        self._lines = np.empty(0, dtype=np.int64)
        self._sizes: list[int] = []
        self._absent_is_zero = True
        self._names: FeatureNames = ()
        self._sparse: dict[str, int] = {}
        self._linked: str | None = None
        self._unlinked: str | None = None
        self._first = ""
        self._lists = 0

    def add(self, new: ArrivedList) -> None:
        """Add a list."""
        self._lists += 1
        if not self._first:
            self._first, self._names = new.where, new.names
            self._pool = HypothesisPool(features=sum(size for _, size in new.names))
        self._absent_is_zero = self._absent_is_zero and new.absent_is_zero
        if self._absent_is_zero:
            new = self._with_all_columns(new)
        rows = self._aligned_columns(new)
        if new.has_links:
            self._linked = self._linked or new.where
        else:
            self._unlinked = self._unlinked or new.where
        if self._linked and self._unlinked:
            rows = _without_links(rows)
            if len(self._pool) and len(self._pool.rows.links):
                self._repool(_without_links(self._pool.rows))
        before = sum(self._sizes)
        self._sizes.append(len(rows.segments))
        lines = np.arange(before, before + len(rows.segments))
        self._append(rows, new.model_scores, lines)

    def finish(
        self, vocabulary: Vocabulary, segments: int | None, *, from_files: bool = False
    ) -> NBest:
        """Return everything that was added as one list."""
        rows, order = self._pool.finish()
        where = self._first if self._lists == 1 else "the n-best lists together"
        sizes = segment_sizes(rows.segments, segments, where)
        if self._linked and self._unlinked:
            self._notice(
                f"{self._unlinked} has no word alignment, {self._linked} has; metrics that need "
                f"links will not find them: leave out the lists without"
            )
        has_links = self._linked is not None and self._unlinked is None
        sparse = None
        if self._sparse:
            sparse = SparseFeatures(
                tuple(self._sparse), rows.sparse_offsets, rows.sparse_columns, rows.sparse_values
            )
        return NBest(
            texts=Texts(
                vocabulary,
                Ragged(rows.tokens, rows.token_offsets),
                Ragged(rows.links, rows.link_offsets) if has_links else None,
            ),
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            features=rows.features,
            feature_names=self._names,
            model_scores=self._scores[order],
            sparse=sparse,
            lines=self._lines[order] if from_files else None,
            list_sizes=tuple(self._sizes) if from_files else (),
        )

    def _append(self, rows: Rows, scores: FloatArray, lines: IntArray) -> None:
        new = self._pool.append(rows)
        self._scores = np.concatenate([self._scores, scores[new]])
        self._lines = np.concatenate([self._lines, lines[new]])

    def _repool(self, rows: Rows) -> None:
        """Start again with changed rows: some may be equal now."""
        scores, self._scores = self._scores, np.empty(0)
        lines, self._lines = self._lines, np.empty(0, dtype=np.int64)
        self._pool = HypothesisPool(features=rows.features.shape[1])
        self._append(rows, scores, lines)

    def _with_all_columns(self, new: ArrivedList) -> ArrivedList:
        """Give both sides the columns that only the other has, all 0: what is absent is 0."""
        mine, theirs = dict(self._names), dict(new.names)
        sparse = {*self._sparse, *new.sparse_names}
        lacking = tuple(item for item in new.names if item[0] not in mine | dict.fromkeys(sparse))
        if lacking:
            self._repool(_with_zeros(self._pool.rows, lacking))
            self._names = (*self._names, *lacking)
        lacking = tuple(
            item for item in self._names if item[0] not in theirs | dict.fromkeys(sparse)
        )
        if not lacking:
            return new
        return replace(new, rows=_with_zeros(new.rows, lacking), names=(*new.names, *lacking))

    def _aligned_columns(self, new: ArrivedList) -> Rows:
        """Return the rows of `new` with the columns of the pool; both may give up dense ones."""
        mine, theirs = dict(self._names), dict(new.names)
        for name, size in (*self._names, *new.names):
            if mine.get(name) == theirs.get(name):
                continue
            if name in mine and name in theirs:
                raise InputError(
                    f"{new.where}: feature {name} has {theirs[name]} values, in {self._first} it "
                    f"has {mine[name]}; lists that are merged must come from one model"
                )
            if ("_" not in name and not self._absent_is_zero) or size != 1:
                lacks, has = (new.where, self._first) if name in mine else (self._first, new.where)
                raise InputError(
                    f"{new.where}: {lacks} has no feature {name}, {has} has; lists that are "
                    f"merged must come from one model"
                )
        rows = new.rows
        if any(name not in theirs for name in mine):
            pooled, names, sparse = _sparse_columns(
                self._pool.rows, self._names, tuple(self._sparse), keep=theirs
            )
            self._names, self._sparse = names, {name: k for k, name in enumerate(sparse)}
            self._repool(pooled)
            mine = dict(names)
        names, sparse_names = new.names, new.sparse_names
        if any(name not in mine for name in theirs):
            rows, names, sparse_names = _sparse_columns(rows, names, sparse_names, keep=mine)
        if names != self._names:
            starts, at = {}, 0
            for name, size in names:
                starts[name] = at
                at += size
            columns = [starts[name] + k for name, size in self._names for k in range(size)]
            rows = rows._replace(features=np.ascontiguousarray(rows.features[:, columns]))
        renumbered = np.array(
            [self._sparse.setdefault(name, len(self._sparse)) for name in sparse_names],
            dtype=np.int32,
        )
        if not np.array_equal(renumbered, np.arange(len(renumbered))):
            rows = _renumbered(rows, renumbered)
        return rows


def _with_zeros(rows: Rows, names: FeatureNames) -> Rows:
    zeros = np.zeros((len(rows.segments), sum(size for _, size in names)))
    return rows._replace(features=np.ascontiguousarray(np.hstack([rows.features, zeros])))


def _without_links(rows: Rows) -> Rows:
    return rows._replace(
        links=np.empty((0, 2), dtype=np.int32), link_offsets=np.zeros_like(rows.link_offsets)
    )


def _sparse_columns(
    rows: Rows, names: FeatureNames, sparse_names: tuple[str, ...], *, keep: dict[str, int]
) -> tuple[Rows, FeatureNames, tuple[str, ...]]:
    """Make dense columns sparse that are not in `keep` (one value each)."""
    n, at = len(rows.segments), 0
    kept: list[int] = []
    moved: list[tuple[str, int]] = []
    for name, size in names:
        if name in keep:
            kept.extend(range(at, at + size))
        else:
            moved.append((name, at))
        at += size
    sparse_names = (*sparse_names, *(name for name, _ in moved))
    base = len(sparse_names) - len(moved)
    every = np.arange(n)
    lines = [np.repeat(every, np.diff(rows.sparse_offsets)), *([every] * len(moved))]
    columns = [rows.sparse_columns, *(np.full(n, base + k) for k in range(len(moved)))]
    values = [rows.sparse_values, *(rows.features[:, column] for _, column in moved)]
    rows = rows._replace(
        features=np.ascontiguousarray(rows.features[:, np.array(kept, dtype=np.int64)])
    )
    rows = with_sparse(
        rows, np.concatenate(lines), np.concatenate(columns), np.concatenate(values)
    )
    return rows, tuple(item for item in names if item[0] in keep), sparse_names


def _renumbered(rows: Rows, columns: TokenArray) -> Rows:
    """Give sparse columns new numbers."""
    lines = np.repeat(np.arange(len(rows.segments)), np.diff(rows.sparse_offsets))
    return with_sparse(rows, lines, columns[rows.sparse_columns], rows.sparse_values)


def _as_list(nbest: NBest, where: str) -> ArrivedList:
    """Return a list as the merger takes it."""
    features = np.ascontiguousarray(nbest.features) + 0.0  # no -0.0
    tokens, token_offsets = _from_zero(nbest.texts.tokens)
    rows = empty_rows(len(features), features=0, stats=0)._replace(
        segments=np.repeat(np.arange(len(nbest)), np.diff(nbest.offsets)),
        features=features,
        tokens=tokens,
        token_offsets=token_offsets,
    )
    if nbest.texts.links is not None:
        links, link_offsets = _from_zero(nbest.texts.links)
        rows = rows._replace(links=links, link_offsets=link_offsets)
    if nbest.sparse is not None:
        rows = rows._replace(
            sparse_columns=nbest.sparse.columns,
            sparse_values=nbest.sparse.values + 0.0,
            sparse_offsets=nbest.sparse.offsets,
        )
    return ArrivedList(
        rows=rows,
        model_scores=nbest.model_scores,
        names=nbest.feature_names,
        sparse_names=() if nbest.sparse is None else nbest.sparse.names,
        has_links=nbest.texts.links is not None,
        where=where,
    )


def _from_zero(ragged: Ragged) -> tuple[TokenArray, IntArray]:
    """Return the values of a ragged array, and offsets that begin at 0."""
    begin, end = int(ragged.offsets[0]), int(ragged.offsets[-1])
    values = np.ascontiguousarray(ragged.values[begin:end], dtype=np.int32)
    return values, ragged.offsets - begin
