"""Texts of the same segments in one order: joined by ids, or by the numbers of their lines.

A text has ids if it is a column of a file of records, `FILE#KEY` (see base/columns.py), or if its
lines begin with ids. Here texts are joined, and segments that one of them lacks are dropped or
refused; `api/segments.py` joins them with lists, text_checks.py reads their words.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from portmert.metrics._base import Texts

from ..base.columns import DROP, column_of, skipped, unordered
from ..base.errors import InputError, counted
from ..base.files import Lines, TextFile, called, each_line, file_digest, read_lines, text_digest
from ..base.warn import warn
from .forms import COMMENT, LinesById, TimedWords, cut_at_times, read_form

BYTE_ORDER_MARK = "\ufeff"
LINKS_LINE = re.compile(r"[ \t]*(?:[0-9]{1,9}-[0-9]{1,9}(?:[ \t]+|$))*")
_GOLD_LINKS = re.compile(r"[ \t]*(?:[0-9]{1,9}[-?p][0-9]{1,9}(?:[ \t]+|$))*")
_ID = re.compile(r"[0-9]{1,9}|(?=[^0-9]*[0-9])(?=.*[^\W0-9]|.*-).+")
"""A word that may be an id."""
_TRN = re.compile(r"(.*?)\s*\(([^\s()]*[0-9][^\s()]*)\)\s*")
"""A line of sclite's form: a text and the id in brackets."""
GOLD = "\x02m2"
"""What begins a row of gold edits."""
_FEW = 2
"""Lines that may begin with 0, 1 and so on by chance."""


def opened(text: TextFile, *, drop: bool = False) -> TextFile:
    """Return the lines of a column of a file, or of one with markup; other texts as they are.

    Lines have their ids, if the file has any.

    Parameters
    ----------
    drop
        Whether to leave out segments without an answer; the column must then have ids.

    Raises
    ------
    InputError
        The column has no text for a segment, or an id has two texts; says where.
    """
    if isinstance(text, Lines):
        return text
    column = column_of(text) if "#" in str(text) else None
    if column is None:
        return read_form(text)
    rows = [k for k in range(len(column.values)) if not (drop and k in column.reasons)]
    if column.ids is None:
        if len(rows) < len(column.values):
            raise column.lacking(next(iter(column.reasons)), "give the records ids")
        return Lines(column.where, map(column.text, rows))
    lines: dict[str, str] = {}
    places: dict[str, str] = {}
    for row in rows:
        name, line = column.ids[row], column.text(row)
        # Each hypothesis of a segment may carry the segment's reference.
        if lines.setdefault(name, line) != line:
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

    The words of CTM have their ids when they are joined with a text in STM.

    Raises
    ------
    InputError
        A line has no id, or an id stands twice.
    """
    where, text = called(path), opened(path)
    if isinstance(text, LinesById):
        return text
    lines: dict[str, str] = {}
    for number, (name, line) in enumerate(_cut_lines(text), 1):
        if not name:
            raise InputError(f"{where}:{number}: a blank line, expected an id and a text")
        if name in lines:
            raise InputError(
                f"{where}:{number}: id '{name}' stands twice, first in line "
                f"{list(lines).index(name) + 1}"
            )
        lines[name] = line
    if not lines:
        raise InputError(f"{where}: the file is empty; expected an id and a text a line")
    return LinesById(where, lines.values(), lines)


def _cut_lines(text: TextFile) -> Iterable[tuple[str, str]]:
    """Return the id and the text of each line.

    The id is the first word or, if all lines are like sclite's `text (id)`, what stands last.
    Lines of sclite may be comments.
    """
    lines = each_line(text)
    comments, first = [], next(lines, None)
    while first is not None and first.startswith(COMMENT):
        comments.append(first)
        first = next(lines, None)
    if first is None or not _TRN.fullmatch(first):
        return map(_cut, itertools.chain(comments, [] if first is None else [first], lines))
    whole = [first, *(line for line in lines if not line.startswith(COMMENT))]
    matches = map(_TRN.fullmatch, whole)
    trn = [(match[2], match[1]) for match in matches if match]
    return trn if len(trn) == len(whole) else map(_cut, whole)


def _cut(line: str) -> tuple[str, str]:
    """Return the first word of a line and the words after it."""
    first, *remaining = line.removeprefix(BYTE_ORDER_MARK).split(maxsplit=1) or [""]
    return first, remaining[0] if remaining else ""


def joined(
    texts: Sequence[TextFile], like: LinesById | None = None, *, drop: bool = False
) -> tuple[list[TextFile], tuple[str, ...] | None, tuple[str, ...]]:
    """Return texts of the same segments in one order, their ids, and the ids left out.

    Texts with ids are joined by them. Lines of other texts are joined by their numbers where the
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
    read = [cut_at_times(x, read) if isinstance(x, TimedWords) else x for x in read]
    with_ids = [text for text in (like, *read) if isinstance(text, LinesById)]  # like: no lines
    first = with_ids[0] if with_ids else None
    if first is None and len(texts) > 1:
        first = _first_with_ids_in_lines(read)
    if first is None:
        _check_columns([text for text in texts if "#" in str(text)])
        return read, None, ()
    by_id = [
        first if text is first else _in_case_of(_with_ids(text, first, given), first)
        for text, given in zip(read, texts, strict=True)
    ]
    ids = first.ids
    if drop:
        sets = [set(text.ids) for text in by_id]
        ids = tuple(name for name in ids if all(name in names for names in sets))
        if not ids:
            raise InputError(f"{first}: no segment is in all texts; are they of one text?")
    remaining = frozenset(ids)
    all_ids = dict.fromkeys(name for text in (first, *by_id) for name in text.all_ids)
    left_out = tuple(name for name in all_ids if name not in remaining)
    in_order: list[TextFile] = [_in_order(text, first, ids, drop=drop) for text in by_id]
    return in_order, ids, left_out


