"""What annotators said, kept: one SQLite file that several processes may use at once.

A record is bytes, found by its kind (all that an annotator's answers depend on, and the layer) and
the tokens of the sentence; see `tuner.annotation_records`. The file is a cache and nothing else:
one that is damaged or of another version is set aside, with a notice, and made anew.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tuner.errors import ConfigError, StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

T = TypeVar("T")
Row = tuple[bytes, Mapping[str, bytes]]
"""The key of a sentence; layer -> record."""

FILE = "annotations.sqlite3"
FOLDER_VARIABLE = "PORTMERT_CACHE"
SIZE_VARIABLE = "PORTMERT_CACHE_SIZE"
DEFAULT_SIZE = 4 << 30

APPLICATION = 0x504D5254  # "PMRT", by which the file says that it is ours
VERSION = 1
"""Raised with every change of the tables, the records or what is derived from answers."""

WAIT_SECONDS = 120
PER_QUERY = 500
"""Keys in one query: more are no faster."""

ROOM = 0.75
"""How full the file is after records had to go, as a share of the limit: it is then rewritten, and
that should be rare."""

OVERHEAD = 30
"""Bytes of a row besides its records, roughly."""

_SUFFIXES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SECONDS_PER_DAY = 86_400

WORD_LAYERS = ("tags", "heads", "trees")
"""Layers that stand in one row of a sentence, each in its column: they are read together."""

_TABLES = """
CREATE TABLE kinds (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: other processes remember it
    annotator TEXT NOT NULL,
    layer TEXT NOT NULL, -- empty: those that have columns
    UNIQUE (annotator, layer)
);
CREATE TABLE words (
    kind INTEGER NOT NULL,
    sentence BLOB NOT NULL,
    used INTEGER NOT NULL, -- day since 1970
    tags BLOB,
    heads BLOB,
    trees BLOB,
    PRIMARY KEY (kind, sentence)
) WITHOUT ROWID;
CREATE TABLE lists (
    kind INTEGER NOT NULL,
    sentence BLOB NOT NULL,
    used INTEGER NOT NULL,
    list BLOB,
    PRIMARY KEY (kind, sentence)
) WITHOUT ROWID;
"""

_COLUMNS = {"words": WORD_LAYERS, "lists": ("list",)}


def default_folder() -> Path:
    """Return where the cache is: PORTMERT_CACHE, or the user's folder for caches."""
    given = os.environ.get(FOLDER_VARIABLE)
    if given:
        return Path(given).expanduser()
    from platformdirs import user_cache_path  # noqa: PLC0415  start-up time

    return user_cache_path("portmert", appauthor=False)


def size_limit() -> int:
    """Return the most bytes the file may have: PORTMERT_CACHE_SIZE, as 500M or 2G, or 4 GiB.

    Raises
    ------
    ConfigError
        The variable is no size.
    """
    text = os.environ.get(SIZE_VARIABLE, "").strip()
    if not text:
        return DEFAULT_SIZE
    found = re.fullmatch(r"([0-9]{1,15})([KMGT]?)(?:i?B)?", text, re.IGNORECASE)
    if found is None:
        raise ConfigError(f"{SIZE_VARIABLE} is '{text}', expected a size as 500M or 2G")
    return int(found[1]) * _SUFFIXES[found[2].upper()]


def sentence_key(words: Sequence[str]) -> bytes:
    """Return the key of a sentence; no word holds a space."""
    return hashlib.blake2b(" ".join(words).encode(), digest_size=16).digest()


