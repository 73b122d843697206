"""`portmert score`: scores of plain text against references."""

from pathlib import Path
from typing import Any

import click

import portmert

from ..families import provided
from . import _groups, _outputs
from ._help import Command
from ._kinds import Whole
from ._options_of_functions import options

SCORE = "tuner.api.scoring.score"
WITHOUT_TEXTS = ("metric", "interval", "groups", "better", "by_segment", "json_out", "quiet")


@click.command(cls=Command)
@_groups.metric(SCORE)
@options(SCORE, "hyp", hyp={"required": False})
@_groups.text_files
@options(SCORE, "missing")
@options(SCORE, "hyp_links")
@options(_groups.TEST_SET, "aligner options--set")
@_groups.lowercase
@_groups.text_steps
@_groups.annotator
@click.option(
    "--interval", is_flag=True, help="Show a 95 % interval of each score, as `compare` does."
)
@options(_groups.TEST_SET, "groups")
@options("tuner.evaluation.comparison.questions.Questions", "better")
@click.option("--segments", "by_segment", is_flag=True, help="Show the score of each segment too.")
@click.option(
    "--confusions",
    type=Whole(1),
    help="Show the most frequent substitutions, insertions and deletions of wer too, so many.",
)
@_outputs.json_option
def command(
    *,
    hyp: Path | None,
    refs: tuple[Path, ...],
    by_segment: bool,
    interval: bool,
    confusions: int | None,
    json_out: Path | None,
    **values: Any,
) -> None:
    """Score texts against references.

    Texts are tokenised, one segment on each line; there may be several references. Metrics
    scores:FILE#KEY, computed elsewhere, need no text.

    \b
    portmert score --metric bleu --metric ter --hyp output.txt --ref reference.txt
    """  # noqa: D301  \b is click's sign for lines to leave alone
    groups, better = values.pop("groups"), values.pop("better")
    if groups and not interval:
        raise click.UsageError("--groups is for --interval")
    if hyp is None:
        if not all(text.lower().startswith("scores:") for text in values["metric"]):
            raise click.UsageError("Missing option '--hyp'.")
        _groups.refuse_all_but(WITHOUT_TEXTS, "goes with --hyp; scores:FILE#KEY has no text")
    elif better:
        raise click.UsageError("--better is for scores:FILE#KEY without --hyp")
    elif not refs and not any(text.lower().startswith("m2:") for text in values["metric"]):
        raise click.UsageError("Missing option '--ref'.")
    _check_confusions(confusions, values["metric"])
    values["text"] = _groups.steps(values["text"], lowercase=values.pop("lowercase"))
    if values["source"] is None and (values["hyp_links"] or values["ref_links"]):
        raise click.UsageError("--hyp-links and --ref-links need --source to be checked against")
    values["aligner"] = _groups.take_aligner(values)
    from ..api.scoring import with_intervals  # noqa: PLC0415  start-up time
    from ..texts.scoring import as_json, as_text  # noqa: PLC0415  start-up time

    _outputs.check_outputs(json_out)
    _outputs.announce_compiling()
    if hyp is None:
        outside = provided("portmert.outside_scores", "outside-scores")
        scores = outside.score_outcomes(values["metric"], better)
    else:
        scores = list(portmert.score(hyp, refs, **values))
    if interval:
        scores = with_intervals(scores, refs, groups)
    shown: dict[str, Any] = {
        "by_segment": by_segment, "interval": interval, "confusions": confusions or 0
    }  # fmt: skip
    if not _outputs.print_json(json_out, as_json(scores, **shown), indent=2):
        click.echo(as_text(scores, **shown))
        _outputs.say_left_out()


def _check_confusions(confusions: int | None, metrics: tuple[str, ...]) -> None:
    """Raise click.UsageError where no metric has confusions."""
    if confusions and "wer" not in (text.partition(":")[0].lower() for text in metrics):
        raise click.UsageError("--confusions shows the edits of words of --metric wer")
