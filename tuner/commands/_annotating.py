"""What commands have in common that need an annotator for some metrics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuner.commands._notice import notice
from tuner.commands._progress import annotating

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metrics._base import Metric
    from tuner.annotation.annotating import TextAnnotator
    from tuner.annotation.annotators._base import Annotator
    from tuner.texts.prepare import Preparation
    from tuner.texts.text_pipeline import TextPipeline


def annotator_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --annotator and --annotation-cache."""
    command = click.option(
        "--annotation-cache",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Where annotations are kept. Default: PORTMERT_CACHE or the user's cache folder.",
    )(command)
    return click.option(
        "--annotator",
        "annotator_text",
        metavar="NAME[:OPTION=VALUE,...]",
        help="What tags or parses the texts, as udpipe:model=FILE; needed by metrics that compare "
        "syntax.",
    )(command)


def preparation(
    annotator_text: str | None,
    cache: Path | None,
    metrics: Sequence[Metric],
    pipeline: TextPipeline,
    recorded: Annotator | None = None,
) -> Preparation:
    """Return what makes texts ready for the metrics.

    Parameters
    ----------
    recorded
        What a run was made with: used where the user names none.

    Raises
    ------
    InputError
        One of them needs an annotator, and there is none.
    """
    from tuner.components import registry  # noqa: PLC0415  start-up time
    from tuner.errors import InputError  # noqa: PLC0415
    from tuner.texts.prepare import Preparation  # noqa: PLC0415
    from tuner.texts.statistics import needs_of  # noqa: PLC0415

    for metric in metrics:
        if needs_of([metric]) and annotator_text is None and recorded is None:
            raise InputError(
                f"metric {metric.name()} compares syntax and needs an annotator; give "
                f"--annotator, as udpipe:model=FILE (`portmert annotate train` makes a model)"
            )
    annotator = recorded if annotator_text is None else registry.annotator(annotator_text)
    if annotator_text is not None and not needs_of(metrics):
        notice("no metric here compares syntax: the annotator is not used")

    def opened() -> TextAnnotator | None:
        return None if annotator is None else _opened(annotator, cache)

    return Preparation.of(metrics, pipeline, opened)


def _opened(annotator: Annotator, cache: Path | None) -> TextAnnotator:
    """Return what annotates texts until the command ends; the same for the same annotator."""
    from tuner.annotation.annotating import open_annotator  # noqa: PLC0415
    from tuner.processors import available_processors  # noqa: PLC0415  start-up time

    context = click.get_current_context()
    known: dict[str, TextAnnotator] = context.meta.setdefault(__name__, {})
    key = repr(annotator)
    if key not in known:
        known[key] = open_annotator(
            annotator,
            cache=cache,
            processes=available_processors(),
            notice=notice,
            progress=context.with_resource(annotating()),
        )
        context.call_on_close(known[key].close)
    return known[key]
