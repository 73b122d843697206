"""`portmert cache`: shows or clears the cache of annotators' answers."""

from pathlib import Path

import click

from ..base.errors import InputError, counted
from ._help import CommandGroup
from ._options_of_functions import options

MIB = 1 << 20

_folder = options("tuner.api.lists.Lists", "annotation_cache")


@click.group(cls=CommandGroup)
def command() -> None:
    """Show or clear the cache of parses.

    It is a file in the folder PORTMERT_CACHE, or in the user's cache folder. If it grows beyond
    PORTMERT_CACHE_SIZE (as 500M or 2G; default 4G), the oldest annotations are deleted.

    \b
    portmert cache info
    """  # noqa: D301  \b is click's sign for lines to leave alone


@command.command("info")
@_folder
def show(annotation_cache: Path | None) -> None:
    """Show each annotator in the cache and its number of sentences.

    \b
    portmert cache info
    """  # noqa: D301  \b is click's sign for lines to leave alone
    from ..annotation.cache import FILE, default_folder, info, size_limit  # noqa: PLC0415
    from ..base.tables import aligned  # noqa: PLC0415

    folder = annotation_cache or default_folder()
    if annotation_cache is not None and not (folder / FILE).exists():
        raise InputError(f"{folder}: no cache (no {FILE})")
    size, kinds = info(folder)
    limit = f"{size_limit() / MIB:.1f}".removesuffix(".0")
    click.echo(f"{folder / FILE}: {size / MIB:.1f} of {limit} MiB")
    if kinds:
        rows = [
            (kind.annotator, kind.layer, str(kind.sentences), f"{kind.size / MIB:.1f}")
            for kind in kinds
        ]
        headers = ["annotator", "layer", "sentences", "MiB"]
        click.echo(aligned(headers, rows, sides="llrr"))


@command.command()
@_folder
@click.option(
    "--annotator",
    default="",
    metavar="NAME",
    help="Delete only what this annotator made: the name that `info` shows, or its beginning.",
)
def clear(annotation_cache: Path | None, annotator: str) -> None:
    """Delete the annotations in the cache.

    \b
    portmert cache clear --annotator udpipe
    """  # noqa: D301  \b is click's sign for lines to leave alone
    from ..annotation.cache import FILE, default_folder  # noqa: PLC0415  start-up time
    from ..annotation.cache import clear as delete  # noqa: PLC0415

    folder = annotation_cache or default_folder()
    deleted = delete(folder, annotator)
    if annotator and not deleted:
        raise InputError(
            f"{folder / FILE}: nothing of an annotator '{annotator}'; `portmert cache info` lists "
            f"those that are in it"
        )
    size = "a file that cannot be read is" if deleted is None else counted(deleted, "sentence")
    click.echo(f"{folder / FILE}: {size} deleted")
