"""Reads the two sides of a bitext, plain, .gz, .xz or .zst."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from portmert.tuner.ground.compressed import DamagedError, expand
from portmert.tuner.ground.errors import AlignerError, counted


def read_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 text without their ends.

    Raises
    ------
    AlignerError
        The file cannot be read, its compressed stream is damaged, or a line is not UTF-8.
    """
    try:
        lines = expand(path.read_bytes(), path.suffix).split(b"\n")
    except DamagedError as error:
        raise AlignerError(f"{path}: {error}") from None
    except OSError as error:
        raise AlignerError(f"{path}: {error.strerror or error}") from None
    if lines[-1] == b"":
        lines.pop()
    texts = []
    for number, line in enumerate(lines, 1):
        try:
            texts.append(line.removesuffix(b"\r").decode("utf-8"))
        except UnicodeDecodeError as error:
            raise AlignerError(
                f"{path}:{number}: byte {line[error.start]:#04x} in column {error.start + 1} is "
                f"not UTF-8; convert the file to UTF-8"
            ) from None
    return texts


def read_bitext(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """Return the lines of both sides.

    Raises
    ------
    AlignerError
        As `read_lines`, or the sides differ in length.
    """
    left, right = read_lines(source), read_lines(target)
    if len(left) != len(right):
        raise AlignerError(
            f"{target}: {counted(len(right), 'line')}, {source} has {len(left)}; line n of one "
            f"must be the translation of line n of the other"
        )
    return left, right


def digest(lines: Sequence[str]) -> str:
    """Return a hash of a text, 32 hexadecimal digits."""
    content = hashlib.blake2b(digest_size=16)
    for line in lines:
        content.update(line.encode("utf-8"))
        content.update(b"\n")
    return content.hexdigest()
