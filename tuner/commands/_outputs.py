"""Results as text on stdout, as JSON and as LaTeX."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tuner.tables import Table

_FILE = click.Path(dir_okay=False, path_type=Path, allow_dash=True)


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --json and --latex."""
    command = click.option(
        "--latex", "latex_out", type=_FILE, help="Write the tables as LaTeX; - is stdout."
    )(command)
    return click.option(
        "--json", "json_out", type=_FILE, help="Write everything as JSON; - is stdout."
    )(command)


def check_outputs(*paths: Path | None) -> None:
    """Check before the work that each file given can be written, and that they are different."""
    from tuner.files import check_writable  # noqa: PLC0415  start-up time

    given = [path for path in paths if path is not None]
    if len(set(given)) < len(given):
        raise click.UsageError(f"two outputs are to be written to {given[0]}")
    for path in given:
        check_writable(path)


def show(
    text: str,
    tables: Sequence[Table],
    document: Mapping[str, Any],
    *,
    json_out: Path | None,
    latex_out: Path | None,
) -> None:
    """Write what is asked for; print `text` unless one of the others is stdout."""
    from tuner.files import write_text  # noqa: PLC0415  start-up time
    from tuner.tables import as_latex  # noqa: PLC0415

    if json_out is not None:
        write_text(json_out, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    if latex_out is not None:
        write_text(latex_out, as_latex(tables))
    if "-" not in (str(json_out), str(latex_out)):
        click.echo(text)
