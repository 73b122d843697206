"""`portmert rerank-tune`: from lists and scores to a tested result."""

from pathlib import Path
from typing import Any

import click

import portmert

from ..base import options
from . import _lists, _options, _outputs
from ._options import FOLDER, LIST, Whole, defaulted, several
from ._outputs import notice


@click.command()
@_options.metric("Metric to tune on: one of `portmert metrics`, scores:FILE, or a formula.")
@several(
    "--nbest",
    "lists",
    kind=LIST,
    required=True,
    help="N-best list to tune on; repeat to merge several.",
)
@_lists.list_options()
@_lists.options_of_test(required=True)
@_options.metrics(
    "Another metric to compare by; repeat for several.", name="also", option="--also"
)
@several(
    "--test-scores",
    kind=str,
    metavar="NAME=FILE[#KEY]",
    help="Scores in hand to compare by, such as right or wrong, COMET or a human's: one for each "
    "hypothesis of the test list, more is better (text, .gz or .npy; FILE#KEY reads JSON lines; "
    "for several lists one file each, separated by commas). Repeat for several.",
)
@click.option(
    "--test-answers",
    metavar="FILE[#KEY]",
    help="The final answer of each hypothesis of the test lists. With --test-scores, votes on "
    "answers are compared too.",
)
@_lists.search_options
@_lists.length_penalty_option
@defaulted(
    "--replicas",
    Whole(1),
    5,
    "Number of searches with different seeds; their weights are averaged.",
)
@click.option(
    "--out-dir",
    type=FOLDER,
    required=True,
    help="Folder for all results. An interrupted command continues.",
)
@click.option("--fresh", is_flag=True, help="Empty --out-dir and start over.")
@_outputs.json_option
def command(*, json_out: Path | None, **given: Any) -> None:
    """Tune weights on n-best lists, rerank a test set with them, and compare the result.

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
    _lists.take_search(given)
    lists = _lists.take_lists(given)
    test = _lists.take_test(given, lists)
    scores = given["test_scores"]
    named = registry.key_values(
        scores, where="--test-scores", form="write NAME=FILE", as_written=True
    )
    given["test_scores"] = {
        name: options.files(value, where="--test-scores") for name, value in named.items()
    }
    given["test_answers"] = given["test_answers"] or ()
    assert test is not None  # noqa: S101  --test-nbest is required
    with _outputs.tuning(lists.annotator) as shown:
        found = portmert.rerank_tune(lists, test=test, notice=notice, progress=shown, **given)
    if not _outputs.print_json(json_out, found.as_json()):
        click.echo(str(found))
        _outputs.say_left_out()
    out = given["out_dir"]
    pages = (out / "comparison.html",) if found.compared is not None else ()
    _outputs.say_written(out / "weights.json", out / "output.txt", *pages, json_out)
