"""`portmert metaeval`: how well metrics agree with human scores."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuner.commands._annotating import annotator_options, preparation
from tuner.commands._judged import read_outputs
from tuner.commands._lists import pipeline_of, text_options
from tuner.commands._notice import notice
from tuner.commands._numbers import FiniteRange
from tuner.commands._outputs import check_outputs, output_options, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metrics._base import Metric
    from tuner.evaluation.metaeval.intervals import Resampled

_FILE = click.Path(dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.option(
    "--scores",
    required=True,
    type=_FILE,
    help="Human scores: columns system, segment (from 0), score and maybe document, tabs between.",
)
@click.option(
    "--penalties", is_flag=True, help="The human scores are penalties (HTER): lower is better."
)
@click.option(
    "--outputs",
    required=True,
    type=_FOLDER,
    help="Folder of outputs named after their systems, SYSTEM.en, one segment a line.",
)
@click.option(
    "--ref", "refs", multiple=True, required=True, type=_FILE, help="References; repeat for more."
)
@click.option(
    "--metric",
    "metric_texts",
    multiple=True,
    required=True,
    metavar="NAME[:OPTION=VALUE,...]",
    help="Metric; repeat for more. `portmert metrics` lists all.",
)
@click.option(
    "--system", "systems", multiple=True, help="Only this system; repeat for more. Default: all."
)
@text_options
@annotator_options
@click.option("--source", type=_FILE, help="Source text, needed with links.")
@click.option(
    "--links",
    type=_FOLDER,
    help="Folder of links of source and outputs, as 0-0 1-2, named SYSTEM.links.",
)
@click.option(
    "--ref-links",
    multiple=True,
    type=_FILE,
    help="Links of source and reference; one file for each --ref, in the same order.",
)
@click.option(
    "--samples",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Bootstrap samples of intervals, and permutations of tests.",
)
@click.option(
    "--level",
    type=FiniteRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Share of the samples within an interval.",
)
@click.option(
    "--resample",
    "resampled",
    type=click.Choice(["both", "segments", "systems"]),
    default="both",
    show_default=True,
    help="What bootstrap samples are drawn from.",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@output_options
def command(
    *,
    scores: Path,
    penalties: bool,
    outputs: Path,
    refs: tuple[Path, ...],
    metric_texts: tuple[str, ...],
    systems: tuple[str, ...],
    text_steps: str,
    text_model: Path | None,
    annotator_text: str | None,
    annotation_cache: Path | None,
    source: Path | None,
    links: Path | None,
    ref_links: tuple[Path, ...],
    samples: int,
    level: float,
    resampled: Resampled,
    seed: int,
    json_out: Path | None,
    latex_out: Path | None,
) -> None:
    """Correlate metrics with human scores of several systems' outputs."""
    from tuner.commands._compiling import announce_compiling  # noqa: PLC0415
    from tuner.components import registry  # noqa: PLC0415  start-up time
    from tuner.evaluation.human_scores import read_human_scores  # noqa: PLC0415
    from tuner.evaluation.metaeval import data, report  # noqa: PLC0415
    from tuner.evaluation.metaeval.evaluation import Settings, evaluate  # noqa: PLC0415
    from tuner.tables import as_text  # noqa: PLC0415
    from tuner.texts.statistics import notices  # noqa: PLC0415

    if (links is not None or ref_links) and source is None:
        raise click.UsageError("--links and --ref-links need --source to be checked against")
    if len(set(metric_texts)) < len(metric_texts):
        raise click.UsageError("--metric names one metric twice")
    check_outputs(json_out, latex_out)
    announce_compiling()
    metrics = {text: registry.metric(text) for text in metric_texts}
    human = read_human_scores(scores)
    if systems:
        human = human.of_systems(systems)
    if penalties:
        human = human.negated()
    pipeline = pipeline_of(text_steps, text_model)
    ready = preparation(annotator_text, annotation_cache, list(metrics.values()), pipeline)
    human, batch = read_outputs(
        human, outputs, refs, source, links, ref_links, ready, others=bool(systems)
    )
    judged, kept = data.judged(human, batch)
    counted = [
        data.metric_scores(
            label,
            metric,
            batch,
            kept=kept,
            systems=len(human.systems),
            signature=ready.signature(metric, batch.reference_offsets),
        )
        for label, metric in _labelled(metrics).items()
    ]
    for line in (
        *data.notices(judged, counted, left_out=len(human) - len(kept)),
        *dict.fromkeys(n for metric in metrics.values() for n in notices(metric, batch)),
    ):
        notice(line)
    found = evaluate(
        judged, counted, Settings(samples=samples, level=level, resampled=resampled, seed=seed)
    )
    listed = report.tables(found)
    signatures = "\n".join(one.signature for one in counted)
    show(
        f"{judged.sizes}\n\n{as_text(listed)}\n\n{signatures}",
        listed,
        report.as_json(found),
        json_out=json_out,
        latex_out=latex_out,
    )


def _labelled(metrics: Mapping[str, Metric]) -> Mapping[str, Metric]:
    """Return metrics by what tables call them: files without their folders, if that is clear."""
    found = {}
    for text, metric in metrics.items():
        label = text
        for option in fields(metric):
            value = getattr(metric, option.name)
            if isinstance(value, Path):
                label = label.replace(str(value), value.name)
        found[label] = metric
    return found if len(found) == len(metrics) else metrics
