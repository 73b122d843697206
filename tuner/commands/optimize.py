"""`portmert optimize`: one optimization over n-best lists, or several with other seeds."""

from pathlib import Path
from typing import Any

import click

import portmert

from . import _lists, _options, _outputs
from ._options import FILE, FOLDER, LIST, Whole, refuse, several
from ._outputs import notice


@click.command()
@_options.metric(
    "Metric to tune on, for example port or bleu:smooth=add1 (`portmert metrics` lists all); "
    'or scores:FILE, or command:"PROGRAM ...".'
)
@several(
    "--nbest",
    "lists",
    kind=LIST,
    required=True,
    help="N-best list; repeat to merge several. If two lists have the same hypothesis, the one in "
    "the earlier list is kept.",
)
@_lists.list_options()
@_options.metrics(
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
@_lists.search_options
@_lists.length_penalty_option
@_lists.bootstrap_option
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
@_lists.options_of_test()
@_options.executor
@click.option("--fresh", is_flag=True, help="Empty --out-dir and start over.")
@_outputs.json_option
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
    _outputs.announce_compiling()
    _outputs.check_outputs(out, json_out)
    if replicas is None:
        refuse(("out_dir", "fresh", *_lists.TEST), "needs --replicas")
    else:
        refuse(("out", "samples", "also", "pool"), "does not go with --replicas")
    _lists.take_search(given)
    lists = _lists.take_lists(given)
    test = _lists.take_test(given, lists)
    if replicas is not None and out_dir is not None:
        del given["samples"], given["also"]
        with _outputs.tuning(lists.annotator, replicas_on=given["executor"]) as shown:
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
        if not _outputs.print_json(json_out, several_found.as_json()):
            click.echo(str(several_found))
            _outputs.say_left_out()
            click.echo(f"weights: {out_dir / 'weights.json'}")
        return
    if out is None:
        raise click.UsageError("give --out, or --replicas and --out-dir")
    with _outputs.tuning(lists.annotator) as shown:
        found = portmert.optimize(lists, notice=notice, progress=shown, **given)
    _outputs.show_weights(found, out, json_out)
