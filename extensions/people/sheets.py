"""Writes the folder of an evaluation, and reads and writes the judges' sheets."""

import csv
import io
import itertools
import json
import re
import secrets
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from portmert.tuner.base.errors import InputError, PortmertError, counted
from portmert.tuner.base.extras import require
from portmert.tuner.base.files import resolved, write_text, writing

from .evaluation import FORM, Evaluation

ANSWERS = ("left", "right", "equal")
FORMULA = ("=", "+", "-", "@")
"""Programs take a cell that begins with one of these for a formula."""

_MOST_BYTES = 1 << 25
"""Limit of an unpacked spreadsheet: a library needs much more memory than that."""
_TITLE = "judgements"
_WIDTHS = {"source": 50, "reference": 50, "left": 50, "right": 50, "answer": 10}
_MODIFIED = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")
_TIME = b"1980-01-01T00:00:00Z"
"""The oldest time in a zip file. A sheet does not depend on when it was made."""


def columns(evaluation: Evaluation) -> list[str]:
    """Return the names of a sheet's columns."""
    texts = ["source"] if any(x.source is not None for x in evaluation.items.values()) else []
    return ["item", *texts, "reference", "left", "right", "answer", "judge", "evaluation"]


def rows(evaluation: Evaluation, judge: str) -> Iterator[dict[str, str]]:
    """Return the rows of a judge's sheet, not answered."""
    for placed in evaluation.sheets[judge]:
        yield {
            "item": placed.item,
            **evaluation.row(placed),
            "answer": "",
            "judge": judge,
            "evaluation": evaluation.id,
        }


def as_csv(evaluation: Evaluation, judge: str) -> bytes:
    """Return a sheet as CSV in UTF-8, with the mark by which spreadsheets recognize UTF-8."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns(evaluation), lineterminator="\r\n")
    writer.writeheader()
    for row in rows(evaluation, judge):
        writer.writerow({name: harmless(text) for name, text in row.items()})
    return out.getvalue().encode("utf-8-sig")


def harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula, by an apostrophe in front."""
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text


def as_xlsx(evaluation: Evaluation, judge: str) -> bytes:
    """Return a sheet as a spreadsheet. Only answers can be changed, by choice from a list."""
    require("openpyxl", extra="people")
    from openpyxl import Workbook  # noqa: PLC0415  start-up time
    from openpyxl.styles import Alignment, Font, Protection  # noqa: PLC0415
    from openpyxl.utils import get_column_letter  # noqa: PLC0415
    from openpyxl.worksheet.datavalidation import DataValidation  # noqa: PLC0415

    names = columns(evaluation)
    book = Workbook()
    sheet = book.worksheets[0]
    sheet.title = _TITLE
    for number, values in enumerate([dict(zip(names, names, strict=True)),
                                     *rows(evaluation, judge)], 1):  # fmt: skip
        for position, name in enumerate(names, 1):
            cell: Any = sheet.cell(number, position)
            cell.value = values[name] or None
            if values[name]:
                cell.data_type = "s"  # never a formula
                cell.quotePrefix = True  # nor when it is edited
            cell.alignment = Alignment(wrap_text=True, vertical="top")
            if number == 1:
                cell.font = Font(bold=True)
            if name == "answer" and number > 1:
                cell.protection = Protection(locked=False)
    for position, name in enumerate(names, 1):
        sheet.column_dimensions[get_column_letter(position)].width = _WIDTHS.get(name, 12)
    letter = get_column_letter(names.index("answer") + 1)
    choice = DataValidation(
        type="list", formula1=f'"{",".join(ANSWERS)}"', allow_blank=True, showErrorMessage=True
    )
    choice.error = f"Choose one of {', '.join(ANSWERS)}."
    choice.add(f"{letter}2:{letter}{len(evaluation.sheets[judge]) + 1}")
    sheet.add_data_validation(choice)
    sheet.freeze_panes = "B2"
    sheet.protection.sheet = True
    sheet.protection.formatColumns = False
    sheet.protection.formatRows = False
    out = io.BytesIO()
    book.save(out)
    return _timeless(out.getvalue())


def _timeless(content: bytes) -> bytes:
    """Return a zip file with all times the same."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as copy,
    ):
        for name in sorted(old.namelist()):
            data = old.read(name)
            if name == "docProps/core.xml":
                data = _MODIFIED.sub(rb"\g<1>" + _TIME, data)
            copy.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def read_csv(path: Path, text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Return (line, row) of a CSV file with commas, semicolons or tabs between its columns."""
    first = text.partition("\n")[0]
    between = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=between, strict=True)
    names: list[str] | None = None
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if names is None:
                names = _checked_names(path, reader.line_num, cells)
                continue
            if len(cells) != len(names):
                raise InputError(
                    f"{path}:{reader.line_num}: {counted(len(cells), 'column')}, the first line "
                    f"names {len(names)}"
                )
            yield reader.line_num, dict(zip(names, cells, strict=True))
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num}: no CSV: {error}") from None


