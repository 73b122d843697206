"""`portmert reproduce`: the PORT paper's tables with your own data and decoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import portmert
from portmert.tuner.commands._options import (
    FILE,
    Whole,
    annotator_options,
    metrics_option,
    overrides_option,
    run_executor_option,
    several,
)
from portmert.tuner.commands._outputs import annotating, announce_compiling, decoding, log, notice
from portmert.tuner.ground.files import write_text


@click.command()
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--tune-on",
    "tuned_on",
    multiple=True,
    metavar="NAME",
    help="Metric to tune on; repeat for more. Default: bleu, port, qmean, port-rho, port-tau.",
)
@metrics_option(
    "Metric to compare with; repeat for more. Default: bleu, nist, ter, meteor, port, qmean.",
    name="scored_with",
)
@several(
    "--links",
    kind=str,
    metavar="NAME=FILE[,FILE...]",
    help="Other links of the dev set's references, a file for each, as made by hand: PORT is "
    "tuned on with these too (table 7); repeat for more.",
)
@click.option(
    "--published",
    type=FILE,
    help="The paper's own figures. Default: published.toml beside CONFIG, if it is there.",
)
@click.option(
    "--out", type=FILE, help="The document. Default: paper.md in the output folder of CONFIG."
)
@overrides_option("Replace a value of CONFIG, as in tune.replicas=5; may be repeated.")
@annotator_options
@click.option("--threads", type=Whole(0), help="Threads and processes; 0: all there are.")
@run_executor_option
def command(*, config: Path, **given: Any) -> None:
    """Tune as CONFIG says on each of several metrics, and fill the PORT paper's tables.

    CONFIG is one of `portmert tune`. Its metric is replaced, and the run of each metric gets a
    folder below its output folder. Started again, it goes on where it was interrupted.

    \b
    portmert reproduce my.toml --tune-on bleu --tune-on port --set tune.replicas=3
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if len(given["tuned_on"]) == 1:
        raise click.UsageError("name at least two metrics to tune on, or none for the default")
    announce_compiling()
    with decoding() as progress, annotating() as annotated:
        found = portmert.reproduce(
            config, log=log, notice=notice, progress=progress, annotating=annotated, **given
        )
    write_text(found.out, found.document)
    for line in found.headlines:
        click.echo(line)
    click.echo(f"written: {found.out}")
