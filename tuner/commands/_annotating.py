"""What commands have in common that need an annotator for some metrics."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuner.commands._notice import notice
from tuner.commands._progress import annotating

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metrics._base import Metric
    from tuner.syntax import Syntax
    from tuner.text_pipeline import TextPipeline


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


def open_syntax(
    annotator_text: str | None,
    cache: Path | None,
    metrics: Sequence[Metric],
    pipeline: TextPipeline,
) -> Syntax | None:
    """Return what annotates texts for the metrics; None where none of them needs it.

    Raises
    ------
    InputError
        One of them does, and there is no annotator.
    """
    from tuner import registry  # noqa: PLC0415  start-up time
    from tuner.errors import InputError  # noqa: PLC0415
    from tuner.statistics import needs_of  # noqa: PLC0415

    for metric in metrics:
        if needs_of([metric]) and annotator_text is None:
            raise InputError(
                f"metric {metric.name()} compares syntax and needs an annotator; give "
                f"--annotator, as udpipe:model=FILE (`portmert annotate train` makes a model)"
            )
    if annotator_text is None:
        return None
    annotator = registry.annotator(annotator_text)
    needs = needs_of(metrics)
    if not needs:
        notice("no metric here compares syntax: the annotator is not used")
        return None
    from tuner.syntax import Syntax, open_annotator  # noqa: PLC0415

    context = click.get_current_context()
    opened = open_annotator(
        annotator,
        cache=cache,
        processes=processors(),
        notice=notice,
        progress=context.with_resource(annotating()),
    )
    context.call_on_close(opened.close)
    return Syntax(opened, pipeline, needs)


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
