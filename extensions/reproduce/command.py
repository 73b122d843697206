"""`portmert reproduce`: the PORT paper's tables with your own data and decoder."""

from pathlib import Path
from typing import Any

import click

import portmert
from portmert.tuner.base.files import write_text
from portmert.tuner.base.warn import notices_to
from portmert.tuner.commands import _groups, _outputs
from portmert.tuner.commands._help import Command
from portmert.tuner.commands._options_of_functions import options


@click.command(cls=Command)
@_groups.config
@options(
    "extensions.reproduce.operation.reproduce",
    "tuned_on--tune-on scored_with--metric links test_sets--test-set published out",
)
@_groups.overrides("Replace a value of CONFIG, as tune.replicas=5; repeat for several.")
@_groups.any_annotator
@_groups.processes
@_groups.config_executor
def command(*, config: Path, **values: Any) -> None:
    """Fill the PORT paper's tables.

    CONFIG is tuned on each of several metrics.

    CONFIG is a configuration of `portmert tune`. Each metric in turn replaces its metric, and each
    run gets a folder inside the output folder. If it was interrupted, the same command continues.

    \b
    portmert reproduce my.toml --tune-on bleu --tune-on port --set tune.replicas=3
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if len(values["tuned_on"]) == 1:
        raise click.UsageError("name at least two metrics to tune on, or none for the default")
    _outputs.announce_compiling()
    with notices_to(_outputs.VOICE.say):
        paper = portmert.reproduce(config, **values)
    write_text(paper.out, paper.document)
    for line in paper.headlines:
        click.echo(line)
    click.echo(f"written: {paper.out}")
