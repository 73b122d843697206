"""Compares systems: scores, significance, and where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from portmert.aligners._base import Aligner
from portmert.tuner.annotation.annotators._base import Annotator
from portmert.tuner.api.texts import Notice, PathLike, Progress, log_notice, pipeline_of, preparing
from portmert.tuner.components import registry
from portmert.tuner.evaluation.comparison import text as texts
from portmert.tuner.evaluation.comparison.model import Comparison
from portmert.tuner.evaluation.comparison.request import Request, compare_request
from portmert.tuner.evaluation.page.html import render
from portmert.tuner.evaluation.significance import Resampling
from portmert.tuner.executors.opening import opened
from portmert.tuner.ground.processes import available_processors
from portmert.tuner.texts.text_pipeline import TextPipeline


@dataclass(frozen=True, eq=False)
class Compared:
    """Holds a comparison, and shows it in several forms.

    Parameters
    ----------
    headlines : tuple of str
        What was found, a sentence for each metric and system.
    comparison : Comparison
        All figures.
    """

    headlines: tuple[str, ...]
    comparison: Comparison = field(repr=False)

    def __str__(self) -> str:
        return texts.as_text(self.comparison)

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return self.comparison.as_json()

    def as_latex(self) -> str:
        """Return the tables for LaTeX (booktabs)."""
        return texts.as_latex(self.comparison)

    def as_html(self) -> str:
        """Return a page that needs no network."""
        return render(self.as_json())


def compare(
    systems: Sequence[str] | Mapping[str, PathLike | Sequence[PathLike]],
    *,
    refs: Sequence[PathLike] | PathLike = (),
    source: PathLike | None = None,
    metric: str | Sequence[str] = (),
    links: Sequence[str] = (),
    aligner: str | Aligner | None = None,
    options: Mapping[str, object] | None = None,
    text: str | Sequence[str] | TextPipeline | None = None,
    text_model: PathLike | None = None,
    annotator: str | Annotator | None = None,
    annotation_cache: PathLike | None = None,
    samples: int = 10_000,
    level: float = 0.95,
    seed: int = 1,
    threads: int = 0,
    runs: bool = False,
    timing: bool = True,
    executor: str = "local",
    notice: Notice = log_notice,
    progress: Progress | None = None,
) -> Compared:
    r"""Compare systems with the first one.

    Parameters
    ----------
    systems
        Name -> a file of tokenised text, or one for each replica, or the folder of a run of
        `tune`. Or a list as on the command line, of `FOLDER` and `name=FILE,FILE`.
    refs, source
        The test set, where no folder of a run says what it is: files of references, and the
        source for metrics of word order.
    metric
        As `"port:alpha=0.5"`, or several. Default: bleu, port, qmean, ter, and what runs were
        tuned on.
    links
        Sets of word alignments, `name=FILE,FILE`: a file for each reference, then maybe one for
        each output.
    aligner, options
        Aligns references, and outputs whose decoder gave no links.
    text, text_model, annotator, annotation_cache
        As of `score`. Default: as the runs say.
    samples, level, seed
        Of the tests and intervals.
    threads
        0: one for each processor. Never changes a number.
    runs
        Whether the histories of runs are wanted too: that takes reading all their lists.
    timing
        Whether times are measured, the only numbers that differ from call to call.
    executor
        Where texts are annotated and resampled test sets are scored, as of `crossval`.
    notice, progress
        As of `score`.

    Raises
    ------
    PortmertError
        Something asked for is not there, or not what it should be.

    Examples
    --------
    >>> import portmert, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name, line in {"a": "a b c", "b": "a b d", "ref": "a b d"}.items():
    ...     _ = (folder / name).write_text(f"{line} e f g\n" * 9)
    >>> found = portmert.compare(
    ...     {"base": folder / "a", "new": folder / "b"},
    ...     refs=folder / "ref", metric="bleu", samples=100, timing=False,
    ... )
    >>> found.headlines
    ('bleu: new is better than base (+100.00, p = 0.0099; tuning luck untested)',)
    """
    named = [systems] if isinstance(systems, str) else systems
    if not isinstance(named, list | tuple):
        named = [f"{name}={_joined(files)}" for name, files in _items(systems)]
    pipeline = None if text is None and text_model is None else pipeline_of(text or "", text_model)
    with (
        opened(executor, threads=1, notice=notice) as team,
        preparing(
            annotator, annotation_cache, notice=notice, progress=progress, team=team
        ) as prepare,
    ):
        request = Request(
            systems=tuple(named),
            source=None if source is None else Path(source),
            references=tuple(map(Path, [refs] if isinstance(refs, Path | str) else refs)),
            metrics=(metric,) if isinstance(metric, str) else tuple(metric),
            links=tuple(links),
            aligner=_aligner(aligner, options or {}),
            pipeline=pipeline,
            prepare=prepare,
            resampling=Resampling(samples, seed, level),
            threads=threads or available_processors(),
            runs=runs,
            timing=timing,
            team=team,
        )
        found = compare_request(request, notice)
    return Compared(found.headlines, found)


def _items(systems: Any) -> list[tuple[str, PathLike | Sequence[PathLike]]]:
    return list(systems.items())


def _joined(files: PathLike | Sequence[PathLike]) -> str:
    return str(files) if isinstance(files, Path | str) else ",".join(map(str, files))


def _aligner(
    given: str | Aligner | None, options: Mapping[str, object]
) -> tuple[str, Aligner] | None:
    if given is None:
        return None
    if isinstance(given, str):
        return given, registry.aligner(given, options, where="--aligner")
    return type(given).__name__.lower(), given
