"""Keeps what annotators said: one SQLite file that several processes may use at once.

A record is bytes, found by its kind (all that an annotator's answers depend on, and the layer) and
the tokens of the sentence; see `annotation.records`. The file is a cache and nothing else:
one that is damaged or of another version is set aside, with a notice, and made anew.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from portmert.tuner.annotation.cache_file import (
    COLUMNS,
    OVERHEAD,
    WORD_LAYERS,
    UnusableError,
    bytes_used,
    check_place,
    connect,
    evict,
    primary_code,
    set_aside,
    transaction,
)
from portmert.tuner.ground.errors import ConfigError, StateError

T = TypeVar("T")
Row = tuple[bytes, Mapping[str, bytes]]
"""The key of a sentence; layer -> record."""

FILE = "annotations.sqlite3"
FOLDER_VARIABLE = "PORTMERT_CACHE"
SIZE_VARIABLE = "PORTMERT_CACHE_SIZE"
DEFAULT_SIZE = 4 << 30

IN_USE = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
"""Primary codes of errors that another process is the reason of."""

PER_QUERY = 500
"""Keys in one query: more are no faster."""

DENSE = 3
"""Reading all from the first key to the last is faster up to so many rows for each key."""

_SUFFIXES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SECONDS_PER_DAY = 86_400


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


def line_key(line: str) -> bytes:
    """Return the key of a sentence whose words are joined by spaces."""
    return hashlib.blake2b(line.encode(), digest_size=16).digest()


@dataclass(frozen=True)
class KindInfo:
    """Says how much of a kind the cache has; `used` is the last day, as YYYY-MM-DD."""

    annotator: str
    layer: str
    sentences: int
    size: int
    used: str


class AnnotationCache:
    """Holds the records of one annotator.

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
        """Open the file; one that is not ours or not whole is set aside; else use memory."""
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
        try:
            aside = set_aside(path)
        except FileNotFoundError:  # another process was faster
            return
        self._notice(f"{path}: {reason}; it is now {aside.name}, and is made anew")

    def _use_memory(self, error: Exception) -> None:
        self._notice(
            f"{self._path}: {_reason(error)}; annotations are not kept (--annotation-cache or "
            f"{FOLDER_VARIABLE} names another folder)"
        )
        self._path = None
        self._kinds.clear()
        self._database = connect(None)

    def _guarded(self, work: Callable[[], T]) -> T | None:
        """Return work(), or None where the file turns out to be of no use."""
        try:
            return work()
        except sqlite3.ProgrammingError:  # closed: says nothing about the file
            raise
        except sqlite3.OperationalError as error:  # locked, full, read-only
            self._database.close()
            self._use_memory(error)
        except (sqlite3.DatabaseError, UnicodeDecodeError):
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
        query = f"SELECT sentence, used, {columns} FROM {table} WHERE kind = ? AND sentence"  # noqa: S608  names of ours
        found: dict[bytes, tuple[Any, ...]] = {}
        ordered = sorted(keys)  # neighbours in the file too
        dense = True
        for begin in range(0, len(ordered), PER_QUERY):
            part = ordered[begin : begin + PER_QUERY]
            rows: list[tuple[Any, ...]] = []
            if dense:
                most = DENSE * len(part)
                rows = self._database.execute(
                    f"{query} BETWEEN ? AND ? LIMIT ?", (kind, part[0], part[-1], most + 1)
                ).fetchall()
                dense = len(rows) <= most
            if not dense:
                rows = self._database.execute(
                    f"{query} IN ({','.join('?' * len(part))})", (kind, *part)
                ).fetchall()
            found.update(zip([row[0] for row in rows], rows, strict=True))
        nothing = (None,) * (2 + len(layers))
        listed = [found.get(key, nothing) for key in keys]
        today = _today()
        stale = [row[0] for row in listed if row[1] != today and row[1] is not None]
        if stale:
            with transaction(self._database):
                self._database.executemany(
                    f"UPDATE {table} SET used = ? WHERE kind = ? AND sentence = ?",  # noqa: S608
                    [(today, kind, key) for key in stale],
                )
        return [[row[column] for row in listed] for column in range(2, 2 + len(layers))]

    def _put(self, rows: Sequence[Row]) -> None:
        today = _today()
        by_layer: dict[str, list[tuple[bytes, bytes]]] = {}
        for key, made in rows:
            for layer, record in made.items():
                by_layer.setdefault(layer, []).append((key, record))
        with transaction(self._database):
            for layer, records in by_layer.items():
                table, column, kind = self._place(layer)
                self._database.executemany(
                    f"INSERT INTO {table} (kind, sentence, used, {column}) "  # noqa: S608
                    "VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET used = excluded.used, "
                    f"{column} = excluded.{column}",
                    [(kind, key, today, record) for key, record in records],
                )
        if self._path is not None and bytes_used(self._database) > self._limit:
            evict(self._database, self._limit)

    def _forget(self, layers: Sequence[str], keys: Sequence[bytes]) -> None:
        with transaction(self._database):
            for layer in layers:
                table, column, kind = self._place(layer)
                self._database.executemany(
                    f"UPDATE {table} SET {column} = NULL WHERE kind = ? AND sentence = ?",  # noqa: S608
                    [(kind, key) for key in keys],
                )


