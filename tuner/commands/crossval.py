"""`portmert crossval`: the gain of each way to tune on unseen segments."""

from pathlib import Path
from typing import Any

import click

import portmert

from ..base import options
from ..search import DEFAULT_OPTIMIZER
from . import _lists, _options, _outputs
from ._options import FOLDER, LIST, FiniteRange, Whole, defaulted, several
from ._outputs import notice


@click.command()
@several(
    "--nbest", "lists", kind=LIST, required=True, help="N-best list; repeat to merge several."
)
@_lists.list_options()
@_options.metrics(
    "Metric to tune on; repeat for several. All of them score the result of each choice.",
    required=True,
)
@several(
    "--optimizer",
    kind=str,
    default=[DEFAULT_OPTIMIZER],
    show_default=True,
    metavar="NAME[:OPTION=VALUE,...]",
    help="Optimizer, for example mert:searches_per_feature=400; repeat for several.",
)
@several(
    "--without",
    kind=str,
    metavar="NAME[,NAME...]",
    help="Also try without this feature, or without these together; repeat for several.",
)
@several(
    "--prior",
    kind=FiniteRange(0),
    default=[0.0],
    help="How strongly the weights are drawn towards the start weights; repeat to try several. 0, "
    "the default: not at all.",
)
@_lists.start_option
@_lists.constraint_options
@defaulted(
    "--splits",
    Whole(1),
    10,
    "Number of random splits into two halves: one to tune on, one to score. Halves replace the "
    "usual ten folds because the score of a tenth of the segments is too uncertain.",
)
@defaulted("--seeds", Whole(1), 1, "Number of searches on each half, each with its own seed.")
@click.option(
    "--size", type=Whole(1), help="Tune on only this many segments of the half. Default: on all."
)
@_options.seed
@click.option(
    "--threads",
    type=Whole(0),
    default=0,
    help="Number of searches at once. 0, the default: one for each processor. The number never "
    "changes a result.",
)
@_options.executor
@click.option(
    "--out-dir",
    type=FOLDER,
    help="Keep the result of each search in this folder. A killed command then continues, and one "
    "with more choices, splits or seeds runs only the searches that are missing.",
)
@_options.no_timing
@_options.html
@_outputs.json_option
def command(
    *, without: tuple[str, ...], html_out: Path | None, json_out: Path | None, **given: Any
) -> None:
    """Tune on half of the segments and score the other half, to see what tuning is worth.

    Each combination of metric, optimizer, prior and features left out is tuned. The table has its
    scores on both halves, its gain over the first combination on the unseen half, and the time.
    The last row is the start weights, untuned.

    \b
    portmert crossval --nbest dev.nbest.gz --ref dev.ref --metric bleu --weights start.json \\
        --optimizer bagged --optimizer kbmira --without LM0 --html page.html
    """  # noqa: D301  \b is click's sign for lines to leave alone
    _outputs.check_outputs(html_out, json_out)
    _outputs.announce_compiling()
    _lists.take_constraints(given)
    lists = _lists.take_lists(given)
    with _outputs.validating() as progress:
        found = portmert.crossval(
            lists,
            without=list(map(options.names, without)),
            timing=not given.pop("no_timing"),
            notice=notice,
            progress=progress,
            **given,
        )
    _outputs.show(found, json_out=json_out, html_out=html_out)
    _outputs.say_written(html_out, json_out)
