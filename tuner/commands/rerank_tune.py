"""`portmert rerank-tune`: from lists and scores to a tested result."""

from pathlib import Path
from typing import Any

import click

import portmert

from ..base.options import files
from . import _groups, _outputs
from ._help import Command
from ._options_of_functions import options

RERANK_TUNE = "tuner.api.rerank_tuning.rerank_tune"


@click.command(cls=Command)
@_groups.metric(RERANK_TUNE)
@options("tuner.api.lists.Lists", "paths")
@_groups.graphs
@_groups.lists
@_groups.of_test
@options(RERANK_TUNE, "also--also test_scores test_answers groups")
@_groups.search
@_groups.length_penalty
@options(RERANK_TUNE, "replicas")
@_groups.out_dir_is_needed
@options(RERANK_TUNE, "out_dir")
@_groups.fresh
@_outputs.json_option
def command(*, json_out: Path | None, **values: Any) -> None:
    """Tune weights, rerank a test set, compare.

    Weights are searched with several seeds and averaged. The averaged weights choose the lines of
    output.txt in --out-dir. With --test-ref, comparison.html compares these lines with the first
    hypothesis of each segment, with the best by each feature alone, and with the oracle. With
    --test-scores they are compared with equal weights and with votes too.

    \b
    portmert rerank-tune --metric chrf --nbest dev.nbest.gz --ref dev.ref --feature qe=dev.comet \\
        --test-nbest test.nbest.gz --test-ref test.ref --test-feature qe=test.comet --out-dir tuned
    portmert rerank-tune --metric scores:dev.jsonl#right --nbest dev.jsonl \\
        --test-nbest test.jsonl --test-scores right=test.jsonl#right --out-dir tuned
    """  # noqa: D301  \b is click's sign for lines to leave alone
    from ..components import registry  # noqa: PLC0415  start-up time

    _outputs.check_outputs(json_out)
    _outputs.announce_compiling()
    _groups.take_search(values)
    lists = _groups.take_lists(values, weights=values["weights"], around=True)
    test = _groups.take_test(values, lists)
    if test is None:
        kind = "--test-graphs" if lists.strings else "--test-nbest"
        raise click.UsageError(f"Missing option '{kind}'.")
    by_name = registry.key_values(
        values["test_scores"], where="--test-scores", form="write NAME=FILE", as_written=True
    )
    values["test_scores"] = {
        name: files(value, where="--test-scores") for name, value in by_name.items()
    }
    values["test_answers"] = values["test_answers"] or ()
    tuned = portmert.rerank_tune(lists, test=test, **values)
    if not _outputs.print_json(json_out, tuned.as_json()):
        click.echo(str(tuned))
        _outputs.say_left_out()
    out = values["out_dir"]
    pages = (out / "comparison.html",) if tuned.compared is not None else ()
    _outputs.say_written(out / "weights.json", out / "output.txt", *pages, json_out)
