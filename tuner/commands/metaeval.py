"""Offers `portmert metaeval`: how well metrics agree with human scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tuner import api
from tuner.commands._annotating import annotator_options
from tuner.commands._compiling import announce_compiling
from tuner.commands._lists import text_options
from tuner.commands._notice import notice
from tuner.commands._options import (
    FOLDER,
    Whole,
    confidence_option,
    defaulted,
    human_options,
    metrics_option,
    ref_links_option,
    seed_option,
    source_option,
    systems_option,
)
from tuner.commands._outputs import check_outputs, output_options, show
from tuner.commands._progress import annotating

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@human_options(
    "Human scores: columns system, segment (from 0), score and maybe document, tabs between.",
    old=["--scores"],
)
@metrics_option("Metric; repeat for more. `portmert metrics` lists all.", required=True)
@systems_option
@text_options
@annotator_options
@source_option
@click.option(
    "--links",
    type=FOLDER,
    help="Folder of links of source and outputs, as 0-0 1-2, named SYSTEM.links.",
)
@ref_links_option
@defaulted(
    "--samples",
    Whole(1),
    1000,
    "Bootstrap samples of intervals, and permutations of tests.",
)
@confidence_option
@defaulted(
    "--resample",
    click.Choice(["both", "segments", "systems"]),
    "both",
    "What bootstrap samples are drawn from.",
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
