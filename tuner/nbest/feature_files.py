"""Read numbers that belong to the hypotheses of n-best lists, from files of their own.

Numbers with keys, lines as `utt-3 -1.5` or a column of a file with ids, are joined by segment and
number of the hypothesis. Others are taken in the order of the lists.
"""

import json
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from portmert.metrics._base import FloatArray, IntArray

from ..base.columns import RecordColumn, column_of, unordered
from ..base.errors import InputError, counted, faults_at, shown
from ..base.files import each_line, read_lines
from ..base.numbers import FINITE, LARGEST, bounded, parse_finite, parse_number
from ..base.pipes import standing
from ..base.warn import notice
from .model import NBest

_KEYED = re.compile(r"(\S+)-([1-9][0-9]{0,8})(?:[ \t]+(.*))?")
_COMET = re.compile(r"(.*)\tSegment ([0-9]{1,9})\tscore: (\S+)(?:\tvariance: \S+)?")

OF_ARRAYS = " of numbers or texts; is it cut off, or does it hold objects of Python?"
"""Ends what is said of a file that numpy cannot read: numpy speaks of its own inside."""


Keyed = dict[str, dict[str, Any]]
"""Values of files by their keys: `utt-3` for the third hypothesis of segment `utt`; None for no
answer."""


def numbers_of(
    nbest: NBest, files: Sequence[Path], *, where: str, noun: str = "number", drop: bool = False
) -> FloatArray:
    """Return (L,) the number of each hypothesis, from one file for each of the lists' files.

    In a file with keys, `utt-3 -1.5` is the number of the third hypothesis of segment `utt`; so is
    a value of a column with ids. One such file may be of all lists, if these have different
    segments.

    Those of `nbest` are its `lines`; others are equal to one of them, and may have no number.

    Parameters
    ----------
    where, noun
        Begins the messages that are not about one file, and what these call a number.
    drop
        Whether NaN stands where a file has no number.

    Raises
    ------
    InputError
        A file that cannot be read, another number of files or of numbers; says both. Files without
        ids, for lists whose ids are not in order.
    """
    _check_from_files(nbest, where)
    keyed = _all_keyed(nbest, files, drop=drop)
    if keyed is not None:
        values = _by_key(nbest, keyed, drop=drop)
        return np.array([math.nan if x is None else x for x in values], dtype=np.float64)
    by_file = _of_all(nbest, files, read_numbers, noun=noun, where=where)
    for file, values in zip(files, by_file, strict=True):
        notice(f"{file}: {counted(len(values), noun)} taken in the order of the lists")
    return np.concatenate(by_file)


def answers_of(nbest: NBest, files: Sequence[Path], *, where: str) -> IntArray:
    """Return (L,) a number for the answer of each hypothesis of the lists' files; -1 for none.

    Equal hypotheses have answers too, as `NBest.in_files` counts them. Answers that are numbers
    are compared as numbers: 12 and 12.0 are equal. A blank line or null is no answer.

    Parameters
    ----------
    files, where
        See `numbers_of`. `FILE#KEY` reads JSON lines.

    Raises
    ------
    InputError
        As `numbers_of`.
    """
    _check_from_files(nbest, where)
    if keyed := _all_keyed(nbest, files, drop=True, read=_answer_in):
        answers = _by_key(nbest, keyed, drop=True)
    else:
        by_file = _of_all(nbest, files, _read_answers, noun="answer", where=where)
        answers = [answer for answers_of_file in by_file for answer in answers_of_file]
    numbers = {"": -1}
    return np.array([numbers.setdefault(answer or "", len(numbers)) for answer in answers])


def _check_from_files(nbest: NBest, where: str) -> None:
    if nbest.lines is None:
        raise InputError(f"{where}: these lists were not read from files")


def _of_all(
    nbest: NBest, files: Sequence[Path], read: Callable[[Path], Any], *, noun: str, where: str
) -> list[Any]:
    """Return what each file has, one thing for each hypothesis of a list."""
    sizes = nbest.list_sizes
    if len(files) != len(sizes):
        raise InputError(
            f"{where}: {counted(len(files), 'file')} of {noun}s for {len(sizes)} n-best lists; "
            f"give one for each, in the same order, with commas between them"
        )
    by_file = [read(file) for file in files]
    for number, (file, entries, size) in enumerate(zip(files, by_file, sizes, strict=True), 1):
        if len(entries) != size:
            raise InputError(
                f"{file}: {counted(len(entries), noun)}, n-best list {number} has "
                f"{counted(size, 'hypothesis')}; give one for each, in the order of the list"
            )
    return by_file


