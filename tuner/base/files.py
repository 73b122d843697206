"""Files: compressed by suffix, written whole or not at all."""

import dataclasses
import errno
import fcntl
import hashlib
import io
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, TypeVar, cast

import portmert

from .compressed import COMPRESSED, DamagedError, expanding, suffix_of
from .errors import InputError, PortmertError, faults_at, innermost, reason
from .pipes import STDIN, standing

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")


LOCK = ".lock"
"""The file in a folder that the one run at work there has locked."""
_READ = 1 << 20
"""Bytes of a file read at once."""
_PART = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{8}\.part", re.DOTALL)
"""The name of a file that is being written."""


TextLike = Path | str | Sequence[str]
"""A text: the name of a file, or its lines."""


class Lines(tuple[str, ...]):  # noqa: SLOT001  it has a name
    """Lines in memory that stand for a text file; `str` gives the name used in messages."""

    name: str

    def __new__(cls, name: str, lines: Iterable[str]) -> Self:
        """Keep the lines of a text, none of which may hold a line end."""
        lines = super().__new__(cls, lines)
        for number, line in enumerate(lines, 1):
            if not isinstance(line, str) or "\n" in line:
                raise InputError(f"{name}:{number}: expected a line of text, found {line!r}")
        lines.name = name
        return lines

    def __str__(self) -> str:
        return self.name


def with_absolute_paths(record: Record) -> Record:
    """Return a record whose paths mean the same in another folder, or on another machine."""
    paths: dict[str, Any] = {}
    for item in dataclasses.fields(record):
        value = getattr(record, item.name)
        if isinstance(value, Path):
            paths[item.name] = absolute(value)
        elif isinstance(value, tuple) and any(isinstance(part, Path) for part in value):
            paths[item.name] = tuple(
                absolute(part) if isinstance(part, Path) else part for part in value
            )
    return dataclasses.replace(record, **paths)


def absolute(path: Path) -> Path:
    """Return a path that means the same in another folder; stdin, `-`, as it is."""
    return path if str(path) == STDIN else path.absolute()


TextFile = Path | str | Lines
"""Sources of texts."""


def shipped(name: str) -> Path:
    """Return the path of a file or folder of configs/ or docs/.

    They lie in the package; in a source tree by a link.
    """
    return Path(portmert.__file__).parent / name


def expanded(path: str) -> Path:
    """Return a path in which `~` and `~user` are a folder; InputError if there is no such user."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InputError(f"{path!r}: there is no such user, or it has no folder") from None


def called(path: TextFile) -> str:
    """Return the name of a file in messages: its path, or `stdin`."""
    return "stdin" if str(path) == "-" else str(path)


def without_dots(path: Path) -> Path:
    """Return the path without `..`, where that is the same file; links can make it another."""
    short = Path(os.path.normpath(path))
    return short if short.resolve() == path.resolve() else path


def read_bytes(path: Path | str) -> bytes:
    """Return the content of a file; `-` is stdin.

    A file is decompressed by its suffix (.gz, .bz2, .xz, .zst), stdin and pipes by how they begin.

    Raises
    ------
    InputError
        The file cannot be read, its compressed stream is damaged or cut off, or its name does not
        say that it is compressed.
    """
    try:
        return b"".join(reading(path))
    except MemoryError:
        raise InputError(f"{called(path)}: does not fit into memory") from None


def _check_name(path: Path | str, begin: bytes) -> None:
    """Raise InputError if content is compressed and the file's name does not say so."""
    suffix = suffix_of(begin)
    if suffix and Path(path).suffix not in COMPRESSED:
        raise InputError(f"{path}: is compressed; give it a name that ends in {suffix}")


def reading(path: Path | str) -> Iterator[bytes]:
    """Yield the content of a file piece by piece, decompressed by its suffix.

    Raises
    ------
    InputError
        As `read_bytes`.
    """
    whole = standing(path)
    with faults_at(called(path), (OSError, DamagedError), InputError), whole.open("rb") as file:
        begin = file.read(_READ)
        _check_name(whole, begin)
        blocks: Iterator[bytes] = chain([begin], iter(lambda: file.read(_READ), b""))
        if begin and whole.suffix in COMPRESSED:
            blocks = expanding(blocks, whole.suffix, os.fstat(file.fileno()).st_size)
        yield from blocks


