"""Write the document of a reproduction: the paper's tables, with our figures beside them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from portmert.tuner.base import numbers
from portmert.tuner.base.tables import Block, Table, aligned
from portmert.tuner.evaluation.comparison.report import blocks_of
from portmert.tuner.evaluation.comparison.sentences import Comparison
from portmert.tuner.evaluation.document import Document, Heading, Paragraph
from portmert.tuner.evaluation.published import Published, PublishedTable

MISSING = "n/a"
OURS = "ours"
TER = "TER ↓"
"""The column of TER; the paper has 1-TER, which is turned into it."""


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
    lines += [
        f"{x['name']} is {x['signature']}."
        for x in comparison["metrics"]
        if x["label"] != x["name"]
    ]
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
        labels = {x["name"]: x["label"] for x in reversed(comparison["metrics"])}
        names = [system["name"] for system in comparison["systems"]]
        displayed = [name for name in names if name in (names[0], "port") or is_own(name)]
        rows = []
        for label, part in _sets(comparison):
            scores = {(row["system"], row["metric"]): row["score"] for row in part["scores"]}
            for name in displayed if any(map(is_own, names)) else ():
                keys = [(name, labels.get(judge.partition(" ")[0].lower())) for judge in judges]
                rows.append([label, name, *(_percent(scores.get(key)) for key in keys)])
        return Table("", ["task", "tuned on", *judges], rows)

    return ours


def _sets(comparison: Comparison) -> list[tuple[str, Mapping[str, Any]]]:
    """Return each test set with its scores, then the means over them; or the only test set."""
    parts = comparison.get("parts")
    if not parts:
        return [(OURS, comparison)]
    mean = [
        {**rows[0], "score": sum(row["score"] for row in rows) / len(rows)}
        for rows in zip(*(part["scores"] for part in parts), strict=True)
    ]
    sets = [(f"{OURS}, {part['name']}", part) for part in parts]
    return [*sets, (f"{OURS}, mean of {len(parts)}", {"scores": mean, "ordering": []})]


def _ordering(comparison: Comparison) -> Table:
    names = ("rho", "tau", "v")
    rows = [
        [label, row["system"], *(f"{row['scores'][name]:.3f}" for name in names)]
        for label, part in _sets(comparison)
        for row in part["ordering"]
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
    PaperTable(6, "time to score the lists of the dev set", details=("timing",)),
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
