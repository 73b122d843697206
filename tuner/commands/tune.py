"""`portmert tune`: the outer loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import portmert
from portmert.tuner.commands._options import (
    Whole,
    overrides_option,
    run_annotator_options,
    run_executor_option,
)
from portmert.tuner.commands._outputs import annotating, decoding, log


@click.command()
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--seed", type=Whole(0), help="Seed to use in place of that in CONFIG.")
@overrides_option("Replace a value of CONFIG, as metric.alpha=0.5; repeat for several.")
@click.option("--fresh", is_flag=True, help="Remove the files of an earlier run and start over.")
@click.option(
    "--threads", type=Whole(0), help="Number of threads and processes; 0: one for each processor."
)
@click.option(
    "--decodings",
    type=Whole(1),
    help="Decode the dev set at most N times, where decoding is dear; as [tune] decodings.",
)
@run_annotator_options
@run_executor_option
def command(*, config: Path, fresh: bool, decodings: int | None, **given: Any) -> None:
    """Tune a decoder: decode, merge, optimize, and repeat until nothing is gained.

    CONFIG names the texts, the decoder, the metric and the output folder, which gets weights.json,
    the decoder's tuned configuration and result.json. If tuning was interrupted, the same command
    continues.

    \b
    portmert tune my.toml --set metric.name=bleu --set tune.output=runs/bleu
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if decodings is not None:
        given["overrides"] = (*given["overrides"], f"tune.decodings={decodings}")
    experiment = portmert.load_config(config, **given)
    with decoding() as progress, annotating() as annotated:
        tuned = portmert.tune(
            experiment, log=log, progress=progress, annotating=annotated, fresh=fresh
        )
    for line in tuned.summary:
        click.echo(line)
    click.echo(f"weights: {tuned.result.weights_path}")
    click.echo(f"decoder: {tuned.result.config_path}")
