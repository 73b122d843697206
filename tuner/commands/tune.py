"""`portmert tune`: the outer loop."""

from pathlib import Path
from typing import Any

import click

import portmert

from ..base.files import without_dots
from ..base.warn import notices_to
from . import _groups, _outputs
from ._help import Command
from ._options_of_functions import options
from ._outputs import VOICE

OF_CONFIG = {"default": None, "show_default": "as in CONFIG"}


@click.command(cls=Command)
@_groups.config
@options("tuner.runs.config.Tune", "seed", seed=OF_CONFIG)
@_groups.overrides("Replace a value of CONFIG, as metric.alpha=0.5; repeat for several.")
@click.option("--fresh", is_flag=True, help="Remove the files of an earlier run and start over.")
@options("tuner.runs.config.Tune", "threads decodings", threads=OF_CONFIG, decodings=OF_CONFIG)
@_groups.any_annotator
@_groups.config_executor
def command(*, config: Path, **values: Any) -> None:
    """Tune the weights of a decoder.

    The command decodes, merges the lists, searches, and repeats until nothing is gained.

    CONFIG names the texts, the decoder, the metric and the output folder, which gets weights.json,
    the decoder's tuned configuration and result.json. After an interruption the same command
    continues.

    \b
    portmert tune my.toml --set metric.name=bleu --set tune.output=runs/bleu
    """  # noqa: D301  \b is click's sign for lines to leave alone
    settings = {name: value for name, value in values.items() if value is not None}
    with notices_to(VOICE.say):
        tuned = portmert.tune(config, **settings)
    for line in tuned.summary:
        click.echo(line)
    _outputs.say_left_out()
    click.echo(f"weights: {without_dots(tuned.result.weights_path)}")
    click.echo(f"decoder: {without_dots(tuned.result.config_path)}")
