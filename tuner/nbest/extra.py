"""Read numbers that belong to the hypotheses of n-best lists, from files of their own."""

import json
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from portmert.metrics._base import FloatArray, IntArray
from portmert.tuner.ground.documents import parse_json
from portmert.tuner.ground.errors import InputError, counted, faults_at, shown
from portmert.tuner.ground.files import each_line, read_lines
from portmert.tuner.ground.numbers import FINITE, LARGEST, bounded, parse_finite, parse_number
from portmert.tuner.ground.options import file_key
from portmert.tuner.nbest.model import NBest

_KEYED = re.compile(r"(\S+)-([1-9][0-9]{0,8})(?:[ \t]+(.*))?")
_COMET = re.compile(r"(.*)\tSegment ([0-9]{1,9})\tscore: (\S+)(?:\tvariance: \S+)?")

OF_ARRAYS = " of numbers or texts; is it cut off, or does it hold objects of Python?"
"""Ends what is said of a file that numpy cannot read: numpy speaks of its own inside."""


def numbers_of(
    nbest: NBest,
    files: Sequence[Path],
    *,
    where: str,
    notice: Callable[[str], None] = lambda _: None,
) -> FloatArray:
    """Return (H,) the number of each hypothesis, from one file for each of the lists' files.

    In a file with keys, `utt-3 -1.5` is the number of the third hypothesis of segment `utt`. One
    such file may be of all lists, if these have different segments.

    Parameters
    ----------
    where
        Begins the messages that are not about one file.
    notice
        Called with one line where a file has numbers of other segments.

    Raises
    ------
    InputError
        A file that cannot be read, another number of files or of numbers; says both.
    """
    _check_from_files(nbest, where)
    keyed = [read_keyed(file) for file in files if has_keys(file)]
    if keyed and len(keyed) == len(files) and len(files) in (1, len(nbest.list_sizes)):
        return _by_key(nbest, files, keyed, notice)
    found = _of_all(nbest, files, read_numbers, what="number", where=where)
    return np.concatenate(found)[nbest.lines]


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
    found = _of_all(nbest, files, _read_answers, what="answer", where=where)
    known: dict[str, int] = {"": -1}
    return np.array([known.setdefault(text, len(known)) for some in found for text in some])


def _check_from_files(nbest: NBest, where: str) -> None:
    if nbest.lines is None:
        raise InputError(f"{where}: these lists were not read from files")


def _of_all(
    nbest: NBest, files: Sequence[Path], read: Callable[[Path], Any], *, what: str, where: str
) -> list[Any]:
    """Return what each file has, one thing for each hypothesis of a list."""
    sizes = nbest.list_sizes
    if len(files) != len(sizes):
        raise InputError(
            f"{where}: {counted(len(files), 'file')} of {what}s for {len(sizes)} n-best lists; "
            f"give one for each, in the same order, with commas between them"
        )
    all_found = [read(file) for file in files]
    for number, (file, found, size) in enumerate(zip(files, all_found, sizes, strict=True), 1):
        if len(found) != size:
            raise InputError(
                f"{file}: {counted(len(found), what)}, n-best list {number} has "
                f"{counted(size, 'hypothesis')}; give one for each, in the order of the list"
            )
    return all_found


def _read_answers(path: Path) -> list[str]:
    """Return the answers of a file, one a line or of a key of JSON lines; "" for none."""
    file, key = file_key(path)
    found: list[Any] = []
    if key is not None:
        for number, item in _json_values(file, key):
            if isinstance(item, dict):
                text = shown(json.dumps(item, ensure_ascii=False))
                raise InputError(f"{file}:{number}: '{key}' is {text}, expected an answer")
            found.append(item)
    else:
        found.extend(read_lines(path))
    texts = ["" if item is None else str(item).strip() for item in found]
    numbers = [parse_number(text) for text in texts]
    return [
        text if number is None else repr(number)
        for text, number in zip(texts, numbers, strict=True)
    ]


def _by_key(
    nbest: NBest,
    files: Sequence[Path],
    found: Sequence[dict[str, float]],
    notice: Callable[[str], None],
) -> FloatArray:
    """Return (H,) the numbers that stand under the keys of the hypotheses."""
    assert nbest.lines is not None  # noqa: S101  the caller has seen to it
    ids = nbest.ids or tuple(map(str, range(len(nbest))))
    lists = np.searchsorted(np.cumsum(nbest.list_sizes), nbest.lines, side="right")
    segments = np.repeat(np.arange(len(nbest)), np.diff(nbest.offsets))
    if len(files) == 1:
        both = np.flatnonzero((np.diff(segments) == 0) & (np.diff(lists) != 0))
        if len(both):
            raise InputError(
                f"{files[0]}: several lists have hypotheses of {ids[segments[both[0]]]}; give a "
                f"file for each list, with commas between them"
            )
        lists, sizes = np.zeros_like(lists), [sum(nbest.list_sizes)]
    else:
        sizes = list(nbest.list_sizes)
    known = set(ids)
    for file, numbers, size in zip(files, found, sizes, strict=True):
        count = sum(key.rpartition("-")[0] in known for key in numbers)
        if count > size:
            raise InputError(
                f"{file}: {counted(count, 'number')} of segments of the lists, which have "
                f"{counted(size, 'hypothesis')} of them; is the list cut off?"
            )
        if count < len(numbers):
            notice(f"{file}: {counted(len(numbers) - count, 'number')} of other lists passed over")
    values = np.empty(len(segments))
    for row, (one, segment, rank) in enumerate(
        zip(lists.tolist(), segments.tolist(), nbest.ranks.tolist(), strict=True)
    ):
        values[row] = number_under(f"{ids[segment]}-{rank}", found[one], files[one], "the list")
    return values


