"""`portmert demo`: tunes a decoder in the loop, on Japanese-English sentences."""

from pathlib import Path

import click

from portmert.tuner.base.files import write_text
from portmert.tuner.base.warn import notices_to
from portmert.tuner.commands import _groups
from portmert.tuner.commands._help import Command
from portmert.tuner.commands._kinds import FOLDER
from portmert.tuner.commands._outputs import VOICE

PAGE = "comparison.html"


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
@_groups.processes
@click.option("--fresh", is_flag=True, help="Remove an earlier demo in the folder and start over.")
def command(*, folder: Path, overrides: tuple[str, ...], threads: int | None, fresh: bool) -> None:
    """Train, tune and compare a small decoder.

    The demo trains the built-in decoder and aligner on Japanese-English sentence pairs, tunes the
    decoder on BLEU and on PORT, and compares. It needs no other data or program. If it was
    interrupted, the same command continues.

    \b
    portmert demo --out demo-run
    """  # noqa: D301  \b is click's sign for lines to leave alone
    from .run import run_demo  # noqa: PLC0415  start-up time

    with notices_to(VOICE.say):
        demo = run_demo(folder, overrides=overrides, threads=threads, fresh=fresh)
    for tuned in demo.tuned.values():
        click.echo(f"{tuned}\n")
    click.echo(demo.compared)
    page = folder / PAGE
    write_text(page, demo.compared.as_html())
    click.echo(
        f"\nEverything lies in {folder}: corpus, model, the runs bleu and port (weights.json, "
        f"decoder.config, result.json, log.txt)."
        f"\nThe outputs side by side: open {page} in a browser"
        f"\nWith your own data: copy {folder / 'demo-port.toml'}, change its paths, then"
        f"\n  portmert tune my.toml"
    )
