"""`portmert optimize-dat`: one optimization over Moses' features.dat and scores.dat."""

from pathlib import Path
from typing import Any

import click

import portmert
from portmert.tuner.commands._lists import bootstrap_option, search_options, take_search
from portmert.tuner.commands._options import FILE, executor_option, several
from portmert.tuner.commands._outputs import (
    announce_compiling,
    check_outputs,
    json_option,
    notice,
    searching,
    show_weights,
)


@click.command()
@click.option(
    "--metric",
    required=True,
    metavar="NAME[:OPTION=VALUE,...]",
    help="The metric of scores.dat, as bleu.",
)
@several("--features-dat", required=True, help="Moses' features.dat; repeat to merge several.")
@several("--scores-dat", required=True, help="Moses' scores.dat, one for each --features-dat.")
@search_options
@bootstrap_option
@click.option("--out", type=FILE, required=True, help="The file for the weights (JSON).")
@executor_option
@json_option
def command(
    *,
    features_dat: tuple[Path, ...],
    scores_dat: tuple[Path, ...],
    out: Path,
    json_out: Path | None,
    **given: Any,
) -> None:
    """Find weights from the features.dat and scores.dat that Moses' extractor writes.

    \b
    portmert optimize-dat --metric bleu --features-dat run1.features.dat \\
        --scores-dat run1.scores.dat --out weights.json
    """  # noqa: D301  \b is click's sign for lines to leave alone
    announce_compiling()
    check_outputs(out, json_out)
    take_search(given)
    with searching() as shown:
        lists = portmert.Lists.read_dat(features_dat, scores_dat)
        found = portmert.optimize(lists, notice=notice, progress=shown, **given)
    show_weights(found, out, json_out)
