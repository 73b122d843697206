"""Texts and word links from files, as the arrays that metrics read.

A text file has one segment a line; spaces or tabs separate tokens. A links file has the links of
one text a line, `0-0 1-2`: source and target positions, counted from 0. Lines may also begin with
the id of their segment, as in the `text` files of Kaldi. A text may also be a column of a file of
records, `FILE#KEY` (see base/columns.py). Texts that have ids are joined by them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from portmert.aligners._base import SUBTRACT, counts_from_one, warn_of_base
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

from ..base.columns import DROP, column_of, unordered
from ..base.errors import InputError, counted, shown
from ..base.files import (
    Lines,
    TextFile,
    called,
    each_line,
    file_digest,
    read_lines,
    text_digest,
)
from ..base.warn import warn

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
    lines = each_line(opened(path))
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
    lines = read_lines(opened(path))
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
    where, lines = called(path), read_lines(opened(path))
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
    linked = int(np.count_nonzero(counts))
    if outside := first_outside(pairs, rows, source_lengths, target_lengths):
        row, fault = outside
        from_one = f" ({SUBTRACT})" * counts_from_one(pairs, linked)
        raise InputError(f"{where}:{row + 1}: {fault}{from_one}")
    warn_of_base(pairs, linked, origin=where)
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
    drop: bool = False,
) -> References:
    """Read one or more reference files, with their source and their links.

    Texts that have ids are joined by them, in the order of the first that has any.

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
    drop
        Whether to leave out segments that are not in all texts.

    Raises
    ------
    InputError
        Files differ in length or ids, links have no source, or the number of links files is wrong.
    ValueError
        There is no reference file.
    """
    if not paths:
        raise ValueError("at least one reference file is needed")
    if any(map(is_gold, paths)):
        return _gold_with_source(paths, vocabulary, source, links)
    several = [*paths, *links, *([] if source is None else [source])]
    given, ids, left_out = joined(several, drop=drop)
    paths, links = given[: len(paths)], given[len(paths) : len(paths) + len(links)]
    source = None if source is None else given[-1]
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
        ids=ids,
        left_out=left_out,
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
    found = read_gold(paths[0], vocabulary)
    if source is not None:
        found = replace(found, source=read_source(source))
        check_lines(source, len(found.source or ()), paths[0], len(found))
    return found


def is_gold(path: TextFile) -> bool:
    """Return whether a file is one of gold edits, by its name."""
    return re.search(r"\.m2(?:\.(?:gz|bz2|xz|zst))?$", str(path)) is not None


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
    """The lines of a text behind their ids, the ids, and all ids: some may have no line."""

    ids: tuple[str, ...]
    every: tuple[str, ...]

    def __new__(
        cls,
        name: str,
        lines: Iterable[str],
        ids: Iterable[str] = (),
        every: Iterable[str] = (),
    ) -> Self:
        """Keep lines and ids, one id for each line."""
        found = super().__new__(cls, name, lines)
        found.ids = tuple(ids)
        found.every = tuple(every) or found.ids
        return found


def opened(text: TextFile, *, drop: bool = False) -> TextFile:
    """Return the lines of a column of a file, with their ids if it has any; other texts as is.

    Parameters
    ----------
    drop
        Whether to leave out segments without an answer; the column must then have ids.

    Raises
    ------
    InputError
        The column has no text for a segment, or an id has two texts; says where.
    """
    column = None if isinstance(text, Lines) else column_of(text)
    if column is None:
        return text
    rows = [k for k in range(len(column.values)) if not (drop and k in column.reasons)]
    if column.ids is None:
        if len(rows) < len(column.values):
            raise column.lacking(next(iter(column.reasons)), "give the records ids")
        return Lines(column.where, map(column.text, rows))
    lines: dict[str, str] = {}
    places: dict[str, str] = {}
    for row in rows:
        name, text = column.ids[row], column.text(row)
        # Each hypothesis of a segment may carry the segment's reference.
        if lines.setdefault(name, text) != text:
            raise InputError(
                f"{column.places[row]}: id '{name}' stands twice with different texts, first in "
                f"{places[name]}"
            )
        places.setdefault(name, column.places[row])
    return LinesById(column.where, lines.values(), lines, dict.fromkeys(column.ids))


def content_digest(path: Path) -> str:
    """Return a hash of a file; of a column, of the text file that has its lines."""
    text = opened(path)
    if isinstance(text, Lines):
        return text_digest("".join(f"{line}\n" for line in text))
    return file_digest(path)


def read_by_id(path: TextFile) -> LinesById:
    """Read a text with ids: a column of a file, or lines that begin with an id.

    Raises
    ------
    InputError
        A line has no id, or an id stands twice.
    """
    where, text = called(path), opened(path)
    if isinstance(text, LinesById):
        return text
    known: dict[str, str] = {}
    places: dict[str, int] = {}
    for number, line in enumerate(read_lines(text), 1):
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
    return LinesById(where, known.values(), known)


def joined(
    texts: Sequence[TextFile], like: LinesById | None = None, *, drop: bool = False
) -> tuple[list[TextFile], tuple[str, ...] | None, tuple[str, ...]]:
    """Return texts of the same segments in one order, their ids, and the ids left out.

    Texts with ids are joined by them. Lines of other texts are taken by their numbers where the
    ids are in order. Lines that begin with these ids have ids. If no text has ids of its own, the
    lines of two texts have them that `seem_ids` and are the same in both.

    Parameters
    ----------
    like
        Gives ids and order. Default: the first text with ids.
    drop
        Whether to leave out segments that are not in all texts.

    Raises
    ------
    InputError
        An id is not in all texts, or lines without ids go with ids that are not in order.
    """
    read = [opened(text, drop=drop) for text in texts]
    keyed_ones = (text for text in read if isinstance(text, LinesById))
    first = next(keyed_ones, None) if like is None else like
    first = _announced_by_none(read) if first is None else first
    if first is None:
        return read, None, ()
    keyed = [text if text is first else _with_ids(text, first) for text in read]
    ids = first.ids
    if drop:
        sets = [set(text.ids) for text in keyed]
        ids = tuple(name for name in ids if all(name in names for names in sets))
        if not ids:
            raise InputError(f"{first}: no segment is in all texts; are they of one text?")
    every = [name for text in (first, *keyed) for name in text.every]
    known = frozenset(ids)
    left_out = tuple(dict.fromkeys(name for name in every if name not in known))
    return [_taken(text, first, ids, drop=drop) for text in keyed], ids, left_out


def seem_ids(text: TextFile) -> LinesById | None:
    """Return the lines of a text behind what look like ids; None if something else begins them.

    Every line begins with another word. All of them have a digit and a letter, hyphen or
    underscore, or they are the numbers of three or more lines, from 0 or 1. Half of the lines have
    words behind them. Word alignments, `0-0 1-2`, have none.
    """
    texts: dict[str, str] = {}
    for line in each_line(text):  # most texts end this at their first line
        first, *rest = line.removeprefix(_BYTE_ORDER_MARK).split(maxsplit=1) or [""]
        if first in texts or _ID.fullmatch(first) is None:
            return None
        texts[first] = rest[0] if rest else ""
    numbers = [int(name) for name in texts if name.isdecimal()]
    if numbers and sorted(numbers) not in (
        list(range(len(texts))),
        list(range(1, len(texts) + 1)),
    ):
        return None
    few = _FEW if numbers else 1
    if len(texts) <= few or 2 * sum(map(bool, texts.values())) < len(texts):
        return None
    if all(_LINKS_LINE.fullmatch(f"{name} {rest}") for name, rest in texts.items()):
        return None
    return LinesById(called(text), texts.values(), texts)


_ID = re.compile(r"[0-9]{1,9}|(?=[^0-9]*[0-9])(?=.*[^\W0-9]|.*-).+")
"""A word that may be an id."""


def _announced_by_none(texts: Sequence[TextFile]) -> LinesById | None:
    """Return the first text whose lines begin with ids that begin those of another text too."""
    if len(texts) < 2:
        return None
    for number, text in enumerate(texts):
        found = None if is_gold(text) else seem_ids(text)
        if found is None:
            continue
        others = [other for k, other in enumerate(texts) if k != number]
        if any(_shares_ids(other, found.ids) for other in others):
            return found
        warn_ids_alone(found, others[0])
    return None


def _shares_ids(text: TextFile, ids: Sequence[str]) -> bool:
    """Return whether lines of a text begin with ids, of which half are these."""
    found = seem_ids(text)
    return found is not None and 2 * len(set(found.ids) & set(ids)) >= len(found.ids)


def warn_ids_alone(text: LinesById, other: TextFile) -> None:
    """Say that one text has what looks like ids in its lines; without order they are an error."""
    if len(text.ids) > _FEW:
        check_order(text.ids, text, other)
    warn(
        f"{text}: each line begins with what looks like an id ('{text.ids[0]}'), those of "
        f"{called(other)} do not; here it counts as a word: take the ids away, or give "
        f"both sides ids"
    )


def warn_left_out(ids: Sequence[str], lack: str, reasons: Mapping[str, str] | None = None) -> None:
    """Say how many segments are left out, and the first of them."""
    reason = (reasons or {}).get(ids[0], f"nothing in {lack}")
    line = f"{counted(len(ids), 'segment')} left out; the first is '{ids[0]}': {reason}"
    warn(line, left_out=len(ids))


def begin_with_ids(lines: Sequence[str], ids: Sequence[str]) -> bool:
    """Return whether lines begin with ids: half of them with names, or all with the numbers."""
    known, firsts = set(ids), [line.split(maxsplit=1)[:1] for line in lines]
    if all(name.isdecimal() for name in ids):
        numbers = [words[0] for words in firsts if words]
        return _FEW < len(ids) == len(numbers) and set(numbers) == known
    return 2 * sum(bool(words) and words[0] in known for words in firsts) >= max(len(firsts), 1)


_FEW = 2
"""Lines that may begin with 0, 1 and so on by chance."""


def check_order(ids: Sequence[str], whose: TextFile, text: TextFile) -> None:
    """Raise InputError if lines without ids would go with ids that are not in order."""
    if pair := unordered(ids):
        raise InputError(
            f"{called(text)} has no ids, and those of {called(whose)} are not in order "
            f"('{pair[0]}' stands before '{pair[1]}'), so line n need not be the n-th segment; "
            f"begin each line with its id, or name a column of a file with ids: FILE.jsonl#KEY, "
            f"FILE.tsv#COLUMN"
        )


def _with_ids(text: TextFile, first: LinesById) -> LinesById:
    """Return a text with ids, which are the numbers of its lines if it has none."""
    if isinstance(text, LinesById):
        if not _is_numbered(first) or text is first or not set(text.ids).isdisjoint(first.ids):
            return text
        check_order(text.ids, text, first)
        check_lines(text, len(text), first, len(first.ids))
        return LinesById(called(text), text, first.ids)
    lines = Lines(called(text), read_lines(text))
    if begin_with_ids(lines, first.ids):
        return read_by_id(lines)
    # Lines may stand for segments too that lack an answer in the other text.
    ids = first.ids if len(lines) == len(first.ids) else first.every
    check_order(ids, first, text)
    check_lines(text, len(lines), first, len(ids))
    return LinesById(called(text), lines, ids)


def _is_numbered(text: LinesById) -> bool:
    """Return whether the ids are the numbers of the lines, from 0."""
    return all(name == str(number) for number, name in enumerate(text.ids))


def _taken(text: LinesById, first: LinesById, ids: Sequence[str], *, drop: bool) -> LinesById:
    """Return the lines of these ids in their order."""
    if text.ids == ids:
        return text
    if not drop:
        known = frozenset(ids)
        for name in text.ids:
            if name not in known:
                raise InputError(f"{text}: id '{name}' is not in {first}; {DROP}")
    lines = dict(zip(text.ids, text, strict=True))
    for name in ids:
        if name not in lines:
            raise InputError(f"{text}: nothing for id '{name}' of {first}; {DROP}")
    return LinesById(str(text), (lines[name] for name in ids), ids)
