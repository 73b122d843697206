"""A comparison as plain text."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from tuner.comparison.tables import all_tables

if TYPE_CHECKING:
    from tuner.comparison.model import Comparison
    from tuner.comparison.tables import Table

WIDTH = 99
_WIDEST_TEXT = 60
"""Characters of a column of text before it is folded."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What would steer a terminal, or turn the direction of what follows."""


def as_text(comparison: Comparison) -> str:
    """Return the whole comparison as aligned tables."""
    blocks = []
    if comparison.headlines:
        blocks.append("\n".join(comparison.headlines))
    if comparison.notes:
        blocks.append("\n".join(_folded(f"note: {note}") for note in comparison.notes))
    blocks += [_table_text(table) for table in all_tables(comparison)]
    blocks.append("\n".join(metric.signature for metric in comparison.metrics))
    return inert("\n\n".join(blocks))


def inert(text: str) -> str:
    """Return text in which no character steers a terminal: such are shown by their number."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _table_text(table: Table) -> str:
    from tabulate import tabulate  # noqa: PLC0415  start-up time

    wide = [_WIDEST_TEXT if n < table.texts else None for n in range(len(table.columns))]
    body = tabulate(
        [[inert(cell) for cell in row] for row in table.rows],
        headers=table.columns,
        tablefmt="simple",
        disable_numparse=True,
        colalign=["left" if n < table.texts else "right" for n in range(len(table.columns))],
        maxcolwidths=wide,
    )
    title = f"{table.title} ({table.paper} of the PORT paper)" if table.paper else table.title
    return "\n".join([title, "", body, *([_folded(table.note)] if table.note else [])])


def _folded(line: str) -> str:
    return textwrap.fill(line, WIDTH, break_long_words=False, break_on_hyphens=False)
