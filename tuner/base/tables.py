"""Tables as aligned text, LaTeX or Markdown."""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

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
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
NOTHING = "\N{EN DASH}"
"""Stands in for a number that is not known, or has no value."""
WIDTH = 99
"""Characters of a line of prose."""
WIDEST = 60
"""Characters of a column of words before it is folded."""
_LINE_WIDTH = 345.0
"""Points of LaTeX's class article at 10 points, the narrowest common page."""
_SIZES = (
    ("", 5.2, 6.0),
    (r"\footnotesize\setlength{\tabcolsep}{3pt}", 4.4, 3.0),
    (r"\scriptsize\setlength{\tabcolsep}{2pt}", 3.8, 2.0),
    (r"\tiny\setlength{\tabcolsep}{2pt}", 3.1, 2.0),
)
"""Sizes of a table: LaTeX commands, width of a character and of half a gap in points."""
MOST_ROWS = 40
"""Lines of one float in LaTeX: no float can be longer than a page."""
_STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""Characters that steer a terminal, or change the direction of the text after them."""


@dataclass(frozen=True)
class Table:
    """A table of cells as they are printed.

    Parameters
    ----------
    title
        One line.
    headers, rows
        All rows are as long as the headers.
    left
        So many first columns are words, set left; all others are numbers, set right.
    note
        Prose below the table.
    label
        For references to it in LaTeX.
    prose
        Columns of whole sentences.
    """

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    note: str = ""
    label: str = ""
    prose: Sequence[int] = ()

    def text(self) -> str:
        """Return the title and the table below it."""
        rows = [[inert(cell) for cell in row] for row in self.rows]
        folded = f"\n{fold(inert(self.note))}" if self.note else ""
        return f"{inert(self.title)}\n\n{self._tabulated(self.headers, rows, 'simple')}{folded}"

    def latex(self) -> str:
        """Return a table with a caption, to be set with the package booktabs.

        A long one is several floats, and a wide one is set in smaller letters.
        """
        size = self._size()
        parts: list[list[Sequence[str]]] = [[]]
        room = MOST_ROWS
        for row in self.rows:
            # A line of a column of prose has 34 characters.
            lines = 1 + max((len(row[n]) // 34 for n in self.prose), default=0)
            if parts[-1] and lines > room:
                parts.append([])
                room = MOST_ROWS
            parts[-1].append(row)
            room -= lines
        return "\n".join(
            self._float(rows, size, is_first=number == 0) for number, rows in enumerate(parts)
        )

    def _size(self) -> str:
        """Return the largest size at which the table is no wider than a page."""
        widths = [max(map(len, column)) for column in zip(self.headers, *self.rows, strict=True)]
        letters = sum(width for n, width in enumerate(widths) if n not in self.prose)
        room = _LINE_WIDTH / 2 if self.prose else _LINE_WIDTH
        fitting = [
            size
            for size, letter, gap in _SIZES
            if letter * letters + 2 * gap * len(widths) <= room
        ]
        return fitting[0] if fitting else _SIZES[-1][0]

    def _float(self, rows: Sequence[Sequence[str]], size: str, *, is_first: bool) -> str:
        # Escaped here and set as it is: of a header tabulate escapes less than of a cell.
        body = self._tabulated(
            [latex_escaped(cell) for cell in self.headers],
            [
                [
                    # A number gets a minus, not a hyphen, as its sign.
                    re.sub(
                        r"(?<!\w)-(?=\d)", "$-$" if n >= self.left else "-", latex_escaped(cell)
                    )
                    for n, cell in enumerate(row)
                ]
                for row in rows
            ],
            "latex_raw",
        )
        for rule in ("toprule", "midrule", "bottomrule"):
            body = body.replace("\\hline", f"\\{rule}", 1)
        for place in self.prose:
            columns = "l" * self.left + "r" * (len(self.headers) - self.left)
            wide = f"{columns[:place]}p{{0.5\\linewidth}}{columns[place + 1 :]}"
            body = body.replace(f"{{{columns}}}", f"{{{wide}}}", 1)
        caption = f"{self.title}. {self.note}" if self.note else self.title
        if not is_first:
            caption = f"{self.title}, continued"
        label = f"\\label{{tab:{self.label}}}\n" if self.label and is_first else ""
        return (
            f"\\begin{{table}}\n\\centering{size}\n\\caption{{{latex_escaped(caption)}}}\n{label}{body}\n"
            f"\\end{{table}}\n"
        )

    def _tabulated(self, headers: Sequence[str], rows: Sequence[Sequence[str]], style: str) -> str:
        widths = [
            WIDEST if style == "simple" and n in self.prose else None for n in range(len(headers))
        ]
        sides = "l" * self.left + "r" * (len(headers) - self.left)
        return aligned(headers, rows, sides=sides, style=style, widths=widths)


def aligned(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    sides: str = "",
    style: str = "simple",
    widths: Sequence[int | None] | None = None,
) -> str:
    """Return a table whose cells are printed as they are.

    Parameters
    ----------
    sides : str
        `l` or `r` of each column: words stand left, numbers right. Absent: `l`, then `r`.
    style : str
        One of tabulate's: `simple`, `pipe` for Markdown, `latex_raw`.
    widths : sequence of int or None
        Where the words of each column are folded.
    """
    from tabulate import tabulate  # noqa: PLC0415  start-up time

    names = {"l": "left", "r": "right"}
    return tabulate(
        rows,
        headers=list(headers),
        tablefmt=style,
        disable_numparse=True,
        colalign=[names[side] for side in sides or "l" + "r" * (len(headers) - 1)],
        maxcolwidths=None if widths is None else list(widths),
    )


def latex_escaped(text: str) -> str:
    """Return text that LaTeX prints as it is; control characters become spaces."""
    return "".join(_SPECIAL.get(sign, sign if sign.isprintable() else " ") for sign in text)


def inert(text: str) -> str:
    """Return text in which no character steers a terminal: such are shown by their number."""
    return _STEERING.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def fold(line: str) -> str:
    """Return prose in lines of a readable width."""
    return textwrap.fill(line, WIDTH, break_long_words=False, break_on_hyphens=False)


def as_text(tables: Sequence[Table]) -> str:
    """Return all tables, an empty line between them."""
    return "\n\n".join(table.text() for table in tables)


def as_latex(tables: Sequence[Table]) -> str:
    """Return all tables as LaTeX."""
    head = "% Needs \\usepackage{booktabs}; words that are not Latin need XeLaTeX or LuaLaTeX.\n"
    return head + "\n".join(table.latex() for table in tables)
