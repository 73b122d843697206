"""Offers `portmert tune`: the outer loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import portmert
from portmert.tuner.commands._annotating import annotator_options
from portmert.tuner.commands._notice import log
from portmert.tuner.commands._options import Whole, overrides_option, run_executor_option
from portmert.tuner.commands._progress import annotating, decoding

if TYPE_CHECKING:
    from portmert import Replicated, Result


@click.command()
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--seed", type=Whole(0), help="Replace the seed of CONFIG.")
@overrides_option("Replace a value of CONFIG, as in metric.alpha=0.5; may be repeated.")
@click.option("--fresh", is_flag=True, help="Remove what an earlier run left and start over.")
@click.option("--threads", type=Whole(0), help="Threads and processes; 0: all there are.")
@annotator_options
@run_executor_option
def command(*, config: Path, fresh: bool, **given: Any) -> None:
    """Tune as CONFIG says: decode, merge, optimize, until nothing is left to gain.

    Started again it goes on where it was interrupted. The result lies in the output folder that
    CONFIG names: weights.json, the decoder's tuned configuration, result.json.

    \b
    portmert tune my.toml --set metric.name=bleu --set tune.output=runs/bleu
    """  # noqa: D301  \b is click's sign for lines to leave alone
    experiment = portmert.load_config(config, **given)
    with decoding() as progress, annotating() as annotated:
        result = portmert.tune(
            experiment, log=log, progress=progress, annotating=annotated, fresh=fresh
        )
    shown = experiment.metric.shown
    if isinstance(result, portmert.Replicated):
        lines = _of_replicas(result, shown)
    else:
        lines = _of_one(result, shown)
    for line in lines:
        click.echo(line)
    click.echo(f"weights: {result.weights_path}")
    click.echo(f"decoder: {result.config_path}")


def _of_one(result: Result, shown: Callable[[float], str]) -> list[str]:
    lines = [f"{result.metric}: dev {shown(result.start_score)} -> {shown(result.score)}"]
    lines[0] += f" (iteration {result.best} of {len(result.iterations)}; {result.stopped})"
    if result.held_out is not None:
        lines.append(f"held out {shown(result.held_out)}")
    if result.unseen is not None:
        lines.append(f"unseen {shown(result.unseen)} (estimate from segments held out in turn)")
    if result.keeps_start:
        lines.append(result.keeps_start)
    if result.test is not None:
        lines.append(f"test {shown(result.test.score)}")
    return lines


def _of_replicas(result: Replicated, shown: Callable[[float], str]) -> list[str]:
    lines = []
    for number, (seed, one) in enumerate(zip(result.seeds, result.replicas, strict=True), 1):
        held_out = "" if one.held_out is None else f", held out {shown(one.held_out)}"
        test = "" if one.test is None else f", test {shown(one.test.score)}"
        lines.append(f"replica {number}: dev {shown(one.score)}{held_out}{test} (seed {seed})")
    held_out = "" if result.held_out is None else f", held out {shown(result.held_out.score)}"
    test = "" if result.test is None else f", test {shown(result.test.score)}"
    return [
        *lines,
        f"{result.metric}: dev {shown(result.mean)}, standard deviation {shown(result.spread)}",
        f"average of weights: dev {shown(result.dev.score)}{held_out}{test}",
    ]
