"""N-best lists: what is in them, as flat arrays; reading, merging and writing Moses' text form.

`NBest` is what every reader returns and every later step takes. A line of a list is

    id ||| hypothesis ||| Name0= v v name_x= v ||| score [||| segmentation] [||| word alignment]

Fields are separated by the token `|||`, tokens by ASCII white space.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from metrics._base import Ragged, Texts
from tuner import _nbest_kernels as kernels
from tuner._hypothesis_pool import HypothesisPool, empty_rows, segment_sizes
from tuner.errors import InputError
from tuner.files import read_bytes, writing
from tuner.weights import FeatureWeights, parse_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from metrics._base import FloatArray, IntArray, TokenArray, Vocabulary
    from tuner._hypothesis_pool import Rows
    from tuner._nbest_kernels import ByteArray
    from tuner.weights import FeatureNames

_SHOWN = 60
"""Characters of a faulty field that a message shows."""


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
    """

    texts: Texts
    offsets: IntArray
    features: FloatArray
    feature_names: FeatureNames
    model_scores: FloatArray
    sparse: SparseFeatures | None = None

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
) -> NBest:
    """Read Moses n-best lists and merge them: of equal hypotheses of a segment the first stays.

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

    Raises
    ------
    InputError
        A file is not what it should be; the message says where.
    """
    if not paths:
        raise ValueError("no n-best list given")
    merger = _Merger(notice or _ignore)
    for path in paths:
        merger.add(_read_list(path, vocabulary, segments, notice or _ignore))
    return merger.finish(vocabulary, segments)


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


@dataclass
class _List:
    """One list in order of arrival, with the names behind its columns.

    Parameters
    ----------
    rows : Rows
        Without statistics.
    model_scores : (n,) float64
    where : str
        What messages call it.
    """

    rows: Rows
    model_scores: FloatArray
    names: FeatureNames
    sparse_names: tuple[str, ...]
    has_links: bool
    where: str


class _Merger:
    """Brings lists to common columns and pools their hypotheses."""

    def __init__(self, notice: Callable[[str], None]) -> None:
        self._notice = notice
        self._pool = HypothesisPool(features=0)
        self._scores = np.empty(0)
        self._names: FeatureNames = ()
        self._sparse: dict[str, int] = {}
        self._linked: str | None = None
        self._unlinked: str | None = None
        self._first = ""
        self._lists = 0

    def add(self, new: _List) -> None:
        """Add a list."""
        self._lists += 1
        if not self._first:
            self._first, self._names = new.where, new.names
            self._pool = HypothesisPool(features=sum(size for _, size in new.names))
        rows = self._aligned_columns(new)
        if new.has_links:
            self._linked = self._linked or new.where
        else:
            self._unlinked = self._unlinked or new.where
        if self._linked and self._unlinked:
            rows = _without_links(rows)
            if len(self._pool) and len(self._pool.rows.links):
                self._repool(_without_links(self._pool.rows))
        self._append(rows, new.model_scores)

    def finish(self, vocabulary: Vocabulary, segments: int | None) -> NBest:
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
        )

    def _append(self, rows: Rows, scores: FloatArray) -> None:
        new = self._pool.append(rows)
        self._scores = np.concatenate([self._scores, scores[new]])

    def _repool(self, rows: Rows) -> None:
        """Start again with changed rows: some may be equal now."""
        scores, self._scores = self._scores, np.empty(0)
        self._pool = HypothesisPool(features=rows.features.shape[1])
        self._append(rows, scores)

    def _aligned_columns(self, new: _List) -> Rows:
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
            if "_" not in name or size != 1:
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


def _without_links(rows: Rows) -> Rows:
    return rows._replace(
        links=np.empty((0, 2), dtype=np.int32), link_offsets=np.zeros_like(rows.link_offsets)
    )


def _sparse_columns(
    rows: Rows, names: FeatureNames, sparse_names: tuple[str, ...], *, keep: dict[str, int]
) -> tuple[Rows, FeatureNames, tuple[str, ...]]:
    """Make dense columns sparse that are not in `keep` (one value each)."""
    n, kept, moved, at = len(rows.segments), [], [], 0
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
    rows = rows._replace(features=np.ascontiguousarray(rows.features[:, kept]))
    rows = _with_entries(
        rows, np.concatenate(lines), np.concatenate(columns), np.concatenate(values)
    )
    return rows, tuple(item for item in names if item[0] in keep), sparse_names


