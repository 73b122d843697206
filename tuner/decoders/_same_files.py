"""Tells whether the files of a model are the same on another machine."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from portmert.tuner.ground.errors import InputError, faults_at

READ = 1 << 16
"""Bytes at either end that tell a file: models are too large to be read for it."""

Prints = tuple[tuple["Path", str], ...]
"""Path and print of each file."""


def prints_of(paths: Iterable[Path]) -> Prints:
    """Return the print of each file; of a folder, of all that it holds."""
    files = {file.absolute() for path in paths for file in _files(path)}
    return tuple((file, _print(file)) for file in sorted(files))


@lru_cache(maxsize=8)
def check(prints: Prints) -> None:
    """Check that this machine has the same files.

    Raises
    ------
    InputError
        One of them is not there, or another one.
    """
    for path, expected in prints:
        if not path.is_file():
            raise InputError(
                f"{path}: there is no such file here; models must lie under the same paths on all "
                f"machines"
            )
        if _print(path) != expected:
            raise InputError(
                f"{path}: this machine has another file there than the one that gave the command; "
                f"models must be the same on all machines"
            )


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (file for file in path.rglob("*") if file.is_file() and file.name[0] != ".")
    elif path.is_file():
        yield path


def _print(path: Path) -> str:
    """Return the size of a file and a hash of its two ends."""
    with faults_at(path, OSError, InputError), path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        ends = file.read(READ)
        file.seek(max(0, size - READ))
        ends += file.read(READ)
    return f"{size} {hashlib.sha256(ends).hexdigest()}"
