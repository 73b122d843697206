"""`portmert demo`: tunes lists, then a decoder in the loop, on Japanese-English sentences."""

from pathlib import Path
from typing import Any

import click

from portmert.tuner.base.tables import aligned
from portmert.tuner.base.warn import notice, notices_to
from portmert.tuner.commands import _groups
from portmert.tuner.commands._help import Command
from portmert.tuner.commands._kinds import FOLDER, Whole
from portmert.tuner.commands._outputs import VOICE

TITLES = {
    "bleu": "BLEU", "port": "PORT", "qmean": "Qmean", "ter": "TER", "posf": "POSF",
    "chrf": "chrF", "hwcm": "HWCM", "hwcm-f": "HWCM", "edpm": "EDPM",
}  # fmt: skip


@click.command(cls=Command)
@click.option(
    "--out",
    "folder",
    type=FOLDER,
    default=Path("demo-run"),
    show_default=True,
    help="Folder for all results.",
)
@_groups.overrides(
    "Replace a value of both configurations, as tune.iterations=2; repeat for several."
)
@click.option(
    "--also",
    multiple=True,
    type=click.Choice(["posf", "hwcm", "edpm"]),
    help="Also tune on this metric of syntax; repeat for several.",
)
@click.option(
    "--replicas",
    type=Whole(1),
    help="How often to tune on each metric, from different seeds: 3 show the spread.",
)
@_groups.processes
@click.option("--fresh", is_flag=True, help="Remove an earlier demo in the folder and start over.")
@click.option("--train", type=Whole(10), help="Number of sentence pairs to train the models on.")
@click.option("--dev", type=Whole(1), help="Number of sentence pairs to tune on.")
@click.option("--test", type=Whole(1), help="Number of sentence pairs to test on.")
def command(folder: Path, overrides: tuple[str, ...], replicas: int | None, **values: Any) -> None:
    """Train, tune and compare a small decoder.

    Lists, then a decoder, are tuned on BLEU and on PORT.

    The demo first tunes recorded lists of a small neural system, Japanese to English. Then it
    trains the built-in decoder and aligner on pairs of the same corpus, and tunes the decoder. It
    needs no other data or program. If it was interrupted, the same command continues.

    \b
    portmert demo --out demo-run
    """  # noqa: D301  \b is click's sign for lines to leave alone
    from .recorded import METRICS, tune_recorded  # noqa: PLC0415
    from .run import SETS, experiments_in, run_demo  # noqa: PLC0415

    if replicas is not None:
        overrides = (*overrides, f"tune.replicas={replicas}")
    changed = {name: value for name, value in values.items() if value is not None}
    with notices_to(VOICE.say):
        experiments = experiments_in(folder, overrides=overrides, **changed)
        notice("tuning recorded lists of a neural system, Japanese to English")
        recorded = tune_recorded()
        headers = [
            f"{recorded.segments} sentences",
            *(TITLES.get(metric, metric) for metric in METRICS),
        ]
        click.echo(aligned(headers, _rows(recorded.scores), sides="r" * len(headers)))
        click.echo("The sentence that tuning on BLEU changes most:")
        for name, text in zip(recorded.change._fields, recorded.change, strict=True):
            click.echo(f"  {name:9}  {text}")
        click.echo("\nThe whole loop: train the embedded decoder, decode, tune")
        demo = run_demo(folder, experiments, fresh=values["fresh"])
    headers = ["system"]
    for part in SETS:
        headers += [f"{part}\n{TITLES.get(metric, metric)}" for metric in demo.metrics]
        headers += [f"{part}\nlength"]
    rows = []
    for name, scored in demo.scores.items():
        row = [name if name == "untuned" else f"tuned on {TITLES[name]}"]
        for part in SETS:
            *scores, length = scored[part]
            row += [*(f"{100 * score:.2f}" for score in scores), f"{length:.3f}"]
        rows.append(row)
    click.echo(aligned(headers, rows, sides="r" * len(headers)))
    for verdict in demo.verdicts:
        click.echo(f"test: {verdict}")
    click.echo(
        f"{demo.identical} of {demo.segments} test outputs are the same tuned on BLEU and on PORT"
    )
    click.echo(
        f"\nEverything lies in {folder}: corpus, model, the runs bleu and port (weights.json, "
        f"decoder.config, result.json, log.txt)."
        f"\nIs the difference real, and where is it? Open {demo.page} in a browser"
        f"\n  (portmert compare {folder / 'bleu'} {folder / 'port'} --html {demo.page} made it)."
        f"\nNext, with your own data:"
        f"\n  the embedded decoder: copy {folder / 'demo-port.toml'}, change its paths, then"
        f"\n    portmert tune my.toml"
        f"\n  n-best lists of your decoder, on PORT with links by portmert align:"
        f"\n    portmert optimize --metric port --nbest LIST --ref REFERENCE --source SOURCE "
        f"--ref-links LINKS --out weights.json"
    )


def _rows(scores: dict[str, list[float]]) -> list[list[str]]:
    """Return a row of percents for each system."""
    return [
        [
            f"tuned on {TITLES[name]}" if name in TITLES else name,
            *(f"{100 * one:.2f}" for one in each),
        ]
        for name, each in scores.items()
    ]
