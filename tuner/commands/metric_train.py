"""`portmert metric-train`: learns a metric from human scores."""

from pathlib import Path
from typing import Any

import click

import portmert

from ..base.errors import faults_at
from ..base.files import write_text
from ..base.warn import warn
from . import _lists, _options, _outputs
from ._options import FILE, FOLDER, FiniteRange, Whole, defaulted
from ._outputs import notice


@click.command()
@_options.human(
    "Human scores: tab-separated columns system, segment (from 0), score, and optionally document "
    "and group. The data is split in halves of whole documents, balanced over groups."
)
@_options.systems
@_lists.drop_option
@_lists.text_options
@_options.annotator
@click.option(
    "--groups",
    metavar="LETTERS",
    help="Features of the metric, by letter: E dependency links (needs --annotator), T edits of "
    "TERp, P its paraphrases (needs --paraphrases), N words and word pairs, B lengths. Default: "
    "all whose options are given.",
)
@click.option(
    "--table", "with_table", is_flag=True, help="Also try every possible set of features."
)
@defaulted(
    "--parses",
    Whole(0, 1000),
    50,
    "For E: number of parses of each text; 0 is all, if the parser can do that.",
)
@defaulted(
    "--gamma", FiniteRange(0, 1), 0.25, "For E: a parse counts by its probability to this power."
)
@defaulted(
    "--costs",
    click.Choice(["terpa", "terph", "ter"]),
    "terpa",
    "For T and P: the costs of edits by which texts are aligned.",
)
@click.option(
    "--language", default="english", show_default=True, help="For T: the language of the stemmer."
)
@click.option("--synonyms", type=FOLDER, help="For T: the folder `dict` of WordNet, for synonyms.")
@click.option("--paraphrases", type=FILE, help="For P: a table of paraphrases.")
@click.option("--stop-words", type=FILE, help="For T: a list of words that are never moved alone.")
@click.option(
    "--by-references",
    is_flag=True,
    help="Also learn with fewer references, to see what one more is worth.",
)
@click.option(
    "--published",
    type=FILE,
    help="A paper's results, shown beside ours, as configs/paper-edpm/published.toml.",
)
@defaulted("--samples", Whole(1), 1000, "Number of bootstrap samples for the intervals.")
@_options.seed
@click.option("--out", type=FILE, help="File for the metric learnt on all documents (JSON).")
@_outputs.output_options
def command(
    *, out: Path | None, json_out: Path | None, latex_out: Path | None, **given: Any
) -> None:
    """Learn the weights of a metric's features from human scores.

    The table shows how well each set of features does on documents that it was not learnt on. The
    file written by --out is the metric learned:model=FILE.

    \b
    portmert metric-train --human scores.tsv --outputs folder --ref ref.en --out metric.json
    """  # noqa: D301  \b is click's sign for lines to leave alone
    names = ("synonyms", "paraphrases", "stop_words")
    resources = {name: path for name in names if (path := given.pop(name)) is not None}
    features = portmert.LearnedFeatures(
        _checked(given.pop("groups"), given["annotator"], resources),
        *(given.pop(name) for name in ("parses", "gamma", "costs", "language")),
    )
    of_set = ("human", "outputs", "refs", "penalties", "systems", "drop_missing")
    judged = portmert.JudgedSet(**{name: given.pop(name) for name in of_set})
    _outputs.check_outputs(out, json_out, latex_out)
    _outputs.announce_compiling()
    with _outputs.annotating() as progress:
        found = portmert.train_metric(
            judged,
            features=features,
            resources=resources,
            notice=notice,
            progress=progress,
            **given,
        )
    if out is not None:
        write_text(out, found.model)
    _outputs.show(found.report, json_out=json_out, latex_out=latex_out)
    if out is not None:
        notice(f"the metric, learnt on all documents, is learned:model={out}")
        if found.says_nothing:
            warn("all its weights are 0: no feature differs between systems as human scores do")


def _checked(groups: str | None, annotator: str | None, resources: dict[str, Path]) -> str:
    """Return the groups in their order, '' if none are named."""
    from portmert.metrics.learned import checked_groups  # noqa: PLC0415  start-up time

    if groups is None:
        return ""
    with faults_at("--groups", ValueError, click.UsageError):
        chosen = checked_groups(groups)
    for group, option, lacks in (
        ("E", "--annotator", annotator is None),
        ("P", "--paraphrases", "paraphrases" not in resources),
    ):
        if group in chosen and lacks:
            raise click.UsageError(f"--groups {groups}: features {group} need {option}")
    return chosen
