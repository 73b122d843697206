"""`portmert crossval`: the gain of each way to tune on unseen segments."""

from __future__ import annotations  # portmert.Report in a type would load it

from typing import Any

import click

import portmert
from portmert.tuner.base.options import names
from portmert.tuner.commands import _groups, _outputs
from portmert.tuner.commands._help import Command
from portmert.tuner.commands._options_of_functions import options

CROSSVAL = "extensions.crossval.operation.crossval"


@click.command(cls=Command)
@_groups.nbest
@_groups.lists
@_groups.metric(CROSSVAL)
@options(CROSSVAL, "optimizer without--without prior")
@options("tuner.api.optimizing.Search", "weights")
@_groups.constraints
@options(CROSSVAL, "splits seeds size groups")
@_groups.seed
@_groups.threads
@_groups.executor
@options(CROSSVAL, "out_dir")
@_outputs.reporting(_outputs.html, _outputs.plot, _outputs.json_option)
def command(*, without: tuple[str, ...], **values: Any) -> portmert.Report:
    """Estimate scores on unseen text by cross-validation.

    Tunes on each half of the segments and chooses on the other half.

    Each combination of metric, optimizer, prior and features left out is tuned. The table has its
    scores on segments learnt from and on unseen ones, tested against the first combination.
    The rows from "first" on need no tuning.

    \b
    portmert crossval --nbest dev.nbest.gz --ref dev.ref --metric bleu --weights start.json \\
        --optimizer bagged --optimizer kbmira --without LM0 --html page.html
    """  # noqa: D301  \b is click's sign for lines to leave alone
    _groups.take_constraints(values)
    lists = _groups.take_lists(values)
    return portmert.crossval(lists, without=list(map(names, without)), **values)