def read_xlsx(path: Path, content: bytes) -> Iterator[tuple[int, dict[str, str]]]:
    """Return (row, cells) of the sheet that `as_xlsx` wrote, or else of the first sheet."""
    import warnings  # noqa: PLC0415  start-up time

    require("openpyxl", extra="people")
    from openpyxl import load_workbook  # noqa: PLC0415

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of extensions that have nothing to do with cells
            with zipfile.ZipFile(io.BytesIO(content)) as packed:
                size = sum(part.file_size for part in packed.infolist())
            if size > _MOST_BYTES:
                reason = f"it unpacks to {size} bytes, more than any sheet of a judge"
                raise ValueError(reason)  # noqa: TRY301
            book = load_workbook(io.BytesIO(content), data_only=False, read_only=True)
            # Somebody may have put sheets of their own in front.
            sheet: Any = next(
                (worksheet for worksheet in book.worksheets if worksheet.title == _TITLE),
                book.worksheets[0],
            )
            sheet.reset_dimensions()  # the size that the file states may be wrong
            cells = [
                ["" if cell is None else str(cell) for cell in row]
                for row in sheet.iter_rows(values_only=True)
            ]
    except Exception as error:  # noqa: BLE001  a damaged file may raise anything in the library
        reason = re.sub(r"\s+", " ", str(error)).strip() or type(error).__name__
        raise InputError(f"{path}: not a spreadsheet that can be read: {reason}") from None
    names = _checked_names(path, 1, cells[0]) if cells else []
    for number, row in enumerate(cells[1:], 2):
        if any(cell.strip() for cell in row):
            yield number, dict(itertools.zip_longest(names, row[: len(names)], fillvalue=""))


def _checked_names(path: Path, number: int, cells: Sequence[str]) -> list[str]:
    """Return the names of columns. Only empty names may repeat."""
    names = [cell.strip() for cell in cells]
    for name, count in Counter(filter(None, names)).items():
        if count > 1:
            raise InputError(
                f"{path}:{number}: {count} columns '{name}'; which one counts is not known, leave "
                f"one"
            )
    return names


def as_html(evaluation: Evaluation, judge: str) -> bytes:
    """Return the form. It names neither systems nor segments."""
    import jinja2  # noqa: PLC0415  start-up time

    folder = resources.files("portmert.extensions.people")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    # Sorted and in ASCII: the same bytes wherever it is made.
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "ensure_ascii": True}
    environment.policies["json.dumps_function"] = json.dumps
    template = environment.from_string((folder / "form.html.jinja").read_text(encoding="utf-8"))
    page = template.render(
        judge=judge,
        style=(folder / "form.css").read_text(encoding="utf-8"),
        script=(folder / "form.js").read_text(encoding="utf-8"),
        sheet={
            "form": FORM,
            "evaluation": evaluation.id,
            "judge": judge,
            "items": [
                {"item": placed.item, **evaluation.row(placed)}
                for placed in evaluation.sheets[judge]
            ],
        },
    )
    return page.encode("utf-8")


KEY = "key.json"
JUDGES = "judges"


def check_absent(out: Path) -> None:
    """Raise PortmertError if `out` exists: it may have answers in it."""
    if out.exists():
        raise PortmertError(f"{out}: is there already; name another folder, or take it away")
    if not resolved(out).parent.is_dir():
        raise PortmertError(f"{out}: there is no folder {out.parent}; make it")


def write(evaluation: Evaluation, out: Path) -> None:
    """Write the whole folder, or nothing."""
    check_absent(out)
    aside = out.with_name(f".{out.name}.{secrets.token_hex(4)}.part")
    try:
        aside.mkdir()
        (aside / JUDGES).mkdir()
        for judge in evaluation.sheets:
            for suffix, make in ((".csv", as_csv), (".xlsx", as_xlsx), (".html", as_html)):
                with writing(aside / JUDGES / f"{judge}{suffix}") as file:
                    file.write(make(evaluation, judge))
        write_text(aside / KEY, json.dumps(evaluation.as_json(), indent=1) + "\n")
        aside.rename(out)
    except OSError as error:
        raise PortmertError(f"{out}: cannot write: {error.strerror or error}") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def find_keys(sheets: Sequence[Path]) -> list[Path]:
    """Return the keys beside the sheets or one folder above, each once.

    Raises
    ------
    InputError
        A sheet has no key near it.
    """
    keys: dict[Path, Path] = {}
    for sheet in sheets:
        if sheet.is_dir():
            raise InputError(f"{sheet}: is a folder; name the judges' sheets, as kit/judges/*.csv")
        if not sheet.is_file():
            raise InputError(f"{sheet}: there is no such file; expected a judge's sheet")
        near = [folder / KEY for folder in (sheet.parent, sheet.parent / "..")]
        key = next((path for path in near if path.is_file()), None)
        if key is None:
            raise InputError(
                f"{sheet}: no {KEY} beside it or in the folder above; name the key (--key)"
            )
        keys.setdefault(key.resolve(), key)
    return list(keys.values())
