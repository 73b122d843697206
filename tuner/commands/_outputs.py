"""Results as text on stdout, as JSON and as LaTeX."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from portmert.tuner.commands._options import OUT_FILE, all_of
from portmert.tuner.ground.documents import to_json
from portmert.tuner.ground.errors import counted
from portmert.tuner.ground.files import check_writable, write_text

if TYPE_CHECKING:
    from portmert import Optimized
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
    """Write JSON and LaTeX where they are asked for; print the text unless one goes to stdout."""
    print_json(json_out, report.document)
    if latex_out is not None:
        write_text(latex_out, report.as_latex())
    if "-" not in (str(json_out), str(latex_out)):
        click.echo(report.text)


def say_written(*paths: Path | None) -> None:
    """Name the files written on stderr."""
    for path in paths:
        if path is not None and str(path) != "-":
            click.echo(f"written: {path}", err=True)


def show_weights(found: Optimized, out: Path, json_out: Path | None) -> None:
    """Write tuned weights, and print their scores as a text or as JSON."""
    write_text(out, found.to_json())
    if print_json(json_out, found.as_json()):
        return

    def say(line: str) -> None:
        click.echo(line, err=str(out) == "-")

    shown, search, known = found.metric.shown, found.found, found.annotations
    penalised = (
        "" if found.length_penalty is None else f" with length penalty {found.length_penalty:.4g}"
    )
    unseen = ""
    if found.unseen_score is not None and found.unseen_error is not None:
        unseen = f", unseen {shown(found.unseen_score)} +- {shown(found.unseen_error)}"
    searches = f"{search.line_searches} line searches, " if search.line_searches else ""
    say(
        f"{found.signature}: {shown(found.start_score)} -> "
        f"{shown(found.score)}{unseen}{penalised} (oracle "
        f"{shown(found.oracle_score)}{' of those annotated' if known else ''}; "
        f"{counted(search.hypotheses, 'hypothesis')}, {searches}{found.seconds['total']:.1f} s)"
    )
    if known:
        say(
            f"annotated: {counted(known['annotated'], 'hypothesis')} "
            f"({known['annotated'] / search.hypotheses:.1%}); sentences: {known['hits']} from the "
            f"cache, {known['misses']} new, {known['failed']} without a parse; "
            f"{found.seconds['annotating']:.1f} s; by {found.annotated_by}"
        )
    for other in found.also:
        say(f"also {other}")
    say(f"weights: {out}")
    if found.bootstrap is not None:
        say(found.bootstrap.as_text())
