"""`portmert optimize`: one optimization over n-best lists, or several with other seeds."""

from pathlib import Path
from typing import Any

import click

import portmert

from . import _groups, _outputs
from ._groups import refuse
from ._help import Command
from ._kinds import FILE, Whole
from ._options_of_functions import options

OF_ONE_SEARCH = ("samples", "also", "contributions", "penalty_step", "plot")
"""Parameters of `portmert.optimize` that `portmert.replicate` lacks."""


@click.command(cls=Command)
@_groups.metric("tuner.api.optimizing.optimize")
@options("tuner.api.lists.Lists", "paths")
@_groups.graphs
@_groups.lists
@options("tuner.api.optimizing.optimize", "also--also contributions penalty_step")
@options("tuner.api.optimizing.optimize", "plot")
@_groups.search
@_groups.length_penalty
@_groups.bootstrap
@click.option("--out", type=FILE, help="File for the tuned weights (JSON); else they are shown.")
@click.option(
    "--replicas",
    type=Whole(1),
    help="Search this many times with different seeds and average the weights; the results go to "
    "--out-dir.",
)
@_groups.out_dir(
    "Folder for the results of --replicas, which `portmert compare` reads. An interrupted command "
    "continues."
)
@_groups.of_test
@_groups.executor
@_groups.fresh
@_outputs.json_option
def command(
    *,
    out: Path | None,
    replicas: int | None,
    out_dir: Path | None,
    fresh: bool,
    json_out: Path | None,
    **values: Any,
) -> None:
    """Find weights for n-best lists or lattices.

    Under these weights the best hypotheses of the lists score highest. Without --out the weights
    are shown and not kept.

    \b
    portmert optimize --metric port --nbest dev.nbest.gz --ref dev.ref --source dev.src \\
        --ref-links dev.links --out weights.json
    portmert optimize --metric bleu --nbest dev.nbest.gz --ref dev.ref --replicas 3 \\
        --test-nbest test.nbest.gz --test-ref test.ref --out-dir runs/bleu
    portmert optimize --metric wer --graphs lattices/dev --ref dev.text --ids --out weights.json
    """  # noqa: D301  \b is click's sign for lines to leave alone
    _outputs.announce_compiling()
    _outputs.check_outputs(out, json_out, values["plot"])
    if replicas is None:
        refuse(
            ("out_dir", "fresh", "test_graphs", *(f"test_{name}" for name in _groups.TEST)),
            "needs --replicas",
        )
    else:
        refuse(("out", *OF_ONE_SEARCH), "does not go with --replicas")
    _groups.take_search(values)
    lists = _groups.take_lists(values, weights=values["weights"], around=True)
    test = _groups.take_test(values, lists)
    if replicas is not None and out_dir is not None:
        for name in OF_ONE_SEARCH:
            del values[name]
        result = portmert.replicate(
            lists, replicas=replicas, out_dir=out_dir, test=test, fresh=fresh, **values
        )
        if not _outputs.print_json(json_out, result.as_json()):
            click.echo(str(result))
            _outputs.say_left_out()
            click.echo(f"weights: {out_dir / 'weights.json'}")
        return
    if replicas is not None:
        raise click.UsageError("--replicas needs --out-dir")
    _outputs.show_weights(portmert.optimize(lists, **values), out, json_out)
