"""`portmert rerank-tune`: from lists and scores to a tested result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import portmert
from portmert.tuner.commands._lists import (
    length_penalty_option,
    list_options,
    options_of_test,
    search_options,
    take_lists,
    take_search,
    take_test,
)
from portmert.tuner.commands._options import FOLDER, Whole, defaulted, metrics_option, several
from portmert.tuner.commands._outputs import (
    announce_compiling,
    check_outputs,
    json_option,
    notice,
    print_json,
    say_written,
    tuning,
)


@click.command()
@click.option(
    "--metric",
    required=True,
    metavar="NAME[:OPTION=VALUE,...]",
    help="Metric to tune on (`portmert metrics` lists all), scores:FILE, or a formula.",
)
@several("--nbest", "lists", required=True, help="N-best list to tune on; several are merged.")
@list_options()
@options_of_test(required=True)
@metrics_option("Compare by this metric too; repeat for more.", name="also", option="--also")
@search_options
@length_penalty_option
@defaulted("--replicas", Whole(1), 5, "Searches with different seeds, whose weights are averaged.")
@click.option(
    "--out-dir",
    type=FOLDER,
    required=True,
    help="Folder of all results; an interrupted command goes on.",
)
@click.option("--fresh", is_flag=True, help="Remove the content of --out-dir and start over.")
@json_option
def command(*, metric: str, json_out: Path | None, **given: Any) -> None:
    """Tune weights on lists, rerank the lists of a test set by them, and test the result.

    Weights are searched with several seeds and averaged. The averaged weights choose the lines of
    output.txt in --out-dir. With --test-ref the choice is compared with the first hypothesis of
    each list, with the best by each feature alone, and with the oracle: comparison.html.

    \b
    portmert rerank-tune --metric chrf --nbest dev.nbest.gz --ref dev.ref --feature qe=dev.comet \\
        --test-nbest test.nbest.gz --test-ref test.ref --test-feature qe=test.comet --out-dir tuned
    """  # noqa: D301  \b is click's sign for lines to leave alone
    check_outputs(json_out)
    announce_compiling()
    take_search(given)
    lists = take_lists(given)
    test = take_test(given, lists)
    assert test is not None  # noqa: S101  --test-nbest is required
    with tuning(lists.annotator) as shown:
        found = portmert.rerank_tune(
            lists, metric, test=test, notice=notice, progress=shown, **given
        )
    if not print_json(json_out, found.as_json()):
        click.echo(str(found))
    out = given["out_dir"]
    pages = (out / "comparison.html",) if found.compared is not None else ()
    say_written(out / "weights.json", out / "output.txt", *pages, json_out)
