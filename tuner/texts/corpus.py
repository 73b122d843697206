"""Texts and word links from files, as the arrays that metrics read.

A text file has one segment a line; spaces or tabs separate tokens. A links file has the links of
one text a line, `0-0 1-2`: source and target positions, counted from 0. Lines may also begin with
the id of their segment, as in the `text` files of Kaldi.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import (
    Batch,
    IntArray,
    Ragged,
    Texts,
    Vocabulary,
    offsets_of,
    rows_taken,
)
from portmert.metrics._m2 import BARS, OR, gold_row
from portmert.tuner.ground.errors import InputError, counted, shown
from portmert.tuner.ground.files import Lines, TextFile, called, each_line, read_lines

IntegerArray = NDArray[np.signedinteger[Any]]

_LINKS_LINE = re.compile(r"[ \t]*(?:[0-9]{1,9}-[0-9]{1,9}(?:[ \t]+|$))*")
_LINK = re.compile(r"[0-9]{1,9}-[0-9]{1,9}")
_BYTE_ORDER_MARK = "\ufeff"


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
    """

    texts: Texts
    offsets: IntArray
    source_lengths: NDArray[np.int32] | None = None
    source: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, segments: Sequence[int]) -> References:
        """Return the references of some segments, in the given order."""
        order = np.asarray(segments, dtype=np.int64)
        rows, offsets = rows_taken(self.offsets, order)
        lengths = None if self.source_lengths is None else self.source_lengths[order]
        lines = None if self.source is None else tuple(self.source[s] for s in order)
        return References(self.texts.take(rows), offsets, lengths, lines)


def read_texts(path: TextFile, vocabulary: Vocabulary) -> Texts:
    """Read a text file; a line may be empty.

    Raises
    ------
    InputError
        The file cannot be read, is not UTF-8, or has no line.
    """
    lines = each_line(path)
    first = next(lines, None)
    if first is None:
        raise InputError(f"{called(path)}: the file is empty; expected one segment a line")
    whole = itertools.chain([first.removeprefix(_BYTE_ORDER_MARK)], lines)
    return Texts.from_lines(whole, vocabulary)


def read_source(path: TextFile) -> tuple[str, ...]:
    """Return the lines of a source text.

    Raises
    ------
    InputError
        As `read_texts`.
    """
    lines = read_lines(path)
    if not lines:
        raise InputError(f"{called(path)}: the file is empty; expected one segment a line")
    lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
    return tuple(lines)


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
    where, lines = called(path), read_lines(path)
    if len(lines) != len(source_lengths):
        raise InputError(
            f"{where}: {counted(len(lines), 'line')}, expected {len(source_lengths)}: the links "
            f"of one text a line, an empty line where there are none"
        )
    for number, line in enumerate(lines, 1):
        if _LINKS_LINE.fullmatch(line) is None:
            items = re.split(r"[ \t]+", line)
            wrong = next(item for item in items if item and _LINK.fullmatch(item) is None)
            raise InputError(
                f"{where}:{number}: '{wrong}' is not a link; expected source-target, as in 0-0 1-2"
            )
    counts = np.array([line.count("-") for line in lines], dtype=np.int64)
    joined = " ".join(lines).replace("-", " ")
    pairs = np.array(joined.split(), dtype=np.int32).reshape(-1, 2)
    rows = np.repeat(np.arange(len(lines)), counts)
    if outside := first_outside(pairs, rows, source_lengths, target_lengths):
        row, fault = outside
        raise InputError(f"{where}:{row + 1}: {fault}")
    return without_duplicates(pairs, rows, len(lines))


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
) -> References:
    """Read one or more reference files, with their source and their links.

    Parameters
    ----------
    paths
        Reference files, each with one line a segment.
    vocabulary
        The vocabulary of the hypotheses; it grows.
    source
        The source text.
    links
        No file, or one for each reference file.

    Raises
    ------
    InputError
        Files differ in length, links have no source, or the number of links files is wrong.
    ValueError
        There is no reference file.
    """
    if not paths:
        raise ValueError("at least one reference file is needed")
    if any(re.search(r"\.m2(?:\.(?:gz|bz2|xz|zst))?$", str(path)) for path in paths):
        if len(paths) > 1 or links:
            raise InputError(
                f"{paths[0]}: an M2 file has the edits of all annotators; it goes with no other "
                f"references and no links"
            )
        found = read_gold(paths[0], vocabulary)
        if source is not None:
            found = replace(found, source=read_source(source))
            check_lines(source, len(found.source or ()), paths[0], len(found))
        return found
    texts = [read_texts(path, vocabulary) for path in paths]
    segments = len(texts[0])
    for path, other in zip(paths, texts, strict=True):
        check_lines(path, len(other), paths[0], segments)
    source_lengths = lines = None
    if source is not None:
        lines = read_source(source)
        source_lengths = token_counts(lines)
        check_lines(source, len(lines), paths[0], segments)
    if links:
        if source_lengths is None:
            raise InputError(f"{links[0]}: links need the source text to be checked; give it too")
        if len(links) != len(paths):
            raise InputError(
                f"{counted(len(links), 'file')} of reference links for "
                f"{counted(len(paths), 'reference')}; give one for each, in the same order"
            )
        texts = [
            replace(
                text,
                links=read_links(
                    path, source_lengths=source_lengths, target_lengths=text.tokens.lengths
                ),
            )
            for text, path in zip(texts, links, strict=True)
        ]
    return References(
        texts=texts[0] if len(texts) == 1 else interleaved(concatenate(texts), len(texts)),
        offsets=np.arange(segments + 1, dtype=np.int64) * len(texts),
        source_lengths=source_lengths,
        source=lines,
    )


