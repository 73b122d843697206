"""`portmert optimize`: one optimization over n-best lists, or several with other seeds."""

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
    LIST,
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
    help="Metric to tune on, for example port or bleu:smooth=add1 (`portmert metrics` lists all); "
    'or scores:FILE, or command:"PROGRAM ...".',
)
@several(
    "--nbest",
    "lists",
    kind=LIST,
    required=True,
    help="N-best list; repeat to merge several. If two lists have the same hypothesis, the one in "
    "the earlier list is kept.",
)
@list_options()
@metrics_option(
    "Another metric by which the tuned weights are scored; repeat for several.",
    name="also",
    option="--also",
)
@click.option(
    "--pool",
    type=FOLDER,
    help="Keep the features and statistics of the lists in this folder, for lists larger than "
    "memory. The result is the same. The files are used again for the same lists, references and "
    "metric.",
)
@search_options
@length_penalty_option
@bootstrap_option
@click.option("--out", type=FILE, help="File for the tuned weights (JSON).")
@click.option(
    "--replicas",
    type=Whole(1),
    help="Search this many times with different seeds and average the weights; the results go to "
    "--out-dir.",
)
@click.option(
    "--out-dir",
    type=FOLDER,
    help="Folder for the results of --replicas, which `portmert compare` reads. An interrupted "
    "command continues.",
)
@options_of_test()
@executor_option
@click.option("--fresh", is_flag=True, help="Empty --out-dir and start over.")
@json_option
def command(
    *,
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
        found = portmert.optimize(lists, notice=notice, progress=shown, **given)
    show_weights(found, out, json_out)
