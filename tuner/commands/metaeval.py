"""The command `portmert metaeval`: how well metrics agree with human scores."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import portmert
from portmert.tuner.commands._lists import text_options
from portmert.tuner.commands._options import (
    FILE,
    FOLDER,
    Whole,
    annotator_options,
    confidence_option,
    defaulted,
    html_option,
    human_options,
    metrics_option,
    ref_links_option,
    seed_option,
    source_option,
    systems_option,
)
from portmert.tuner.commands._outputs import (
    annotating,
    announce_compiling,
    check_outputs,
    notice,
    output_options,
    show,
)

_OF_A_SET = ("penalties", "judgments", "systems", "source", "links", "ref_links")


@click.command()
@human_options(
    "Human scores: tab-separated columns system, segment (from 0), score, and optionally document "
    "and judge.",
    required=False,
)
@click.option(
    "--sets",
    type=FILE,
    help="Several test sets: a TOML file with a table [[set]] for each, of name, human, outputs, "
    "refs and optionally group, scenario, source, links, ref_links, penalties, judgments, "
    "systems.",
)
@metrics_option("Metric; repeat for several. `portmert metrics` lists all.", required=True)
@systems_option
@click.option(
    "--judgments",
    type=click.Choice(["refuse", "mean", "each"]),
    default="refuse",
    show_default=True,
    help="What to do with several judgments of one output: stop with an error, take their mean, "
    "or use each as a data point.",
)
@text_options
@annotator_options
@source_option
@click.option(
    "--links",
    type=FOLDER,
    help="Folder of word alignments of source and outputs, SYSTEM.links, with lines as 0-0 1-2.",
)
@ref_links_option
@click.option(
    "--likeness",
    is_flag=True,
    help="Also compute KING and ORANGE: hold out each reference in turn and rank it among the "
    "systems. Needs two references.",
)
@defaulted(
    "--samples",
    Whole(1),
    1000,
    "Number of bootstrap samples for intervals and of permutations for tests.",
)
@confidence_option
@defaulted(
    "--resample",
    click.Choice(["both", "segments", "systems"]),
    "both",
    "Draw bootstrap samples of segments, of systems, or of both.",
)
@seed_option
@click.option("--all", "show_all", is_flag=True, help="Print all tables, not only the summary.")
@html_option
@output_options
def command(
    *,
    human: Path | None,
    outputs: Path | None,
    refs: tuple[Path, ...],
    sets: Path | None,
    samples: int,
    level: float,
    seed: int,
    show_all: bool,
    html_out: Path | None,
    json_out: Path | None,
    latex_out: Path | None,
    **given: Any,
) -> None:
    """Correlate metrics with human scores of several systems' outputs.

    The summary is printed; --all adds the tables, with intervals and tests of all differences.

    \b
    portmert metaeval --human scores.tsv --outputs folder --ref ref.en --metric bleu --metric ter
    """  # noqa: D301  \b is click's sign for lines to leave alone
    one = {key: given.pop(key) for key in _OF_A_SET}
    _check_usage(sets, {"human": human, "outputs": outputs, "ref": refs}, one)
    if len(set(given["metric"])) < len(given["metric"]):
        raise click.UsageError("--metric names one metric twice")
    check_outputs(html_out, json_out, latex_out)
    announce_compiling()
    with annotating() as progress:
        found = portmert.metaeval(
            sets or portmert.JudgedSet(human=human, outputs=outputs, refs=refs, **one),  # type: ignore[arg-type]  # checked above
            resampling=portmert.Resampling(samples, seed, level),
            notice=notice,
            progress=progress,
            **given,
        )
    shown = replace(found, text=found.whole) if show_all else found
    show(shown, json_out=json_out, latex_out=latex_out, html_out=html_out)


def _check_usage(
    sets: Path | None, needed: Mapping[str, object], also: Mapping[str, object]
) -> None:
    """Refuse options of one test set beside --sets, and a test set that lacks files."""
    if sets is None:
        missing = [name for name, value in needed.items() if not value]
        if missing:
            raise click.UsageError(f"Missing option '--{missing[0]}', or '--sets'.")
    else:
        for name, value in {**needed, **also}.items():
            if value and value != "refuse":
                option = name.replace("_", "-")
                raise click.UsageError(
                    f"--{option} goes into the file of --sets, for each test set"
                )
    if (also["links"] is not None or also["ref_links"]) and also["source"] is None:
        raise click.UsageError("--links and --ref-links need --source to be checked against")
