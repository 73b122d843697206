"""`portmert reproduce`: the tables of the PORT paper with one's own data and decoder."""

from __future__ import annotations

import functools
from pathlib import Path

import click

from tuner.commands._annotating import annotator_options, preparation

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--tune-on",
    "tuned_on",
    multiple=True,
    metavar="NAME",
    help="Metric to tune on; repeat for more. Default: bleu, port, qmean.",
)
@click.option(
    "--metric",
    "scored_with",
    multiple=True,
    metavar="NAME[:OPTION=VALUE,...]",
    help="Metric to compare with; repeat for more. Default: bleu, nist, ter, meteor, port, qmean.",
)
@click.option(
    "--published",
    type=_FILE,
    help="The paper's own figures. Default: published.toml beside CONFIG, if it is there.",
)
@click.option(
    "--out", type=_FILE, help="The document. Default: paper.md in the output folder of CONFIG."
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="TABLE.KEY=VALUE",
    help="Replace a value of CONFIG, as in tune.replicas=5; may be repeated.",
)
@annotator_options
@click.option("--threads", type=click.IntRange(0), help="Threads and processes; 0: all there are.")
def command(
    config: Path,
    tuned_on: tuple[str, ...],
    scored_with: tuple[str, ...],
    published: Path | None,
    out: Path | None,
    overrides: tuple[str, ...],
    annotator_text: str | None,
    annotation_cache: Path | None,
    threads: int | None,
) -> None:
    """Tune as CONFIG says on each of several metrics and fill the PORT paper's tables.

    CONFIG is one of `portmert tune`; its metric is replaced, and each metric's run lies in a
    folder of its own below its output folder. Started again it goes on where it was interrupted.
    """
    from tuner.commands._compiling import announce_compiling  # noqa: PLC0415  start-up time
    from tuner.commands._progress import decoding  # noqa: PLC0415
    from tuner.components import registry  # noqa: PLC0415  start-up time
    from tuner.evaluation.reproduction.run import SCORED_WITH, TUNED_ON, experiments_of, reproduce  # noqa: PLC0415
    from tuner.files import check_writable, write_text  # noqa: PLC0415

    if len(tuned_on) == 1:
        raise click.UsageError("name at least two metrics to tune on, or none for the default")
    announce_compiling()
    if published is None and (config.parent / "published.toml").is_file():
        published = config.parent / "published.toml"
    experiments = experiments_of(
        config,
        tuned_on or TUNED_ON,
        overrides=overrides,
        threads=threads,
        annotator=None if annotator_text is None else registry.annotator(annotator_text),
        annotation_cache=annotation_cache,
    )
    if out is None:
        output = next(iter(experiments.values())).tune.output.parent
        output.mkdir(parents=True, exist_ok=True)
        out = output / "paper.md"
    check_writable(out)
    with decoding() as progress:
        found = reproduce(
            config,
            experiments,
            scored_with or SCORED_WITH,
            published=published,
            log=lambda line: click.echo(line, err=True),
            progress=progress,
            prepare=functools.partial(preparation, annotator_text, annotation_cache),
        )
    write_text(out, found.document)
    for line in found.comparison.headlines:
        click.echo(line)
    click.echo(f"written: {out}")
