"""The command `portmert compare`: systems side by side, and which differences are real."""

from __future__ import annotations  # portmert.Report in a type would load it

from pathlib import Path
from typing import Any

import click

import portmert

from . import _groups, _outputs
from ._help import Command
from ._options_of_functions import options

TEST_SET = ("references", "source", "links", "aligner", "options", "missing", "ids", "groups")
QUESTIONS = ("baseline", "all_pairs", "subset", "margin", "plan", "better", "answers")


@click.command(cls=Command)
@click.argument("systems", nargs=-1, metavar="A B [C ...]")
@options(
    _groups.TEST_SET,
    "references source links aligner options--set missing ids groups",
)
@options("tuner.api.comparing.compare", "metric")
@_groups.lowercase
@_groups.text_steps
@_groups.any_annotator
@options("tuner.evaluation.significance.Resampling")
@options("tuner.evaluation.comparison.questions.Questions")
@_groups.threads
@_groups.executor
@_outputs.no_timing
@_outputs.reporting(
    _outputs.html, _outputs.plot, _outputs.json_option, _outputs.latex, _outputs.latex_all
)
def command(**values: Any) -> portmert.Report:
    """Test whether systems differ, and show where.

    All are compared with the first one.

    A system is the folder of a run of tune or of optimize --replicas, or name=FILE[,FILE...] with
    a file of tokenised text for each replica. A folder knows its test set. For files give --ref,
    and --source for metrics of word order. Without --ref, name=FILE#KEY has scores computed
    elsewhere: JSON lines, a table with tabs or commas, a log of inspect_ai, samples of
    lm-evaluation-harness, output of comet-score. One system gets intervals. Quotes protect signs
    in the names of files.

    \b
    portmert compare runs/bleu runs/port --html page.html
    portmert compare base=a.txt new=b1.txt,b2.txt,b3.txt --source t.src --ref t.ref
    portmert compare a=samples_a.jsonl#acc b=samples_b.jsonl#acc --groups docs.tsv#topic
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if not values["systems"]:
        raise click.UsageError("name a system, or several to compare")
    if values["annotator"] is None and not any(Path(text).is_dir() for text in values["systems"]):
        _groups.refuse(["annotation_cache"], "goes with --annotator, or a run that names one")
    if values["options"] and values["aligner"] is None:
        raise click.UsageError("--set needs --aligner")
    values["options"] = _groups.key_values(values["options"])
    values["text"] = _groups.steps(values["text"], lowercase=values.pop("lowercase")) or None
    test = portmert.TestSet(**{name: values.pop(name) for name in TEST_SET})
    return portmert.compare(
        test=test,
        resampling=_groups.take_resampling(values),
        questions=portmert.Questions(**{name: values.pop(name) for name in QUESTIONS}),
        timing=not values.pop("no_timing"),
        **values,
    )
