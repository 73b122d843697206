"""The cache of annotators' answers: one SQLite file that several processes may use at once.

A record is bytes. It is found by its kind (the layer, and all that the annotator's answers depend
on) and by the tokens of the sentence; see `annotation.records`. The file is a cache and nothing
else: if it is damaged or of another version it is set aside, with a notice, and made anew.
"""

import errno
import hashlib
import os
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..base.errors import ConfigError
from ..base.files import expanded
from ..base.warn import warn_of_machine

Row = tuple[bytes, Mapping[str, bytes]]
"""The key of a sentence, and its record for each layer."""

FILE = "annotations.sqlite3"
FOLDER_VARIABLE = "PORTMERT_CACHE"
SIZE_VARIABLE = "PORTMERT_CACHE_SIZE"
DEFAULT_SIZE = 4 << 30
_SUFFIXES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

VERSION = 0x504D0004  # "PM" and a number: a file of portmert
"""Raised with every change that fingerprints do not show: of the tables, of the records, of the
input of annotators, of what is made of their answers."""
_TABLES = """
CREATE TABLE kinds (id INTEGER PRIMARY KEY, annotator TEXT, layer TEXT, UNIQUE (annotator, layer));
CREATE TABLE records (
    age INTEGER PRIMARY KEY, kind INTEGER, sentence BLOB, record BLOB, UNIQUE (kind, sentence)
);
"""
WAIT_SECONDS = 120
"""How long to wait while another process writes."""
PER_QUERY = 500
"""Keys in one query; with more it is no faster."""
ROOM = 0.75
"""How full the file is after old records are deleted, as a share of the limit. The file is then
rewritten, and that should be rare."""
_DAMAGE = (sqlite3.DatabaseError, zlib.error, TypeError, UnicodeDecodeError)
"""What a damaged file raises: it may hold numbers in place of records, and texts of any bytes."""


