"""Offers `portmert cache`: shows or clears what is kept of annotators' answers."""

from __future__ import annotations

from pathlib import Path

import click

from portmert.tuner.commands._options import cache_option
from portmert.tuner.ground.errors import counted

MIB = 1 << 20

_folder = cache_option("folder")


@click.group()
def command() -> None:
    """Show or clear the cache of annotations: tags and parses, each sentence once.

    It is a file in the folder that PORTMERT_CACHE names, or the user's cache folder. Beyond
    PORTMERT_CACHE_SIZE (as 500M or 2G; 4G if not set) what was not used for longest goes.

    \b
    portmert cache info
    """  # noqa: D301  \b is click's sign for lines to leave alone


@command.command("info")
@_folder
def show(folder: Path | None) -> None:
    """Show how many sentences of which annotators are kept.

    \b
    portmert cache info
    """  # noqa: D301  \b is click's sign for lines to leave alone
    from portmert.tuner.annotation.cache import FILE, default_folder, info, size_limit  # noqa: PLC0415
    from portmert.tuner.ground.tables import aligned  # noqa: PLC0415

    folder = default_folder() if folder is None else folder
    size, kinds = info(folder)
    limit = f"{size_limit() / MIB:.1f}".removesuffix(".0")
    click.echo(f"{folder / FILE}: {size / MIB:.1f} of {limit} MiB")
    if kinds:
        rows = [
            (
                *(kind.annotator, kind.layer, str(kind.sentences)),
                *(f"{kind.size / MIB:.1f}", kind.used),
            )
            for kind in kinds
        ]
        headers = ["annotator", "layer", "sentences", "MiB", "last used"]
        click.echo(aligned(headers, rows, sides="llrrl"))


@command.command()
@_folder
@click.option(
    "--annotator",
    default="",
    metavar="NAME",
    help="Only what came from this one: its name or more, as `info` shows it.",
)
def clear(folder: Path | None, annotator: str) -> None:
    """Delete what is kept.

    \b
    portmert cache clear --annotator udpipe
    """  # noqa: D301  \b is click's sign for lines to leave alone
    from portmert.tuner.annotation.cache import FILE, default_folder  # noqa: PLC0415  start-up time
    from portmert.tuner.annotation.cache import clear as delete  # noqa: PLC0415

    folder = default_folder() if folder is None else folder
    deleted = delete(folder, annotator)
    click.echo(f"{folder / FILE}: {counted(deleted, 'sentence')} deleted")
