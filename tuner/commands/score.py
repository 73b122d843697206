"""`portmert score`: scores of plain text against references."""

from pathlib import Path
from typing import Any

import click

import portmert

from . import _groups, _outputs
from ._help import Command
from ._kinds import Whole
from ._options_of_functions import options

SCORE = "tuner.api.scoring.score"


@click.command(cls=Command)
@_groups.metric(SCORE)
@options(SCORE, "hyp")
@_groups.text_files
@options(SCORE, "missing")
@options(SCORE, "hyp_links")
@options(_groups.TEST_SET, "aligner options--set")
@_groups.lowercase
@_groups.text_steps
@_groups.annotator
@click.option("--segments", "by_segment", is_flag=True, help="Show the score of each segment too.")
@click.option(
    "--confusions",
    type=Whole(1),
    help="Show the most frequent substitutions, insertions and deletions of wer too, so many.",
)
@_outputs.json_option
def command(
    *,
    hyp: Path,
    refs: tuple[Path, ...],
    by_segment: bool,
    confusions: int | None,
    json_out: Path | None,
    **values: Any,
) -> None:
    """Score texts against references.

    Texts are tokenised, one segment on each line; there may be several references.

    \b
    portmert score --metric bleu --metric ter --hyp output.txt --ref reference.txt
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if not refs and not any(text.lower().startswith("m2:") for text in values["metric"]):
        raise click.UsageError("Missing option '--ref'.")
    values["text"] = _groups.steps(values["text"], lowercase=values.pop("lowercase"))
    if values["source"] is None and (values["hyp_links"] or values["ref_links"]):
        raise click.UsageError("--hyp-links and --ref-links need --source to be checked against")
    values["aligner"] = _groups.take_aligner(values)
    from ..texts.scoring import as_json, as_text  # noqa: PLC0415  start-up time

    _outputs.check_outputs(json_out)
    _outputs.announce_compiling()
    scores = portmert.score(hyp, refs, **values)
    if not _outputs.print_json(
        json_out, as_json(scores, by_segment=by_segment, confusions=confusions or 0), indent=2
    ):
        click.echo(as_text(scores, by_segment=by_segment, confusions=confusions or 0))
        _outputs.say_left_out()
