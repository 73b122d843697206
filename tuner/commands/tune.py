"""`portmert tune`: the outer loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import portmert
from portmert.tuner.commands._options import (
    Whole,
    overrides_option,
    run_annotator_options,
    run_executor_option,
)
from portmert.tuner.commands._outputs import annotating, decoding, log

if TYPE_CHECKING:
    from portmert import Replicas, Result


@click.command()
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--seed", type=Whole(0), help="Seed to use in place of that in CONFIG.")
@overrides_option("Replace a value of CONFIG, as metric.alpha=0.5; repeat for several.")
@click.option("--fresh", is_flag=True, help="Remove the files of an earlier run and start over.")
@click.option(
    "--threads", type=Whole(0), help="Number of threads and processes; 0: one for each processor."
)
@run_annotator_options
@run_executor_option
def command(*, config: Path, fresh: bool, **given: Any) -> None:
    """Tune a decoder: decode, merge, optimize, and repeat until nothing is gained.

    CONFIG names the texts, the decoder, the metric and the output folder, which gets weights.json,
    the decoder's tuned configuration and result.json. If tuning was interrupted, the same command
    continues.

    \b
    portmert tune my.toml --set metric.name=bleu --set tune.output=runs/bleu
    """  # noqa: D301  \b is click's sign for lines to leave alone
    experiment = portmert.load_config(config, **given)
    with decoding() as progress, annotating() as annotated:
        result = portmert.tune(
            experiment, log=log, progress=progress, annotating=annotated, fresh=fresh
        ).result
    shown = experiment.metric.shown
    if isinstance(result, portmert.Replicas):
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


def _of_replicas(result: Replicas, shown: Callable[[float], str]) -> list[str]:
    found = result.document

    def line(begin: str, scores: Mapping[str, Any], test: float | None) -> str:
        for name, score in (
            ("dev", scores["dev_score"]),
            ("held out", scores["held_out_score"]),
            ("test", test),
        ):
            begin += "" if score is None else f", {name} {shown(score)}"
        return begin.replace(",", "", 1)

    average, test = found["average"], found["average"]["test"]
    mean, deviation = found["dev_score"].values()
    return [
        *(
            f"{line(f'replica {number}:', one, one['test_score'])} (seed {one['seed']})"
            for number, one in enumerate(found["replicas"], 1)
        ),
        f"{found['metric']}: dev {shown(mean)}, standard deviation {shown(deviation)}",
        line("average of weights:", average, None if test is None else test["score"]),
    ]
