"""`portmert metric-train`: learns a metric from human scores."""

from pathlib import Path
from typing import Any

import click

import portmert
from portmert.tuner.base.errors import faults_at
from portmert.tuner.base.files import write_text
from portmert.tuner.base.warn import notice, warn
from portmert.tuner.commands import _groups, _outputs
from portmert.tuner.commands._help import Command
from portmert.tuner.commands._kinds import FILE, FOLDER, FiniteRange, Whole
from portmert.tuner.commands._options_of_functions import options

TRAIN = "extensions.learned.operation.train_metric"
JUDGED = "extensions.metaeval.human_scores.JudgedSet"
LEARNED = "extensions.learned.learned.LearnedFeatures"


@click.command(cls=Command)
@options(JUDGED, "human outputs penalties refs systems--system missing")
@_groups.text_steps
@_groups.annotator
@options(LEARNED, "groups", groups={"required": False})
@options(TRAIN, "with_table--table")
@options(
    LEARNED,
    "parses gamma costs language",
    parses={"type": Whole(0, 1000)},
    gamma={"type": FiniteRange(0, 1)},
    costs={"type": click.Choice(["terpa", "terph", "ter"])},
)
@click.option("--synonyms", type=FOLDER, help="For T: the folder `dict` of WordNet, for synonyms.")
@click.option("--paraphrases", type=FILE, help="For P: a table of paraphrases.")
@click.option("--stop-words", type=FILE, help="For T: a list of words that are never moved alone.")
@options(TRAIN, "published samples seed")
@click.option("--out", type=FILE, help="File for the metric learnt on all documents (JSON).")
@_outputs.json_option
@_outputs.latex
def command(
    *, out: Path | None, json_out: Path | None, latex_out: Path | None, **values: Any
) -> None:
    """Learn a metric from human scores.

    The table shows how well each set of features does on documents that it was not learnt on. The
    file written by --out is the metric learned:model=FILE.

    \b
    portmert metric-train --human scores.tsv --outputs folder --ref ref.en --out metric.json
    """  # noqa: D301  \b is click's sign for lines to leave alone
    names = ("synonyms", "paraphrases", "stop_words")
    resources = {name: path for name in names if (path := values.pop(name)) is not None}
    features = portmert.LearnedFeatures(
        _checked(values.pop("groups"), values["annotator"], resources),
        *(values.pop(name) for name in ("parses", "gamma", "costs", "language")),
    )
    of_set = ("human", "outputs", "refs", "penalties", "systems", "missing")
    judged = portmert.JudgedSet(**{name: values.pop(name) for name in of_set})
    _outputs.check_outputs(out, json_out, latex_out)
    _outputs.announce_compiling()
    trained = portmert.train_metric(judged, features=features, resources=resources, **values)
    if out is not None:
        write_text(out, trained.model)
    _outputs.show(trained.report, json_out=json_out, latex_out=latex_out)
    if out is not None:
        notice(f"the metric, learnt on all documents, is learned:model={out}")
        if trained.says_nothing:
            warn("all its weights are 0: no feature differs between systems as human scores do")


def _checked(groups: str | None, annotator: str | None, resources: dict[str, Path]) -> str:
    """Return the groups in their order, '' if none are named."""
    from .learned import checked_groups  # noqa: PLC0415  start-up time

    if groups is None:
        return ""
    with faults_at("--groups", ValueError, click.UsageError):
        letters = checked_groups(groups)
    for group, option, lacks in (
        ("E", "--annotator", annotator is None),
        ("P", "--paraphrases", "paraphrases" not in resources),
    ):
        if group in letters and lacks:
            raise click.UsageError(f"--groups {groups}: features {group} need {option}")
    return letters
