"""A comparison as plain text and as LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuner import tables
from tuner.comparison.tables import all_tables
from tuner.tables import fold, inert

if TYPE_CHECKING:
    from tuner.comparison.model import Comparison


def as_text(comparison: Comparison) -> str:
    """Return the whole comparison as aligned tables."""
    blocks = []
    if comparison.headlines:
        blocks.append(inert("\n".join(comparison.headlines)))
    if comparison.notes:
        blocks.append("\n".join(fold(inert(f"note: {note}")) for note in comparison.notes))
    blocks.append(tables.as_text(all_tables(comparison)))
    blocks.append("\n".join(metric.signature for metric in comparison.metrics))
    return "\n\n".join(blocks)


def as_latex(comparison: Comparison) -> str:
    """Return all tables as floats, to be included in a document."""
    head = f"% Made by portmert {comparison.portmert}.\n"
    return head + tables.as_latex(all_tables(comparison))
