"""`portmert optimize`: one optimization over n-best lists, or several with other seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import portmert
from portmert.tuner.commands._lists import (
    TEST,
    bootstrap_option,
    length_penalty_option,
    list_options,
    options_of_test,
    search_options,
    take_lists,
    take_search,
    take_test,
)
from portmert.tuner.commands._options import (
    FILE,
    FOLDER,
    Whole,
    executor_option,
    metrics_option,
    refuse,
    several,
)
from portmert.tuner.commands._outputs import (
    announce_compiling,
    check_outputs,
    json_option,
    notice,
    print_json,
    show_weights,
    tuning,
)


@click.command()
@click.option(
    "--metric",
    required=True,
    metavar="NAME[:OPTION=VALUE,...]",
    help="Metric to tune on, as port or bleu:smooth=add1 (`portmert metrics` lists all), "
    'scores:FILE or command:"PROGRAM ...".',
)
@several(
    "--nbest",
    "lists",
    required=True,
    help="N-best list; repeat to merge several: their order counts, as of equal "
    "hypotheses the first stays.",
)
@list_options()
@metrics_option(
    "Report the score of the weights by this metric too; repeat for more.",
    name="also",
    option="--also",
)
@click.option(
    "--pool",
    type=FOLDER,
    help="Keep features and statistics of the lists in this folder in place of memory, for lists "
    "larger than that: the result is the same. Used again where lists, references and metric are "
    "the same, else made anew.",
)
@search_options
@length_penalty_option
@bootstrap_option
@click.option("--out", type=FILE, help="The file for the weights (JSON).")
@click.option(
    "--replicas",
    type=Whole(1),
    help="Search so often, with different seeds, and average; everything goes to --out-dir.",
)
@click.option(
    "--out-dir",
    type=FOLDER,
    help="Folder of --replicas, in the form that compare takes; an interrupted one goes on.",
)
@options_of_test()
@executor_option
@click.option("--fresh", is_flag=True, help="Remove the content of --out-dir and start over.")
@json_option
def command(
    *,
    metric: str,
    out: Path | None,
    replicas: int | None,
    out_dir: Path | None,
    fresh: bool,
    json_out: Path | None,
    **given: Any,
) -> None:
    """Find the weights under which the lists' best hypotheses score highest.

    \b
    portmert optimize --metric port --nbest dev.nbest.gz --ref dev.ref --source dev.src \\
        --ref-links dev.links --out weights.json
    portmert optimize --metric bleu --nbest dev.nbest.gz --ref dev.ref --replicas 3 \\
        --test-nbest test.nbest.gz --test-ref test.ref --out-dir runs/bleu
    """  # noqa: D301  \b is click's sign for lines to leave alone
    announce_compiling()
    check_outputs(out, json_out)
    if replicas is None:
        refuse(("out_dir", "fresh", *TEST), "needs --replicas")
    else:
        refuse(("out", "samples", "also", "pool"), "does not go with --replicas")
    take_search(given)
    lists = take_lists(given)
    test = take_test(given, lists)
    if replicas is not None and out_dir is not None:
        del given["samples"], given["also"]
        with tuning(lists.annotator, replicas_on=given["executor"]) as shown:
            several_found = portmert.replicate(
                lists,
                metric,
                replicas=replicas,
                out_dir=out_dir,
                test=test,
                fresh=fresh,
                notice=notice,
                progress=shown,
                **given,
            )
        if not print_json(json_out, several_found.as_json()):
            click.echo(str(several_found))
            click.echo(f"weights: {out_dir / 'weights.json'}")
        return
    if out is None:
        raise click.UsageError("give --out, or --replicas and --out-dir")
    with tuning(lists.annotator) as shown:
        found = portmert.optimize(lists, metric, notice=notice, progress=shown, **given)
    show_weights(found, out, json_out)
