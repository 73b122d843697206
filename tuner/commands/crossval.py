"""`portmert crossval`: the gain of each way to tune on unseen segments."""

from pathlib import Path
from typing import Any

import click

import portmert
from portmert.tuner.commands._lists import (
    constraint_options,
    list_options,
    start_option,
    take_constraints,
    take_lists,
)
from portmert.tuner.commands._options import (
    FOLDER,
    LIST,
    FiniteRange,
    Whole,
    defaulted,
    executor_option,
    html_option,
    metrics_option,
    seed_option,
    several,
)
from portmert.tuner.commands._outputs import (
    announce_compiling,
    check_outputs,
    json_option,
    notice,
    say_written,
    show,
    validating,
)
from portmert.tuner.search import DEFAULT_OPTIMIZER


@click.command()
@several(
    "--nbest", "lists", kind=LIST, required=True, help="N-best list; repeat to merge several."
)
@list_options()
@metrics_option(
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
@start_option
@constraint_options
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
@seed_option
@click.option(
    "--threads",
    type=Whole(0),
    default=0,
    help="Number of searches at once. 0, the default: one for each processor. The number never "
    "changes a result.",
)
@executor_option
@click.option(
    "--out-dir",
    type=FOLDER,
    help="Keep the result of each search in this folder. A killed command then continues, and one "
    "with more choices, splits or seeds runs only the searches that are missing.",
)
@click.option(
    "--no-timing",
    is_flag=True,
    help="Leave out measured times, so that equal calls write equal bytes.",
)
@html_option
@json_option
def command(
    *,
    without: tuple[str, ...],
    no_timing: bool,
    html_out: Path | None,
    json_out: Path | None,
    **given: Any,
) -> None:
    """Tune on half of the segments and score the other half, to see what tuning is worth.

    Each combination of metric, optimizer, prior and features left out is tuned. The table has its
    scores on both halves, its gain over the first combination on the unseen half, and the time.
    The last row is the start weights, untuned.

    \b
    portmert crossval --nbest dev.nbest.gz --ref dev.ref --metric bleu --weights start.json \\
        --optimizer bagged --optimizer kbmira --without LM0 --html page.html
    """  # noqa: D301  \b is click's sign for lines to leave alone
    check_outputs(html_out, json_out)
    announce_compiling()
    take_constraints(given)
    lists = take_lists(given)
    with validating() as progress:
        found = portmert.crossval(
            lists,
            without=[names.split(",") for names in without],
            timing=not no_timing,
            notice=notice,
            progress=progress,
            **given,
        )
    show(found, json_out=json_out, html_out=html_out)
    say_written(html_out, json_out)
