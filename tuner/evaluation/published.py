"""Reads what a paper reports: its tables, to stand beside our own figures."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ..base.errors import InputError, counted, faults_at
from ..base.json_toml import read_toml


@dataclass(frozen=True)
class PublishedTable:
    """One table of the paper as published; every row has a cell for each header.

    Parameters
    ----------
    measures
        What its columns are, if it shows agreements with people: names as in `metaeval --json`.
    """

    number: int
    caption: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    measures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Published:
    """The known tables of a paper."""

    citation: str = ""
    table: tuple[PublishedTable, ...] = ()

    def find(self, number: int) -> PublishedTable | None:
        """Return the table with that number, or None."""
        return next((table for table in self.table if table.number == number), None)


def read_published(path: Path) -> Published:
    """Read the figures of a paper from a TOML file.

    Raises
    ------
    InputError
        The file cannot be read, is no TOML, or a table has other keys or rows of another length.
    """
    content = read_toml(path)
    with faults_at(path, ValidationError, InputError):
        published = TypeAdapter(Published).validate_python(content)
    for table in published.table:
        for row in table.rows:
            if len(row) != len(table.headers):
                raise InputError(
                    f"{path}: table {table.number}: the row of '{row[0] if row else ''}' has "
                    f"{counted(len(row), 'cell')}, the headers are {len(table.headers)}"
                )
    return published
