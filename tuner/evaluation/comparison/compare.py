"""Compares what a user asks for: reads texts, links them, scores and tests."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import portmert
from portmert.metrics._base import Metric
from portmert.metrics._shared import flat

from ...base.errors import ConfigError, InputError, ProgramError
from ...base.json_toml import plain
from ...base.warn import notice, warn
from ...components import registry
from ...families import provided
from ...runs.records import equal_to_start
from ...texts.annotator import Annotator
from ...texts.groups import Groups, read_groups
from ...texts.prepare import Preparation, Prepare
from ...texts.statistics import needs_of, notices
from ...texts.text_pipeline import TextPipeline
from ..significance import Resampling
from . import differences
from . import scores as tables
from .answers import margin_lines
from .material import Material, find_links, identical_segments, parse_link_set, read_material
from .questions import Questions, answered, baseline_first
from .report import ORDERING
from .scores import Counted
from .sentences import headlines
from .systems import (
    NamedSystem,
    SystemFiles,
    TestFiles,
    TestSet,
    described_groups,
    find_groups,
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
        The steps that texts take before they are scored. Default: as in the runs.
    prepare
        Makes texts ready for metrics, with the annotator of a run if the user names none. Without
        it, metrics of syntax cannot be computed.
    parts
        Name -> number of segments of each test set that the test set is made of.
    """

    systems: tuple[SystemFiles, ...]
    test: TestSet = field(default_factory=TestSet)
    metrics: tuple[str | Metric, ...] = ()
    pipeline: TextPipeline | None = None
    prepare: Prepare | None = None
    parts: Mapping[str, int] = field(default_factory=dict)
    resampling: Resampling = field(default_factory=Resampling)
    questions: Questions = field(default_factory=Questions)
    timing: bool = True


@dataclass(frozen=True, eq=False)
class _Inputs:
    """What a comparison reads.

    Parameters
    ----------
    metrics
        By their labels.
    materials
        The texts under each set of links, or once without links.
    groups, subsets
        The group and the subset of each segment, if they are in any.
    """

    systems: Sequence[NamedSystem]
    test: TestFiles
    metrics: dict[str, Metric]
    preparation: Preparation
    materials: Sequence[Material]
    groups: Groups | None = None
    subsets: Groups | None = None


def compare_systems(request: CompareRequest) -> dict[str, Any]:
    """Read, align, score and test.

    Returns
    -------
    dict
        The comparison as JSON objects, lists, numbers and null; all forms of its report show it.
        Scores are on the metric's own scale (a share is 0..1, not percent). Positions count from
        0. Unknown values are None.

    Raises
    ------
    PortmertError
        A file or an option is missing or wrong.
    """
    if not request.systems:
        raise ValueError("name the systems to compare")
    if _are_scores(request.systems, request.test):
        kinds = [x if isinstance(x, str) else x.signature for x in request.metrics]
        comparison: dict[str, Any] = provided(
            "portmert.outside_scores", "outside-scores"
        ).compare_outcomes(
            request.systems, request.test, kinds, request.resampling, request.questions
        )
        return comparison
    with tempfile.TemporaryDirectory() as folder:
        inputs = _read(request, Path(folder))
    counted = tables.count(inputs.materials[0], inputs.metrics)
    counted += request.test.statistics
    _warn_of_doubts(inputs.materials[0], counted)
    return _score(request, inputs, counted)


def _are_scores(systems: Sequence[SystemFiles], test: TestSet) -> bool:
    """Return whether systems are given by scores: without references, and none is a run."""
    if test.references or not systems:
        return False
    return not any(Path(path).is_dir() for system in systems for path in system.paths)