def _read_answers(path: Path) -> list[str]:
    """Return the answers of a file, one per line or of a column; "" for none."""
    column = column_of(path)
    if column is None:
        return [_answer(line) for line in read_lines(path)]
    return [_answer_in(column, k) for k in range(len(column.values))]


def _answer_in(column: RecordColumn, number: int) -> str:
    """Return an answer of a column; "" for none."""
    value = column.values[number]
    if isinstance(value, dict):
        text = shown(json.dumps(value, ensure_ascii=False))
        raise InputError(f"{column.places[number]}: '{column.key}' is {text}, expected an answer")
    return _answer("" if value is None else str(value))


def _answer(text: str) -> str:
    """Return an answer; answers that are equal numbers are the same text."""
    value = parse_number(text.strip())
    return text.strip() if value is None else repr(value)


def _number_in(column: RecordColumn, number: int) -> float | None:
    """Return a number of a column; None for none."""
    value = column.values[number]
    if value is None:
        return None
    if isinstance(value, str):  # of a table
        parsed = parse_finite(value.strip()) if column.is_table else None
    else:
        parsed = bounded(value) if isinstance(value, int | float) else None
    if parsed is None or not math.isfinite(parsed):
        text = shown(json.dumps(value, ensure_ascii=False))
        raise InputError(
            f"{column.places[number]}: '{column.key}' is {text}, expected a finite number"
        )
    return parsed


def _all_keyed(
    nbest: NBest,
    files: Sequence[Path],
    *,
    drop: bool,
    read: Callable[[RecordColumn, int], Any] = _number_in,
) -> Keyed | None:
    """Return the values of files by their keys; None if they are taken in the order of the lists.

    Raises
    ------
    InputError
        A file cannot be read, or has no ids where those of the lists are not in order, or the
        other way round.
    """
    columns = [column_of(file) for file in files]
    names = set(nbest.names)
    keyed: Keyed = {}
    for file, column in zip(files, columns, strict=True):
        if column is None:
            if read is _number_in and has_keys(file):
                keyed[str(file)] = read_keyed(file)
        elif column.ids is not None and (nbest.ids or not names.isdisjoint(column.ids)):
            needed = frozenset() if drop else names
            keyed[column.where] = _of_column(column, read, needed=needed)
    if len(keyed) == len(files) and keyed and len(files) in (1, len(nbest.list_sizes)):
        return keyed
    _check_places(nbest, files, columns)
    return None


def _check_places(
    nbest: NBest, files: Sequence[Path], columns: Sequence[RecordColumn | None]
) -> None:
    """Raise InputError if values may not be taken in the order of the lists."""
    if nbest.dropped is not None and len(files) == len(nbest.list_sizes):
        segments = np.split(nbest.in_files[0], np.cumsum(nbest.list_sizes)[:-1])
        for column, segments_of_lines in zip(columns, segments, strict=True):
            if column is not None and column.ids is None:
                column.check_words([nbest.names[segment] for segment in segments_of_lines])
    for file, column in zip(files, columns, strict=True):
        if column is not None and column.ids is not None:
            pair, whose = unordered(tuple(dict.fromkeys(column.ids))), f"{file}"
        else:
            pair, whose = unordered(nbest.ids or ()), "the n-best lists"
        if pair:
            raise InputError(
                f"{file}: only one side has ids, and those of {whose} are not in order "
                f"('{pair[0]}' stands before '{pair[1]}'), so line n need not be of the n-th "
                f"hypothesis; give numbers with the ids of the lists: FILE.jsonl#KEY, "
                f"FILE.tsv#COLUMN, or lines as `{(nbest.ids or ('0',))[0]}-1 -1.5`"
            )


