"""The command `portmert humaneval`: people compare the outputs of two systems."""

from __future__ import annotations  # portmert.Report in a type would load it

import unicodedata
from pathlib import Path
from typing import Any

import click

import portmert
from portmert.tuner.base.errors import counted
from portmert.tuner.commands import _groups, _outputs
from portmert.tuner.commands._help import CommandGroup
from portmert.tuner.commands._kinds import FILE, Whole
from portmert.tuner.commands._options_of_functions import options

SHEETS = "extensions.people.operation"
FILTERS = "extensions.people.selection.Filters"


@click.group(cls=CommandGroup)
def command() -> None:
    """Ask people which system is better.

    \b
    portmert humaneval make old=a.txt new=b.txt --ref ref.txt --out sheets
    portmert humaneval read sheets/judges/*.csv
    """  # noqa: D301  \b is click's sign for lines to leave alone


@command.command()
@click.argument("first", metavar="A", required=False)
@click.argument("second", metavar="B", required=False)
@click.option(
    "--conditions",
    type=FILE,
    help="Mix several comparisons: a TOML file with a table "
    "[[condition]] for each, of name, first, second and optionally refs, source, "
    "top_share.",
)
@options(f"{SHEETS}.make_sheets", "refs source out")
@click.option("--judges", "count", type=Whole(1), help="Number of judges.  [default: 3]")
@click.option("--judge", "names", multiple=True, help="Name of a judge; repeat for several.")
@options(f"{SHEETS}.make_sheets", "items common")
@options(FILTERS, "min_length max_length")
@click.option(
    "--equal-outputs", is_flag=True, help="Keep segments that both systems translate the same way."
)
@options(FILTERS, "top_share")
@options(f"{SHEETS}.make_sheets", "condition")
@_groups.text_steps
@_groups.seed
def make(
    *,
    first: str | None,
    second: str | None,
    conditions: Path | None,
    out: Path,
    count: int | None,
    names: tuple[str, ...],
    **values: Any,
) -> None:
    """Make sheets on which judges compare the outputs of A and B.

    A and B are folders of runs, or name=FILE.

    Each judge's sheet is a table (.csv) and a form for a browser (.html): send one of
    them. Keep key.json: it records which system's output is left and which is right.

    \b
    portmert humaneval make old=a.txt new=b.txt --ref ref.txt --out sheets
    """  # noqa: D301  \b is click's sign for lines to leave alone
    judges = _judges(count, names)
    if (conditions is None) != bool(first and second):
        raise click.UsageError("name A and B, or --conditions")
    if conditions is not None:
        _groups.refuse(["refs", "source", "condition"], "goes into the file of --conditions")
    if values["common"] > values["items"]:
        raise click.UsageError(
            f"--common {values['common']} is more than --items {values['items']}"
        )
    shortest, longest = values.pop("min_length"), values.pop("max_length")
    if shortest > longest:
        raise click.UsageError(f"--min-length {shortest} is more than --max-length {longest}")
    differ, share = not values.pop("equal_outputs"), values.pop("top_share")
    filters = portmert.Filters(shortest, longest, differ, share)
    sides = conditions or first or "", second
    portmert.make_sheets(*sides, out, judges=judges, filters=filters, **values)
    click.echo(
        f"{out / 'judges'}: sheets of {counted(len(judges), 'judge')}, "
        f"{counted(values['items'], 'item')} each, {values['common']} of them common\n"
        f"{out / 'key.json'}: keep it from the judges"
    )


def _judges(count: int | None, names: tuple[str, ...]) -> list[str]:
    if count is not None and names:
        raise click.UsageError("--judges or --judge, not both")
    # As file systems compare names that do not tell cases, or ways to write an accent, apart.
    if len({unicodedata.normalize("NFC", name.casefold()) for name in names}) < len(names):
        raise click.UsageError("--judge names one judge twice")
    for name in names:
        if not name.strip() or name.strip(" .") != name or any(
            sign in '/\\:*?"<>|' or not sign.isprintable() for sign in name
        ):  # fmt: skip
            raise click.UsageError(f"--judge {name!r}: expected a name that a file can have")
    if names:
        return list(names)
    count = count or 3
    width = len(str(count))
    return [f"judge-{number:0{width}}" for number in range(1, count + 1)]


@command.command()
@click.argument("sheets", nargs=-1, required=True, type=click.Path(path_type=Path))
@options(f"{SHEETS}.read_sheets", "keys--key without--without drop literal common")
@_outputs.reporting(_outputs.json_option, _outputs.latex, names_files=False)
def read(*, sheets: tuple[Path, ...], **values: Any) -> portmert.Report:
    """Count preferences and agreement in the SHEETS that judges sent back.

    SHEETS are .csv files, or .json files that the form exported.

    \b
    portmert humaneval read sheets/judges/*.csv
    """  # noqa: D301  \b is click's sign for lines to leave alone
    return portmert.read_sheets(sheets, **values)
