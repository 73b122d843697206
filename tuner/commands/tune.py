"""`portmert tune`: the outer loop."""

from __future__ import annotations

from pathlib import Path

import click


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
def command(
    config: Path, seed: int | None, overrides: tuple[str, ...], fresh: bool, threads: int | None
) -> None:
    """Tune as CONFIG says: decode, merge, optimize, until nothing is left to gain.

    Started again it goes on where it was interrupted. The result lies in the output folder that
    CONFIG names: weights.json, the decoder's tuned configuration, result.json.
    """
    from tuner.commands._progress import decoding  # noqa: PLC0415  start-up time
    from tuner.config import load_config  # noqa: PLC0415
    from tuner.experiment import run  # noqa: PLC0415

    experiment = load_config(config, overrides=overrides, seed=seed, threads=threads)
    with decoding() as progress:
        result = run(
            experiment,
            log=lambda line: click.echo(line, err=True),
            progress=progress,
            fresh=fresh,
        )
    shown = experiment.metric.shown
    click.echo(
        f"{result.metric}: dev {shown(result.start_score)} -> {shown(result.score)} "
        f"(iteration {result.best} of {len(result.iterations)}; {result.stopped})"
    )
    if result.test is not None:
        click.echo(f"test {shown(result.test.score)}")
    click.echo(f"weights: {result.weights_path}")
    click.echo(f"decoder: {result.config_path}")
