"""Writes results as text on stdout, as JSON and as LaTeX."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from portmert.tuner.commands._options import OUT_FILE, all_of
from portmert.tuner.ground.documents import to_json
from portmert.tuner.ground.files import check_writable, write_text

if TYPE_CHECKING:
    from portmert.tuner.api.judging import Report

json_option = click.option(
    "--json",
    "json_out",
    type=OUT_FILE,
    is_flag=False,
    flag_value=Path("-"),
    metavar="[FILE]",
    help="Write everything as JSON; without FILE, or with -, to stdout.",
)


output_options = all_of(
    json_option,
    click.option(
        "--latex", "latex_out", type=OUT_FILE, help="Write the tables as LaTeX; - is stdout."
    ),
)


def check_outputs(*paths: Path | None) -> None:
    """Check before the work that each file given can be written, and that they are different."""
    given = [path for path in paths if path is not None]
    if len(set(given)) < len(given):
        raise click.UsageError(f"two outputs are to be written to {given[0]}")
    for path in given:
        check_writable(path)


def print_json(json_out: Path | None, document: Any, *, indent: int = 1) -> bool:
    """Write JSON where it is asked for; return whether that was stdout."""
    if json_out is not None:
        write_text(json_out, to_json(document, indent=indent, ensure_ascii=False) + "\n")
    return str(json_out) == "-"


def show(report: Report, *, json_out: Path | None, latex_out: Path | None) -> None:
    """Write what is asked for; print the text unless one of the others is stdout."""
    print_json(json_out, report.document)
    if latex_out is not None:
        write_text(latex_out, report.as_latex())
    if "-" not in (str(json_out), str(latex_out)):
        click.echo(report.text)


def say_written(*paths: Path | None) -> None:
    """Say on stderr what was written."""
    for path in paths:
        if path is not None and str(path) != "-":
            click.echo(f"written: {path}", err=True)
