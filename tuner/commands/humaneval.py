"""The command `portmert humaneval`: people compare the outputs of two systems."""

import unicodedata
from pathlib import Path
from typing import Any

import click

import portmert

from ..base.errors import counted
from . import _lists, _options, _outputs
from ._options import FILE, FiniteRange, Whole, defaulted
from ._outputs import notice


@click.group()
def command() -> None:
    """Make sheets for human judges, and read what they answered.

    \b
    portmert humaneval make old=a.txt new=b.txt --ref ref.txt --out sheets
    portmert humaneval read sheets/judges/*.csv
    """  # noqa: D301  \b is click's sign for lines to leave alone


@command.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@_options.refs("References. Judges see the first one; TER uses all. Default: those of the runs.")
@click.option("--source", type=FILE, help="Source text, shown to the judges too.")
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder to make: key.json, and judges/ with each judge's sheet.",
)
@click.option("--judges", "count", type=Whole(1), help="Number of judges.  [default: 3]")
@click.option("--judge", "names", multiple=True, help="Name of a judge; repeat for several.")
@defaulted("--items", Whole(1), 50, "Number of items for each judge.")
@defaulted(
    "--common",
    Whole(0),
    20,
    "Number of items that all judges see, to measure how well they agree.",
)
@defaulted("--min-length", Whole(0), 10, "Least number of tokens in the reference.")
@defaulted("--max-length", Whole(1), 50, "Largest number of tokens in the reference.")
@click.option(
    "--equal-outputs", is_flag=True, help="Keep segments that both systems translate the same way."
)
@defaulted(
    "--top-share",
    FiniteRange(0, 1, min_open=True),
    0.5,
    "Share of these segments to keep: those with the lowest TER of either system. 1: all.",
)
@click.option("--condition", help="Name of this comparison in tables.  [default: A against B]")
@_lists.text_options
@_options.seed
def make(
    *, first: str, second: str, out: Path, count: int | None, names: tuple[str, ...], **given: Any
) -> None:
    """Make sheets on which judges compare the outputs of A and B.

    A and B are folders of runs, or name=FILE.

    Each judge's sheet is a table (.csv, .xlsx) and a form for a browser (.html): send one of
    them. Keep key.json: it records which system's output is left and which is right.

    \b
    portmert humaneval make old=a.txt new=b.txt --ref ref.txt --out sheets
    """  # noqa: D301  \b is click's sign for lines to leave alone
    judges = _judges(count, names)
    if given["common"] > given["items"]:
        raise click.UsageError(f"--common {given['common']} is more than --items {given['items']}")
    shortest, longest = given.pop("min_length"), given.pop("max_length")
    if shortest > longest:
        raise click.UsageError(f"--min-length {shortest} is more than --max-length {longest}")
    differ, share = not given.pop("equal_outputs"), given.pop("top_share")
    filters = portmert.Filters(shortest, longest, differ, share)
    portmert.make_sheets(
        first, second, out, judges=judges, filters=filters, notice=notice, **given
    )
    click.echo(
        f"{out / 'judges'}: sheets of {counted(len(judges), 'judge')}, "
        f"{counted(given['items'], 'item')} each, {given['common']} of them common\n"
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
@click.option(
    "--key",
    "keys",
    multiple=True,
    type=FILE,
    help="File key.json of an evaluation; repeat for several. Default: the one in the folder of "
    "the sheets or above it.",
)
@click.option(
    "--without",
    multiple=True,
    metavar="JUDGE",
    help="Name of a judge whose sheet is missing; repeat for several.",
)
@defaulted(
    "--drop",
    Whole(0),
    0,
    "Leave out this many judges, those who agree least with the others on the common items.",
)
@click.option(
    "--literal",
    is_flag=True,
    help="With --drop: use the formula as the PORT paper prints it. Its sign is reversed, so it "
    "leaves out the judges who agree most.",
)
@_outputs.output_options
def read(
    *, sheets: tuple[Path, ...], json_out: Path | None, latex_out: Path | None, **given: Any
) -> None:
    """Count preferences and agreement in the SHEETS that judges sent back.

    SHEETS are .csv, .xlsx, or .json files that the form exported.

    \b
    portmert humaneval read sheets/judges/*.csv
    """  # noqa: D301  \b is click's sign for lines to leave alone
    _outputs.check_outputs(json_out, latex_out)
    _outputs.show(portmert.read_sheets(sheets, **given), json_out=json_out, latex_out=latex_out)
