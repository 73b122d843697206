"""A comparison as LaTeX tables, to be included in a document that loads booktabs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tuner.comparison.tables import all_tables
from tuner.comparison.text import inert

if TYPE_CHECKING:
    from tuner.comparison.model import Comparison
    from tuner.comparison.tables import Table

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "\t": " ",
    "\n": " ",
} | {char: f"\\{char}" for char in "&%$#_{}"}
_ESCAPED = re.compile("|".join(map(re.escape, _SPECIAL)))
_TEXT_WIDTH = r"p{0.55\linewidth}"
"""A column of sentences."""


def as_latex(comparison: Comparison) -> str:
    """Return all tables as floats, everything that is not ours escaped."""
    head = (
        f"% Made by portmert {comparison.portmert}.\n"
        "% Needs \\usepackage{booktabs} and \\usepackage[T1]{fontenc}.\n"
    )
    return head + "\n".join(_table(table) for table in all_tables(comparison))


def escape(text: str) -> str:
    """Return text as LaTeX sets it."""
    return _ESCAPED.sub(lambda found: _SPECIAL[found.group()], inert(text))


def _table(table: Table) -> str:
    columns = "".join(
        (_TEXT_WIDTH if name == "text" else "l") if n < table.texts else "r"
        for n, name in enumerate(table.columns)
    )
    paper = f" ({table.paper} of the PORT paper)" if table.paper else ""
    caption = f"{table.title}{paper}. {table.note}".strip()
    lines = [
        r"\begin{table}",
        r"\centering\small",
        f"\\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _row(table.columns),
        r"\midrule",
        *(_row(row) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        f"\\caption{{{escape(caption)}}}",
        f"\\label{{tab:{table.key}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: tuple[str, ...]) -> str:
    return " & ".join(escape(cell) for cell in cells) + r" \\"
