"""The cache of annotators' answers: one SQLite file that several processes may use at once.

A record is bytes. It is found by its kind (the layer, and all that the annotator's answers depend
on) and by the tokens of the sentence; see `annotation.records`. The file has a checksum before
it. The file is a cache and nothing else: if it is damaged or of another version it is set aside,
with a notice, and made anew.
"""

import errno
import hashlib
import os
import re
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import ConfigError, StateError
from ..base.files import expanded
from ..base.warn import warn_of_machine

Row = tuple[bytes, Mapping[str, bytes]]
"""The key of a sentence, and its record for each layer."""

FILE = "annotations.sqlite3"
FOLDER_VARIABLE = "PORTMERT_CACHE"
SIZE_VARIABLE = "PORTMERT_CACHE_SIZE"
DEFAULT_SIZE = 4 << 30

IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
"""Primary codes of errors for which another process is the reason."""

PER_QUERY = 500
"""Keys in one query; with more it is no faster."""

_SUFFIXES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SECONDS_PER_DAY = 86_400

APPLICATION = 0x504D5254  # "PMRT": a file of portmert
VERSION = 3
"""Raised with every change that fingerprints do not show: of the tables, of the records, of the
input of annotators, of what is made of their answers."""

WAIT_SECONDS = 120
"""How long to wait while another process writes."""

ROOM = 0.75
"""How full the file is after old records are deleted, as a share of the limit. The file is then
rewritten, and that should be rare."""

OVERHEAD = 30
"""Bytes of a row besides its records, approximately."""

PLAIN = ("tags", "heads")
"""Layers that are too short for compression to be worth its time."""

_TABLES = """
CREATE TABLE kinds (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: other processes remember it
    annotator TEXT NOT NULL,
    layer TEXT NOT NULL,
    UNIQUE (annotator, layer)
);
CREATE TABLE records (
    kind INTEGER NOT NULL,
    sentence BLOB NOT NULL,
    used INTEGER NOT NULL, -- day since 1970
    record BLOB NOT NULL,
    PRIMARY KEY (kind, sentence)
) WITHOUT ROWID;
"""


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


def _sealed(layer: str, key: bytes, record: bytes) -> bytes:
    """Return what the file has of a record: first a checksum of it and of its place."""
    content = record if layer in PLAIN else zlib.compress(record)
    checksum = zlib.crc32(record, zlib.crc32(key, zlib.crc32(layer.encode())))
    return checksum.to_bytes(4, "little") + content


def _opened(layer: str, rows: Iterable[tuple[bytes, bytes, int]]) -> dict[bytes, bytes]:
    """Return records from the file; raise a DatabaseError if one is not what was put there."""
    by_key = {}
    start, plain = zlib.crc32(layer.encode()), layer in PLAIN
    try:
        for key, packed, _ in rows:
            record = packed[4:] if plain else zlib.decompress(packed[4:])
            if zlib.crc32(record, zlib.crc32(key, start)) != int.from_bytes(packed[:4], "little"):
                raise sqlite3.DatabaseError
            by_key[key] = record
    except (zlib.error, TypeError):  # a damaged file may have a number there
        raise sqlite3.DatabaseError from None
    return by_key


