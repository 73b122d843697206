"""Compares what a user asks for."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from portmert.aligners._base import Aligner
from portmert.metrics._base import Metric
from portmert.tuner.annotation.annotators._base import Annotator
from portmert.tuner.components import registry
from portmert.tuner.evaluation.comparison.compare import METRICS, Setup, compare
from portmert.tuner.evaluation.comparison.linking import find_links, parse_link_set
from portmert.tuner.evaluation.comparison.material import read_material
from portmert.tuner.evaluation.comparison.model import Comparison
from portmert.tuner.evaluation.comparison.systems import (
    NamedSystem,
    TestSet,
    find_systems,
    find_test_set,
)
from portmert.tuner.evaluation.history.dev_set import UnknownDevSet, metric_of
from portmert.tuner.evaluation.history.run_history import read_history
from portmert.tuner.evaluation.significance import Resampling
from portmert.tuner.executors.team import Team
from portmert.tuner.ground.errors import InputError, PortmertError, ProgramError
from portmert.tuner.texts.prepare import Preparation, Prepare
from portmert.tuner.texts.statistics import needs_of
from portmert.tuner.texts.text_pipeline import TextPipeline


@dataclass(frozen=True)
class Request:
    """Holds what is to be compared and how; what is left out comes from the runs, or is a default.

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
    prepare
        Makes texts ready for metrics, with the annotator of a run where the user names none;
        without it metrics of syntax cannot be computed.
    threads
        Never changes a number.
    runs
        Whether the histories of runs are wanted: that takes reading all their lists.
    timing
        Whether times are measured, the only numbers that differ from call to call.
    team
        Shares the resampled test sets; None: they are drawn here.
    """

    systems: tuple[str, ...]
    source: Path | None = None
    references: tuple[Path, ...] = ()
    metrics: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    aligner: tuple[str, Aligner] | None = None
    pipeline: TextPipeline | None = None
    prepare: Prepare | None = None
    resampling: Resampling = field(default_factory=Resampling)
    threads: int = 1
    runs: bool = False
    timing: bool = True
    team: Team | None = None


def compare_request(request: Request, notice: Callable[[str], None]) -> Comparison:
    """Read, link, score, test: the whole comparison.

    Raises
    ------
    PortmertError
        Something asked for is not there, or not what it should be.
    """
    given_metrics = {text: registry.metric(text) for text in request.metrics or METRICS}
    systems = find_systems(request.systems)
    test = find_test_set(systems, request.source, request.references)
    outputs = sum(len(system.outputs) for system in systems)
    given = [
        parse_link_set(text, references=len(test.references), outputs=outputs)
        for text in request.links
    ]
    if test.source is None and (given or request.aligner is not None):
        raise InputError("word alignments need the source text; give --source")
    pipeline = request.pipeline or _pipeline_of_runs(systems, notice)
    recorded = _annotator_of_runs(systems)
    asked, ready = _metrics_and_preparation(
        request, given_metrics, systems, pipeline, recorded, notice
    )
    with tempfile.TemporaryDirectory() as folder:
        linking = find_links(
            systems,
            test,
            given,
            request.aligner,
            folder=Path(folder) / "annotations",
            notice=notice,
        )
        materials = read_material(systems, test, linking, ready)
    if not request.metrics and materials[0].links is None:
        asked = {label: one for label, one in asked.items() if "links" not in one.needs}
    if materials[0].links is None:
        _check_links(asked, test)
    runs = [
        read_history(
            system.folder,
            name=system.name,
            metrics=asked,
            threads=request.threads,
            notice=notice,
            lenders=[one.folder for one in systems if one.has_history and one.folder],
            prepare=request.prepare,
            lent_annotator=recorded,
        )
        for system in systems
        if request.runs and system.has_history and system.folder is not None
    ]
    setup = Setup(
        asked,
        ready,
        request.resampling,
        request.threads,
        notice,
        timing=request.timing,
        team=request.team,
    )
    return compare(systems, test, materials, setup, runs)


def _metrics_and_preparation(
    request: Request,
    given: dict[str, Metric],
    systems: Sequence[NamedSystem],
    pipeline: TextPipeline,
    recorded: Annotator | None,
    notice: Callable[[str], None],
) -> tuple[dict[str, Metric], Preparation]:
    """Return the metrics to score with, and what makes texts ready for them.

    Where the user names none, those that the runs were tuned on come to the default ones, if they
    can be computed.
    """

    def ready(metrics: dict[str, Metric]) -> Preparation:
        if request.prepare is None:
            return Preparation(pipeline)
        return request.prepare(list(metrics.values()), pipeline, recorded)

    if request.metrics:
        return given, ready(given)
    asked = dict(given)
    for system in systems:
        if system.tuned_on is None:
            continue
        try:
            metric = metric_of(system.tuned_on)
            if metric in asked.values():
                continue
            label = _label(metric)
            ready({label: metric})
            if needs_of([metric]) and request.prepare is None:
                continue
        except (UnknownDevSet, InputError, ProgramError) as reason:
            notice(f"not scored with what {system.name} was tuned on: {reason}")
        else:
            asked[label] = metric
    return asked, ready(asked)


def _check_links(asked: dict[str, Metric], test: TestSet) -> None:
    for metric in asked.values():
        if "links" in metric.needs:
            source = "" if test.source else "--source, the source text, and "
            raise InputError(
                f"metric {metric.name()} compares word orders and needs word alignments; give "
                f"{source}--aligner NAME or --links NAME=FILE[,FILE...]"
            )


def _label(metric: Metric) -> str:
    """Return the name of a metric, with its options where they are not the default ones."""
    try:
        is_default = registry.metric(metric.name()) == metric
    except PortmertError:  # an option must be given, or it is a formula
        is_default = False
    return metric.name() if is_default else metric.signature


def _annotator_of_runs(systems: Sequence[NamedSystem]) -> Annotator | None:
    """Return what the first run annotated with that did."""
    known = (s.inputs.components.get("annotator") for s in systems if s.inputs is not None)
    return next(filter(None, known), None)


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