def _renumbered(rows: Rows, columns: TokenArray) -> Rows:
    """Give sparse columns new numbers."""
    lines = np.repeat(np.arange(len(rows.segments)), np.diff(rows.sparse_offsets))
    return _with_entries(rows, lines, columns[rows.sparse_columns], rows.sparse_values)


def _with_entries(
    rows: Rows, lines: IntArray, columns: NDArray[np.integer], values: FloatArray
) -> Rows:
    """Set the sparse entries, in any order."""
    order = np.lexsort((columns, lines))
    counts = np.bincount(lines, minlength=len(rows.segments))
    return rows._replace(
        sparse_columns=columns[order].astype(np.int32),
        sparse_values=np.ascontiguousarray(values[order], dtype=np.float64),
        sparse_offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
    )


def _as_list(nbest: NBest, where: str) -> _List:
    """Return a list as the merger takes it."""
    features = np.ascontiguousarray(nbest.features + 0.0)  # no -0.0
    rows = empty_rows(len(features), features=0, stats=0)._replace(
        segments=np.repeat(np.arange(len(nbest)), np.diff(nbest.offsets)),
        features=features,
        **_flat(nbest.texts.tokens, "tokens", "token_offsets"),
    )
    if nbest.texts.links is not None:
        rows = rows._replace(**_flat(nbest.texts.links, "links", "link_offsets"))
    if nbest.sparse is not None:
        rows = rows._replace(
            sparse_columns=nbest.sparse.columns,
            sparse_values=nbest.sparse.values + 0.0,
            sparse_offsets=nbest.sparse.offsets,
        )
    return _List(
        rows=rows,
        model_scores=nbest.model_scores,
        names=nbest.feature_names,
        sparse_names=() if nbest.sparse is None else nbest.sparse.names,
        has_links=nbest.texts.links is not None,
        where=where,
    )


def _flat(ragged: Ragged, values: str, offsets: str) -> dict[str, NDArray[np.integer]]:
    """Return a ragged array with offsets that begin at 0, under the names of `Rows`."""
    begin, end = int(ragged.offsets[0]), int(ragged.offsets[-1])
    return {
        values: np.ascontiguousarray(ragged.values[begin:end], dtype=np.int32),
        offsets: ragged.offsets - begin,
    }


def _read_list(
    path: Path | str,
    vocabulary: Vocabulary,
    segments: int | None,
    notice: Callable[[str], None],
) -> _List:
    """Read one file."""
    return _Reader(path, segments, notice).read(vocabulary)


