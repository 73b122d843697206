"""Tables as aligned text, LaTeX or Markdown, and lines for a terminal."""

import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Literal, Self

WIDTH = 99
"""Characters of a line of prose."""
COLUMN_WIDTH = 60
"""Characters of a column of prose before it is folded."""
_STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""Characters that steer a terminal, or change the direction of the text after them."""
Form = Literal["text", "long", "paper", "latex", "page"]
"""An output of a document. `long` is the text of `--all`, `paper` the LaTeX of one table, `latex`
that of all."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """A part of a document.

    Parameters
    ----------
    forms
        The outputs that show the block.
    """

    forms: Collection[Form] = ("text", "long", "latex", "page")

    def only(self, *forms: Form) -> Self:
        """Return the same block for other outputs."""
        return replace(self, forms=forms)

    def text(self) -> str:
        """Return the block for a terminal; empty if it cannot be shown there."""
        return ""


@dataclass(frozen=True)
class Table(Block):
    """A table of cells as they are printed.

    Parameters
    ----------
    title
        One line.
    headers, rows
        All rows are as long as the headers.
    left
        The number of first columns that have words, set left; the others have numbers, set right.
    note
        Prose below the table.
    label
        For references to it in LaTeX.
    prose
        Columns of whole sentences.
    bold
        (row, column) of cells that LaTeX sets in bold.
    tones
        (row, column) -> `better` or `worse`: of cells that have a colour on pages.
    """

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    note: str = ""
    label: str = ""
    prose: Sequence[int] = ()
    bold: Collection[tuple[int, int]] = ()
    tones: Mapping[tuple[int, int], str] = field(default_factory=dict)

    def text(self) -> str:
        """Return the title and the table below it."""
        body = aligned(
            self.headers,
            [[inert(cell) for cell in row] for row in self.rows],
            sides="l" * self.left + "r" * (len(self.headers) - self.left),
            widths=[COLUMN_WIDTH if n in self.prose else None for n in range(len(self.headers))],
        )
        note = f"\n{fold(inert(self.note))}" if self.note else ""
        return f"{inert(self.title)}\n\n{body}{note}"


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


def inert(text: str) -> str:
    """Return text in which no character steers a terminal: such are shown by their number."""
    return _STEERING.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def fold(line: str) -> str:
    """Return prose in lines of a readable width."""
    return textwrap.fill(line, WIDTH, break_long_words=False, break_on_hyphens=False)


def preformatted(text: str) -> str:
    """Return a text as notebooks show it: letters of one width, nothing of it markup."""
    return f'<pre style="white-space: pre">{escape(text)}</pre>'