def _of_column(
    column: RecordColumn,
    read: Callable[[RecordColumn, int], Any],
    *,
    needed: AbstractSet[str],
) -> dict[str, Any]:
    """Return the values of a column by segment and number of the hypothesis.

    Values without a number are those of the first, second ... hypothesis of their segment; then
    all values of a segment stand together. Those of the segments `needed` must be there.
    """
    assert column.ids is not None  # noqa: S101  the caller has seen to it
    values: dict[str, Any] = {}
    rows: dict[str, int] = {}
    counts: dict[str, int] = {}
    before = None
    for row, name in enumerate(column.ids):
        if column.ranks is None:
            if name in counts and name != before:
                raise InputError(
                    f"{column.places[row]}: id '{name}' stands in other lines above too, and no "
                    f"number tells which hypothesis each value is of; add a key 'index' (or name "
                    f"yours: FILE#{column.key}:ID:INDEX)"
                )
            counts[name] = counts.get(name, 0) + 1
            rank = counts[name]
        else:
            rank = column.ranks[row]
        before, key = name, f"{name}-{rank}"
        if key in rows:
            raise InputError(
                f"{column.places[row]}: hypothesis {rank} of id '{name}' stands twice, first in "
                f"{column.places[rows[key]]}"
            )
        rows[key] = row
        values[key] = read(column, row)
        if values[key] is None and name in needed:
            raise column.lacking(row)
    return values


def _by_key(nbest: NBest, keyed: Keyed, *, drop: bool) -> list[Any]:
    """Return (L,) values that stand under the keys of all hypotheses of the files; None for none.

    Hypotheses that are equal to others may lack one, all others only if `drop` says so.
    """
    ids, sizes = nbest.names, list(nbest.list_sizes)
    segments, ranks = nbest.in_files
    lists = np.repeat(np.arange(len(sizes)), sizes)
    if len(keyed) == 1:
        pairs = np.unique(np.column_stack([segments, lists]), axis=0)
        both = np.flatnonzero((np.diff(pairs[:, 0]) == 0) & (pairs[1:, 0] >= 0))
        if len(both):
            raise InputError(
                f"{next(iter(keyed))}: several lists have hypotheses of {ids[pairs[both[0], 0]]}; "
                f"give a file for each list, with commas between them"
            )
        lists, sizes = np.zeros_like(lists), [sum(sizes)]
    names = set(ids)
    for (where, by_key), size in zip(keyed.items(), sizes, strict=True):
        count = sum(key.rpartition("-")[0] in names for key in by_key)
        if count > size and not drop:
            raise InputError(
                f"{where}: {counted(count, 'number')} of segments of the lists, which have "
                f"{counted(size, 'hypothesis')} of them; is the list cut off?"
            )
        if count < len(by_key):
            of_others = counted(len(by_key) - count, "number")
            notice(f"{where}: {of_others} of other lists passed over")
    keys = [f"{ids[s]}-{rank}" for s, rank in zip(segments.tolist(), ranks.tolist(), strict=True)]
    sides, numbers = list(keyed.items()), lists.tolist()
    for line in [] if drop else np.asarray(nbest.lines).tolist():
        where, by_key = sides[numbers[line]]
        if keys[line] not in by_key:
            number_under(keys[line], by_key, where, "the list")
    return [sides[number][1].get(key) for number, key in zip(numbers, keys, strict=True)]


def number_under(key: str, numbers: dict[str, float], file: Path | str, where: str) -> float:
    """Return the number under a key, or raise the error that a hypothesis has none."""
    if key not in numbers:
        examples = ", ".join(list(numbers)[:3])
        raise InputError(
            f"{file}: nothing for {key}, which {where} has (found: {examples}, ...); give the "
            f"file of this list (test lists: --test-nbest-format, --test-feature)"
        )
    return numbers[key]


def has_keys(path: Path | str) -> bool:
    """Return whether the first line of a text is a key and a number, as Kaldi writes them."""
    name = str(path)
    if standing(name).suffix == ".npy":
        return False
    match = _KEYED.fullmatch(next(each_line(path), ""))
    return match is not None and match[3] is not None


def read_keyed(path: Path | str) -> dict[str, float]:
    """Return the finite numbers of lines `utt-1 -1.5`, by their keys.

    Raises
    ------
    InputError
        The file cannot be read, or a line is another one; says which.
    """
    numbers: dict[str, float] = {}
    for line, key, text in keyed_lines(read_lines(path), path):
        numbers[key] = plain_number(text, f"{path}:{line}")
    return numbers