def read_gold(path: TextFile, vocabulary: Vocabulary) -> References:
    """Read the gold edits of an M2 file: a reference of each sentence for each annotator.

    Edits without a place (`noop`) are none; a sentence without annotators has one without edits.

    Raises
    ------
    InputError
        A line is none of M2, or an edit is outside its sentence; says where.
    """
    rows: list[str] = []
    sizes: list[int] = []
    words: list[str] = []
    edits: dict[str, list[tuple[int, int, list[str]]]] | None = None
    for number, line in enumerate([*read_lines(path), ""], 1):
        kind, _, rest = line.removeprefix(_BYTE_ORDER_MARK).partition(" ")
        if not line.strip():
            if edits is not None:
                several = list(edits.values()) or [[]]
                rows += [gold_row(words, one) for one in several]
                sizes.append(len(several))
            edits = None
        elif kind == "S" and edits is None:
            words, edits = [word.decode() for word in rest.encode().split()], {}
        elif kind == "A" and edits is not None:
            place, *fields = rest.split(BARS)
            match = re.fullmatch(r"(-?[0-9]{1,9}) (-?[0-9]{1,9})", place)
            if match is None or len(fields) != 5:
                raise InputError(
                    f"{called(path)}:{number}: '{shown(line)}' is no edit, expected "
                    f"`A 3 4|||type|||correction|||REQUIRED|||-NONE-|||0`"
                )
            first, last = int(match[1]), int(match[2])
            own = edits.setdefault(fields[-1].strip(), [])
            if fields[0] == "noop" or first < 0:
                continue
            if not first <= last <= len(words):
                raise InputError(
                    f"{called(path)}:{number}: positions {first} to {last}, the sentence has "
                    f"{counted(len(words), 'word')}"
                )
            texts = ["" if one == "-NONE-" else one.strip() for one in fields[1].split(OR)]
            own.append((first, last, texts))
        else:
            raise InputError(
                f"{called(path)}:{number}: '{shown(line)}', expected `S` and a sentence, then "
                f"lines `A` of its edits, then an empty line"
            )
    if not sizes:
        raise InputError(f"{called(path)}: no sentence; expected an M2 file")
    return References(Texts.from_lines(rows, vocabulary), offsets_of(sizes))


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
    texts: Texts, offsets: IntArray, references: References, *, lines: IntArray | None = None
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
    lines : (H,) int64, optional
        `NBest.lines` of the hypotheses, for scores from outside.

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
        lines=lines,
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
    new = np.array(
        [vocabulary.add(change(vocabulary.words[token])) for token in used], dtype=np.int32
    )
    return replace(texts, tokens=Ragged(new[inverse], texts.tokens.offsets))


def check_lines(path: TextFile, found: int, first: TextFile, expected: int) -> None:
    """Raise InputError if a file has more or fewer lines than the `first` one."""
    if found != expected:
        raise InputError(
            f"{called(path)}: {counted(found, 'line')}, but {called(first)} has {expected}; every "
            f"file must have one line a segment"
        )


def without_duplicates(pairs: NDArray[np.int32], rows: NDArray[np.int64], count: int) -> Ragged:
    """Return (V, 2) pairs of N rows, sorted in each row, and each once."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0], rows))
    pairs, rows = pairs[order], rows[order]
    new = np.ones(len(pairs), dtype=np.bool_)
    new[1:] = (rows[1:] != rows[:-1]) | (pairs[1:] != pairs[:-1]).any(axis=1)
    kept = np.bincount(rows[new], minlength=count)
    return Ragged(pairs[new], offsets_of(kept))


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


class LinesById(Lines):
    """The lines of a text behind their ids, and the ids."""

    ids: tuple[str, ...]

    def __new__(cls, name: str, lines: Iterable[str], ids: Iterable[str] = ()) -> Self:
        """Keep lines and ids, one id for each line."""
        found = super().__new__(cls, name, lines)
        found.ids = tuple(ids)
        return found


def read_by_id(path: TextFile, like: LinesById | None = None) -> LinesById:
    """Read a text with ids, in its own order or in the order of another text.

    Raises
    ------
    InputError
        A line has no id, an id stands twice, or is not in both texts.
    """
    where = called(path)
    known: dict[str, str] = {}
    places: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), 1):
        words = line.removeprefix(_BYTE_ORDER_MARK).split(maxsplit=1)
        if not words:
            raise InputError(f"{where}:{number}: a blank line, expected an id and a text")
        if words[0] in known:
            raise InputError(
                f"{where}:{number}: id '{words[0]}' stands twice, first in line {places[words[0]]}"
            )
        known[words[0]] = words[1] if len(words) > 1 else ""
        places[words[0]] = number
    if not known:
        raise InputError(f"{where}: the file is empty; expected an id and a text a line")
    if like is None:
        return LinesById(where, known.values(), known)
    ids = frozenset(like.ids)
    for name in known:
        if name not in ids:
            raise InputError(f"{where}:{places[name]}: id '{name}' is not in {like}")
    for name in like.ids:
        if name not in known:
            raise InputError(f"{where}: no line for id '{name}' of {like}")
    return LinesById(where, (known[name] for name in like.ids), like.ids)
