"""Inputs that can be read only once: standard input and pipes.

Each is copied to a temporary file when it is first read. So it can be read again, for a digest or
by another part of the program, and the memory that it takes is that of a file. The copy's suffix
says how its content is compressed. Copies are kept as long as a command or a public function runs.
"""

import atexit
import os
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .compressed import suffix_of
from .errors import InputError, faults_at

STDIN = "-"
_ARRAY = b"\x93NUMPY"
"""What numpy.save writes begins so."""
_BEGIN = 16
"""Bytes that tell what content is."""


class _Copies:
    """The copies, and how many commands and functions, one inside another, keep them."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.depth = 0
        self.folder: Path | None = None
        self.files: dict[object, Path] = {}
        self.count = self.process = 0
        self.stdin: object = None

    def clear(self) -> None:
        """Remove all copies."""
        if self.folder is not None and self.process == os.getpid():  # not in a forked child
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder = None
        self.files.clear()

    def add(self, path: Path | str, key: object) -> Path:
        """Copy an input; return the copy."""
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="portmert-"))
            self.process = os.getpid()
        self.count += 1
        copy = self.folder / str(self.count) / ("stdin" if str(path) == STDIN else Path(path).name)
        copy.parent.mkdir()
        with faults_at(f"{path}: cannot be copied to {self.folder}", OSError, InputError):
            if str(path) != STDIN:
                with Path(path).open("rb") as source, copy.open("wb") as out:
                    shutil.copyfileobj(source, out)
            elif sys.stdin is not None:
                self.stdin = sys.stdin
                with copy.open("wb") as out:
                    shutil.copyfileobj(sys.stdin.buffer, out)
            with copy.open("rb") as file:
                begin = file.read(_BEGIN)
            suffix = ".npy" if begin.startswith(_ARRAY) else suffix_of(begin)
            self.files[key] = copy.rename(copy.with_name(f"{copy.name}{suffix}"))
        return self.files[key]


_COPIES = _Copies()
atexit.register(_COPIES.clear)


@contextmanager
def kept() -> Iterator[None]:
    """Keep what is read from stdin and pipes until the outermost of these blocks ends."""
    with _COPIES.lock:
        _COPIES.depth += 1
    try:
        yield
    finally:
        with _COPIES.lock:
            _COPIES.depth -= 1
            if not _COPIES.depth:
                _COPIES.clear()


def is_input(path: Path | str) -> bool:
    """Return whether a path is a file, a pipe or a device that can be read, or stdin."""
    return str(path) == STDIN or (Path(path).exists() and not Path(path).is_dir())


def standing(path: Path | str) -> Path:
    """Return a file that can be read many times: the copy of stdin or a pipe, or the path itself.

    Raises
    ------
    InputError
        It cannot be copied.
    """
    key: object = STDIN
    if str(path) != STDIN:
        with suppress(OSError, ValueError):
            status = Path(path).stat()
            if stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode):
                key = (status.st_dev, status.st_ino)
        if key == STDIN:
            return Path(path)
    with _COPIES.lock:
        # Outside of `kept`, a pipe of this name may be another one the next time.
        if not _COPIES.depth and (key != STDIN or _COPIES.stdin is not sys.stdin):
            _COPIES.files.pop(key, None)
        return _COPIES.files[key] if key in _COPIES.files else _COPIES.add(path, key)
