"""The command `portmert report`: how a run of tune came to its weights."""

from __future__ import annotations  # portmert.Report in a type would load it

from pathlib import Path
from typing import Any

import click

import portmert
from portmert.tuner.commands import _groups, _outputs
from portmert.tuner.commands._help import Command
from portmert.tuner.commands._signatures import options


@click.command(cls=Command)
@click.argument(
    "run",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    nargs=-1,
    required=True,
    metavar="RUN...",
)
@options("extensions.report.operation.report", "metric")
@_groups.any_annotator
@_groups.threads
@_outputs.reporting(_outputs.html, _outputs.plot, _outputs.json_option)
def command(*, run: tuple[Path, ...], **values: Any) -> portmert.Report:
    """Report on runs of tune.

    RUN is a folder of `portmert tune`, also while it is still running.

    The report shows the dev score of each iteration, the projected and the real score, the growth
    of the n-best lists, and the weights with their spread over replicas. The HTML page adds the
    test output of a finished run.

    \b
    portmert report runs/port --html page.html
    portmert report runs/bleu runs/port --html both.html
    """  # noqa: D301  \b is click's sign for lines to leave alone
    document = _outputs.is_document_needed()
    return portmert.report(run, document=document, **values)
