"""The tables of a document in LaTeX."""

import re
from collections.abc import Sequence

import portmert

from ..base.tables import Table, aligned
from .document import Document

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",  # \textquotedbl is an error without the package fontenc
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "†": r"$^\dagger$",
    "±": r"$\pm$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
_LINE_WIDTH = 345.0
"""Points of LaTeX's class article at 10 points, the narrowest common page."""
_SIZES = (
    ("", 5.2, 6.0),
    (r"\footnotesize\setlength{\tabcolsep}{3pt}", 4.4, 3.0),
    (r"\scriptsize\setlength{\tabcolsep}{2pt}", 3.8, 2.0),
    (r"\tiny\setlength{\tabcolsep}{2pt}", 3.1, 2.0),
)
"""Sizes of a table: LaTeX commands, width of a character and of half a gap in points."""
MAX_ROWS = 40
"""Lines of one float: no float can be longer than a page."""
_PROSE_WIDTH = 34
"""Characters in a line of a column of prose."""


def latex(document: Document, warnings: Sequence[str] = (), *, whole: bool = False) -> str:
    """Return tables, to be set with the package booktabs, and the warnings as comments.

    Parameters
    ----------
    whole
        Whether to return all tables where one is made for papers.
    """
    tables = document.tables("paper")
    tables = document.tables("latex") if whole or not tables else tables
    lines = [f"% warning: {' '.join(line.split())}" for line in warnings]
    lines += [
        f"% Made by portmert {portmert.__version__}.",
        "% Needs \\usepackage{booktabs}; words that are not Latin need XeLaTeX or LuaLaTeX.",
    ]
    return "\n".join([*lines, *map(latex_table, tables)])


def latex_table(table: Table) -> str:
    """Return a table with a caption. Long ones are several floats, wide ones small."""
    parts: list[list[Sequence[str]]] = [[]]
    free_lines = MAX_ROWS
    for row in table.rows:
        height = 1 + max((len(row[n]) // _PROSE_WIDTH for n in table.prose), default=0)
        if parts[-1] and height > free_lines:
            parts.append([])
            free_lines = MAX_ROWS
        parts[-1].append(row)
        free_lines -= height
    size = _size(table)
    floats, first = [], 0
    for number, rows in enumerate(parts):
        floats.append(_float(table, rows, size, number, first))
        first += len(rows)
    return "\n".join(floats)


def _size(table: Table) -> str:
    """Return the largest size at which the table is no wider than a page."""
    widths = [max(map(len, column)) for column in zip(table.headers, *table.rows, strict=True)]
    letters = sum(width for n, width in enumerate(widths) if n not in table.prose)
    line_width = _LINE_WIDTH / 2 if table.prose else _LINE_WIDTH
    fitting = (
        size for size, letter, gap in _SIZES
        if letter * letters + 2 * gap * len(widths) <= line_width
    )  # fmt: skip
    return next(fitting, _SIZES[-1][0])


def _float(table: Table, rows: Sequence[Sequence[str]], size: str, number: int, first: int) -> str:
    """Return some rows, from the `first` of the table, as the float of a number."""
    # Escaped here and set as it is: of a header tabulate escapes less than of a cell.
    sides = "l" * table.left + "r" * (len(table.headers) - table.left)
    body = aligned(
        [latex_escaped(header) for header in table.headers],
        [
            [
                f"\\textbf{{{_cell(cell, side)}}}" if (n, k) in table.bold else _cell(cell, side)
                for k, (cell, side) in enumerate(zip(row, sides, strict=True))
            ]
            for n, row in enumerate(rows, first)
        ],
        sides=sides,
        style="latex_raw",
    )
    for rule in ("toprule", "midrule", "bottomrule"):
        body = body.replace("\\hline", f"\\{rule}", 1)
    for column in table.prose:
        with_prose = f"{sides[:column]}p{{0.5\\linewidth}}{sides[column + 1 :]}"
        body = body.replace(f"{{{sides}}}", f"{{{with_prose}}}", 1)
    caption = f"{table.title}. {table.note}" if table.note else table.title
    label = f"\\label{{tab:{table.label}}}\n" if table.label and number == 0 else ""
    if number:
        caption = f"{table.title}, continued"
    return (
        f"\\begin{{table}}\n\\centering{size}\n\\caption{{{latex_escaped(caption)}}}\n{label}{body}\n"
        f"\\end{{table}}\n"
    )


def _cell(cell: str, side: str) -> str:
    """Return an escaped cell; a number gets a minus, not a hyphen, as its sign."""
    return re.sub(r"(?<!\w)-(?=\d)", "-" if side == "l" else "$-$", latex_escaped(cell))


def latex_escaped(text: str) -> str:
    """Return text that LaTeX prints as it is; control characters become spaces."""
    return "".join(_SPECIAL.get(sign, sign if sign.isprintable() else " ") for sign in text)
