"""`portmert annotate`: tags and parses a text."""

from typing import Any

import click

from portmert.tuner.base.errors import counted
from portmert.tuner.commands import _groups
from portmert.tuner.commands._help import Command
from portmert.tuner.commands._kinds import OUT_FILE
from portmert.tuner.commands._options_of_functions import options

ANNOTATE = "extensions.parsers.annotating.annotate"


@click.command(cls=Command)
@options(
    ANNOTATE,
    "annotator model text--in out parses layers processes",
    text={"type": OUT_FILE},
    out={"type": OUT_FILE},
    layers={"type": click.Choice(["tags", "heads", "trees", "roles", "drs"])},
)
@_groups.executor
@options(ANNOTATE, "max_failed annotation_cache")
def command(**values: Any) -> None:
    """Tag and parse a text.

    The output is CoNLL-U.

    \b
    portmert annotate --annotator udpipe --model M --in TEXT --out FILE.conllu

    Tags and parses are kept in a cache. An interrupted command continues where it stopped, and
    tuning on the same text does not parse it again. An empty line has no tree.
    """  # noqa: D301  \b is click's sign for lines to leave alone
    import portmert  # noqa: PLC0415  start-up time

    result = portmert.annotate(**values)
    click.echo(
        f"{counted(result.lines, 'line')}, "
        f"{counted(result.cached + result.annotated, 'different sentence')}: "
        f"{result.cached} from the cache, {result.annotated} annotated, {result.failed} without a "
        f"parse, {result.seconds:.1f} s",
        err=True,
    )
