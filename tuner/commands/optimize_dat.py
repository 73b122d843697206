"""`portmert optimize-dat`: one optimization over Moses' features.dat and scores.dat."""

from pathlib import Path
from typing import Any

import click

import portmert

from . import _lists, _options, _outputs
from ._options import FILE, several
from ._outputs import notice


@click.command()
@_options.metric("The metric of scores.dat, as bleu.")
@several("--features-dat", required=True, help="Moses' features.dat; repeat to merge several.")
@several("--scores-dat", required=True, help="Moses' scores.dat, one for each --features-dat.")
@_lists.search_options
@_lists.bootstrap_option
@click.option("--out", type=FILE, required=True, help="The file for the weights (JSON).")
@_options.executor
@_outputs.json_option
def command(
    *, features_dat: Any, scores_dat: Any, out: Path, json_out: Path | None, **given: Any
) -> None:
    """Find weights from the features.dat and scores.dat that Moses' extractor writes.

    \b
    portmert optimize-dat --metric bleu --features-dat run1.features.dat \\
        --scores-dat run1.scores.dat --out weights.json
    """  # noqa: D301  \b is click's sign for lines to leave alone
    _outputs.announce_compiling()
    _outputs.check_outputs(out, json_out)
    _lists.take_search(given)
    with _outputs.searching() as shown:
        lists = portmert.Lists.read_dat(features_dat, scores_dat)
        found = portmert.optimize(lists, notice=notice, progress=shown, **given)
    _outputs.show_weights(found, out, json_out)
