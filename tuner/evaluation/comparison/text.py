"""Prints a comparison as plain text and as LaTeX."""

from __future__ import annotations

from typing import Any

from portmert.tuner.evaluation.comparison.model import Comparison
from portmert.tuner.evaluation.comparison.summary import MOST_SYSTEMS, summaries
from portmert.tuner.evaluation.comparison.tables import all_tables
from portmert.tuner.ground import tables
from portmert.tuner.ground.documents import plain
from portmert.tuner.ground.tables import fold, inert


def as_text(comparison: Comparison) -> str:
    """Return the whole comparison as aligned tables."""
    blocks = []
    if len(comparison.systems) > MOST_SYSTEMS + 1:
        blocks.append("\n".join(fold(inert(line)) for line in summaries(_heads(comparison))))
    elif comparison.headlines:
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


def _heads(comparison: Comparison) -> dict[str, Any]:
    """Return as much of the comparison as sentences need, without its segments."""
    names = ("systems", "metrics", "scores", "confidence")
    return {name: plain(getattr(comparison, name)) for name in names}