def number_under(key: str, numbers: dict[str, float], file: Path | str, where: str) -> float:
    """Return the number under a key, or raise the error that a hypothesis has none."""
    if key not in numbers:
        some = ", ".join(list(numbers)[:3])
        raise InputError(
            f"{file}: nothing for {key}, which {where} has (found: {some}, ...); give the file of "
            f"this list (test lists: --test-nbest-format, --test-feature)"
        )
    return numbers[key]


def has_keys(path: Path | str) -> bool:
    """Return whether the first line of a text is a key and a number, as Kaldi writes them."""
    named = str(path)
    if named.endswith(".npy") or named == "-" or file_key(named)[1] is not None:
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
    known: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        match = _KEYED.fullmatch(line.strip(" "))
        if match is None:
            raise InputError(
                f"{where}:{number}: '{shown(line)}' does not begin with a key of a hypothesis, "
                f"like utt-1"
            )
        key = f"{match[1]}-{match[2]}"
        if key in known:
            raise InputError(f"{where}:{number}: {key} stands twice, first in line {known[key]}")
        known[key] = number
        yield number, key, match[3] or ""


def read_numbers(path: Path | str) -> FloatArray:
    """Return the (n,) finite numbers of a text, one a line, of a .npy file, or of JSON lines.

    The text may be what comet-score prints for one file of translations.

    `FILE#KEY` reads the values of a key of JSON lines: a dot leads into objects, all entries of a
    list are taken, and true is 1.

    Raises
    ------
    InputError
        The file cannot be read, or something in it is no finite number; says where.
    """
    if str(path).endswith(".npy"):
        return _read_npy(Path(path))
    file, key = file_key(path)
    if key is not None:
        return _read_json(file, key)
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


def _read_json(file: str, key: str) -> FloatArray:
    values: list[float] = []
    for number, item in _json_values(file, key):
        value = bounded(item) if isinstance(item, int | float) else math.nan
        if not math.isfinite(value):
            text = shown(json.dumps(item, ensure_ascii=False))
            raise InputError(f"{file}:{number}: '{key}' is {text}, expected a finite number")
        values.append(value)
    return np.array(values, dtype=np.float64)


def _json_values(file: str, key: str) -> Iterator[tuple[int, Any]]:
    """Yield the number of a line and a value of the key; dots lead into objects and lists."""
    for number, line in enumerate(read_lines(file), 1):
        try:
            found = [parse_json(line)]
        except ValueError as error:
            raise InputError(f"{file}:{number}: not JSON: {error}") from None
        for name in key.split("."):
            for item in found:
                if not isinstance(item, dict) or name not in item:
                    keys = ", ".join(sorted(item)[:8]) if isinstance(item, dict) else "no object"
                    raise InputError(
                        f"{file}:{number}: '{key}' is missing (keys found: {keys or 'none'})"
                    )
            below = [item[name] for item in found]
            found = [x for item in below for x in (item if isinstance(item, list) else [item])]
        for item in found:
            yield number, item


def _read_npy(path: Path) -> FloatArray:
    try:
        # Mapped: a header that tells of more numbers than there are asks for no memory. What
        # numpy warns of is how old a file is, which is no fault of it.
        with faults_at(path, OSError, InputError), warnings.catch_warnings(action="ignore"):
            found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OverflowError, TypeError, TokenError, SyntaxError):
        raise InputError(f"{path}: not what numpy.save writes{OF_ARRAYS}") from None
    if found.ndim != 1 or found.dtype.kind not in "fiu":
        raise InputError(
            f"{path}: an array of {found.dtype} and shape {found.shape}; expected one number for "
            f"each hypothesis, in one dimension"
        )
    values: FloatArray = found.astype(np.float64) + 0.0
    bad = np.flatnonzero(~(np.abs(values) <= LARGEST))
    if bad.size:
        raise InputError(f"{path}: number {bad[0] + 1} is {values[bad[0]]}, expected {FINITE}")
    return values
