"""Texts and word links from files, as the arrays that metrics read.

A text file has one segment a line; spaces or tabs separate tokens. A links file has the links of
one text a line, `0-0 1-2`: source and target positions, counted from 0. For texts with ids see
joining.py.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from portmert.aligners._base import SUBTRACT, counts_from_one, link_lines, warn_of_base
from portmert.metrics._base import (
    Batch,
    FloatArray,
    IntArray,
    Ragged,
    Texts,
    Vocabulary,
    offsets_of,
    rows_taken,
)

from ..base.errors import InputError, counted
from ..base.files import TextFile, called, each_line, read_lines
from ..base.markup import without_markup
from ..base.warn import warn
from ..families import provided
from .forms import LinesById, TimedWords, alternatives, cut_at_times, lines_with_alternatives
from .joining import BYTE_ORDER_MARK, LINKS_LINE, check_lines, is_gold, joined, opened

IntegerArray = NDArray[np.signedinteger[Any]]

LEAST_ROWS = 3
"""Lines below which as many tabs in each say nothing."""
_LINK = re.compile(r"[0-9]{1,9}-[0-9]{1,9}")


@dataclass(frozen=True, eq=False)
class References:
    """The references of S segments.

    Parameters
    ----------
    texts : Texts
        All references of segment 0, then all of segment 1 and so on.
    offsets : (S + 1,) int64
        The references of segment s are `offsets[s]:offsets[s + 1]`.
    source_lengths : (S,) int32 or None
        Number of source tokens of each segment.
    source : tuple of str or None
        The source text of each segment.
    ids : tuple of str or None
        The id of each segment; None where no text has ids.
    left_out : tuple of str
        The ids of segments that were left out because a text lacks them.
    """

    texts: Texts
    offsets: IntArray
    source_lengths: NDArray[np.int32] | None = None
    source: tuple[str, ...] | None = None
    ids: tuple[str, ...] | None = None
    left_out: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, segments: Sequence[int]) -> References:
        """Return the references of some segments, in the given order."""
        order = np.asarray(segments, dtype=np.int64)
        rows, offsets = rows_taken(self.offsets, order)
        lengths = None if self.source_lengths is None else self.source_lengths[order]
        lines = None if self.source is None else tuple(self.source[s] for s in order)
        ids = None if self.ids is None else tuple(self.ids[s] for s in order)
        return References(self.texts.take(rows), offsets, lengths, lines, ids, self.left_out)


def read_texts(path: TextFile, vocabulary: Vocabulary) -> Texts:
    """Read a text file; a line may be empty.

    Raises
    ------
    InputError
        The file cannot be read, is not UTF-8, or has no line.
    """
    return Texts.from_lines(_lines(path), vocabulary)


def read_source(path: TextFile) -> tuple[str, ...]:
    """Return the lines of a source text, without Moses' markup.

    Raises
    ------
    InputError
        As `read_texts`.
    """
    return tuple(map(without_markup, _lines(path)))


def _lines(path: TextFile) -> Iterator[str]:
    """Yield the lines of a text, at least one."""
    text = opened(path)
    lines = each_line(text)
    first = next(lines, None)
    if first is None:
        raise InputError(f"{called(path)}: the file is empty; expected one segment a line")
    first = first.removeprefix(BYTE_ORDER_MARK)
    tabs = [first.count("\t")]
    yield first
    for line in lines:
        tabs.append(line.count("\t"))
        yield line
    if isinstance(text, TimedWords):
        cut_at_times(text, [])
    if len(tabs) >= LEAST_ROWS and min(tabs) == max(tabs) > 0:
        warn(
            f"{called(path)}: every line has {tabs[0] + 1} columns, separated by tabs, and all "
            f"are read as text: name one of them in a first line, and give FILE.tsv#COLUMN"
        )


def token_counts(lines: Sequence[str]) -> NDArray[np.int32]:
    """Return (N,) int32: the number of tokens in each line."""
    return np.array([len(line.encode().split()) for line in lines], dtype=np.int32)


def read_links(
    path: TextFile, *, source_lengths: IntegerArray, target_lengths: IntegerArray
) -> Ragged:
    """Read a links file; a line may be empty.

    Parameters
    ----------
    path
        One line for each text.
    source_lengths, target_lengths : (N,) integer
        Number of tokens on either side of each line.

    Returns
    -------
    Ragged
        N rows; `values` is (V, 2) int32, sorted and without duplicates within a row.

    Raises
    ------
    InputError
        The number of lines is wrong, an item is no link, or a link is outside its sentence.
    """
    where = called(path)
    lines = link_lines(read_lines(opened(path)), origin=where)
    if len(lines) != len(source_lengths):
        raise InputError(
            f"{where}: {counted(len(lines), 'line')}, expected {len(source_lengths)}: the links "
            f"of one text a line, an empty line where there are none"
        )
    for number, line in enumerate(lines, 1):
        if LINKS_LINE.fullmatch(line) is None:
            items = re.split(r"[ \t]+", line)
            wrong = next(item for item in items if item and _LINK.fullmatch(item) is None)
            raise InputError(
                f"{where}:{number}: '{wrong}' is not a link; expected source-target, as in 0-0 1-2"
            )
    counts = np.array([line.count("-") for line in lines], dtype=np.int64)
    joined = " ".join(lines).replace("-", " ")
    pairs = np.array(joined.split(), dtype=np.int32).reshape(-1, 2)
    rows = np.repeat(np.arange(len(lines)), counts)
    linked = int(np.count_nonzero(counts))
    if outside := first_outside(pairs, rows, source_lengths, target_lengths):
        row, fault = outside
        from_one = f" ({SUBTRACT})" * counts_from_one(pairs, linked)
        raise InputError(f"{where}:{row + 1}: {fault}{from_one}")
    warn_of_base(pairs, linked, origin=where)
    return without_duplicates(pairs, rows, len(lines))


def with_links(text: Texts, path: TextFile, source_lengths: IntegerArray | None) -> Texts:
    """Return a text with the links of a file; raises `InputError` as `read_links`."""
    if source_lengths is None:
        raise InputError(f"{path}: links need the source text to be checked; give it too")
    lengths = text.tokens.lengths
    links = read_links(path, source_lengths=source_lengths, target_lengths=lengths)
    return replace(text, links=links)


def first_outside(
    pairs: NDArray[np.int32],
    rows: IntArray,
    source_lengths: IntegerArray,
    target_lengths: IntegerArray,
    target: str = "target",
) -> tuple[int, str] | None:
    """Return the row of the first link outside its sentence, and a message; None if there is none.

    Parameters
    ----------
    pairs : (V, 2) int32
        The links of N texts.
    rows : (V,) int64
        The text of each link.
    source_lengths, target_lengths : (N,) integer
        Number of tokens on either side of each text.
    target
        The name of the target side in the message.
    """
    of_links = np.column_stack([source_lengths[rows], target_lengths[rows]])
    outside = (pairs < 0) | (pairs >= of_links)
    wrong = np.flatnonzero(outside.any(axis=1))
    if not wrong.size:
        return None
    first = wrong[0]
    column = int(outside[first].argmax())
    side, length = ("source", target)[column], int(of_links[first, column])
    i, j = pairs[first].tolist()
    allowed = f"{counted(length, 'token')}, so positions are 0..{length - 1}"
    has = f"has {allowed}" if length else "is empty, so it cannot have links"
    return int(rows[first]), f"link {i}-{j}: the {side} {has}"


def read_references(
    paths: Sequence[TextFile],
    *,
    vocabulary: Vocabulary,
    source: TextFile | None = None,
    links: Sequence[TextFile] = (),
    like: LinesById | None = None,
    drop: bool = False,
) -> References:
    """Read reference files, with their source and their links.

    Texts that have ids are joined by them, in the order of the first that has any.

    Parameters
    ----------
    paths
        Reference files, each with one line a segment. Without any there is a source, and the
        references are empty.
    vocabulary
        The vocabulary of the hypotheses; it grows.
    source
        The source text.
    links
        No file, or one for each reference file.
    like
        The ids that lines begin with, and their order.
    drop
        Whether to leave out segments that are not in all texts.

    Raises
    ------
    InputError
        Files differ in length or ids, links have no source, or the number of links files is wrong.
    ValueError
        There is no reference file and no source.
    """
    if not paths and source is None:
        raise ValueError("at least one reference file is needed")
    if any(map(is_gold, paths)):
        return _gold_with_source(paths, vocabulary, source, links)
    files = [*paths, *links, *([] if source is None else [source])]
    in_order, ids, left_out = joined(files, like, drop=drop)
    paths, links = in_order[: len(paths)], in_order[len(paths) : len(paths) + len(links)]
    texts = [read_texts(path, vocabulary) for path in paths]
    lines = None if source is None else read_source(in_order[-1])
    segments = len(texts[0] if texts else lines or ())
    for path, text in zip(paths[1:], texts[1:], strict=True):
        check_lines(path, len(text), paths[0], segments)
    source_lengths = None
    if lines is not None:
        source_lengths = token_counts(lines)
        check_lines(in_order[-1], len(lines), in_order[0], segments)
    if links and len(links) != len(paths):
        raise InputError(
            f"{counted(len(links), 'file')} of reference links for "
            f"{counted(len(paths), 'reference')}; give one for each, in the same order"
        )
    if links:
        pairs = zip(texts, links, strict=True)
        texts = [with_links(text, path, source_lengths) for text, path in pairs]
    first = texts[0] if texts else Texts.from_lines([], vocabulary)
    references = References(
        texts=interleaved(concatenate(texts), len(texts)) if len(texts) > 1 else first,
        offsets=np.arange(segments + 1, dtype=np.int64) * len(texts),
        source_lengths=source_lengths,
        source=lines,
        ids=ids,
        left_out=left_out,
    )
    return references if links else _with_alternatives(references, called(in_order[0]))


def _with_alternatives(references: References, where: str) -> References:
    """Return references with a text for each alternative `{ a / b }`: the best one counts."""
    texts = references.texts
    marked = lines_with_alternatives(texts)
    if not marked:
        return references
    variants = {row: alternatives(line, where) for row, line in marked.items()}
    lines = [variants.get(row) or [" ".join(texts.words(row))] for row in range(len(texts))]
    number = counted(len(variants), "reference")
    warn(f"{number} with alternatives `{{ a / b }}`, of which the best counts")
    ends = offsets_of([len(each) for each in lines])
    return replace(
        references,
        texts=Texts.from_lines(itertools.chain(*lines), texts.vocabulary),
        offsets=ends[references.offsets],
    )


def _gold_with_source(
    paths: Sequence[TextFile],
    vocabulary: Vocabulary,
    source: TextFile | None,
    links: Sequence[TextFile],
) -> References:
    if len(paths) > 1 or links:
        raise InputError(
            f"{paths[0]}: an M2 file has the edits of all annotators; it goes with no other "
            f"references and no links"
        )
    read_gold = provided("portmert.gold_edits", "m2")
    references: References = read_gold(paths[0], vocabulary)
    if source is None:
        return references
    lines = read_source(source)
    check_lines(source, len(lines), paths[0], len(references))
    return replace(references, source=lines)


def no_references(
    vocabulary: Vocabulary, segments: int, source: tuple[str, ...] | None = None
) -> References:
    """Return empty references, for a metric that reads none."""
    return References(
        texts=Texts.from_lines([], vocabulary),
        offsets=np.zeros(segments + 1, dtype=np.int64),
        source=source,
    )


def make_batch(
    texts: Texts,
    offsets: IntArray,
    references: References,
    *,
    outcomes: Mapping[str, FloatArray] | None = None,
) -> Batch:
    """Set hypotheses against their references.

    Parameters
    ----------
    texts : Texts
        H hypotheses, segment by segment, with the references' vocabulary.
    offsets : (S + 1,) int64
        Hypotheses of segment s are `offsets[s]:offsets[s + 1]`.
    references
        References of the same segments.
    outcomes : mapping, optional
        `NBest.outcomes` of the hypotheses.

    Raises
    ------
    InputError
        Hypotheses and references have different numbers of segments.
    ValueError
        They do not share one vocabulary.
    """
    if len(offsets) - 1 != len(references):
        raise InputError(
            f"the hypotheses have {counted(len(offsets) - 1, 'segment')}, the references "
            f"{len(references)}; both must be of the same text"
        )
    if texts.vocabulary is not references.texts.vocabulary:
        raise ValueError("hypotheses and references must share one vocabulary")
    return Batch(
        hypotheses=texts,
        offsets=np.ascontiguousarray(offsets, dtype=np.int64),
        references=references.texts,
        reference_offsets=references.offsets,
        source_lengths=references.source_lengths,
        outcomes=outcomes or {},
        source=references.source,
    )


def with_references(batch: Batch, numbers: Sequence[int]) -> Batch:
    """Return a batch with some of the references; every segment must have as many.

    Parameters
    ----------
    numbers
        The references of each segment to keep, counted from 0.
    """
    rows = batch.reference_offsets[:-1, np.newaxis] + np.asarray(numbers, dtype=np.int64)
    return Batch(
        batch.hypotheses,
        batch.offsets,
        batch.references.take(rows.ravel()),
        np.arange(len(batch) + 1, dtype=np.int64) * len(numbers),
        batch.source_lengths,
        source=batch.source,
    )


def with_words(texts: Texts, change: Callable[[str], str]) -> Texts:
    """Return the texts with every token changed, in the same vocabulary."""
    vocabulary = texts.vocabulary
    used, inverse = np.unique(texts.tokens.values, return_inverse=True)
    changed = np.array(
        [vocabulary.add(change(vocabulary.words[token])) for token in used], dtype=np.int32
    )
    return replace(texts, tokens=Ragged(changed[inverse], texts.tokens.offsets))


def without_duplicates(pairs: NDArray[np.int32], rows: NDArray[np.int64], count: int) -> Ragged:
    """Return (V, 2) pairs of N rows, sorted in each row, and each once."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0], rows))
    pairs, rows = pairs[order], rows[order]
    is_new = np.ones(len(pairs), dtype=np.bool_)
    is_new[1:] = (rows[1:] != rows[:-1]) | (pairs[1:] != pairs[:-1]).any(axis=1)
    sizes = np.bincount(rows[is_new], minlength=count)
    return Ragged(pairs[is_new], offsets_of(sizes))


def concatenate(texts: Sequence[Texts]) -> Texts:
    """Return texts of one vocabulary one after the other, with links if all have links."""
    links = [text.links for text in texts if text.links is not None]
    return Texts(
        texts[0].vocabulary,
        Ragged.joined([text.tokens for text in texts]),
        Ragged.joined(links) if len(links) == len(texts) else None,
    )


def interleaved(texts: Texts, count: int) -> Texts:
    """Return `count` texts of S rows, one after the other, as `count` rows for each segment."""
    # Row n * S + s becomes row s * count + n.
    return texts.take(np.arange(len(texts)).reshape(count, -1).T.ravel())