@dataclass(frozen=True)
class KindInfo:
    """How much the cache has of a kind, and the day of its last use, YYYY-MM-DD or `unknown`."""

    annotator: str
    layer: str
    sentences: int
    size: int
    used: str


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
        self._kinds: dict[str, int] = {}
        self._path = None if folder is None else folder / FILE
        self._database: sqlite3.Connection
        self._open()

    def get(self, layers: Sequence[str], keys: Sequence[bytes]) -> dict[str, list[bytes | None]]:
        """Return the record of each sentence for each layer; None if there is none."""
        columns: dict[str, list[bytes | None]] = {layer: [None] * len(keys) for layer in layers}
        if keys:
            with self._usable():
                columns = {layer: self._column(layer, keys) for layer in layers}
        return columns

    def put(self, rows: Sequence[Row]) -> None:
        """Keep records: all of them or, if the process dies meanwhile, none."""
        if not rows:
            return
        today = _today()
        with self._usable():
            with transaction(self._database):
                self._database.executemany(
                    "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?)",
                    [
                        (self._kind(layer), key, today, _sealed(layer, key, record))
                        for key, by_name in rows
                        for layer, record in by_name.items()
                    ],
                )
            if self._path is not None and bytes_used(self._database) > self._limit:
                evict(self._database, self._limit)

    def forget(self, layers: Iterable[str], keys: Sequence[bytes]) -> None:
        """Drop records."""
        with self._usable(), transaction(self._database):
            self._database.executemany(
                "DELETE FROM records WHERE kind = ? AND sentence = ?",
                [(self._kind(layer), key) for layer in layers for key in keys],
            )

    def set_aside(self, reason: str) -> None:
        """Begin a new file, with one notice; the old file is renamed, not deleted."""
        self._database.close()
        self._kinds.clear()
        try:
            if self._path is not None:
                self._rename(self._path, reason)
        except OSError as error:
            self._use_memory(error)
        else:
            self._open()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _open(self) -> None:
        """Open the file; set an unusable one aside; use memory if all else fails."""
        try:
            try:
                self._database = connect(self._path)
            except UnusableError as error:
                assert self._path is not None  # noqa: S101  memory is never damaged
                self._rename(self._path, error)
                self._database = connect(self._path)
        except (OSError, sqlite3.Error, UnusableError) as error:
            self._use_memory(error)

    def _rename(self, path: Path, reason: object) -> None:
        """Rename an unusable file. Only the last such file is kept."""
        aside = path.with_name(f"{path.name}.unusable")
        try:
            path.replace(aside)
        except FileNotFoundError:  # another process was faster
            return
        for suffix in ("-wal", "-shm"):  # belong to the file that is gone
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        warn_of_machine(f"{path}: {reason}; it is now {aside.name}, and is made anew")

    def _use_memory(self, error: Exception) -> None:
        warn_of_machine(
            f"{self._path}: {_reason(error)}; annotations are not kept (--annotation-cache or "
            f"{FOLDER_VARIABLE} names another folder)"
        )
        self._path = None
        self._kinds.clear()
        self._database = connect(None)

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
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            self.set_aside("damaged or cut off")

    def _kind(self, layer: str) -> int:
        """Return the number of a layer's records."""
        if layer not in self._kinds:
            names = (self._annotator, layer)
            self._database.execute(
                "INSERT OR IGNORE INTO kinds (annotator, layer) VALUES (?, ?)", names
            )
            row = self._database.execute(
                "SELECT id FROM kinds WHERE annotator = ? AND layer = ?", names
            ).fetchone()
            self._kinds[layer] = int(row[0])
        return self._kinds[layer]

    def _column(self, layer: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the records of a layer."""
        kind, today = self._kind(layer), _today()
        by_key: dict[bytes, bytes] = {}
        stale = []
        sorted_keys = sorted(keys)  # neighbours in the file too
        for begin in range(0, len(sorted_keys), PER_QUERY):
            part = sorted_keys[begin : begin + PER_QUERY]
            rows = self._database.execute(
                "SELECT sentence, record, used FROM records WHERE kind = ? AND sentence IN "  # noqa: S608
                f"({','.join('?' * len(part))})",
                (kind, *part),
            ).fetchall()
            by_key.update(_opened(layer, rows))
            stale += [(today, kind, key) for key, _, used in rows if used != today]
        if stale:
            with transaction(self._database):
                self._database.executemany(
                    "UPDATE records SET used = ? WHERE kind = ? AND sentence = ?", stale
                )
        return list(map(by_key.get, keys))


def info(folder: Path) -> tuple[int, list[KindInfo]]:
    """Return the bytes of the file, and the kinds in it.

    Raises
    ------
    StateError
        It is damaged, of another version, or cannot be opened.
    """
    path = folder / FILE
    try:
        check_place(path)
        if not path.exists():
            return 0, []
        with closing(connect(path)) as database:
            rows = database.execute(
                "SELECT annotator, layer, count(*), sum(? + length(record)), "
                "coalesce(date(nullif(max(used) * ?, 0), 'unixepoch'), 'unknown') FROM records "
                "JOIN kinds ON kinds.id = kind GROUP BY kind ORDER BY annotator, layer",
                (OVERHEAD, _SECONDS_PER_DAY),
            ).fetchall()
    except (OSError, sqlite3.OperationalError) as error:
        raise StateError(f"{path}: {_reason(error)}") from None
    except (sqlite3.Error, UnusableError, UnicodeDecodeError) as error:
        raise StateError(f"{path}: {error}; `portmert cache clear` deletes it") from None
    files = (path.with_name(path.name + suffix) for suffix in ("", "-wal"))
    size = sum(file.stat().st_size for file in files if file.exists())
    return size, [KindInfo(*row) for row in rows]


def clear(folder: Path, annotator: str = "") -> int | None:
    """Delete all, or the records of annotators whose fingerprint begins so; return how many.

    The result is None if the file is deleted and its records cannot be counted.

    Raises
    ------
    StateError
        Another process uses the file for too long, or it cannot be written.
    """
    path = folder / FILE
    try:
        check_place(path)
        if not annotator:
            path.with_name(f"{path.name}.unusable").unlink(missing_ok=True)
        if not path.exists():
            return 0
        try:
            return _delete(path, annotator)
        except sqlite3.OperationalError as error:
            # On a full disk not even the deletion can be written.
            if annotator or primary_code(error) in IN_USE:
                raise
        except (sqlite3.DatabaseError, UnusableError, UnicodeDecodeError) as error:
            if annotator:
                raise StateError(f"{path}: {error}; `portmert cache clear` deletes it") from None
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    except sqlite3.OperationalError as error:
        raise StateError(
            f"{path}: {error}; is it in use by another run, may it not be written, or is the disk "
            "full? Without --annotator all is deleted, which needs no room"
            if annotator
            else f"{path}: {error}; is it in use by another run?"
        ) from None
    except OSError as error:
        raise StateError(f"{path}: {_reason(error)}") from None
    return None


def _delete(path: Path, annotator: str) -> int:
    """Delete records, not the file: another process may have it open."""
    with closing(connect(path)) as database:
        with transaction(database):
            kinds = "SELECT id FROM kinds WHERE substr(annotator, 1, length(?1)) = ?1"
            deleted = database.execute(
                "SELECT count(*) FROM (SELECT DISTINCT annotator, sentence FROM records "  # noqa: S608
                f"JOIN kinds ON kinds.id = kind WHERE kind IN ({kinds}))",
                (annotator,),
            ).fetchone()[0]
            database.execute(f"DELETE FROM records WHERE kind IN ({kinds})", (annotator,))  # noqa: S608
        database.execute("VACUUM")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return int(deleted)


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _today() -> int:
    return int(time.time()) // _SECONDS_PER_DAY


class UnusableError(Exception):
    """A file is no cache of this version; the message says what it is."""


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Run the block in one transaction; other writers wait."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def check_place(path: Path) -> None:
    """Raise an OSError with a clear message if the file cannot be there."""
    if path.parent.exists() and not path.parent.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, f"{path.parent} is a file, expected a folder")
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder, expected a file")
    if path.parent.exists() and not os.access(path.parent, os.W_OK):
        # SQLite makes files beside its own even to read it.
        raise PermissionError(errno.EACCES, f"no permission to write in {path.parent}")


def connect(path: Path | None) -> sqlite3.Connection:
    """Open the file, made if it is not there, or one in memory.

    Raises
    ------
    UnusableError
        It is no cache of this version.
    OSError, sqlite3.OperationalError
        It cannot be made, read or written.
    """
    if path is not None:
        check_place(path)
        path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(
        ":memory:" if path is None else path,
        timeout=WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,  # the caller has a lock
    )
    database.text_factory = lambda text: text.decode("utf-8", "replace")
    try:
        _prepare(database)
    except BaseException as error:
        database.close()
        operational = isinstance(error, sqlite3.OperationalError)
        if operational and primary_code(error) != sqlite3.SQLITE_ERROR:  # locked, full, read-only
            raise
        # A message that quotes the file may raise a UnicodeDecodeError.
        if isinstance(error, sqlite3.DatabaseError | UnicodeDecodeError):
            raise UnusableError("damaged, or no cache") from None
        raise
    return database


def primary_code(error: BaseException) -> int:
    """Return SQLite's code of an error, or 0 if Python itself has raised it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _prepare(database: sqlite3.Connection) -> None:
    # A reader need not wait for a writer. After a power cut the last records may be missing.
    _switch_to_wal(database)
    database.execute("PRAGMA synchronous = NORMAL")
    with transaction(database):  # of several processes one makes the tables
        application = _setting(database, "application_id")
        version = _setting(database, "user_version")
        empty = not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if empty and not application:
            for statement in _statements():
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {APPLICATION}")
            database.execute(f"PRAGMA user_version = {VERSION}")
            return
    if application != APPLICATION:
        raise UnusableError("no cache of portmert")
    if version != VERSION:
        raise UnusableError(f"written by another version (format {version}, expected {VERSION})")
    statements = {row[0] for row in database.execute("SELECT sql FROM sqlite_master")}
    if not statements.issuperset(_statements()):
        raise UnusableError(f"written by another version (other tables in format {version})")


def _switch_to_wal(database: sqlite3.Connection) -> None:
    """Set the journal mode. SQLite does not wait here for a process that uses the file, so we do.

    Raises
    ------
    sqlite3.OperationalError
        The file is in use for longer than `WAIT_SECONDS`, or cannot be read or written.
    """
    end = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if primary_code(error) not in IN_USE or time.monotonic() >= end:
                raise
            time.sleep(0.01)
        else:
            return


def _statements() -> list[str]:
    """Return the statements that make the tables, as SQLite keeps them."""
    return [text for part in _TABLES.split(";\n") if (text := part.strip())]


def _setting(database: sqlite3.Connection, name: str) -> int:
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])


def bytes_used(database: sqlite3.Connection) -> int:
    """Return the bytes of the file that are in use."""
    pages = _setting(database, "page_count") - _setting(database, "freelist_count")
    return pages * _setting(database, "page_size")


def evict(database: sqlite3.Connection, limit: int) -> None:
    """Delete the records with the oldest use, until the file is well below `limit` bytes."""
    surplus = bytes_used(database) - int(ROOM * limit)
    days = database.execute(
        f"SELECT used, count(*), sum({OVERHEAD} + length(record)) FROM records GROUP BY used "  # noqa: S608
        "ORDER BY used"
    ).fetchall()
    for used, count, size in days:
        with transaction(database):
            database.execute(
                "DELETE FROM records WHERE (kind, sentence) IN (SELECT kind, sentence FROM "
                "records WHERE used = ? ORDER BY sentence LIMIT ?)",
                (used, int(surplus * count / size) + 1),
            )
        surplus -= size
        if surplus <= 0:
            break
    # Keys are random: without this every page of the file would just be a little emptier.
    database.execute("VACUUM")