def _in_order(text: LinesById, first: LinesById, ids: tuple[str, ...], *, drop: bool) -> LinesById:
    """Return the lines of these ids in their order."""
    if text.ids == ids:
        return text
    places = {name: place for place, name in enumerate(text.ids)}
    order = [places[name] for name in ids] if drop else positions(ids, places, first, text)
    return LinesById(str(text), (text[place] for place in order), ids)


def _in_case_of(text: LinesById, first: LinesById) -> LinesById:
    """Return a text with ids in capitals and small letters as the first has them, as sclite does.

    They stay as they are if they differ otherwise too, or are not distinct without regard to case.
    """
    if text.ids == first.ids:
        return text
    of_others = {name.casefold(): name for name in first.all_ids}
    known = _in_small(text.ids)
    differing = [name for name in text.ids if of_others.get(name.casefold(), name) != name]
    if not differing or len(known) < len(text.ids) or len(of_others) < len(first.all_ids):
        return text
    pair = differing[0], of_others[differing[0].casefold()]
    warn(
        f"{text}: {counted(len(differing), 'id')} joined without regard to case ('{pair[0]}' with "
        f"'{pair[1]}' of {first})"
    )
    recased, all_recased = (
        [of_others.get(name.casefold(), name) for name in names]
        for names in (text.ids, text.all_ids)
    )
    return LinesById(str(text), text, recased, all_recased)


def with_empty_lines(text: TextFile, first: TextFile) -> TextFile:
    """Return hypotheses with ids, and an empty line for each segment that the references add.

    Raises
    ------
    InputError
        As `read_by_id`.
    """
    texts = read_by_id(text), read_by_id(first)
    if isinstance(texts[0], TimedWords):  # cut into all segments
        return texts[0]
    there = _in_case_of(*texts)
    names = set(there.ids)
    lacking = [name for name in texts[1].ids if name not in names]
    if lacking:
        number = counted(len(lacking), "segment")
        warn(f"{there}: no line for {number}, counted as empty; the first is '{lacking[0]}'")
    return LinesById(str(there), (*there, *[""] * len(lacking)), (*there.ids, *lacking))