def _read(request: CompareRequest, folder: Path) -> _Inputs:
    """Read and align all texts; `folder` is for files that are needed meanwhile."""
    for name in ("better", "answers"):
        if getattr(request.questions, name):
            raise ConfigError(f"--{name} is for scores computed elsewhere, but there are texts")
    named = find_systems(request.systems)
    order = baseline_first([x.name for x in named], request.questions.baseline)
    named = [named[k] for k in order]
    systems, test_set, ids = in_one_order(named, request.test, folder)
    test = find_test_files(systems, test_set)
    annotators = [x.inputs.components.get("annotator") for x in systems if x.inputs is not None]
    annotator = next(filter(None, annotators), None)
    metrics, preparation = _metrics_and_preparation(request, systems, annotator)
    outputs = sum(len(system.outputs) for system in systems)
    link_sets = [
        parse_link_set(text, references=len(test.references), outputs=outputs)
        for text in request.test.links
    ]
    aligner = request.test.named_aligner
    if test.source is None and (link_sets or aligner is not None):
        raise InputError("word alignments need the source text; give --source")
    link_sets, linker = find_links(
        systems, test, link_sets, aligner, folder=folder / "annotations"
    )
    materials = read_material(systems, test, link_sets, linker, preparation)
    if materials[0].links is None:
        linked = [metric for metric in metrics.values() if "links" in metric.needs]
        if linked and request.metrics:
            source = "" if test.source else "--source, the source text, and "
            raise InputError(
                f"metric {linked[0].name()} compares word orders and needs word alignments; give "
                f"{source}--aligner NAME or --links NAME=FILE[,FILE...]"
            )
        metrics = {label: metric for label, metric in metrics.items() if metric not in linked}
    references = materials[0].references
    of_texts = (len(references), references.ids or ids)
    groups = find_groups(request.test, request.test.references or test.references, *of_texts)
    subset = request.questions.subset
    subsets = None if subset is None else read_groups(subset, *of_texts, name="subsets")
    return _Inputs(systems, test, metrics, preparation, materials, groups, subsets)


def _score(request: CompareRequest, inputs: _Inputs, counted: Sequence[Counted]) -> dict[str, Any]:
    """Score and test all systems, and find where they differ from the first."""
    systems, resampling = inputs.systems, request.resampling
    materials = [material.in_words() for material in inputs.materials]
    material = materials[0]
    reordering = differences.reference_reordering(material)
    default = _counted(material, ("bleu", "qmean"), counted)
    ngrams = tables.ngram_counts(material.systems, qmean=default["qmean"], bleu=default["bleu"])
    of_order: list[Counted] = []
    if material.links is not None:
        of_order = list(_counted(material, ORDERING, counted).values())
    offsets = material.references.offsets
    timed = {x.label: x.metric for x in counted if not x.metric.of_lists}
    untested = [x.name for x in systems if len(x.outputs) == 1 and x.tuned_on is not None]
    comparison: dict[str, Any] = plain({
        "kind": "comparison",
        "portmert": portmert.__version__,
        "headlines": (),
        "tuning_luck_untested": untested,
        "notes": _notes(request, systems, materials, untested),
        "source": inputs.test.source and inputs.test.source.name,
        "references": [path.name for path in inputs.test.references],
        "reference_links": material.links,  # the set of links behind scores and segments
        "samples": resampling.samples,
        "seed": resampling.seed,
        "confidence": resampling.level,
        "systems": [
            {
                "name": system.name,
                "kind": "files" if system.folder is None else "run",
                "replicas": len(system.outputs),
                "tuned_on": system.tuned_on,
                # Sums over segments, means over replicas; of the reference closest in length.
                "hypothesis_tokens": table["orders"][0]["total"],
                "reference_tokens": table["orders"][0]["reference_total"],
            }
            for system, table in zip(systems, ngrams, strict=True)
        ],
        "metrics": [
            tables.described(x, inputs.preparation.signature(x.metric, offsets)) for x in counted
        ],
        "groups": described_groups(inputs.groups),
        "scores": tables.score_systems(material.systems, counted, resampling, inputs.groups),
        "similarity": differences.similarities(material),
        "ordering": tables.ordering_scores(material.systems, of_order),
        "ngrams": ngrams,
        "alignments": tables.alignments(materials, counted),
        "timing": tables.time_metrics(inputs.materials[0], timed) if request.timing else [],
        "differences": differences.differences(material, counted, reordering),
        "segments": differences.segments_of(material, counted, reordering),
    })  # fmt: skip
    if request.parts:
        names = material.systems
        comparison["parts"] = tables.part_scores(names, counted, of_order, request.parts)
    comparison |= plain(
        answered(request.questions, comparison, counted, resampling, inputs.groups, inputs.subsets)
    )
    return {**comparison, "headlines": [*headlines(comparison), *margin_lines(comparison)]}