def default_folder() -> Path:
    """Return the folder of the cache: PORTMERT_CACHE, or the user's folder for caches."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder:
        return expanded(folder)
    from platformdirs import user_cache_path  # noqa: PLC0415  start-up time

    return user_cache_path("portmert", appauthor=False)


def size_limit() -> int:
    """Return the most bytes of the file: PORTMERT_CACHE_SIZE, as 500M or 2G, or else 4 GiB.

    Raises
    ------
    ConfigError
        The variable is not a size.
    """
    text = os.environ.get(SIZE_VARIABLE, "").strip()
    if not text:
        return DEFAULT_SIZE
    match = re.fullmatch(r"([0-9]{1,15})([KMGT]?)(?:i?B)?", text, re.IGNORECASE)
    if match is None:
        raise ConfigError(f"{SIZE_VARIABLE} is '{text}', expected a size as 500M or 2G")
    return int(match[1]) * _SUFFIXES[match[2].upper()]


def line_key(line: str) -> bytes:
    """Return the key of a sentence whose words are joined by spaces."""
    return hashlib.blake2b(line.encode(), digest_size=16).digest()


class AnnotationCache:
    """The records of one annotator.

    Parameters
    ----------
    folder
        The folder of the file. None: records are in memory, as long as this object lives.
    annotator
        The annotator's fingerprint.
    """

    def __init__(self, folder: Path | None, annotator: str) -> None:
        self._annotator = annotator
        self._limit = size_limit()
        self._path = None if folder is None else folder / FILE
        self._database: sqlite3.Connection
        self._open()

    def get(self, layers: Sequence[str], keys: Sequence[bytes]) -> dict[str, list[bytes | None]]:
        """Return the record of each sentence for each layer; None if there is none."""
        with self._usable():
            return {layer: self._column(layer, keys) for layer in layers}
        return {layer: [None] * len(keys) for layer in layers}

    def put(self, rows: Sequence[Row]) -> None:
        """Keep records: all of them or, if the process dies meanwhile, none."""
        packed = [
            (layer, key, zlib.compress(record))
            for key, by_name in rows
            for layer, record in by_name.items()
        ]
        if not packed:
            return
        with self._usable():
            with _transaction(self._database):
                kinds = {layer: self._kind(layer) for layer in {layer for layer, *_ in packed}}
                self._database.executemany(
                    "INSERT OR REPLACE INTO records (kind, sentence, record) VALUES (?, ?, ?)",
                    [(kinds[layer], *row) for layer, *row in packed],
                )
            if self._path is not None and _bytes_used(self._database) > self._limit:
                _delete_oldest(self._database, self._limit)

    def forget(self, layers: Iterable[str], keys: Sequence[bytes]) -> None:
        """Drop records."""
        with self._usable(), _transaction(self._database):
            self._database.executemany(
                "DELETE FROM records WHERE kind = ? AND sentence = ?",
                [(self._kind(layer), key) for layer in layers for key in keys],
            )

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _open(self) -> None:
        """Open the file; set an unusable one aside; use memory if all else fails."""
        try:
            try:
                self._database = _connected(self._path)
            except UnusableError as error:
                self._set_aside(error)
                self._database = _connected(self._path)
        except (OSError, sqlite3.Error, UnusableError) as error:
            self._use_memory(error)

    def _set_aside(self, reason: object) -> None:
        """Rename an unusable file. Only the last such file is kept."""
        assert self._path is not None  # noqa: S101  memory is never damaged
        aside = self._path.with_name(f"{FILE}.unusable")
        try:
            self._path.replace(aside)
        except FileNotFoundError:  # another process was faster
            return
        _journal(self._path).unlink(missing_ok=True)
        warn_of_machine(f"{self._path}: {reason}; it is now {aside.name}, and is made anew")

    def _use_memory(self, error: Exception) -> None:
        warn_of_machine(
            f"{self._path}: {_reason(error)}; annotations are not kept (--annotation-cache or "
            f"{FOLDER_VARIABLE} names another folder)"
        )
        self._path = None
        self._database = _connected(None)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Run the block; if the file turns out to be unusable, go on without it."""
        try:
            yield
        except sqlite3.ProgrammingError:  # it is closed; the file may be good
            raise
        except sqlite3.OperationalError as error:  # locked, full, read-only
            self._database.close()
            self._use_memory(error)
        except _DAMAGE:
            self._database.close()
            try:
                self._set_aside("damaged or cut off")
            except OSError as error:
                self._use_memory(error)
            else:
                self._open()

    def _kind(self, layer: str) -> int:
        """Return the number of a layer's records."""
        names = (self._annotator, layer)
        self._database.execute(
            "INSERT OR IGNORE INTO kinds (annotator, layer) VALUES (?, ?)", names
        )
        query = "SELECT id FROM kinds WHERE annotator = ? AND layer = ?"
        return int(self._database.execute(query, names).fetchone()[0])

    def _column(self, layer: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the records of a layer."""
        by_key: dict[bytes, bytes] = {}
        sorted_keys = sorted(keys)  # neighbours in the index too
        for begin in range(0, len(sorted_keys), PER_QUERY):
            part = sorted_keys[begin : begin + PER_QUERY]
            rows = self._database.execute(
                "SELECT sentence, record FROM records JOIN kinds ON kinds.id = kind "  # noqa: S608
                f"WHERE annotator = ? AND layer = ? AND sentence IN ({','.join('?' * len(part))})",
                (self._annotator, layer, *part),
            )
            by_key.update((key, zlib.decompress(packed)) for key, packed in rows)
        return list(map(by_key.get, keys))


class UnusableError(Exception):
    """A file is no cache of this version; the message says what it is."""


def _journal(path: Path) -> Path:
    """Return the file with which SQLite undoes what a killed process began."""
    return path.with_name(f"{path.name}-journal")


def _reason(error: BaseException) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Run the block in one transaction; other writers wait."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def _check_place(path: Path) -> None:
    """Raise an OSError with a clear message if the file cannot be there."""
    if path.parent.exists() and not path.parent.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, f"{path.parent} is a file, expected a folder")
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder, expected a file")
    if path.parent.exists() and not os.access(path.parent, os.W_OK):
        raise PermissionError(errno.EACCES, f"no permission to write in {path.parent}")


def _connected(path: Path | None) -> sqlite3.Connection:
    """Open the file, made if it is not there, or one in memory.

    Raises
    ------
    UnusableError
        It is no cache of this version.
    OSError, sqlite3.OperationalError
        It cannot be made, read or written.
    """
    if path is not None:
        _check_place(path)
        path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(
        ":memory:" if path is None else path,
        timeout=WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,  # the caller has a lock
    )
    try:
        database.execute("PRAGMA synchronous = OFF")  # after a power cut it may be made anew
        with _transaction(database):  # of several processes one makes the tables
            version = _setting(database, "user_version")
            statements = [text for part in _TABLES.split(";\n") if (text := part.strip())]
            made = {row[0] for row in database.execute("SELECT sql FROM sqlite_master")}
            if not made and not version:
                for statement in (*statements, f"PRAGMA user_version = {VERSION}"):
                    database.execute(statement)
            elif version != VERSION or not made.issuperset(statements):
                raise UnusableError("no cache of portmert, or of another version")  # noqa: TRY301
    except BaseException as error:
        database.close()
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if isinstance(error, _DAMAGE) and (
            code == sqlite3.SQLITE_ERROR or not isinstance(error, sqlite3.OperationalError)
        ):
            raise UnusableError("damaged, or no cache") from None
        raise  # among others: locked, full, read-only
    return database


def _setting(database: sqlite3.Connection, name: str) -> int:
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])


def _bytes_used(database: sqlite3.Connection) -> int:
    """Return the bytes of the file that are in use."""
    pages = _setting(database, "page_count") - _setting(database, "freelist_count")
    return pages * _setting(database, "page_size")


def _delete_oldest(database: sqlite3.Connection, limit: int) -> None:
    """Delete the oldest records, until the file is well below `limit` bytes."""
    share = 1 - ROOM * limit / _bytes_used(database)
    database.execute(
        "DELETE FROM records WHERE age <= (SELECT age FROM records ORDER BY age LIMIT 1 OFFSET "
        "(SELECT cast(? * count(*) AS INTEGER) FROM records))",
        (share,),
    )
    database.execute("VACUUM")