def read_lines(path: TextFile) -> list[str]:
    r"""Return the lines of a UTF-8 text without their ends (`\n` or `\r\n`).

    Raises
    ------
    InputError
        As `read_bytes`, or a line is not UTF-8 (the message says which).
    """
    return list(each_line(path))


def each_line(path: TextFile) -> Iterator[str]:
    """Yield the lines of a text one by one, without holding all of a file.

    Raises
    ------
    InputError
        As `read_lines`.
    """
    if isinstance(path, Lines):
        yield from path
        return
    for number, line in enumerate(_byte_lines(path), 1):
        yield decode_line(line.removesuffix(b"\n").removesuffix(b"\r"), path, number)


def _byte_lines(path: Path | str) -> Iterator[bytes]:
    """Yield the lines of a file, a pipe or stdin, maybe compressed, maybe with their ends."""
    place = standing(path)
    if place.suffix in COMPRESSED:
        begun: list[bytes] = []  # of a line; in parts, as one may be endless
        for piece in reading(Path(path)):
            end, newline, remainder = piece.partition(b"\n")
            begun.append(end)
            if newline:
                *whole, last = remainder.split(b"\n")
                yield b"".join(begun)
                yield from whole
                begun = [last]
        if last := b"".join(begun):
            yield last
    else:
        with faults_at(called(path), OSError, InputError), place.open("rb") as file:
            yield from file


def stamps(paths: Iterable[Path | str]) -> tuple[tuple[int, int], ...]:
    """Return what tells whether files changed: time and size of each that is a file."""
    stats = [Path(path).stat() for path in paths if Path(path).is_file()]
    return tuple((stat.st_mtime_ns, stat.st_size) for stat in stats)


def text_digest(text: str) -> str:
    """Return the hash of a file that `write_text` makes."""
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"


def file_digest(path: Path) -> str:
    """Return a hash of what a file holds, as it lies there; of a folder, of all its files.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    if path.is_dir():
        names = sorted(file.relative_to(path) for file in path.rglob("*") if file.is_file())
        return text_digest("\n".join(f"{name} {file_digest(path / name)}" for name in names))
    with faults_at(called(path), OSError, InputError), standing(path).open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def decode_line(line: bytes, path: Path | str, number: int) -> str:
    """Decode one line, or say where its first wrong byte is."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        if number == 1:
            _check_name(path, line)
        raise InputError(
            f"{called(path)}:{number}: byte {line[error.start]:#04x} in column {error.start + 1} "
            f"is not UTF-8; "
            + ("give a text, not a binary file" if b"\0" in line else "convert the file to UTF-8")
        ) from None


@contextmanager
def writing(path: Path | str) -> Iterator[IO[bytes]]:
    """Open a binary file that takes the place of `path` when the block ends without an error.

    Compressed by its suffix (.gz, .bz2, .xz, .zst) with no time or name inside: the same content
    gives the same bytes. `-` is stdout. Whatever was at `path` stays untouched until the new file
    is complete and on disk; but a device or a pipe (/dev/null, `>(...)`) is written to, not
    replaced.

    Raises
    ------
    PortmertError
        The file cannot be written.
    """
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(path)
    is_stream = _is_stream(path)
    if path.is_symlink() and not is_stream:  # replace the file it points to, not the link
        path = resolved(path)
    try:
        if is_stream:
            with path.open("wb") as stream, _compressor(stream, path.suffix) as out:
                yield out
            return
        with _aside(path) as raw:
            with _compressor(raw, path.suffix) as out:
                yield out
            raw.flush()
    except OSError as error:
        if innermost(error)[1].partition(".")[0] not in {"", *sys.stdlib_module_names}:
            raise  # of a component of others, which makes what is written
        raise PortmertError(f"{path}: cannot write: {reason(error)}") from None


@contextmanager
def _aside(path: Path) -> Iterator[IO[bytes]]:
    """Open a file aside that takes the place of `path` when the block ends without an error."""
    clear_parts(path.parent, path.name)
    aside = raw = None
    while aside is None or raw is None or not aside.exists():
        # Another process may have cleared the last one before it was locked.
        if raw is not None:
            raw.close()
        aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        raw = aside.open("xb")
        with suppress(OSError):  # a disk without locks: then nothing is ever cleared there
            fcntl.flock(raw, fcntl.LOCK_EX)
    with raw:
        try:
            yield raw
            os.fsync(raw.fileno())
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)