@dataclass(frozen=True)
class KindInfo:
    """How much of a kind the cache has; `used` is the last day, as YYYY-MM-DD."""

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
        Where the file is; None keeps records in memory, as long as this object lives.
    annotator
        The annotator's fingerprint.
    notice
        Called with one line where the file cannot be used.
    limit
        Most bytes of the file; absent, `size_limit()`.
    """

    def __init__(
        self,
        folder: Path | None,
        annotator: str,
        *,
        notice: Callable[[str], None],
        limit: int | None = None,
    ) -> None:
        self._annotator = annotator
        self._notice = notice
        self._limit = size_limit() if limit is None else limit
        self._kinds: dict[str, int] = {}
        self._path = None if folder is None else folder / FILE
        self._database: sqlite3.Connection
        self._open()

    def get(self, layers: Sequence[str], keys: Sequence[bytes]) -> dict[str, list[bytes | None]]:
        """Return the records of each sentence, None for those that are not here."""
        found = self._guarded(lambda: self._get(layers, keys)) if keys else None
        return found or {layer: [None] * len(keys) for layer in layers}

    def put(self, rows: Sequence[Row]) -> None:
        """Keep records: all of them or, if the process dies, none."""
        if rows:
            self._guarded(lambda: self._put(rows))

    def forget(self, layers: Iterable[str], keys: Iterable[bytes]) -> None:
        """Drop records."""
        self._guarded(lambda: self._forget(list(layers), list(keys)))

    def set_aside(self, reason: str) -> None:
        """Begin anew, with one notice; what was in the file is not deleted."""
        self._database.close()
        self._kinds.clear()
        if self._path is not None:
            aside = set_aside(self._path)
            self._notice(f"{self._path}: {reason}; it is now {aside.name}, and is made anew")
        self._open()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _open(self) -> None:
        """Open the file; one that is not ours or not whole is set aside; else use memory."""
        try:
            try:
                self._database = _connect(self._path)
            except _UnusableError as error:
                assert self._path is not None  # noqa: S101  memory is never damaged
                aside = set_aside(self._path)
                self._notice(f"{self._path}: {error}; it is now {aside.name}, and is made anew")
                self._database = _connect(self._path)
        except (OSError, sqlite3.Error, _UnusableError) as error:
            self._use_memory(error)

    def _use_memory(self, error: Exception) -> None:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        self._notice(
            f"{self._path}: {reason}; annotations are not kept (--cache or {FOLDER_VARIABLE} "
            f"names another folder)"
        )
        self._path = None
        self._kinds.clear()
        self._database = _connect(None)

    def _guarded(self, work: Callable[[], T]) -> T | None:
        """Return work(), or None where the file turns out to be of no use."""
        try:
            return work()
        except sqlite3.OperationalError as error:  # locked, full, read-only
            self._database.close()
            self._use_memory(error)
        except sqlite3.DatabaseError:
            self.set_aside("damaged or cut off")
        return None

    def _place(self, layer: str) -> tuple[str, str, int]:
        """Return where a layer's records are: table, column, kind."""
        table, column = ("words", layer) if layer in WORD_LAYERS else ("lists", "list")
        name = "" if table == "words" else layer
        if name not in self._kinds:
            named = (self._annotator, name)
            self._database.execute(
                "INSERT OR IGNORE INTO kinds (annotator, layer) VALUES (?, ?)", named
            )
            row = self._database.execute(
                "SELECT id FROM kinds WHERE annotator = ? AND layer = ?", named
            ).fetchone()
            self._kinds[name] = int(row[0])
        return table, column, self._kinds[name]

    def _get(self, layers: Sequence[str], keys: Sequence[bytes]) -> dict[str, list[bytes | None]]:
        found: dict[str, list[bytes | None]] = {}
        together = [layer for layer in layers if layer in WORD_LAYERS]
        for group in [together, *([layer] for layer in layers if layer not in WORD_LAYERS)]:
            if group:
                columns = self._columns(group, keys)
                found |= dict(zip(group, columns, strict=True))
        return found

    def _columns(self, layers: Sequence[str], keys: Sequence[bytes]) -> list[list[bytes | None]]:
        """Return the records of layers of one table."""
        places = [self._place(layer) for layer in layers]
        table, _, kind = places[0]
        columns = ", ".join(column for _, column, _ in places)
        found: dict[bytes, tuple[Any, ...]] = {}
        ordered = sorted(keys)  # neighbours in the file too
        for begin in range(0, len(ordered), PER_QUERY):
            part = ordered[begin : begin + PER_QUERY]
            rows = self._database.execute(
                f"SELECT sentence, used, {columns} FROM {table} WHERE kind = ? "  # noqa: S608  names of ours
                f"AND sentence IN ({','.join('?' * len(part))})",
                (kind, *part),
            )
            for row in rows:
                found[row[0]] = row
        today = _today()
        stale = [key for key, row in found.items() if row[1] != today]
        if stale:
            with _transaction(self._database):
                self._database.executemany(
                    f"UPDATE {table} SET used = ? WHERE kind = ? AND sentence = ?",  # noqa: S608
                    [(today, kind, key) for key in stale],
                )
        nothing = (None,) * (2 + len(layers))
        listed = [found.get(key, nothing) for key in keys]
        return [[row[column] for row in listed] for column in range(2, 2 + len(layers))]

    def _put(self, rows: Sequence[Row]) -> None:
        today = _today()
        by_layer: dict[str, list[tuple[bytes, bytes]]] = {}
        for key, made in rows:
            for layer, record in made.items():
                by_layer.setdefault(layer, []).append((key, record))
        with _transaction(self._database):
            for layer, records in by_layer.items():
                table, column, kind = self._place(layer)
                self._database.executemany(
                    f"INSERT INTO {table} (kind, sentence, used, {column}) "  # noqa: S608
                    "VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET used = excluded.used, "
                    f"{column} = excluded.{column}",
                    [(kind, key, today, record) for key, record in records],
                )
        if self._path is not None and _bytes_used(self._database) > self._limit:
            _evict(self._database, int(ROOM * self._limit))

    def _forget(self, layers: Sequence[str], keys: Sequence[bytes]) -> None:
        with _transaction(self._database):
            for layer in layers:
                table, column, kind = self._place(layer)
                self._database.executemany(
                    f"UPDATE {table} SET {column} = NULL WHERE kind = ? AND sentence = ?",  # noqa: S608
                    [(kind, key) for key in keys],
                )


