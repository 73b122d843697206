"""The command `portmert compare`: systems side by side, and which differences are real."""

from pathlib import Path
from typing import Any

import click

import portmert
from portmert.tuner.commands._lists import lowercase_option, steps, text_options
from portmert.tuner.commands._options import (
    FILE,
    Whole,
    confidence_option,
    defaulted,
    executor_option,
    html_option,
    key_values,
    metrics_option,
    refs_option,
    run_annotator_options,
    seed_option,
    set_option,
    several,
    threads_option,
)
from portmert.tuner.commands._outputs import (
    annotating,
    announce_compiling,
    check_outputs,
    json_option,
    notice,
    say_written,
    show,
)


@click.command()
@click.argument("systems", nargs=-1, metavar="A B [C ...]")
@click.option(
    "--source", type=FILE, help="Source text of the test set; metrics of word order need it."
)
@refs_option()
@metrics_option(
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
@set_option("An option of the aligner, as train_source=FILE; repeat for several.")
@lowercase_option
@text_options
@run_annotator_options
@defaulted(
    "--samples",
    Whole(1),
    10_000,
    "Number of bootstrap samples of the test set, and of randomizations in a test.",
)
@seed_option
@confidence_option
@threads_option
@executor_option
@several(
    "--untuned",
    "untuned",
    kind=str,
    metavar="NAME",
    help="A system that was never tuned, as a human translation, so that luck of tuning is no "
    "question for it; repeat for several.",
)
@click.option(
    "--no-timing",
    is_flag=True,
    help="Leave out measured times, so that equal calls write equal bytes.",
)
@html_option
@json_option
@click.option("--latex", "latex_out", type=FILE, help="Write the tables for LaTeX (booktabs).")
def command(
    *,
    systems: tuple[str, ...],
    source: Path | None,
    refs: tuple[Path, ...],
    links: tuple[str, ...],
    aligner: str | None,
    settings: tuple[str, ...],
    lowercase: bool,
    samples: int,
    level: float,
    seed: int,
    no_timing: bool,
    html_out: Path | None,
    json_out: Path | None,
    latex_out: Path | None,
    **given: Any,
) -> None:
    """Compare systems with the first one: scores, significance, and where they differ.

    A system is the folder of a run of tune or of optimize --replicas, or name=FILE[,FILE...] with
    a file of tokenised text for each replica. A folder knows its test set. For files give --ref,
    and --source for metrics of word order.

    \b
    portmert compare runs/bleu runs/port --html page.html
    portmert compare base=a.txt new=b1.txt,b2.txt,b3.txt --source t.src --ref t.ref
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if len(systems) < 2:
        raise click.UsageError("name at least two systems")
    if settings and aligner is None:
        raise click.UsageError("--set needs --aligner")
    given["text"] = steps(given["text"], lowercase=lowercase) or None
    options = key_values(settings)
    check_outputs(html_out, json_out, latex_out)
    announce_compiling()
    with annotating() as progress:
        found = portmert.compare(
            systems,
            portmert.TestSet(refs, source, links, aligner, options),
            resampling=portmert.Resampling(samples, seed, level),
            runs=html_out is not None or json_out is not None,
            timing=not no_timing,
            notice=notice,
            progress=progress,
            **given,
        )
    show(found, json_out=json_out, latex_out=latex_out, html_out=html_out)
    say_written(html_out, json_out, latex_out)