def positions(
    ids: Sequence[str], places: Mapping[str, int], here: object, there: object
) -> list[int]:
    """Return the place of each of the ids in a text with the same ids.

    Parameters
    ----------
    places
        The place of each id of the text.
    here, there
        Names for messages: of what has the ids, and of the text.

    Raises
    ------
    InputError
        An id is on one side only.
    """
    for name, other_name, names, other_names in (
        (here, there, ids, places),
        (there, here, places, set(ids)),
    ):
        lacking = [segment for segment in names if segment not in other_names]
        if lacking:
            and_more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            raise InputError(
                f"{name}: id '{lacking[0]}'{and_more} not in {other_name} "
                f"({nearest(lacking[0], other_names)}); both must be of the same segments ({DROP})"
            )
    return [places[segment] for segment in ids]


def nearest(name: str, ids: Collection[str]) -> str:
    """Return advice for an id that is not among these: the nearest of them, or the first."""
    first_ids = sorted(ids)[:10_000]
    near = [other for other in ids if other.casefold() == name.casefold()]
    near = near or difflib.get_close_matches(name, first_ids, n=1)
    if near:
        return f"nearest: '{near[0]}'"
    return f"ids there: {', '.join(first_ids[:3])}{', ...' * (len(ids) > 3)}"


def seem_ids(text: TextFile) -> LinesById | None:
    """Return the lines of a text behind what look like ids; None if something else begins them.

    Every line begins with another word. All of them have a digit and a letter, hyphen or
    underscore, or they are the numbers of three or more lines, from 0 or 1. Half of the lines have
    words behind them. Word alignments, `0-0 1-2`, have none.
    """
    lines: dict[str, str] = {}
    for name, line in _cut_lines(text):  # most texts end this at their first line
        if name in lines or _ID.fullmatch(name) is None:
            return None
        lines[name] = line
    numbers = sorted(int(name) for name in lines if name.isdecimal())
    if numbers and numbers not in (list(range(len(lines))), list(range(1, len(lines) + 1))):
        return None
    few = _FEW if numbers else 1
    if len(lines) <= few or 2 * sum(map(bool, lines.values())) < len(lines):
        return None
    if all(_GOLD_LINKS.fullmatch(f"{name} {line}") for name, line in lines.items()):
        return None
    return LinesById(called(text), lines.values(), lines)


def _first_with_ids_in_lines(texts: Sequence[TextFile]) -> LinesById | None:
    """Return the first text whose lines begin with ids that begin those of another text too."""
    by_id = [None if is_gold(text) else seem_ids(text) for text in texts]
    for number, text in enumerate(by_id):
        if text is None:
            continue
        ids = _in_small(text.ids)
        candidates = [
            candidate for k, candidate in enumerate(by_id) if k != number and candidate is not None
        ]
        if any(
            2 * len(ids & _in_small(candidate.ids)) >= len(candidate.ids)
            for candidate in candidates
        ):
            return text
        warn_ids_alone(text, texts[0 if number else 1])
    return None


def _in_small(ids: Iterable[str]) -> set[str]:
    """Return ids without regard to case."""
    return {name.casefold() for name in ids}


def _check_columns(texts: Sequence[TextFile]) -> None:
    """Raise InputError if records of two files have the same ids under unusual keys."""
    columns = [column_of(text) for text in texts if not isinstance(text, Lines)]
    for column, other in itertools.permutations(filter(None, columns), 2):
        for words in other.words.values():
            if len(set(words)) == len(words):
                column.check_words(words)


def is_gold(text: TextFile) -> bool:
    """Return whether a file is one of gold edits, by its name."""
    return re.search(r"\.m2(?:\.(?:gz|bz2|xz|zst))?$", str(text)) is not None


