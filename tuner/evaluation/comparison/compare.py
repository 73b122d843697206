"""Compares what a user asks for: reads texts, links them, scores and tests."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import portmert
from portmert.metrics._base import Metric

from ...base.documents import plain
from ...base.errors import InputError, ProgramError
from ...base.warn import notice, warn
from ...components import registry
from ...executors.team import Team
from ...texts.annotator import Annotator
from ...texts.prepare import Preparation, Prepare
from ...texts.statistics import needs_of, notices
from ...texts.text_pipeline import TextPipeline
from ..history import dev_set, run_history
from ..significance import Resampling
from . import differences
from . import scores as tables
from .material import Material, find_links, identical_segments, parse_link_set, read_material
from .report import ORDERING
from .scores import Counted
from .sentences import headlines
from .systems import (
    NamedSystem,
    SystemFiles,
    TestFiles,
    TestSet,
    find_systems,
    find_test_files,
    in_one_order,
)

METRICS = ("bleu", "port", "qmean", "ter")
"""Metrics of a comparison that names none. Those that need links are left out without links."""


@dataclass(frozen=True)
class CompareRequest:
    """Systems, metrics and options, as of `portmert.compare`.

    Parameters
    ----------
    pipeline
        The steps that texts take before they are scored. Default: those of the runs.
    prepare
        Makes texts ready for metrics, with the annotator of a run if the user names none. Without
        it, metrics of syntax cannot be computed.
    team
        Shares the resampled test sets; None: they are drawn here.
    """

    systems: tuple[SystemFiles, ...]
    test: TestSet = field(default_factory=TestSet)
    metrics: tuple[str | Metric, ...] = ()
    pipeline: TextPipeline | None = None
    prepare: Prepare | None = None
    resampling: Resampling = field(default_factory=Resampling)
    threads: int = 1
    runs: bool = False
    timing: bool = True
    team: Team | None = None


def compare_request(request: CompareRequest) -> dict[str, Any]:
    """Read, link, score and test.

    Returns
    -------
    dict
        The comparison as JSON objects, lists, numbers and null; all forms of its report show it.
        Scores are on the metric's own scale (a share is 0..1, not percent). Positions count from
        0. Unknown values are None.

    Raises
    ------
    PortmertError
        Something asked for is missing, or is not what it should be.
    """
    if not request.systems:
        raise ValueError("name the systems to compare")
    with tempfile.TemporaryDirectory() as work:
        return _of_request(request, Path(work))


def _of_request(request: CompareRequest, work: Path) -> dict[str, Any]:
    """See `compare_request`; `work` is a folder for files that are needed meanwhile."""
    given = registry.labelled(request.metrics or METRICS)
    systems, given_test = in_one_order(find_systems(request.systems), request.test, work)
    test = find_test_files(systems, given_test)
    inputs = [one.inputs for one in systems if one.inputs is not None]
    annotators = (one.components.get("annotator") for one in inputs)
    recorded = next(filter(None, annotators), None)  # that of the first run with one
    metrics, ready = _metrics_and_preparation(request, given, systems, recorded)
    aligner, outputs = request.test.named_aligner, sum(len(one.outputs) for one in systems)
    given_sets = [
        parse_link_set(text, references=len(test.references), outputs=outputs)
        for text in request.test.links
    ]
    if test.source is None and (given_sets or aligner is not None):
        raise InputError("word alignments need the source text; give --source")
    sets, linker = find_links(systems, test, given_sets, aligner, folder=work / "annotations")
    materials = read_material(systems, test, sets, linker, ready)
    if materials[0].links is None:
        if not request.metrics:
            metrics = {label: one for label, one in metrics.items() if "links" not in one.needs}
        for metric in metrics.values():
            if "links" in metric.needs:
                source = "" if test.source else "--source, the source text, and "
                raise InputError(
                    f"metric {metric.name()} compares word orders and needs word alignments; give "
                    f"{source}--aligner NAME or --links NAME=FILE[,FILE...]"
                )
    lenders = [one.folder for one in systems if one.has_history and one.folder]
    tools = dev_set.ScoringTools(request.threads, lenders, request.prepare, recorded)
    runs = [
        run_history.read_history(system.folder, name=system.name, metrics=metrics, tools=tools)
        for system in systems
        if request.runs and system.has_history and system.folder is not None
    ]
    counted = tables.count(materials[0], metrics, threads=request.threads)
    counted += request.test.known
    for line in _doubts([system.name for system in systems], materials[0], counted):
        warn(line)
    return {**_compared(request, systems, test, materials, counted, ready), "runs": runs}


def _compared(
    request: CompareRequest,
    systems: Sequence[NamedSystem],
    test: TestFiles,
    materials: Sequence[Material],
    counted: Sequence[Counted],
    ready: Preparation,
) -> dict[str, Any]:
    """Score and test all systems, and find where they differ from the first."""
    names, scored, threads = [one.name for one in systems], materials[0], request.threads
    materials = [one.in_words() for one in materials]
    material = materials[0]
    resampling = request.resampling
    reordering = differences.reference_reordering(material)
    fixed = _counted(material, ("bleu", "qmean"), counted, threads)
    ngrams = tables.ngram_counts(names, material, qmean=fixed["qmean"], bleu=fixed["bleu"])
    ordering: list[dict[str, Any]] = []
    if material.links is not None:
        of_order = list(_counted(material, ORDERING, counted, threads).values())
        ordering = tables.ordering_scores(names, material, of_order)
    offsets = material.batch_of_all().reference_offsets
    timed = {one.label: one.metric for one in counted if not one.metric.of_lists}
    untested = [s.name for s in systems if len(s.outputs) == 1 and s.tuned_on is not None]
    found: dict[str, Any] = {
        "kind": "comparison",
        "portmert": portmert.__version__,
        "headlines": (),
        "tuning_luck_untested": untested,
        "notes": _notes(request, systems, materials, untested),
        "source": test.source and test.source.name,
        "references": [path.name for path in test.references],
        "reference_links": material.links,  # the set of links behind scores and segments
        "samples": resampling.samples,
        "seed": resampling.seed,
        "confidence": resampling.level,
        "systems": [
            {
                "name": system.name,
                "kind": system.kind,
                "replicas": len(system.outputs),
                "tuned_on": system.tuned_on,
                # Sums over segments, means over replicas; of the reference closest in length.
                "hypothesis_tokens": table["orders"][0]["total"],
                "reference_tokens": table["orders"][0]["reference_total"],
            }
            for system, table in zip(systems, ngrams, strict=True)
        ],
        "metrics": [
            tables.described(one, ready.signature(one.metric, offsets)) for one in counted
        ],
        "scores": tables.score_systems(names, material, counted, resampling, request.team),
        "similarity": differences.similarities(names, material, threads=threads),
        "ordering": ordering,
        "ngrams": ngrams,
        "alignments": tables.alignments(names, materials, counted, threads),
        "timing": tables.time_metrics(scored, timed) if request.timing else [],
        "differences": differences.differences(names, material, counted, reordering),
        "segments": differences.segments_of(material, counted, reordering),
    }
    document: dict[str, Any] = plain(found)
    return {**document, "headlines": list(headlines(document))}


def _metrics_and_preparation(
    request: CompareRequest,
    given: dict[str, Metric],
    systems: Sequence[NamedSystem],
    recorded: Annotator | None,
) -> tuple[dict[str, Metric], Preparation]:
    """Return the metrics to score with, and what makes texts ready for them.

    If the user names no metric, those that the runs were tuned on join the default ones, as far as
    they can be computed.
    """
    pipeline = request.pipeline or _pipeline_of_runs(systems)

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
            metric = dev_set.metric_of(system.tuned_on)
            if metric in asked.values():
                continue
            label = registry.label(metric)
            ready({label: metric})
            if needs_of([metric]) and request.prepare is None:
                continue
        except (dev_set.UnknownDevSet, InputError, ProgramError) as reason:
            notice(f"not scored with what {system.name} was tuned on: {reason}")
        else:
            asked[label] = metric
    return asked, ready(asked)


def _pipeline_of_runs(systems: Sequence[NamedSystem]) -> TextPipeline:
    """Return what the first run does to texts, and say so if the others do something else."""
    known = [(s.name, s.inputs.data.pipeline) for s in systems if s.inputs is not None]
    for name, pipeline in known[1:]:
        if pipeline.signature != known[0][1].signature:
            warn(
                f"{name} was scored with {pipeline.signature}, {known[0][0]} with "
                f"{known[0][1].signature}; all are now scored with the latter (--text or "
                f"--lowercase changes that)"
            )
    return known[0][1] if known else TextPipeline()


def _doubts(names: Sequence[str], material: Material, counted: Sequence[Counted]) -> list[str]:
    """Return what the user should know about the texts, one line each, as `score` says it.

    Each system is looked at by itself, by its first output: among many, one that is cut into
    subwords would not be noticed. A line that is true of all stands once, without a name.
    """
    found: dict[str, list[str]] = {}
    for place, name in enumerate(names):
        batch = material.batch(material.members(place)[0])
        for line in dict.fromkeys(n for one in counted for n in notices(one.metric, batch)):
            found.setdefault(line, []).append(name)
    return [
        line if len(owners) == len(names) else f"{', '.join(owners)}: {line}"
        for line, owners in found.items()
    ]


def _counted(
    material: Material, names: Sequence[str], counted: Sequence[Counted], threads: int
) -> dict[str, Counted]:
    """Return statistics under the metrics of these names with default options."""
    have = {one.metric: one for one in counted}
    wanted = {name: registry.metric(name) for name in names}
    missing = {name: metric for name, metric in wanted.items() if metric not in have}
    have |= {one.metric: one for one in tables.count(material, missing, threads=threads)}
    return {name: replace(have[metric], label=name) for name, metric in wanted.items()}


def _notes(
    request: CompareRequest,
    systems: Sequence[NamedSystem],
    materials: Sequence[Material],
    single: Sequence[str],
) -> list[str]:
    """Return what cannot be estimated and what was left out; `single` were tuned once."""
    material, lines = materials[0], []
    if material.links is None and not request.metrics:
        lines.append(
            "word alignments are not known: PORT and all scores of word order are left out (give "
            "--links or --aligner)"
        )
    if single:
        lines.append(
            f"one replica only of {', '.join(single)}: how much tuning varies (s_opt) cannot "
            f"be estimated"
            + (", so a difference may be luck of tuning" if len(systems) > 1 else "")
        )
    # A choice that was not tuned, as the first hypotheses, has no replicas.
    counts = {len(one.outputs) for one in systems if one.tuned_on or len(one.outputs) > 1}
    if len(counts) > 1:
        lines.append(
            "the systems have different numbers of replicas: randomization shares out the "
            "outputs of a segment at random"
        )
    if len(material) == 1:
        lines.append("one segment only: it cannot be resampled, so nothing is tested")
    first = material.outputs[0]
    for number, system in enumerate(systems[1:], 1):
        own = [material.outputs[i] for i in material.members(number)]
        if all(identical_segments(first, text).all() for text in own):
            lines.append(f"{system.name} and {systems[0].name} have the same output")
    return lines
