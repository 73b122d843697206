"""`portmert average`: one set of weights for those of several tunings."""

from pathlib import Path
from typing import Any

import click

import portmert

from . import _groups, _outputs
from ._help import Command
from ._kinds import FILE
from ._signatures import options


@click.command(cls=Command)
@click.argument("weights", nargs=-1, type=FILE, metavar="W1 W2 ...")
@options("tuner.api.averaging.average", "lists--nbest missing_features")
@_groups.nbest_format
@_groups.drop_missing
@click.option("--out", required=True, type=FILE, help="File for the average, in the format of W1.")
def command(
    *, weights: tuple[Path, ...], lists: tuple[Path, ...], out: Path, **values: Any
) -> None:
    """Scale weights to the same size, average them, and write them in the format of W1.

    Each W is our JSON, a moses.ini, a runN.dense of mert-moses.pl or a file of sparse weights. The
    average of several tunings often scores higher on new text than each of them.

    \b
    portmert average seed1.json seed2.json seed3.json --nbest dev.nbest.gz --out mean.json
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if len(weights) < 2:
        raise click.UsageError("name at least two files of weights")
    if values["format"] != "auto" and not lists:
        raise click.UsageError(f"--nbest-format {values['format']}: it is of --nbest; give lists")
    if values["drop_missing"] and not lists:
        raise click.UsageError("--drop-missing: it is of --nbest; give lists")
    _outputs.check_outputs(out)
    reading = {key: values.pop(key) for key in ("format", "drop_missing")}
    read = portmert.Lists(lists, **reading) if lists else None
    portmert.average(weights, read, **values).write(out)
    _outputs.say_written(out)