def has_gold(references: Texts) -> bool:
    """Return whether references are rows of gold edits."""
    return bool(references.tokens.lengths[:1].any()) and references.words(0)[0] == GOLD


def warn_ids_alone(text: LinesById, text_without: TextFile) -> None:
    """Warn that one text alone has what looks like ids.

    Raises
    ------
    InputError
        They are many, and out of order.
    """
    if len(text.ids) > _FEW:
        check_order(text.ids, text, text_without)
    warn(
        f"{text}: each line has what looks like an id ('{text.ids[0]}'), those of "
        f"{called(text_without)} do not; here it counts as a word: take the ids away, or give "
        f"both sides ids"
    )


def warn_left_out(ids: Sequence[str], lack: str, reasons: Mapping[str, str] | None = None) -> None:
    """Say how many segments are left out, and the first of them."""
    reason = (reasons or {}).get(ids[0], f"nothing in {lack}")
    line = f"{counted(len(ids), 'segment')} left out; the first is '{ids[0]}': {reason}"
    warn(line, left_out=len(ids))


def begin_with_ids(text: TextFile, ids: Sequence[str]) -> bool:
    """Return whether lines have ids: half of them names, or all of them the numbers."""
    names = _in_small(ids)
    words = [word.casefold() for word, _ in _cut_lines(opened(text))]
    if all(name.isdecimal() for name in ids):
        return _FEW < len(ids) == len(list(filter(None, words))) and {*words} - {""} == names
    return 2 * sum(word in names for word in words) >= max(len(words), 1)


def check_order(ids: Sequence[str], text_with_ids: TextFile, text: TextFile) -> None:
    """Raise InputError if lines without ids would go with ids that are not in order."""
    column = None if isinstance(text, Lines) else column_of(text)
    if column is not None and column.ids is None:
        column.check_words(ids)
    if pair := unordered(ids):
        raise InputError(
            f"{called(text)}: no ids, and those of {called(text_with_ids)} are not in order "
            f"('{pair[0]}' stands before '{pair[1]}'), so line n need not be the n-th segment; "
            f"begin each line with its id, or name a column of a file with ids: FILE.jsonl#KEY, "
            f"FILE.tsv#COLUMN"
        )
    if pair := skipped(ids):
        warn(
            f"{called(text)}: no ids, and those of {called(text_with_ids)} skip some (after "
            f"'{pair[0]}' stands '{pair[1]}'): if it has lines of these, all later lines go with "
            f"the wrong segments; begin each line with its id"
        )


def check_lines(path: TextFile, lines: int, first: TextFile, expected: int) -> None:
    """Raise InputError if a file has more or fewer lines than the `first` one."""
    if lines != expected:
        raise InputError(
            f"{called(path)}: {counted(lines, 'line')}, but {called(first)} has {expected}; every "
            f"file must have one line a segment"
        )


def _with_ids(text: TextFile, first: LinesById, given: TextFile) -> LinesById:
    """Return a text with ids, which are the numbers of its lines if it has none.

    `given` is the text as the caller names it, a column for example.
    """
    if isinstance(text, LinesById):
        is_numbered = all(name == str(number) for number, name in enumerate(first.ids))
        if not is_numbered or not set(text.ids).isdisjoint(first.ids):
            return text
        check_order(text.ids, text, first)
        check_lines(text, len(text), first, len(first.ids))
        return LinesById(called(text), text, first.ids)
    lines = Lines(called(text), read_lines(text))
    if begin_with_ids(lines, first.ids):
        return read_by_id(lines)
    # There may be lines too for segments without an answer in the other text.
    ids = first.ids if len(lines) == len(first.ids) else first.all_ids
    check_order(ids, first, given)
    check_lines(text, len(lines), first, len(ids))
    return LinesById(called(text), lines, ids)
