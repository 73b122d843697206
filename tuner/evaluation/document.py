"""The document of a report, and its text.

Each kind of report builds one `Document` from its results. `text` is for a terminal, `latex.latex`
for a paper, `page.html.html` for a browser. JSON has the results themselves.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..base.tables import Block, Form, Table, fold, inert

Role = Literal["headline", "summary", "note", "explanation", "signature"]
"""The purpose of a paragraph. A headline is one line; a summary is folded."""


@dataclass(frozen=True)
class Heading(Block):
    """The beginning of a section of the page."""

    title: str

    @property
    def anchor(self) -> str:
        """The id of the section in the page."""
        return "-".join(self.title.lower().split())


@dataclass(frozen=True)
class Paragraph(Block):
    """A sentence or a few."""

    content: str
    role: Role = "explanation"

    def text(self) -> str:
        """Return the folded lines."""
        line = inert(self.content)
        if self.role in ("headline", "signature"):
            return line
        return fold(f"note: {line}" if self.role == "note" else line)


@dataclass(frozen=True)
class Series:
    """Values of a chart that share a name and a colour.

    Parameters
    ----------
    values
        None: there is no value.
    x
        The position of each value on the horizontal axis; of bars, the choice's categories.
    low, high
        The ends of the intervals of the values.
    colour
        Number of a colour.
    tones
        `better`, `worse` or `neither` of each value: points have these colours instead.
    """

    name: str
    values: Sequence[float | None]
    x: Sequence[float] = ()
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    colour: int = 0
    tones: Sequence[str] = ()


@dataclass(frozen=True)
class ChartChoice:
    """What a chart shows at a time, such as one metric; readers choose one.

    Parameters
    ----------
    categories
        The names of the bars.
    marker
        Where a dashed line is drawn.
    """

    label: str
    series: Sequence[Series]
    in_percent: bool = False
    categories: Sequence[str] = ()
    marker: float | None = None


@dataclass(frozen=True)
class Chart(Block):
    """A chart, of the page or in a file of its own.

    Parameters
    ----------
    kind
        `bars` and `intervals` (dots) are horizontal; `scatter` and, in files alone, `lines` mark
        or connect points.
    x, y
        The names of the axes.
    """

    name: str
    kind: Literal["bars", "intervals", "lines", "scatter"]
    title: str
    choices: Sequence[ChartChoice]
    caption: str = ""
    x: str = ""
    y: str = ""


@dataclass(frozen=True)
class SegmentBrowser(Block):
    """The segments of a comparison, to sort and to search on the page.

    Parameters
    ----------
    comparison
        What `compare_systems` returns.
    """

    comparison: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Document:
    """A report in parts, from which text, LaTeX and a page are made.

    Parameters
    ----------
    title
        The title of the page.
    about
        What the results depend on, in one line.
    systems
        Names that have a colour of their own in the page's tables.
    """

    title: str
    blocks: Sequence[Block]
    about: str = ""
    systems: Sequence[str] = ()

    def tables(self, form: Form = "latex") -> list[Table]:
        """Return the tables that an output shows."""
        return [x for x in self.blocks if isinstance(x, Table) and form in x.forms]


def on_page(blocks: Iterable[Block]) -> list[Block]:
    """Return the same blocks for the page alone."""
    return [block.only("page") for block in blocks]


def text(document: Document, form: Form = "text") -> str:
    """Return a document for a terminal; neighbouring lines of one role stand together."""
    parts: list[str] = []
    role = ""
    for block in document.blocks:
        lines = block.text() if form in block.forms else ""
        if not lines:
            continue
        role_before, role = role, block.role if isinstance(block, Paragraph) else ""
        if role and role == role_before:
            parts[-1] += f"\n{lines}"
        else:
            parts.append(lines)
    return "\n\n".join(parts)
