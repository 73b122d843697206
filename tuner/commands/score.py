"""`portmert score`: score plain text against references."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuner.commands._annotating import annotator_options, preparation
from tuner.commands._lists import pipeline_of, text_options
from tuner.commands._notice import notice

if TYPE_CHECKING:
    from metrics._base import Metric

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.option(
    "--metric",
    "metric_texts",
    multiple=True,
    required=True,
    metavar="NAME[:OPTION=VALUE,...]",
    help="Metric, as bleu or port:alpha=0.5; repeat for more. `portmert metrics` lists all.",
)
@click.option("--hyp", required=True, type=_FILE, help="Hypotheses, one segment a line.")
@click.option(
    "--ref", "refs", multiple=True, required=True, type=_FILE, help="References; repeat for more."
)
@click.option("--source", type=_FILE, help="Source text, needed with links.")
@click.option("--hyp-links", type=_FILE, help="Links of source and hypothesis, as 0-0 1-2.")
@click.option(
    "--ref-links",
    multiple=True,
    type=_FILE,
    help="Links of source and reference; one file for each --ref, in the same order.",
)
@click.option("--lowercase", is_flag=True, help="Lowercase hypotheses and references.")
@text_options
@annotator_options
@click.option("--segments", "by_segment", is_flag=True, help="Show the score of each segment too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, scores in 0..1.")
def command(
    *,
    metric_texts: tuple[str, ...],
    hyp: Path,
    refs: tuple[Path, ...],
    source: Path | None,
    hyp_links: Path | None,
    ref_links: tuple[Path, ...],
    lowercase: bool,
    text_steps: str,
    text_model: Path | None,
    annotator_text: str | None,
    annotation_cache: Path | None,
    by_segment: bool,
    as_json: bool,
) -> None:
    """Score tokenised text, one segment a line, against one or more references."""
    from metrics._base import Vocabulary  # noqa: PLC0415  start-up time
    from tuner.commands._compiling import announce_compiling  # noqa: PLC0415  start-up time
    from tuner.components import registry  # noqa: PLC0415  start-up time
    from tuner.texts import corpus, scoring, statistics  # noqa: PLC0415  start-up time
    from tuner.texts.prepare import read_output  # noqa: PLC0415

    announce_compiling()
    pipeline = pipeline_of(text_steps, text_model, lowercase=lowercase)
    metrics = [registry.metric(text) for text in metric_texts]
    _check_links_given(metrics, source, hyp_links, ref_links)
    ready = preparation(annotator_text, annotation_cache, metrics, pipeline)
    read = corpus.read_references(refs, vocabulary=Vocabulary(), source=source, links=ref_links)
    texts = read_output(hyp, read, beside=refs[0], links=hyp_links)
    batch = ready.batch(texts, ready.references(read))
    for line in dict.fromkeys(n for metric in metrics for n in statistics.notices(metric, batch)):
        notice(line)
    scores = scoring.score_texts(metrics, batch, ready)
    if as_json:
        click.echo(json.dumps(scoring.as_json(scores, by_segment=by_segment), indent=2))
    else:
        click.echo(scoring.as_text(scores, by_segment=by_segment))


def _check_links_given(
    metrics: list[Metric],
    source: Path | None,
    hyp_links: Path | None,
    ref_links: tuple[Path, ...],
) -> None:
    from tuner.errors import InputError  # noqa: PLC0415

    given = {"--source": source, "--hyp-links": hyp_links, "--ref-links": ref_links}
    missing = [option for option, value in given.items() if not value]
    for metric in metrics:
        if "links" in metric.needs and missing:
            raise InputError(
                f"metric {metric.name()} compares word orders and needs word alignments; give "
                f"{' and '.join(missing)} too (`portmert align` makes links)"
            )
    if source is None and (hyp_links or ref_links):
        raise click.UsageError("--hyp-links and --ref-links need --source to be checked against")
