"""The command `portmert compare`: systems side by side, and which differences are real."""

from pathlib import Path
from typing import Any

import click

import portmert

from . import _lists, _options, _outputs
from ._options import FILE, Whole, defaulted, key_values
from ._outputs import notice


@click.command()
@click.argument("systems", nargs=-1, metavar="A B [C ...]")
@click.option(
    "--source", type=FILE, help="Source text of the test set; metrics of word order need it."
)
@_options.refs()
@_options.metrics(
    "Metric; repeat for several. Default: bleu, port, qmean, ter, and the metrics that the runs "
    "were tuned on."
)
@click.option(
    "--links",
    "links",
    multiple=True,
    metavar="NAME=FILE[,FILE...]",
    help="A set of word alignments: one file for each --ref, then optionally one for each output. "
    "Repeat to compare several sets.",
)
@click.option(
    "--aligner",
    "aligner",
    metavar="NAME",
    help="Align references with this aligner, and outputs whose decoder wrote no alignment.",
)
@_options.settings("An option of the aligner, as train_source=FILE; repeat for several.")
@_lists.ids_option
@_lists.drop_option
@_lists.lowercase_option
@_lists.text_options
@_options.run_annotator
@defaulted(
    "--samples",
    Whole(1),
    10_000,
    "Number of bootstrap samples of the test set, and of randomizations in a test.",
)
@_options.seed
@_options.confidence
@_options.threads
@_options.executor
@_options.no_timing
@_options.html
@_outputs.json_option
@click.option("--latex", "latex_out", type=FILE, help="Write the tables for LaTeX (booktabs).")
def command(
    *, html_out: Path | None, json_out: Path | None, latex_out: Path | None, **given: Any
) -> None:
    """Compare systems with the first one: scores, significance, and where they differ.

    A system is the folder of a run of tune or of optimize --replicas, or name=FILE[,FILE...] with
    a file of tokenised text for each replica. A folder knows its test set. For files give --ref,
    and --source for metrics of word order. Quotes protect signs in the names of files, see
    docs/how-to/command-line.md.

    \b
    portmert compare runs/bleu runs/port --html page.html
    portmert compare base=a.txt new=b1.txt,b2.txt,b3.txt --source t.src --ref t.ref
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if len(given["systems"]) < 2:
        raise click.UsageError("name at least two systems")
    if given["annotator"] is None and not any(Path(one).is_dir() for one in given["systems"]):
        _options.refuse(["annotation_cache"], "goes with --annotator, or a run that names one")
    settings = given.pop("settings")
    if settings and given["aligner"] is None:
        raise click.UsageError("--set needs --aligner")
    given["text"] = _lists.steps(given["text"], lowercase=given.pop("lowercase")) or None
    refs, source, links = (given.pop(name) for name in ("refs", "source", "links"))
    joining = {name: given.pop(name) for name in ("drop_missing", "ids")}
    test = portmert.TestSet(
        refs, source, links, given.pop("aligner"), key_values(settings), **joining
    )
    _outputs.check_outputs(html_out, json_out, latex_out)
    _outputs.announce_compiling()
    with _outputs.annotating() as progress:
        found = portmert.compare(
            test=test,
            resampling=_options.take_resampling(given),
            runs=html_out is not None or json_out is not None,
            timing=not given.pop("no_timing"),
            notice=notice,
            progress=progress,
            **given,
        )
    _outputs.show(found, json_out=json_out, latex_out=latex_out, html_out=html_out)
    _outputs.say_written(html_out, json_out, latex_out)