def info(folder: Path) -> tuple[int, list[KindInfo]]:
    """Return the bytes of the file, and what is in it.

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
            rows = [
                row
                for table, columns in COLUMNS.items()
                for column in columns
                for row in database.execute(
                    f"SELECT annotator, CASE layer WHEN '' THEN '{column}' ELSE layer END, "  # noqa: S608
                    f"count({column}), sum(length({column})), max(used) FROM {table} "
                    f"JOIN kinds ON kinds.id = kind WHERE {column} IS NOT NULL GROUP BY kind"
                )
            ]
    except (OSError, sqlite3.OperationalError) as error:
        raise StateError(f"{path}: {_reason(error)}") from None
    except (sqlite3.Error, UnusableError, UnicodeDecodeError) as error:
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
        The file is in use by another process for too long, or cannot be written.
    """
    path = folder / FILE
    try:
        return _clear(path, annotator)
    except sqlite3.OperationalError as error:
        raise StateError(
            f"{path}: {error}; is it in use by another run, may it not be written, or is the disk "
            "full? Without --annotator all is deleted, which needs no room"
            if annotator
            else f"{path}: {error}; is it in use by another run?"
        ) from None
    except OSError as error:
        raise StateError(f"{path}: {_reason(error)}") from None


def _clear(path: Path, annotator: str) -> int:
    check_place(path)
    if not annotator:
        path.with_name(f"{path.name}.unusable").unlink(missing_ok=True)
    if not path.exists():
        return 0
    try:
        with closing(connect(path)) as database:
            # The file stays: another process may have it open.
            with transaction(database):
                deleted = sum(
                    database.execute(
                        f"DELETE FROM {table} WHERE kind IN (SELECT id FROM kinds WHERE "  # noqa: S608
                        "substr(annotator, 1, length(?1)) = ?1)",
                        (annotator,),
                    ).rowcount
                    for table in COLUMNS
                )
            database.execute("VACUUM")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.OperationalError as error:
        # Where the disk is full nothing can be noted down as deleted either.
        if annotator or primary_code(error) in IN_USE:
            raise
        return _unlink(path)
    except (sqlite3.DatabaseError, UnusableError, UnicodeDecodeError) as error:
        if annotator:
            raise StateError(f"{path}: {error}; `portmert cache clear` deletes it") from None
        return _unlink(path)
    return deleted


def _unlink(path: Path) -> int:
    """Delete the files; how many sentences were in them is not known."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return 0


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _today() -> int:
    return int(time.time()) // _SECONDS_PER_DAY


def _date(day: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(day * _SECONDS_PER_DAY))
