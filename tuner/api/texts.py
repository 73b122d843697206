"""Texts as callers give them, and the annotators that they need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from portmert.metrics._base import Metric

from ..base import errors, files, options
from ..base.context import available_processors
from ..base.warn import notice
from ..components import external, registry
from ..texts import statistics
from ..texts.annotator import Annotator, TextAnnotator, open_annotator
from ..texts.prepare import Preparation, Prepare
from ..texts.text_pipeline import TextPipeline

PathLike = Path | str
TextLike = files.TextLike


def text_file(text: TextLike, name: str) -> files.TextFile:
    """Return a text as the packages below read it; messages call its lines by the name."""
    return text if isinstance(text, Path | str | files.Lines) else files.Lines(name, text)


def own_references(metrics: Sequence[Metric]) -> tuple[Path, ...]:
    """Return the file of references that a metric names, if one does."""
    return tuple(metric.own_references for metric in metrics if metric.own_references)[:1]


def text_files(texts: Sequence[TextLike] | PathLike, name: str) -> tuple[files.TextFile, ...]:
    """Return several texts; one path is one text.

    Raises
    ------
    InputError
        A name in a list is no file: most likely it is a line of a text.
    """
    files_of = (texts,) if isinstance(texts, Path | str) else texts
    for file in files_of:
        if files_of is texts and isinstance(file, str) and not _is_file(file):
            raise errors.InputError(
                f"{file}: No such file or directory; lines of a text stand in a list of their "
                f"own: {name} [[...]]"
            )
    return tuple(text_file(file, f"{name} {n}") for n, file in enumerate(files_of, 1))


def _is_file(name: str) -> bool:
    """Return whether a text names a file, or a column of one."""
    return options.exists(name) or ("#" in name and options.exists(options.file_key(name)[0]))


def pipeline_of(text: str | Sequence[str] | TextPipeline, model: PathLike | None) -> TextPipeline:
    """Return the text steps written `lowercase,debpe`, or one by one."""
    if isinstance(text, TextPipeline):
        return text
    path = None if model is None else Path(model)
    if isinstance(text, str):
        return TextPipeline.parse(text, path)
    return TextPipeline.from_names(text, path)


@contextmanager
def preparing(annotator: str | Annotator | None) -> Iterator[Prepare]:
    """Give a function that prepares texts for metrics; its annotators are closed at the end.

    Parameters
    ----------
    annotator
        The tagger or parser; each is opened once.
    """
    tagger = None if annotator is None else registry.annotator(annotator)
    opened: dict[str, TextAnnotator] = {}

    def prepare(
        metrics: Sequence[Metric], pipeline: TextPipeline, recorded: Annotator | None = None
    ) -> Preparation:
        for metric in metrics:
            for network in external.neural(metric):
                network.use()
            if statistics.needs_of([metric]) and tagger is None and recorded is None:
                message = statistics.annotator_needed(metric, "give --annotator, as ")
                raise errors.InputError(message)
        if tagger is not None and not statistics.needs_of(metrics):
            notice("no metric here compares syntax: the annotator is not used")
        used = tagger or recorded

        def opener() -> TextAnnotator | None:
            if used is None:
                return None
            key = repr(used)
            if key not in opened:
                opened[key] = open_annotator(used, processes=available_processors())
            return opened[key]

        return Preparation.of(metrics, pipeline, opener)

    try:
        yield prepare
    finally:
        for text_annotator in opened.values():
            text_annotator.close()
