"""The command `portmert metaeval`: how well metrics agree with human scores."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import portmert

from . import _lists, _options, _outputs
from ._options import FILE, FOLDER, Whole, defaulted
from ._outputs import notice

_NEEDED = {"human": "human", "outputs": "outputs", "refs": "ref"}
_OF_A_SET = ("penalties", "judgments", "systems", "source", "links", "ref_links", "drop_missing")


@click.command()
@_options.human(
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
@_options.metrics("Metric; repeat for several. `portmert metrics` lists all.", required=True)
@_options.systems
@click.option(
    "--judgments",
    type=click.Choice(["refuse", "mean", "each"]),
    default="refuse",
    show_default=True,
    help="What to do with several judgments of one output: stop with an error, take their mean, "
    "or use each as a data point.",
)
@_lists.text_options
@_options.annotator
@_options.source
@click.option(
    "--links",
    type=FOLDER,
    help="Folder of word alignments of source and outputs, SYSTEM.links, with lines as 0-0 1-2.",
)
@_options.ref_links
@_lists.drop_option
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
@_options.confidence
@defaulted(
    "--resample",
    click.Choice(["both", "segments", "systems"]),
    "both",
    "Draw bootstrap samples of segments, of systems, or of both.",
)
@_options.seed
@click.option("--all", "show_all", is_flag=True, help="Print all tables, not only the summary.")
@_options.html
@_outputs.output_options
def command(
    *,
    sets: Path | None,
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
    one = {key: given.pop(key) for key in (*_NEEDED, *_OF_A_SET)}
    _check_usage(sets, one)
    if len(set(given["metric"])) < len(given["metric"]):
        raise click.UsageError("--metric names one metric twice")
    _outputs.check_outputs(html_out, json_out, latex_out)
    _outputs.announce_compiling()
    with _outputs.annotating() as progress:
        found = portmert.metaeval(
            sets or portmert.JudgedSet(**one),
            resampling=_options.take_resampling(given),
            notice=notice,
            progress=progress,
            **given,
        )
    shown = replace(found, text=found.whole) if show_all else found
    _outputs.show(shown, json_out=json_out, latex_out=latex_out, html_out=html_out)


def _check_usage(sets: Path | None, one: Mapping[str, object]) -> None:
    """Refuse options of one test set beside --sets, and a test set that lacks files."""
    if sets is None:
        for name, option in _NEEDED.items():
            if not one[name]:
                raise click.UsageError(f"Missing option '--{option}', or '--sets'.")
    else:
        for name, value in one.items():
            if value and value != "refuse":
                option = _NEEDED.get(name, name.replace("_", "-"))
                raise click.UsageError(
                    f"--{option} goes into the file of --sets, for each test set"
                )
    if (one["links"] is not None or one["ref_links"]) and one["source"] is None:
        raise click.UsageError("--links and --ref-links need --source to be checked against")
