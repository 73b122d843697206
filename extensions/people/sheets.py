"""Writes the folder of an evaluation, and reads and writes the judges' sheets."""

import csv
import io
import json
import secrets
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path

from portmert.tuner.base.errors import InputError, PortmertError, counted
from portmert.tuner.base.files import resolved, write_text, writing

from .evaluation import FORM, Evaluation

ANSWERS = ("left", "right", "equal")
FORMULA = ("=", "+", "-", "@")
"""Programs take a cell that begins with one of these for a formula."""


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
            for suffix, make in ((".csv", as_csv), (".html", as_html)):
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