def _metrics_and_preparation(
    request: CompareRequest,
    systems: Sequence[NamedSystem],
    annotator: Annotator | None,
) -> tuple[dict[str, Metric], Preparation]:
    """Return the metrics to score with, and what makes texts ready for them.

    If the user names no metric, those that the runs were tuned on join the default ones, as far as
    they can be computed.
    """
    pipeline = request.pipeline or _pipeline_of_runs(systems)

    def prepared(metrics: dict[str, Metric]) -> Preparation:
        if request.prepare is None:
            return Preparation(pipeline)
        return request.prepare(list(metrics.values()), pipeline, annotator)

    metrics = registry.labelled(request.metrics or METRICS)
    for system in () if request.metrics else systems:
        if system.tuned_on is None:
            continue
        try:
            metric = registry.metric_of(system.tuned_on)
            if metric in metrics.values():
                continue
            label = registry.label(metric)
            prepared({label: metric})
            if needs_of([metric]) and request.prepare is None:
                continue
        except (InputError, ProgramError) as reason:
            notice(f"not scored with what {system.name} was tuned on: {reason}")
        else:
            metrics[label] = metric
    return metrics, prepared(metrics)


def _pipeline_of_runs(systems: Sequence[NamedSystem]) -> TextPipeline:
    """Return what the first run does to texts; warn if another run does something else."""
    pipelines = [(x.name, x.inputs.data.pipeline) for x in systems if x.inputs is not None]
    for name, pipeline in pipelines[1:]:
        first, of_first = pipelines[0]
        if pipeline.signature != of_first.signature:
            warn(
                f"{name} was scored with {pipeline.signature}, {first} with "
                f"{of_first.signature}; all are now scored with the latter (--text or "
                f"--lowercase changes that)"
            )
    return pipelines[0][1] if pipelines else TextPipeline()


def _warn_of_doubts(material: Material, counted: Sequence[Counted]) -> None:
    """Warn of what the user should know about the texts, one line each, as `score` says it.

    Each system is judged by its first output: among many, an output that is cut into subwords
    would not be noticed. A line that is true of all has no name.
    """
    names_by_line: dict[str, list[str]] = {}
    for name, (output, *_) in zip(material.systems, material.outputs, strict=True):
        batch = material.batch(output)
        for line in dict.fromkeys(line for x in counted for line in notices(x.metric, batch)):
            names_by_line.setdefault(line, []).append(name)
    for line, names in names_by_line.items():
        warn(line if len(names) == len(material.systems) else f"{', '.join(names)}: {line}")


def _counted(
    material: Material, names: Sequence[str], counted: Sequence[Counted]
) -> dict[str, Counted]:
    """Return statistics under the metrics of these names with default options."""
    by_metric = {x.metric: x for x in counted}
    metrics = {name: registry.metric(name) for name in names}
    missing = {name: metric for name, metric in metrics.items() if metric not in by_metric}
    by_metric |= {x.metric: x for x in tables.count(material, missing)}
    return {name: replace(by_metric[metric], label=name) for name, metric in metrics.items()}


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
        chance = ", so a difference may be chance of tuning" if len(systems) > 1 else ""
        lines.append(
            f"one replica only of {', '.join(single)}: how much tuning varies (s_opt) cannot "
            f"be estimated{chance}"
        )
    # A choice that was not tuned, as the first hypotheses, has no replicas.
    if len({len(x.outputs) for x in systems if x.tuned_on or len(x.outputs) > 1}) > 1:
        lines.append(
            "the systems have different numbers of replicas: randomization shares out the "
            "outputs of a segment at random"
        )
    if len(material) == 1:
        lines.append("one segment only: it cannot be resampled, so nothing is tested")
    first = material.outputs[0][0]
    for name, outputs in zip(material.systems[1:], material.outputs[1:], strict=True):
        if all(identical_segments(first, output).all() for output in outputs):
            lines.append(f"{name} and {material.systems[0]} have the same output")
    lines += _same_replicas(material)
    lines += [
        f"{system.name}: {equal_to_start(system.untuned, len(system.outputs))}"
        for system in systems
        if system.untuned
    ]
    return lines


def _same_replicas(material: Material) -> list[str]:
    """Return a line if replicas have one output: then most likely no tuning changed it."""
    if all(len(replicas) == 1 for replicas in material.outputs):
        return []
    by_output: dict[tuple[bytes, bytes], list[str]] = {}
    for name, replicas in zip(material.systems, material.outputs, strict=True):
        for number, output in enumerate(replicas, 1):
            tokens = flat(output.tokens)
            content = tokens.values.tobytes(), tokens.offsets.tobytes()
            label = f"{name} {number}" if len(replicas) > 1 else name
            by_output.setdefault(content, []).append(label)
    return [
        f"{', '.join(labels)} have the same output, as of a tuning that changed nothing"
        for labels in by_output.values()
        if len(labels) > 1
    ]