def clear_parts(folder: Path, name: str | None = None) -> None:
    """Remove what killed processes were writing in a folder; living ones hold a lock.

    Parameters
    ----------
    name
        The name of the file or folder that was to be written; None: any.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = _PART.fullmatch(entry.name)
            if match is None or (name or match["name"]) != match["name"] or entry.is_symlink():
                continue
            with suppress(OSError):
                lock = os.open(entry.path, os.O_RDONLY)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if entry.is_dir():
                        shutil.rmtree(entry.path, ignore_errors=True)
                    else:
                        os.unlink(entry.path)  # noqa: PTH108
                finally:
                    os.close(lock)


@contextmanager
def locked(folder: Path, fault: PortmertError) -> Iterator[None]:
    """Keep other processes out of a folder, or raise the fault; a lock ends with its process.

    The file that is locked stays: to remove it would let two processes in.
    """
    with faults_at(f"{folder}: cannot write", OSError, PortmertError):
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        with suppress(OSError):  # a disk without locks
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise fault from None
        yield
    finally:
        os.close(lock)


def make_folder(path: Path) -> None:
    """Make a folder, with those above it, unless it is there.

    Raises
    ------
    PortmertError
        It cannot be made; says why.
    """
    with faults_at(f"{path}: cannot be made", OSError, PortmertError):
        resolved(path).mkdir(parents=True, exist_ok=True)


def check_writable(path: Path | str) -> None:
    """Raise PortmertError now if `path` could not be written later: before the work, not after.

    Nothing is left behind and nothing at `path` is touched.
    """
    if str(path) == "-":
        return
    path = Path(path)
    if _is_stream(path):
        if not os.access(path, os.W_OK):
            raise PortmertError(f"{path}: cannot write: no permission")
        return
    folder = resolved(path).parent
    if path.is_dir():
        raise PortmertError(f"{path}: cannot write: it is a folder, expected a file's name")
    if not folder.is_dir():
        raise PortmertError(f"{path}: cannot write: there is no folder {path.parent}; make it")
    if not os.access(folder, os.W_OK):
        raise PortmertError(f"{path}: cannot write: no permission to write in {path.parent}")


def resolved(path: Path) -> Path:
    """Return where symbolic links lead to; `PortmertError` if they form a loop."""
    try:
        path.stat()
    except OSError as error:  # of Python 3.13 and later, `resolve` tells of no loop
        if error.errno == errno.ELOOP:
            raise PortmertError(f"{path}: cannot write: {reason(error)}") from None
    return path.resolve()


def _is_stream(path: Path) -> bool:
    """Return whether there is something at `path` that has no content to keep."""
    return path.exists() and not path.is_file() and not path.is_dir()


def write_text(path: Path | str, text: str) -> None:
    """Write a whole UTF-8 text, see `writing`; names of files that are not UTF-8 get a `?`."""
    with writing(path) as out:
        out.write(text.encode("utf-8", "replace"))


def copy_file(source: Path, path: Path) -> None:
    """Copy a file byte by byte, whole or not at all.

    Raises
    ------
    PortmertError
        The file cannot be read or written.
    """
    fault = faults_at(f"{path}: cannot copy {source}", OSError, PortmertError)
    with fault, _aside(path) as out:
        out.write(standing(source).read_bytes())
        out.flush()


@contextmanager
def _compressor(raw: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    if suffix == ".gz":
        import gzip  # noqa: PLC0415

        # Writing keeps zlib: its output does not depend on the processor as isal's may.
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
            yield cast("IO[bytes]", packed)
    elif suffix == ".bz2":
        import bz2  # noqa: PLC0415

        with bz2.BZ2File(raw, "wb") as packed_bz2:
            yield cast("IO[bytes]", packed_bz2)
    elif suffix == ".xz":
        import lzma  # noqa: PLC0415

        with lzma.LZMAFile(raw, "wb") as packed_xz:
            yield packed_xz
    elif suffix == ".zst":
        import zstandard  # noqa: PLC0415

        with zstandard.ZstdCompressor(level=3, write_checksum=True).stream_writer(
            raw, closefd=False
        ) as packed_zst:
            yield cast("IO[bytes]", packed_zst)
    else:
        buffered = io.BufferedWriter(cast("io.RawIOBase", raw))
        yield cast("IO[bytes]", buffered)
        buffered.flush()
        buffered.detach()