class _UnusableError(Exception):
    """The file is no cache of this version; the text says what it is."""


class _transaction:  # noqa: N801  reads like a function
    """One transaction, from which other writers are kept."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __enter__(self) -> None:
        self._database.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._database.execute("COMMIT")
        elif self._database.in_transaction:
            self._database.execute("ROLLBACK")


def _connect(path: Path | None) -> sqlite3.Connection:
    """Open the file, made if it is not there, or one in memory."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(
        ":memory:" if path is None else path,
        timeout=WAIT_SECONDS,
        isolation_level=None,
        check_same_thread=False,  # the caller has a lock
    )
    try:
        _prepare(database)
    except sqlite3.OperationalError:
        database.close()
        raise
    except sqlite3.DatabaseError:
        database.close()
        raise _UnusableError("damaged, or no cache") from None
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection) -> None:
    # A reader need not wait for a writer. After a power cut the last records may be missing.
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    with _transaction(database):  # of several processes one makes the tables
        application, version = (
            _setting(database, "application_id"),
            _setting(database, "user_version"),
        )
        empty = not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if empty and not application:
            for statement in _TABLES.split(";\n"):
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {APPLICATION}")
            database.execute(f"PRAGMA user_version = {VERSION}")
            return
    if application != APPLICATION:
        raise _UnusableError("no cache of portmert")
    if version != VERSION:
        raise _UnusableError(f"written by another version (format {version}, expected {VERSION})")


def _setting(database: sqlite3.Connection, name: str) -> int:
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])


def _bytes_used(database: sqlite3.Connection) -> int:
    pages = _setting(database, "page_count") - _setting(database, "freelist_count")
    return pages * _setting(database, "page_size")


