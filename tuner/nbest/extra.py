"""Adds features to n-best lists: scores from files, one number a hypothesis, and lengths."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tuner.errors import ConfigError, InputError
from tuner.files import read_lines
from tuner.numbers import FINITE, LARGEST, parse_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metrics._base import FloatArray
    from tuner.nbest.model import NBest

LENGTH = "length"
"""The one feature that is computed: tokens of the hypothesis as it stands in the list."""


def with_features(nbest: NBest, specs: Sequence[str]) -> NBest:
    """Return lists with more features, behind those that they have.

    Parameters
    ----------
    specs
        `NAME=FILE`: one finite number for each hypothesis of the list, in its order, duplicates
        and all (of equal hypotheses the first one's counts); several lists, several files with
        commas between them. `-NAME=FILE` takes them times -1 and is called `-NAME`: for scores
        of which less is better. `length` is the number of tokens.

    Raises
    ------
    ConfigError
        A feature of no name or file, or one that the lists have.
    InputError
        A file that cannot be read, or another number of numbers; says both.
    """
    if not specs:
        return nbest
    known = {name for name, _ in nbest.feature_names}
    if nbest.sparse is not None:
        known.update(nbest.sparse.names)
    columns, names = [nbest.features], list(nbest.feature_names)
    for spec in specs:
        name, equals, files = spec.partition("=")
        if spec == LENGTH:
            column = nbest.texts.tokens.lengths.astype(np.float64)
        elif not equals or not name.strip("-") or not all(files.split(",")):
            raise ConfigError(f"--feature {spec}: expected NAME=FILE, or {LENGTH}")
        else:
            column = _column(nbest, spec, files.split(","))
            column = -column if name.startswith("-") else column
        if name in known or len(name.split()) != 1:
            what = "the lists have it already" if name in known else "a name is one word"
            raise ConfigError(f"--feature {spec}: there can be no feature '{name}': {what}")
        known.add(name)
        names.append((name, 1))
        columns.append(column[:, np.newaxis])
    features = np.asfortranarray(np.hstack(columns))
    return replace(nbest, features=features, feature_names=tuple(names))


def _column(nbest: NBest, spec: str, files: Sequence[str]) -> FloatArray:
    if nbest.lines is None:
        raise InputError(f"--feature {spec}: these lists were not read from files")
    sizes = nbest.list_sizes
    if len(files) != len(sizes):
        raise InputError(
            f"--feature {spec}: {len(files)} files of numbers for {len(sizes)} n-best lists; give "
            f"one for each, in the same order, with commas between them"
        )
    values = [read_numbers(file) for file in files]
    for number, (file, found, size) in enumerate(zip(files, values, sizes, strict=True), 1):
        if len(found) != size:
            raise InputError(
                f"{file}: {len(found)} numbers, n-best list {number} has {size} hypotheses; give "
                f"one for each, in the order of the list"
            )
    return np.concatenate(values)[nbest.lines]


def read_numbers(path: Path | str) -> FloatArray:
    """Return the (n,) finite numbers of a text, one a line, or of a .npy file.

    Raises
    ------
    InputError
        The file cannot be read, or something in it is no finite number; says where.
    """
    if str(path).endswith(".npy"):
        return _read_npy(Path(path))
    values = []
    for number, line in enumerate(read_lines(path), 1):
        value = parse_number(line.strip())
        if value is None or not math.isfinite(value):
            raise InputError(f"{path}:{number}: '{line[:60]}' is not a finite number")
        values.append(value)
    return np.array(values, dtype=np.float64)


def _read_npy(path: Path) -> FloatArray:
    try:
        found = np.load(path, allow_pickle=False)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"{path}: not what numpy.save writes: {error}") from None
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