class _Reader:
    """One file: its bytes, where its lines and fields are, and messages that name them."""

    def __init__(
        self, path: Path | str, segments: int | None, notice: Callable[[str], None]
    ) -> None:
        self.where = "stdin" if str(path) == "-" else str(path)
        self.data = read_bytes(path)
        self.notice = notice
        if not self.data:
            raise InputError(
                f"{self.where}: empty file, expected an n-best list; did the decoder fail?"
            )
        self.text: ByteArray = np.frombuffer(self.data, dtype=np.uint8)
        self.unended = not self.data.endswith(b"\n")
        lines = self.data.count(b"\n") + self.unended
        self.starts, counts, self.cuts, self.ids = kernels.split_lines(self.text, lines)
        self.fields = int(counts[0])
        self._check_counts(counts)
        self._check_ids(segments)
        if self.unended:
            notice(f"{self.where}: the last line has no line end; taken as complete")

    def read(self, vocabulary: Vocabulary) -> _List:
        """Parse all fields."""
        scores, features, names, sparse_names, entries = self._features()
        local, token_offsets, spans = kernels.intern_tokens(
            self.text, self.cuts, 1, self._most(1, shortest=2)
        )
        numbers = np.array([vocabulary.add(self._decoded(span)) for span in spans.tolist()])
        links, link_offsets, has_links = self._links(token_offsets)
        rows = empty_rows(len(self.ids), features=0, stats=0)._replace(
            segments=self.ids,
            tokens=numbers.astype(np.int32)[local] if len(numbers) else local,
            token_offsets=token_offsets,
            links=links,
            link_offsets=link_offsets,
            features=features,
        )
        if entries is not None:
            rows = _with_entries(rows, *entries)
        return _List(rows, scores, names, sparse_names, has_links, self.where)

    def fail(self, position: int, message: str) -> NoReturn:
        """Raise the error of the line that `position` is in."""
        line = int(np.searchsorted(self.starts, position, side="right"))
        line = min(line, len(self.starts) - 1)
        if self.unended and line == len(self.starts) - 1:
            message += "; the file ends in the middle of this line: is the list cut off?"
        raise InputError(f"{self.where}:{line}: {message}")

    def token(self, position: int) -> str:
        """Return the token at `position`, as far as a message shows it."""
        end = position
        while end < len(self.data) and not self.data[end : end + 1].isspace():
            end += 1
        return _shown(self.data[position:end])

    def field(self, line: int, column: int) -> bytes:
        """Return the bytes of a field."""
        begin, end = self.cuts[line, column]
        return self.data[begin:end]

    def _most(self, column: int, *, shortest: int) -> int:
        """Return an upper bound of the number of tokens in a column."""
        sizes = self.cuts[:, column, 1] - self.cuts[:, column, 0]
        return int(np.sum((sizes + shortest - 1) // shortest)) + 1

    def _decoded(self, span: list[int]) -> str:
        try:
            return self.data[span[0] : span[1]].decode("utf-8")
        except UnicodeDecodeError as error:
            at = span[0] + error.start
            line = int(np.searchsorted(self.starts, at, side="right"))
            self.fail(
                at,
                f"byte {self.data[at]:#04x} in column {at - int(self.starts[line - 1]) + 1} is "
                f"not UTF-8; convert the file to UTF-8",
            )

    def _check_counts(self, counts: IntArray) -> None:
        first = int(counts[0])
        valid = 4 <= first <= kernels.FIELDS
        wrong = np.flatnonzero(counts != first) if valid else np.array([0])
        if not len(wrong):
            return
        line, start = int(wrong[0]), int(self.starts[wrong[0]])
        count = int(counts[line])
        if not self.data[start : self.starts[line + 1]].strip():
            self.fail(start, "empty line, expected `id ||| hypothesis ||| features ||| score`")
        if count > 3 and b"=" not in self.field(line, 2):
            self._no_features(line)
        if valid:
            expected = f"line 1 has {first}"
        else:
            expected = (
                "expected 4 to 6: id, hypothesis, features, score, then maybe segmentation and "
                "word alignment"
            )
        self.fail(start, f"{count} field{'s' * (count != 1)} separated by |||, {expected}")

    def _no_features(self, line: int) -> NoReturn:
        self.fail(
            int(self.starts[line]),
            f"the third field is '{_shown(self.field(line, 2))}', expected features like "
            f"`LM0= -23.7`; is there a ||| inside the hypothesis? escape it",
        )

    def _check_ids(self, segments: int | None) -> None:
        wrong = np.flatnonzero(self.ids < 0)
        if len(wrong):
            found = _shown(self.field(int(wrong[0]), 0))
            if re.fullmatch(r"-\d+", found):
                problem = f"segment id {found} is negative; ids count from 0"
            elif re.fullmatch(r"\d+", found, re.ASCII):
                problem = f"segment id '{found}' is too large"
            else:
                problem = f"segment id '{found}' is not an integer; ids count from 0"
            self.fail(int(self.starts[wrong[0]]), problem)
        if segments is not None:
            wrong = np.flatnonzero(self.ids >= segments)
            if len(wrong):
                self.fail(
                    int(self.starts[wrong[0]]),
                    f"segment id {self.ids[wrong[0]]}, the references have {segments} segments, "
                    f"so ids are 0..{segments - 1}",
                )

    def _features(
        self,
    ) -> tuple[
        FloatArray,
        FloatArray,
        FeatureNames,
        tuple[str, ...],
        tuple[IntArray, IntArray, FloatArray] | None,
    ]:
        """Return scores, dense matrix, names, sparse names, and (lines, columns, values)."""
        code, position, scores, values, labels, offsets, spans, slow, same = (
            kernels.parse_features(self.text, self.cuts, self._most(2, shortest=2))
        )
        line = int(np.searchsorted(self.starts, position, side="right")) - 1
        if code == kernels.NO_LABEL:
            if not self.field(line, 2):
                self.fail(position, "no features (the third field is empty)")
            self._no_features(line)
        elif code == kernels.NO_VALUE:
            self.fail(position, f"feature {self.token(position).rstrip('=')} has no value")
        elif code == kernels.NO_NAME:
            self.fail(position, f"'{self.token(position)}' has no feature name before its =")
        elif code == kernels.TWICE:
            name = self.token(position).rpartition("=")[0]
            self.fail(position, f"feature {name} stands twice in this line")
        names = [self._decoded(span) for span in spans.tolist()]
        self._slow_numbers(slow, values, labels, scores, names)
        if same:
            width = int(offsets[1])
            sizes = np.bincount(labels[:width], minlength=len(names))
            dense = tuple((names[k], int(size)) for k, size in enumerate(sizes))
            return scores, values.reshape(-1, width), dense, (), None
        matrix, dense, sparse, entries = self._ragged_features(values, labels, offsets, names)
        return scores, matrix, dense, sparse, entries

    def _slow_numbers(
        self,
        slow: IntArray,
        values: FloatArray,
        labels: TokenArray,
        scores: FloatArray,
        names: list[str],
    ) -> None:
        """Parse what the kernel left to Python; `values` and `scores` are modified in place."""
        for index, begin, end in slow.tolist():
            token = self.data[begin:end]
            what = "the model score" if index < 0 else f"feature {names[labels[index]]}"
            if index < 0 and not token:
                self.fail(
                    int(self.starts[-1 - index]), "no model score (the fourth field is empty)"
                )
            value = parse_number(token.decode("utf-8", errors="replace"))
            if value is None:
                hint = ""
                if b"|" in token:
                    hint = "; fields are separated by ||| with white space around it"
                self.fail(begin, f"'{_shown(token)}' for {what} is not a number{hint}")
            if not math.isfinite(value):
                self.fail(begin, f"{what} is {_shown(token)}; values must be finite")
            if index < 0:
                scores[-1 - index] = value
            else:
                values[index] = value

    def _ragged_features(
        self, values: FloatArray, labels: TokenArray, offsets: IntArray, names: list[str]
    ) -> tuple[FloatArray, FeatureNames, tuple[str, ...], tuple[IntArray, IntArray, FloatArray]]:
        """Tell dense from sparse features where lines differ."""
        lines = len(offsets) - 1
        line_of = np.repeat(np.arange(lines), np.diff(offsets))
        begins = np.flatnonzero(
            np.concatenate([[True], (labels[1:] != labels[:-1]) | (line_of[1:] != line_of[:-1])])
        )
        sizes = np.diff(np.concatenate([begins, [len(values)]]))
        run_labels, run_lines = labels[begins], line_of[begins]
        occurrences = np.bincount(run_labels, minlength=len(names))
        _, first_runs = np.unique(run_labels, return_index=True)
        first_sizes = sizes[first_runs]
        other = np.flatnonzero(sizes != first_sizes[run_labels])
        if len(other):
            run = int(other[0])
            label = int(run_labels[run])
            self.fail(
                int(self.starts[run_lines[run]]),
                f"feature {names[label]} has {sizes[run]} values, line "
                f"{run_lines[first_runs[label]] + 1} has {first_sizes[label]}; is the list cut "
                f"off, or made by different models?",
            )
        is_dense = occurrences == lines
        for label in np.flatnonzero(~is_dense).tolist():
            having = run_lines[run_labels == label]
            if "_" not in names[label]:
                self._not_everywhere(names[label], having, lines)
            if first_sizes[label] != 1:
                self.fail(
                    int(self.starts[having[0]]),
                    f"sparse feature {names[label]} has {first_sizes[label]} values, expected 1 "
                    f"(it is sparse because other lines lack it)",
                )
        dense = tuple((name, int(first_sizes[k])) for k, name in enumerate(names) if is_dense[k])
        widths = np.where(is_dense, first_sizes, 0)
        columns = np.cumsum(widths) - widths
        within = np.arange(len(values)) - np.repeat(begins, sizes)
        chosen = is_dense[labels]
        matrix = np.empty((lines, int(widths.sum())))
        matrix[line_of[chosen], (columns[labels] + within)[chosen]] = values[chosen]
        sparse_columns = np.cumsum(~is_dense) - 1
        entries = (line_of[~chosen], sparse_columns[labels[~chosen]], values[~chosen])
        return matrix, dense, tuple(n for k, n in enumerate(names) if not is_dense[k]), entries

    def _not_everywhere(self, name: str, having: IntArray, lines: int) -> NoReturn:
        """Raise the error of a feature that only the lines `having` have."""
        if having[0] == 0:
            lacking = int(np.flatnonzero(~np.isin(np.arange(lines), having))[0])
            self.fail(int(self.starts[lacking]), f"feature {name} is missing, line 1 has it")
        self.fail(
            int(self.starts[having[0]]),
            f"unknown feature {name}, line 1 does not have it; only a feature with _ in its name "
            f"may be missing in some hypotheses (sparse)",
        )

    def _links(self, token_offsets: IntArray) -> tuple[TokenArray, IntArray, bool]:
        """Return links and offsets, and whether the list has any alignment."""
        alignment, segmentation = self._optional_columns()
        links = np.empty((0, 2), dtype=np.int32)
        offsets = np.zeros(len(self.ids) + 1, dtype=np.int64)
        if segmentation is not None:
            code, position, n, offsets = kernels.expand_segmentation(
                self.text, self.cuts, segmentation, token_offsets, links
            )
            self._check_positions(code, position, token_offsets)
            if alignment is None and n:
                links = np.empty((n, 2), dtype=np.int32)
                _, _, n, offsets = kernels.expand_segmentation(
                    self.text, self.cuts, segmentation, token_offsets, links
                )
                links = links[:n]
        if alignment is not None:
            code, position, links, offsets = kernels.parse_links(
                self.text, self.cuts, alignment, token_offsets, self._most(alignment, shortest=4)
            )
            self._check_positions(code, position, token_offsets)
        return links, offsets, alignment is not None or segmentation is not None

    def _check_positions(self, code: int, position: int, token_offsets: IntArray) -> None:
        """Raise the error of a fault in links or segmentation."""
        if code == kernels.OK:
            return
        found = self.token(position)
        if code == kernels.NOT_A_LINK:
            self.fail(
                position,
                f"'{found}' is not a link, expected source-target positions from 0 like 0-0",
            )
        if code == kernels.NOT_A_SPAN:
            self.fail(
                position,
                f"'{found}' is not a phrase pair, expected source=target spans like 0-1=0-2",
            )
        line = int(np.searchsorted(self.starts, position, side="right")) - 1
        length = int(token_offsets[line + 1] - token_offsets[line])
        self.fail(
            position,
            f"{found} is out of range, the hypothesis has {length} tokens (positions count from "
            f"0)",
        )

    def _optional_columns(self) -> tuple[int | None, int | None]:
        """Return which columns hold the word alignment and the phrase segmentation, by content.

        A phrase pair has a `=`. A column without any token is what the other one is not.
        """
        has_equals: dict[int, bool | None] = {}
        for column in range(4, self.fields):
            filled = np.flatnonzero(self.cuts[:, column, 1] > self.cuts[:, column, 0])
            has_equals[column] = None
            if len(filled):
                has_equals[column] = b"=" in self.field(int(filled[0]), column).split()[0]
        if self.fields == 4:
            return None, None
        if self.fields == 5:
            return (None, 4) if has_equals[4] else (4, None)
        fifth, sixth = has_equals[4], has_equals[5]
        if fifth is not None and fifth == sixth:
            kind = "phrase segmentations" if fifth else "word alignments"
            self.fail(0, f"fields 5 and 6 are both {kind}, expected one of each")
        return (4, 5) if fifth is False or sixth else (5, 4)


def _shown(found: bytes) -> str:
    """Return input as a message shows it."""
    text = found.decode("utf-8", errors="replace")
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