def plain_number(text: str, where: str) -> float:
    """Return a finite number, maybe printed by PyTorch, or raise the error of a place."""
    match = re.fullmatch(r"tensor\(([^,()]*)(?:,[^()]*)?\)", text.strip())
    value = parse_number(match[1] if match else text.strip())
    if value is None:
        raise InputError(f"{where}: '{shown(text)}' for the value is not a number")
    if not math.isfinite(value):
        raise InputError(f"{where}: the value is {text}; values must be {FINITE}")
    return value


def keyed_lines(lines: Sequence[str], where: Path | str) -> Iterator[tuple[int, str, str]]:
    """Yield number from 1, key and rest of each line `utt-1 ...`."""
    first_lines: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        match = _KEYED.fullmatch(line.strip(" "))
        if match is None:
            raise InputError(
                f"{where}:{number}: '{shown(line)}' does not begin with a key of a hypothesis, "
                f"like utt-1"
            )
        key = f"{match[1]}-{match[2]}"
        if key in first_lines:
            raise InputError(
                f"{where}:{number}: {key} stands twice, first in line {first_lines[key]}"
            )
        first_lines[key] = number
        yield number, key, match[3] or ""


def read_numbers(path: Path | str) -> FloatArray:
    """Return the (n,) finite numbers of a text, one per line, of a .npy file, or of JSON lines.

    The text may be what comet-score prints for one file of translations.

    `FILE#KEY` reads a column: a dot leads into objects, all entries of a list are taken, and true
    is 1.

    Raises
    ------
    InputError
        The file cannot be read, or something in it is no finite number; says where.
    """
    if column := column_of(path):
        return _column_numbers(column)
    if standing(path).suffix == ".npy":
        return _read_npy(Path(path))
    values = []
    lines = read_lines(path)
    if lines and _COMET.fullmatch(lines[0]):
        lines = _of_comet(lines, path)
    for number, line in enumerate(lines, 1):
        value = parse_finite(line.strip())
        if value is None:
            raise InputError(
                f"{path}:{number}: '{shown(line)}' is not a finite number of at most {LARGEST:g}"
            )
        values.append(value)
    return np.array(values, dtype=np.float64)


def _of_comet(lines: Sequence[str], path: Path | str) -> list[str]:
    """Return the scores that comet-score has printed, without the mean of all, which is last."""
    scores: list[str] = []
    name = lines[0].partition("\t")[0]
    for number, line in enumerate(lines, 1):
        match = _COMET.fullmatch(line)
        if match is None or match[1] != name or int(match[2]) != len(scores):
            if scores and re.fullmatch(r"\tscore: \S+", line.removeprefix(name)):
                return scores
            raise InputError(
                f"{path}:{number}: '{shown(line)}', expected Segment {len(scores)} of {name}, as "
                f"comet-score prints it for one -t"
            )
        scores.append(match[3])
    raise InputError(
        f"{path}: the mean that comet-score prints last is missing; is the file cut off?"
    )


def _column_numbers(column: RecordColumn) -> FloatArray:
    values = [_number_in(column, k) for k in range(len(column.values))]
    for row, value in enumerate(values):
        if value is None:
            raise column.lacking(row, "every hypothesis needs a number")
    return np.array(values, dtype=np.float64)


def _read_npy(path: Path) -> FloatArray:
    try:
        # Mapped: a header that tells of more numbers than there are asks for no memory. What
        # numpy warns of is how old a file is, which is no fault of it.
        with faults_at(path, OSError, InputError), warnings.catch_warnings(action="ignore"):
            array = np.load(standing(path), mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OverflowError, TypeError, TokenError, SyntaxError):
        raise InputError(f"{path}: not what numpy.save writes{OF_ARRAYS}") from None
    if array.ndim != 1 or array.dtype.kind not in "fiu":
        raise InputError(
            f"{path}: an array of {array.dtype} and shape {array.shape}; expected one number for "
            f"each hypothesis, in one dimension"
        )
    values: FloatArray = array.astype(np.float64) + 0.0
    bad = np.flatnonzero(~(np.abs(values) <= LARGEST))
    if bad.size:
        raise InputError(f"{path}: number {bad[0] + 1} is {values[bad[0]]}, expected {FINITE}")
    return values
