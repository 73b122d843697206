"""The result of a command, in every form: text, LaTeX, HTML, JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..base.frames import Framed
from ..base.tables import Form, Table, preformatted
from ..base.warn import left_out_so_far, warnings_so_far
from ..families import provided
from .document import Chart, Document, text


@dataclass(frozen=True, eq=False)
class Report(Framed):
    """The result of a command, in every form. The command prints its `str()`.

    Parameters
    ----------
    layout
        The sentences, tables and charts.
    document
        All results as plain data.
    form
        Which text `str()` is: `text`, or `long` with all tables.
    warnings
        What looks wrong with the data, one line each.
    left_out
        The number of segments that lack an answer and were left out.
    """

    layout: Document = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)
    form: Form = field(default="text", repr=False)
    warnings: Sequence[str] = field(default_factory=warnings_so_far, repr=False)
    left_out: int = field(default_factory=left_out_so_far, repr=False)

    @property
    def frame_rows(self) -> Sequence[Mapping[str, Any]]:
        """The rows of the main table of the results: the scores, or the first list of rows."""
        tables = {
            key: rows
            for key, rows in self.document.items()
            if isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows)
        }
        return tables.get("scores") or next(iter(tables.values()), [])

    @property
    def headlines(self) -> tuple[str, ...]:
        """The results in sentences."""
        return tuple(self.document.get("headlines", ()))

    @property
    def text(self) -> str:
        """The text for a terminal."""
        return text(self.layout, self.form)

    @property
    def tables(self) -> Sequence[Table]:
        """All tables."""
        return self.layout.tables()

    def __repr__(self) -> str:
        return f"Report({'; '.join(self.headlines)[:200]!r})"

    def _repr_html_(self) -> str:
        """Return the text as a notebook shows it."""
        return preformatted(str(self))

    def __str__(self) -> str:
        return f"{self.text}\n\nsegments left out: {self.left_out}" if self.left_out else self.text

    def as_json(self) -> Mapping[str, Any]:
        """Return all results as plain data."""
        warned = {"warnings": list(self.warnings)} if self.warnings else {}
        counted = {"left_out": self.left_out} if self.left_out else {}
        return {**self.document, **warned, **counted} if warned or counted else self.document

    def as_latex(self, *, whole: bool = False) -> str:
        """Return LaTeX (booktabs), with the warnings as comments.

        Parameters
        ----------
        whole
            Whether to return all tables where one is made for papers.
        """
        from .latex import latex  # noqa: PLC0415  start-up time

        return latex(self.layout, self.warnings, whole=whole)

    def as_html(self) -> str:
        """Return a page that needs no network."""
        from .page.html import html  # noqa: PLC0415  start-up time

        return html(self.layout, self.warnings)

    def write_plot(self, path: Path) -> None:
        """Draw the charts of the page to a file: .svg, .png or .pdf.

        Raises
        ------
        PortmertError
            Matplotlib is not installed, or the file cannot be written.
        """
        provided("portmert.drawing", "plots").draw(self.charts, path)

    def figure(self) -> Any:
        """Return the charts of the page as a Matplotlib figure, for notebooks.

        Raises
        ------
        ProgramError
            Matplotlib is not installed.
        """
        return provided("portmert.drawing", "plots").figure(self.charts)

    @property
    def charts(self) -> Sequence[Chart]:
        """The charts of the page."""
        return [block for block in self.layout.blocks if isinstance(block, Chart)]
