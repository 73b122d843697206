"""Reads what a paper reports, as a TOML file says it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from portmert.tuner.families import reason
from portmert.tuner.ground.documents import parse_toml
from portmert.tuner.ground.errors import InputError, counted


@dataclass(frozen=True)
class PublishedTable:
    """Holds one table of the paper; every row has a cell for each header."""

    number: int
    caption: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Published:
    """Holds the tables of a paper that are known."""

    citation: str = ""
    table: tuple[PublishedTable, ...] = ()

    def find(self, number: int) -> PublishedTable | None:
        """Return the table of that number, or None."""
        return next((table for table in self.table if table.number == number), None)


def read_published(path: Path) -> Published:
    """Read what a paper reports.

    Raises
    ------
    InputError
        The file is missing, not TOML, or a table has other keys or rows of another length.
    """
    try:
        content = parse_toml(path.read_text(encoding="utf-8"))
        found = TypeAdapter(Published).validate_python(content)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except ValidationError as error:
        raise InputError(f"{path}: {reason(error)}") from None
    except ValueError as error:
        raise InputError(f"{path}: not TOML: {error}") from None
    for table in found.table:
        for row in table.rows:
            if len(row) != len(table.headers):
                raise InputError(
                    f"{path}: table {table.number}: the row of '{row[0] if row else ''}' has "
                    f"{counted(len(row), 'cell')}, the headers are {len(table.headers)}"
                )
    return found
