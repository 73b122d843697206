"""`portmert average`: one set of weights for those of several tunings."""

from pathlib import Path
from typing import Any

import click

import portmert

from . import _lists, _outputs
from ._options import FILE, several
from ._outputs import notice


@click.command()
@click.argument("weights", nargs=-1, type=FILE, metavar="W1 W2 ...")
@several(
    "--nbest",
    "lists",
    help="N-best list; repeat for several. Each W is scaled so that its model scores on the lists "
    "have the same spread. Without lists, the absolute weights of each W are scaled to the same "
    "sum.",
)
@_lists.format_option
@_lists.drop_option
@_lists.missing_features_option(
    "What happens if some W lacks a feature of another: an error, or its weight there is 0, as "
    "for sparse features."
)
@click.option("--out", required=True, type=FILE, help="File for the average, in the format of W1.")
def command(
    *, weights: tuple[Path, ...], lists: tuple[Path, ...], out: Path, **given: Any
) -> None:
    """Scale weights to the same size, average them, and write them in the format of W1.

    Each W is our JSON, a moses.ini, a runN.dense of mert-moses.pl or a file of sparse weights. The
    average of several tunings often scores higher on new text than each of them.

    \b
    portmert average seed1.json seed2.json seed3.json --nbest dev.nbest.gz --out mean.json
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if len(weights) < 2:
        raise click.UsageError("name at least two files of weights")
    if given["format"] != "auto" and not lists:
        raise click.UsageError(f"--nbest-format {given['format']}: it is of --nbest; give lists")
    if given["drop_missing"] and not lists:
        raise click.UsageError("--drop-missing: it is of --nbest; give lists")
    _outputs.check_outputs(out)
    options = {key: given.pop(key) for key in ("format", "drop_missing")}
    options["notice"] = notice
    read = portmert.Lists.unread(lists, **options) if lists else None
    portmert.average(weights, read, notice=notice, **given).write(out)
    _outputs.say_written(out)
