"""Write the document of a reproduction: the paper's tables, with our figures beside them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ...base import errors, json_toml, numbers
from ...base.tables import Block, Table, aligned
from ..comparison.report import blocks_of
from ..comparison.sentences import Comparison
from ..document import Document, Heading, Paragraph

MISSING = "n/a"
OURS = "ours"
TER = "TER ↓"
"""The column of TER; the paper has 1-TER, which is turned into it."""


@dataclass(frozen=True)
class PublishedTable:
    """One table of the paper as published; every row has a cell for each header."""

    number: int
    caption: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Published:
    """The known tables of a paper."""

    citation: str = ""
    table: tuple[PublishedTable, ...] = ()

    def find(self, number: int) -> PublishedTable | None:
        """Return the table with that number, or None."""
        return next((table for table in self.table if table.number == number), None)


def read_published(path: Path) -> Published:
    """Read the figures of a paper from a TOML file.

    Raises
    ------
    InputError
        The file is missing, not TOML, or a table has other keys or rows of another length.
    """
    try:
        content = json_toml.parse_toml(path.read_text(encoding="utf-8"))
        published = TypeAdapter(Published).validate_python(content)
    except OSError as error:
        raise errors.InputError(f"{path}: {error.strerror or error}") from None
    except ValidationError as error:
        raise errors.InputError(f"{path}: {errors.reason(error)}") from None
    except ValueError as error:
        raise errors.InputError(f"{path}: not TOML: {error}") from None
    for table in published.table:
        for row in table.rows:
            if len(row) != len(table.headers):
                raise errors.InputError(
                    f"{path}: table {table.number}: the row of '{row[0] if row else ''}' has "
                    f"{errors.counted(len(row), 'cell')}, the headers are {len(table.headers)}"
                )
    return published


def _as_rate(table: PublishedTable) -> Table:
    """Return the headers and rows of a table of the paper, with TER where it has 1-TER."""
    headers = [TER if header == "1-TER" else header for header in table.headers]
    rows = [
        [
            f"{100.0 - number:.{len(cell.partition('.')[2])}f}"
            if header == "1-TER" and number is not None
            else cell
            for header, cell in zip(table.headers, row, strict=True)
            for number in [numbers.parse_finite(cell)]
        ]
        for row in table.rows
    ]
    return Table("", headers, rows)


@dataclass(frozen=True)
class PaperTable:
    """One table of the paper.

    Parameters
    ----------
    ours
        Makes our rows in the form of the paper, so that both are in one table.
    absent
        The text if we have no rows.
    details
        Labels of tables of the comparison to put below it.
    """

    number: int
    caption: str
    ours: Callable[[Comparison], Table] = lambda _: Table("", (), ())
    absent: str = ""
    details: Sequence[str] = ()


def document(
    comparison: Comparison, published: Published, *, origin: str, extra_tables: Mapping[int, Table]
) -> Document:
    """Return the document.

    Parameters
    ----------
    comparison
        The comparison of the tuned systems; the first one is tuned on BLEU.
    published
        The figures of the paper.
    origin
        One paragraph on how the systems were made.
    extra_tables
        Number of a table -> a table of ours to put below it.
    """
    lines = [origin]
    if published.citation:
        lines.append(
            f"The paper: {published.citation}. Rows that begin with `{OURS}` are of these "
            f"systems, the others of the paper."
        )
    if without := [str(table.number) for table in TABLES if not published.find(table.number)]:
        lines.append(f"The paper's own figures are not at hand for table {', '.join(without)}.")
    of_comparison = {x.label: x for x in blocks_of(comparison) if isinstance(x, Table)}
    blocks: list[Block] = [*map(Paragraph, lines), of_comparison["systems"]]
    blocks += [Paragraph(line, "headline") for line in comparison["headlines"]]
    if comparison["notes"]:
        blocks.append(Paragraph("Notes:"))
        blocks += [Paragraph(line, "note") for line in comparison["notes"]]
    tables = {table.number: table for table in TABLES}
    for number in sorted(tables.keys() | {table.number for table in published.table}):
        theirs = published.find(number)
        if number in tables:
            table = tables[number]
            blocks += _section(table, theirs, comparison)
            blocks += [of_comparison[label] for label in table.details if label in of_comparison]
            blocks += [extra_tables[number]] if number in extra_tables else []
        elif theirs is not None:
            title = f"Table {number}, published only: {_cell(theirs.caption)}"
            blocks += [Heading(title), _as_rate(theirs)]
    return Document("The tables of the PORT paper, with our own systems", blocks)


def _section(
    table: PaperTable, published: PublishedTable | None, comparison: Comparison
) -> list[Block]:
    """Return the heading and the parts of one table; either side may have no rows."""
    ours = table.ours(comparison)
    blocks: list[Block] = [Heading(f"Table {table.number}: {table.caption}")]
    if not ours.rows and table.absent:
        blocks.append(Paragraph(f"Nothing of ours to show: {table.absent}."))
    tables = [ours] if ours.rows else []
    if published is None:
        return [*blocks, *tables]
    caption, theirs = Paragraph(f"In the paper: {_cell(published.caption)}"), _as_rate(published)
    if theirs.headers == list(ours.headers):
        return [*blocks, caption, Table("", ours.headers, [*theirs.rows, *ours.rows])]
    return [*blocks, *tables, caption, theirs]


def markdown(document: Document) -> str:
    """Return a document in Markdown; headlines and notes are items of lists."""
    text = f"# {document.title}"
    for block in document.blocks:
        if isinstance(block, Heading):
            text += f"\n\n## {block.title}"
        elif isinstance(block, Table):
            rows = [[_cell(cell) for cell in row] for row in block.rows]
            table = aligned([_cell(header) for header in block.headers], rows, style="pipe")
            title = f"{_cell(block.title)}:" if block.title else ""
            text += "".join(f"\n\n{part}" for part in (title, table, _cell(block.note)) if part)
        elif isinstance(block, Paragraph) and block.role in ("headline", "note"):
            is_next = text.rpartition("\n")[2].startswith("- ")
            text += "\n" if is_next else "\n\n"
            text += f"- {_cell(block.content)}"
        elif isinstance(block, Paragraph):
            text += f"\n\n{block.content}"
    return f"{text}\n"


def _cell(text: str) -> str:
    """Escape the signs that have a meaning in Markdown."""
    for sign in "\\|<>`*_[]":
        text = text.replace(sign, "\\" + sign)
    return text.replace("\n", " ")


def _percent(share: float | None) -> str:
    return MISSING if share is None else f"{100 * share:.2f}"


def _similarity(comparison: Comparison) -> Table:
    rows = []
    for pair in comparison["similarity"]:
        alike = (
            _percent(pair["identical"]),
            _percent(1.0 - pair["one_minus_ter"]),
        )
        rows.append([OURS, f"{pair['first']} / {pair['second']}", *alike])
    return Table("", ["task", "systems", "same sentence", TER], rows)


def _tuned(judges: Sequence[str], is_own: Callable[[str], bool]) -> Callable[[Comparison], Table]:
    """Return a function that shows the systems tuned on BLEU, on PORT, and `own` ones if any."""

    def ours(comparison: Comparison) -> Table:
        scores = {(row["system"], row["metric"]): row["score"] for row in comparison["scores"]}

        def cell(system: str, judge: str) -> str:
            return _percent(scores.get((system, judge.partition(" ")[0].lower())))

        names = [system["name"] for system in comparison["systems"]]
        displayed = [name for name in names if name in (names[0], "port") or is_own(name)]
        rows = [[OURS, name, *(cell(name, judge) for judge in judges)] for name in displayed]
        return Table("", ["task", "tuned on", *judges], rows if any(map(is_own, names)) else [])

    return ours


def _ordering(comparison: Comparison) -> Table:
    names = ("rho", "tau", "v")
    rows = [
        [OURS, row["system"], *(f"{row['scores'][name]:.3f}" for name in names)]
        for row in comparison["ordering"]
    ]
    return Table("", ["test set", "tuned on", *names], rows)


def _ngrams(comparison: Comparison) -> Table:
    rows = []
    for row in comparison["ngrams"]:
        counts = [f"{n['matched']:.0f}/{n['total']:.0f}" for n in row["orders"]]
        penalty = f"{row['brevity_penalty']:.3f}"
        rows.append([OURS, row["system"], counts[0], counts[3], penalty])
    return Table("", ["task", "tuned on", "1-grams", "4-grams", "BP"], rows)


SCORES = ("BLEU", "METEOR", TER, "PORT")

TABLES = (
    PaperTable(3, "how alike the outputs are", _similarity),
    PaperTable(
        4,
        "scores of the tuned systems on the test set",
        _tuned(SCORES, lambda _name: True),
        details=("scores", "tests"),
    ),
    PaperTable(6, "time to compute a metric's statistics", details=("timing",)),
    PaperTable(
        7,
        "tuning on PORT with other links",
        _tuned(SCORES, lambda name: name.startswith("port@")),
        "no system was tuned on PORT with other links; --links NAME=FILE does",
    ),
    PaperTable(
        8,
        "tuning on Qmean, which is PORT without word order",
        _tuned(SCORES, lambda name: name == "qmean"),
        "no system was tuned on Qmean; --tune-on qmean does",
    ),
    PaperTable(
        9,
        "tuning on PORT with rho or tau in place of v",
        _tuned(SCORES[:3], lambda name: name in ("port-rho", "port-tau")),
        "no system was tuned on PORT with rho or tau; --tune-on port-rho --tune-on port-tau does",
    ),
    PaperTable(10, "word order of the outputs", _ordering, "links are not known"),
    PaperTable(11, "n-grams and length penalties", _ngrams, details=("ngrams",)),
)
