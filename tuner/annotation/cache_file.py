"""Opens the file behind the cache of annotations, makes its tables, gives room back."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

APPLICATION = 0x504D5254  # "PMRT", by which the file says that it is ours
VERSION = 2
"""Raised with every change that fingerprints do not tell: of the tables, of the records, of what
annotators are given, of what is made of their answers."""

WAIT_SECONDS = 120
"""How long to wait for another process that writes."""

ROOM = 0.75
"""How full the file is after records had to go, as a share of the limit: it is then rewritten, and
that should be rare."""

OVERHEAD = 30
"""Bytes of a row besides its records, roughly."""

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

COLUMNS = {"words": WORD_LAYERS, "lists": ("list",)}


class UnusableError(Exception):
    """Says that a file is no cache of this version, and what it is."""


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """One transaction, from which other writers are kept."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def check_place(path: Path) -> None:
    """Raise an OSError, one that says what it is, if the file cannot be there."""
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
    except sqlite3.OperationalError as error:
        database.close()
        if primary_code(error) != sqlite3.SQLITE_ERROR:  # locked, full, read-only
            raise
        raise UnusableError("damaged, or no cache") from None
    except (sqlite3.DatabaseError, UnicodeDecodeError):  # of a message that quotes the file
        database.close()
        raise UnusableError("damaged, or no cache") from None
    except BaseException:
        database.close()
        raise
    return database


def primary_code(error: sqlite3.Error) -> int:
    """Return SQLite's code of an error, 0 where Python has raised it by itself."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _prepare(database: sqlite3.Connection) -> None:
    # A reader need not wait for a writer. After a power cut the last records may be missing.
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    with transaction(database):  # of several processes one makes the tables
        application, version = (
            _setting(database, "application_id"),
            _setting(database, "user_version"),
        )
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
    made = {row[0] for row in database.execute("SELECT sql FROM sqlite_master")}
    if not made.issuperset(_statements()):
        raise UnusableError(f"written by another version (other tables in format {version})")


def _statements() -> list[str]:
    """Return what makes the tables, as SQLite keeps it."""
    return [text for part in _TABLES.split(";\n") if (text := part.strip())]


def _setting(database: sqlite3.Connection, name: str) -> int:
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])


def bytes_used(database: sqlite3.Connection) -> int:
    """Return the bytes of the file that are not free."""
    pages = _setting(database, "page_count") - _setting(database, "freelist_count")
    return pages * _setting(database, "page_size")


def evict(database: sqlite3.Connection, limit: int) -> None:
    """Delete what was not used for longest, so that the file is well below `limit` bytes."""
    surplus = bytes_used(database) - int(ROOM * limit)
    days = []
    for table, columns in COLUMNS.items():
        size = " + ".join(f"ifnull(length({name}), 0)" for name in columns)
        days += [
            (used, table, count, taken)
            for used, count, taken in database.execute(
                f"SELECT used, count(*), sum({OVERHEAD} + {size}) FROM {table} GROUP BY used"  # noqa: S608
            )
        ]
    for used, table, count, taken in sorted(days):
        with transaction(database):
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
