"""The command `portmert metaeval`: how well metrics agree with human scores."""

from __future__ import annotations  # portmert.Report in a type would load it

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import portmert
from portmert.tuner.commands import _groups, _outputs
from portmert.tuner.commands._help import Command
from portmert.tuner.commands._kinds import FILE
from portmert.tuner.commands._options_of_functions import options

METAEVAL = "extensions.metaeval.operation.metaeval"
JUDGED = "extensions.metaeval.human_scores.JudgedSet"
OPTIONAL = {"required": False}

_NEEDED = {"human": "human", "outputs": "outputs", "refs": "ref"}
_DEFAULTS = {"judgments": "refuse", "system_scores": "mean"}
_OF_A_SET = (
    "penalties", "judgments", "system_scores", "systems", "source", "links", "ref_links",
    "groups", "missing",
)  # fmt: skip


@click.command(cls=Command)
@options(JUDGED, "human outputs", human=OPTIONAL, outputs=OPTIONAL)
@click.option(
    "--sets",
    type=FILE,
    help="Several test sets: a TOML file with a table [[set]] for each, of name, human, outputs, "
    "refs and optionally group, scenario, source, links, ref_links, penalties, judgments, "
    "system_scores, systems, groups.",
)
@_groups.metric(METAEVAL)
@options(
    JUDGED,
    "refs source links ref_links systems--system judgments system_scores penalties groups missing",
    refs=OPTIONAL,
)
@options(_groups.TEST_SET, "aligner options--set")
@_groups.text_steps
@_groups.annotator
@options(METAEVAL, "likeness resample better published")
@options("tuner.evaluation.significance.Resampling")
@click.option("--all", "show_all", is_flag=True, help="Print all tables, not only the summary.")
@_outputs.reporting(
    _outputs.html, _outputs.plot, _outputs.json_option, _outputs.latex, names_files=False
)
def command(*, sets: Path | None, show_all: bool, **values: Any) -> portmert.Report:
    """Measure how metrics agree with people.

    The summary is printed; --all adds the tables, with intervals and tests of all differences.

    \b
    portmert metaeval --human scores.tsv --outputs folder --ref ref.en --metric bleu --metric ter
    """  # noqa: D301  \b is click's sign for lines to leave alone
    single = {key: values.pop(key) for key in (*_NEEDED, *_OF_A_SET)}
    _check_usage(sets, single)
    if len(set(values["metric"])) < len(values["metric"]):
        raise click.UsageError("--metric names one metric twice")
    values["aligner"] = _groups.take_aligner(values)
    evaluated = portmert.metaeval(
        sets or portmert.JudgedSet(**single), resampling=_groups.take_resampling(values), **values
    )
    return replace(evaluated, form="long") if show_all else evaluated


def _check_usage(sets: Path | None, single: Mapping[str, object]) -> None:
    """Refuse options of one test set beside --sets, and a test set that lacks files."""
    if sets is None:
        for name, option in _NEEDED.items():
            if not single[name]:
                raise click.UsageError(f"Missing option '--{option}', or '--sets'.")
    else:
        for name, value in single.items():
            if value and value != _DEFAULTS.get(name):
                option = _NEEDED.get(name, name.replace("_", "-"))
                raise click.UsageError(
                    f"--{option} goes into the file of --sets, for each test set"
                )
    if (single["links"] is not None or single["ref_links"]) and single["source"] is None:
        raise click.UsageError("--links and --ref-links need --source to be checked against")
