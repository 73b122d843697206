"""`portmert tune`: the outer loop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuner.commands._annotating import annotator_options

if TYPE_CHECKING:
    from tuner.runs.config import Experiment


@click.command()
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--seed", type=click.IntRange(0), help="Replace the seed of CONFIG.")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="TABLE.KEY=VALUE",
    help="Replace a value of CONFIG, as in metric.alpha=0.5; may be repeated.",
)
@click.option("--fresh", is_flag=True, help="Remove what an earlier run left and start over.")
@click.option("--threads", type=click.IntRange(0), help="Threads and processes; 0: all there are.")
@annotator_options
def command(
    config: Path,
    seed: int | None,
    overrides: tuple[str, ...],
    fresh: bool,
    threads: int | None,
    annotator_text: str | None,
    annotation_cache: Path | None,
) -> None:
    """Tune as CONFIG says: decode, merge, optimize, until nothing is left to gain.

    Started again it goes on where it was interrupted. The result lies in the output folder that
    CONFIG names: weights.json, the decoder's tuned configuration, result.json.
    """
    from tuner.commands._progress import annotating, decoding  # noqa: PLC0415
    from tuner.components import registry  # noqa: PLC0415  start-up time
    from tuner.runs.config import load_config  # noqa: PLC0415
    from tuner.runs.experiment import run  # noqa: PLC0415

    experiment = load_config(
        config,
        overrides=overrides,
        seed=seed,
        threads=threads,
        annotator=None if annotator_text is None else registry.annotator(annotator_text),
        annotation_cache=annotation_cache,
    )
    if experiment.tune.replicas > 1:
        _run_replicas(experiment, fresh=fresh)
        return
    with decoding() as progress, annotating() as annotated:
        result = run(
            experiment,
            log=lambda line: click.echo(line, err=True),
            progress=progress,
            annotated=annotated,
            fresh=fresh,
        )
    shown = experiment.metric.shown
    click.echo(
        f"{result.metric}: dev {shown(result.start_score)} -> {shown(result.score)} "
        f"(iteration {result.best} of {len(result.iterations)}; {result.stopped})"
    )
    if result.held_out is not None:
        click.echo(f"held out {shown(result.held_out)}")
    if result.test is not None:
        click.echo(f"test {shown(result.test.score)}")
    click.echo(f"weights: {result.weights_path}")
    click.echo(f"decoder: {result.config_path}")


def _run_replicas(experiment: Experiment, *, fresh: bool) -> None:
    from tuner.commands._progress import annotating, decoding  # noqa: PLC0415  start-up time
    from tuner.runs.replicas import run  # noqa: PLC0415

    with decoding() as progress, annotating() as annotated:
        result = run(
            experiment,
            log=lambda line: click.echo(line, err=True),
            progress=progress,
            annotated=annotated,
            fresh=fresh,
        )
    shown = experiment.metric.shown
    for number, (seed, one) in enumerate(zip(result.seeds, result.replicas, strict=True), 1):
        held_out = "" if one.held_out is None else f", held out {shown(one.held_out)}"
        test = "" if one.test is None else f", test {shown(one.test.score)}"
        click.echo(f"replica {number}: dev {shown(one.score)}{held_out}{test} (seed {seed})")
    click.echo(
        f"{result.metric}: dev {shown(result.mean)}, standard deviation {shown(result.spread)}"
    )
    held_out = "" if result.held_out is None else f", held out {shown(result.held_out.score)}"
    test = "" if result.test is None else f", test {shown(result.test.score)}"
    click.echo(f"average of weights: dev {shown(result.dev.score)}{held_out}{test}")
    click.echo(f"weights: {result.weights_path}")
    click.echo(f"decoder: {result.config_path}")
