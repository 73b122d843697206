"""A table as aligned text and as LaTeX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


@dataclass(frozen=True)
class Table:
    """Cells as they are printed.

    Parameters
    ----------
    title
        One line.
    headers, rows
        All rows are as long as the headers.
    left
        So many first columns are words, set left; all others are numbers, set right.
    """

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1

    def text(self) -> str:
        """Return the title and the table below it."""
        return f"{self.title}\n\n{self._tabulated(self.headers, self.rows, 'simple')}"

    def latex(self) -> str:
        """Return a table with a caption, to be set with the package booktabs."""
        # Escaped here and set as it is: of a header tabulate escapes less than of a cell.
        body = self._tabulated(
            [latex_escaped(cell) for cell in self.headers],
            [[latex_escaped(cell) for cell in row] for row in self.rows],
            "latex_raw",
        )
        for rule in ("toprule", "midrule", "bottomrule"):
            body = body.replace("\\hline", f"\\{rule}", 1)
        return (
            f"\\begin{{table}}\n\\centering\n\\caption{{{latex_escaped(self.title)}}}\n{body}\n"
            f"\\end{{table}}\n"
        )

    def _tabulated(self, headers: Sequence[str], rows: Sequence[Sequence[str]], style: str) -> str:
        from tabulate import tabulate  # noqa: PLC0415  start-up time

        return tabulate(
            rows,
            headers=list(headers),
            tablefmt=style,
            disable_numparse=True,
            colalign=["left"] * self.left + ["right"] * (len(headers) - self.left),
        )


def latex_escaped(text: str) -> str:
    """Return text that LaTeX prints as it is; control characters become spaces."""
    return "".join(_SPECIAL.get(sign, sign if sign.isprintable() else " ") for sign in text)


def as_text(tables: Sequence[Table]) -> str:
    """Return all tables, an empty line between them."""
    return "\n\n".join(table.text() for table in tables)


def as_latex(tables: Sequence[Table]) -> str:
    """Return all tables as LaTeX."""
    return "% Needs \\usepackage{booktabs}.\n" + "\n".join(table.latex() for table in tables)
