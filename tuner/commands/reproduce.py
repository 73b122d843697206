"""`portmert reproduce`: the PORT paper's tables with your own data and decoder."""

from pathlib import Path
from typing import Any

import click

import portmert

from ..base.files import write_text
from . import _options, _outputs
from ._options import FILE, several
from ._outputs import log, notice


@click.command()
@_options.config
@click.option(
    "--tune-on",
    "tuned_on",
    multiple=True,
    metavar="NAME[=FORMULA]",
    help="Metric to tune on, or a name for a formula, as mean=0.5*bleu+0.5*port; repeat for "
    "several. Default: bleu, port, qmean, port-rho, port-tau.",
)
@_options.metrics(
    "Metric that scores the results; repeat for several. Default: bleu, nist, ter, meteor, port, "
    "qmean.",
    name="scored_with",
)
@several(
    "--links",
    kind=str,
    metavar="NAME=FILE[,FILE...]",
    help="Another word alignment of the dev set, for example made by hand: one file for each "
    "reference. PORT is tuned on it too (table 7). Repeat for several.",
)
@click.option(
    "--published",
    type=FILE,
    help="File of the paper's own results. Default: published.toml beside CONFIG, if it exists.",
)
@click.option(
    "--out",
    type=FILE,
    help="File for the tables. Default: paper.md in the output folder of CONFIG.",
)
@_options.overrides("Replace a value of CONFIG, as tune.replicas=5; repeat for several.")
@_options.run_annotator
@_options.processes
@_options.run_executor
def command(*, config: Path, **given: Any) -> None:
    """Tune CONFIG on each of several metrics, and fill the PORT paper's tables.

    CONFIG is a configuration of `portmert tune`. Each metric in turn replaces its metric, and each
    run gets a folder inside the output folder. If it was interrupted, the same command continues.

    \b
    portmert reproduce my.toml --tune-on bleu --tune-on port --set tune.replicas=3
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if len(given["tuned_on"]) == 1:
        raise click.UsageError("name at least two metrics to tune on, or none for the default")
    _outputs.announce_compiling()
    with _outputs.decoding() as progress, _outputs.annotating() as annotated:
        found = portmert.reproduce(
            config, log=log, notice=notice, progress=progress, annotating=annotated, **given
        )
    write_text(found.out, found.document)
    for line in found.headlines:
        click.echo(line)
    click.echo(f"written: {found.out}")
