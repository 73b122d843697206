"""`portmert score`: scores of plain text against references."""

from pathlib import Path
from typing import Any

import click

import portmert

from . import _lists, _options, _outputs
from ._options import FILE
from ._outputs import notice


@click.command()
@_options.metrics(
    "Metric, as bleu or port:alpha=0.5; repeat for several. `portmert metrics` lists all.",
    required=True,
)
@click.option(
    "--hyp", required=True, type=FILE, help="Hypotheses, one segment a line, or FILE#KEY."
)
@_options.refs()
@_options.source
@click.option(
    "--hyp-links", type=FILE, help="Word alignment of source and hypothesis, lines as 0-0 1-2."
)
@_options.ref_links
@_lists.ids_option
@_lists.drop_option
@_lists.lowercase_option
@_lists.text_options
@_options.annotator
@click.option("--segments", "by_segment", is_flag=True, help="Show the score of each segment too.")
@_outputs.json_option
def command(
    *, hyp: Path, refs: tuple[Path, ...], by_segment: bool, json_out: Path | None, **given: Any
) -> None:
    """Score tokenised text, one segment a line, against one or more references.

    \b
    portmert score --metric bleu --metric ter --hyp output.txt --ref reference.txt
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if not refs and not any(one.lower().startswith("m2:") for one in given["metric"]):
        raise click.UsageError("Missing option '--ref'.")
    given["text"] = _lists.steps(given["text"], lowercase=given.pop("lowercase"))
    if given["source"] is None and (given["hyp_links"] or given["ref_links"]):
        raise click.UsageError("--hyp-links and --ref-links need --source to be checked against")
    from ..texts.scoring import as_json, as_text  # noqa: PLC0415  start-up time

    _outputs.check_outputs(json_out)
    _outputs.announce_compiling()
    with _outputs.annotating() as progress:
        scores = portmert.score(hyp, refs, notice=notice, progress=progress, **given)
    if not _outputs.print_json(json_out, as_json(scores, by_segment=by_segment), indent=2):
        click.echo(as_text(scores, by_segment=by_segment))
        _outputs.say_left_out()
