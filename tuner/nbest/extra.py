"""Read numbers that belong to the hypotheses of n-best lists, from files of their own."""

import json
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from tokenize import TokenError

import numpy as np

from portmert.metrics._base import FloatArray
from portmert.tuner.ground.documents import parse_json
from portmert.tuner.ground.errors import InputError, counted, shown
from portmert.tuner.ground.files import read_lines
from portmert.tuner.ground.numbers import FINITE, LARGEST, bounded, parse_number
from portmert.tuner.nbest.model import NBest


def numbers_of(nbest: NBest, files: Sequence[Path], *, where: str) -> FloatArray:
    """Return (H,) the number of each hypothesis, from one file for each of the lists' files.

    Parameters
    ----------
    where
        Begins the messages that are not about one file.

    Raises
    ------
    InputError
        A file that cannot be read, another number of files or of numbers; says both.
    """
    if nbest.lines is None:
        raise InputError(f"{where}: these lists were not read from files")
    sizes = nbest.list_sizes
    if len(files) != len(sizes):
        raise InputError(
            f"{where}: {counted(len(files), 'file')} of numbers for {len(sizes)} n-best lists; "
            f"give one for each, in the same order, with commas between them"
        )
    values = [read_numbers(file) for file in files]
    for number, (file, found, size) in enumerate(zip(files, values, sizes, strict=True), 1):
        if len(found) != size:
            raise InputError(
                f"{file}: {counted(len(found), 'number')}, n-best list {number} has "
                f"{counted(size, 'hypothesis')}; give one for each, in the order of the list"
            )
    return np.concatenate(values)[nbest.lines]


def read_numbers(path: Path | str) -> FloatArray:
    """Return the (n,) finite numbers of a text, one a line, of a .npy file, or of JSON lines.

    `FILE#KEY` reads the values of a key of JSON lines: a dot leads into objects, all entries of a
    list are taken, and true is 1.

    Raises
    ------
    InputError
        The file cannot be read, or something in it is no finite number; says where.
    """
    if str(path).endswith(".npy"):
        return _read_npy(Path(path))
    file, sign, key = str(path).partition("#")
    if sign and not Path(path).exists():
        return _read_json(file, key)
    values = []
    for number, line in enumerate(read_lines(path), 1):
        value = parse_number(line.strip())
        if value is None or not math.isfinite(value):
            raise InputError(
                f"{path}:{number}: '{shown(line)}' is not a finite number of at most {LARGEST:g}"
            )
        values.append(value)
    return np.array(values, dtype=np.float64)


def _read_json(file: str, key: str) -> FloatArray:
    values: list[float] = []
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
            value = bounded(item) if isinstance(item, int | float) else math.nan
            if not math.isfinite(value):
                text = shown(json.dumps(item, ensure_ascii=False))
                raise InputError(f"{file}:{number}: '{key}' is {text}, expected a finite number")
            values.append(value)
    return np.array(values, dtype=np.float64)


def one_line(error: Exception) -> str:
    """Return what numpy says, without its advice on how to load a file that is trusted."""
    return str(error).partition("\n")[0].partition(". If you trust")[0]


def _read_npy(path: Path) -> FloatArray:
    try:
        # Mapped: a header that tells of more numbers than there are asks for no memory. What
        # numpy warns of is how old a file is, which is no fault of it.
        with warnings.catch_warnings(action="ignore"):
            found = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except (ValueError, EOFError, OverflowError, TypeError, TokenError, SyntaxError) as error:
        raise InputError(f"{path}: not what numpy.save writes: {one_line(error)}") from None
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
