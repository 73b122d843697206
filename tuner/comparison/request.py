"""From what a user asks for to a comparison."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tuner.comparison.compare import Setup, choose_metrics, compare
from tuner.comparison.linking import find_links, parse_link_set
from tuner.comparison.material import read_material
from tuner.comparison.run_history import read_history
from tuner.comparison.systems import find_systems, find_test_set
from tuner.errors import InputError
from tuner.significance import Resampling
from tuner.text_pipeline import TextPipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aligners._base import Aligner
    from metrics._base import Metric
    from tuner.comparison.model import Comparison
    from tuner.comparison.systems import NamedSystem
    from tuner.syntax import Syntax

    OpenSyntax = Callable[[Sequence[Metric], TextPipeline], Syntax | None]


@dataclass(frozen=True)
class Request:
    """What is to be compared and how; what is left out comes from the runs, or is a default.

    Parameters
    ----------
    systems
        Each `FOLDER`, `name=FOLDER` or `name=FILE[,FILE...]`; the first is what the others are
        compared with.
    source, references
        The test set.
    metrics
        As `registry.metric` reads them.
    links
        Sets of links, `name=FILE[,FILE...]`.
    aligner
        Its name, and itself.
    pipeline
        What is done to texts.
    syntax
        Returns what annotates texts, for metrics that need it.
    threads
        Never changes a number.
    runs
        Whether the histories of runs are wanted: that takes reading all their lists.
    timing
        Whether times are measured, the only numbers that differ from call to call.
    """

    systems: tuple[str, ...]
    source: Path | None = None
    references: tuple[Path, ...] = ()
    metrics: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    aligner: tuple[str, Aligner] | None = None
    pipeline: TextPipeline | None = None
    syntax: OpenSyntax | None = None
    resampling: Resampling = field(default_factory=Resampling)
    threads: int = 1
    runs: bool = False
    timing: bool = True


def compare_request(request: Request, notice: Callable[[str], None]) -> Comparison:
    """Read, link, score, test: the whole comparison.

    Raises
    ------
    PortmertError
        Something asked for is not there, or not what it should be.
    """
    asked = choose_metrics(request.metrics, links=True)  # a wrong name is found before the work
    systems = find_systems(request.systems)
    test = find_test_set(systems, request.source, request.references)
    outputs = sum(len(system.outputs) for system in systems)
    given = [
        parse_link_set(text, references=len(test.references), outputs=outputs)
        for text in request.links
    ]
    if test.source is None and (given or request.aligner is not None):
        raise InputError("word alignments need the source text; give --test")
    pipeline = request.pipeline or _pipeline_of_runs(systems, notice)
    syntax = request.syntax and request.syntax(list(asked.values()), pipeline)
    with tempfile.TemporaryDirectory() as folder:
        linking = find_links(
            systems,
            test,
            given,
            request.aligner,
            folder=Path(folder) / "annotations",
            notice=notice,
        )
        materials = read_material(systems, test, linking, pipeline, syntax)
    if not request.metrics:
        asked = choose_metrics((), links=materials[0].links is not None)
    runs = [
        read_history(
            system.folder,
            name=system.name,
            metrics=asked,
            threads=request.threads,
            notice=notice,
            lenders=[other.folder for other in systems if other.folder is not None],
        )
        for system in systems
        if request.runs and system.folder is not None
    ]
    setup = Setup(
        asked,
        pipeline,
        request.resampling,
        request.threads,
        notice,
        timing=request.timing,
        annotator="" if syntax is None else syntax.annotator.fingerprint,
    )
    return compare(systems, test, materials, setup, runs)


def _pipeline_of_runs(
    systems: Sequence[NamedSystem], notice: Callable[[str], None]
) -> TextPipeline:
    """Return what the runs do to texts; that of the first, and a note, where they do not agree."""
    known = [(s.name, s.inputs.data.pipeline) for s in systems if s.inputs is not None]
    for name, pipeline in known[1:]:
        if pipeline.signature != known[0][1].signature:
            notice(
                f"{name} was scored with {pipeline.signature}, {known[0][0]} with "
                f"{known[0][1].signature}; all are now scored with the latter (--text or "
                f"--lowercase says otherwise)"
            )
    return known[0][1] if known else TextPipeline()
