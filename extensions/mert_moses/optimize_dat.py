"""`portmert optimize-dat`: one optimization over Moses' features.dat and scores.dat."""

from pathlib import Path
from typing import Any

import click

import portmert
from portmert.tuner.commands import _groups, _outputs
from portmert.tuner.commands._help import Command
from portmert.tuner.commands._kinds import FILE
from portmert.tuner.commands._options_of_functions import options


@click.command(cls=Command)
@_groups.metric("tuner.api.optimizing.optimize", help="The metric of scores.dat, as bleu.")
@options(
    "tuner.api.lists.Lists.read_dat",
    "features_dat--features-dat scores_dat--scores-dat missing",
)
@_groups.search
@_groups.bootstrap
@click.option("--out", type=FILE, required=True, help="The file for the weights (JSON).")
@_groups.executor
@_outputs.json_option
def command(
    *,
    features_dat: Any,
    scores_dat: Any,
    missing: Any,
    out: Path,
    json_out: Path | None,
    **values: Any,
) -> None:
    """Find weights from features.dat and scores.dat.

    Moses' extractor writes these files.

    \b
    portmert optimize-dat --metric bleu --features-dat run1.features.dat \\
        --scores-dat run1.scores.dat --out weights.json
    """  # noqa: D301  \b is click's sign for lines to leave alone
    _outputs.announce_compiling()
    _outputs.check_outputs(out, json_out)
    _groups.take_search(values)
    lists = portmert.Lists.read_dat(features_dat, scores_dat, missing=missing)
    optimized = portmert.optimize(lists, **values)
    _outputs.show_weights(optimized, out, json_out)