def _evict(database: sqlite3.Connection, goal: int) -> None:
    """Delete what was not used for longest until about `goal` bytes are left."""
    surplus = _bytes_used(database) - goal
    days = []
    for table, columns in _COLUMNS.items():
        size = " + ".join(f"ifnull(length({name}), 0)" for name in columns)
        days += [
            (used, table, count, taken)
            for used, count, taken in database.execute(
                f"SELECT used, count(*), sum({OVERHEAD} + {size}) FROM {table} GROUP BY used"  # noqa: S608
            )
        ]
    for used, table, count, taken in sorted(days):
        with _transaction(database):
            database.execute(
                f"DELETE FROM {table} WHERE (kind, sentence) IN (SELECT kind, sentence FROM "  # noqa: S608
                f"{table} WHERE used = ? ORDER BY sentence LIMIT ?)",
                (used, int(surplus * count / taken) + 1),
            )
        surplus -= taken
        if surplus <= 0:
            break
    # Keys are random: without this every page of the file would just be a little emptier.
    database.execute("VACUUM")


def set_aside(path: Path) -> Path:
    """Rename a file that is of no use; of several only the last is kept."""
    aside = path.with_name(f"{path.name}.unusable")
    path.replace(aside)
    for suffix in ("-wal", "-shm"):  # belong to the file that is gone
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return aside


def info(folder: Path) -> tuple[int, list[KindInfo]]:
    """Return the bytes of the file, and what is in it.

    Raises
    ------
    StateError
        It is damaged, or of another version.
    """
    path = folder / FILE
    if not path.exists():
        return 0, []
    try:
        with closing(_connect(path)) as database:
            rows = [
                row
                for table, columns in _COLUMNS.items()
                for column in columns
                for row in database.execute(
                    f"SELECT annotator, CASE layer WHEN '' THEN '{column}' ELSE layer END, "  # noqa: S608
                    f"count({column}), sum(length({column})), max(used) FROM {table} "
                    f"JOIN kinds ON kinds.id = kind WHERE {column} IS NOT NULL GROUP BY kind"
                )
            ]
    except (sqlite3.Error, _UnusableError) as error:
        raise StateError(f"{path}: {error}; `portmert cache clear` deletes it") from None
    kinds = [
        KindInfo(annotator, layer, count, size + count * OVERHEAD, _date(used))
        for annotator, layer, count, size, used in sorted(rows)
    ]
    files = (path.with_name(path.name + suffix) for suffix in ("", "-wal"))
    return sum(file.stat().st_size for file in files if file.exists()), kinds


def clear(folder: Path, annotator: str = "") -> int:
    """Delete everything, or what is of annotators whose fingerprint begins so; return how much.

    Raises
    ------
    StateError
        The file is in use by another process for too long.
    """
    path = folder / FILE
    if not annotator:
        path.with_name(f"{path.name}.unusable").unlink(missing_ok=True)
    if not path.exists():
        return 0
    try:
        with closing(_connect(path)) as database:
            # The file stays: another process may have it open.
            with _transaction(database):
                deleted = sum(
                    database.execute(
                        f"DELETE FROM {table} WHERE kind IN (SELECT id FROM kinds WHERE "  # noqa: S608
                        "substr(annotator, 1, length(?1)) = ?1)",
                        (annotator,),
                    ).rowcount
                    for table in _COLUMNS
                )
            database.execute("VACUUM")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.OperationalError as error:
        raise StateError(f"{path}: {error}; try again when no other run uses it") from None
    except (sqlite3.DatabaseError, _UnusableError) as error:
        if annotator:
            raise StateError(f"{path}: {error}; `portmert cache clear` deletes it") from None
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        return 0
    return deleted


def _today() -> int:
    return int(time.time()) // _SECONDS_PER_DAY


def _date(day: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(day * _SECONDS_PER_DAY))
