"""`portmert metaeval`: how well metrics agree with human scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tuner import api
from tuner.commands._annotating import annotator_options
from tuner.commands._compiling import announce_compiling
from tuner.commands._lists import text_options
from tuner.commands._notice import notice
from tuner.commands._options import (
    FILE,
    FOLDER,
    confidence_option,
    ref_links_option,
    renamed,
    seed_option,
    source_option,
)
from tuner.commands._outputs import check_outputs, output_options, show
from tuner.commands._progress import annotating

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@renamed(
    "--human",
    old=["--scores"],
    required=True,
    type=FILE,
    help="Human scores: columns system, segment (from 0), score and maybe document, tabs between.",
)
@click.option(
    "--penalties", is_flag=True, help="The human scores are penalties (HTER): lower is better."
)
@click.option(
    "--outputs",
    required=True,
    type=FOLDER,
    help="Folder of outputs named after their systems, SYSTEM.en, one segment a line.",
)
@click.option(
    "--ref", "refs", multiple=True, required=True, type=FILE, help="References; repeat for more."
)
@click.option(
    "--metric",
    "metric",
    multiple=True,
    required=True,
    metavar="NAME[:OPTION=VALUE,...]",
    help="Metric; repeat for more. `portmert metrics` lists all.",
)
@click.option(
    "--system", "systems", multiple=True, help="Only this system; repeat for more. Default: all."
)
@text_options
@annotator_options
@source_option
@click.option(
    "--links",
    type=FOLDER,
    help="Folder of links of source and outputs, as 0-0 1-2, named SYSTEM.links.",
)
@ref_links_option
@click.option(
    "--samples",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Bootstrap samples of intervals, and permutations of tests.",
)
@confidence_option
@click.option(
    "--resample",
    type=click.Choice(["both", "segments", "systems"]),
    default="both",
    show_default=True,
    help="What bootstrap samples are drawn from.",
)
@seed_option
@output_options
def command(
    *,
    human: Path,
    outputs: Path,
    refs: tuple[Path, ...],
    json_out: Path | None,
    latex_out: Path | None,
    **given: Any,
) -> None:
    """Correlate metrics with human scores of several systems' outputs.

    \b
    portmert metaeval --human scores.tsv --outputs folder --ref ref.en --metric bleu --metric ter
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if (given["links"] is not None or given["ref_links"]) and given["source"] is None:
        raise click.UsageError("--links and --ref-links need --source to be checked against")
    if len(set(given["metric"])) < len(given["metric"]):
        raise click.UsageError("--metric names one metric twice")
    check_outputs(json_out, latex_out)
    announce_compiling()
    with annotating() as progress:
        found = api.metaeval(human, outputs, refs, notice=notice, progress=progress, **given)
    show(found, json_out=json_out, latex_out=latex_out)
