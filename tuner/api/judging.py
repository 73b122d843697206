"""Evaluates metrics by human scores."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Literal

import numpy as np

from portmert.metrics._base import Batch, Metric, Vocabulary

from ..base import arguments, processes
from ..base.files import TextFile
from ..base.warn import notice, warn_of
from ..components import registry
from ..evaluation.document import Report
from ..evaluation.human_scores import (
    HumanScores,
    JudgedSet,
    find_outputs,
    read_human_scores,
    read_judged_sets,
)
from ..evaluation.metaeval import combined, data
from ..evaluation.metaeval.data import Judged, MetricScores
from ..evaluation.metaeval.evaluation import MetaEvaluation, Settings, evaluate
from ..evaluation.metaeval.report import document_of
from ..evaluation.metaeval.results import as_json, combined_as_json
from ..evaluation.significance import Resampling
from ..texts import corpus, joining, text_pipeline
from ..texts.annotator import Annotator
from ..texts.prepare import Preparation, coverage, read_output
from ..texts.statistics import notices
from .texts import PathLike, Progress, pipeline_of, preparing

RESAMPLING = Resampling(samples=1000)


@arguments.checked
def metaeval(
    sets: JudgedSet | Sequence[JudgedSet] | PathLike,
    *,
    metric: str | Metric | Sequence[str | Metric],
    text: str | Sequence[str] | text_pipeline.TextPipeline = "",
    text_model: PathLike | None = None,
    annotator: str | Annotator | None = None,
    annotation_cache: PathLike | None = None,
    likeness: bool = False,
    resampling: Resampling = RESAMPLING,
    resample: Literal["both", "segments", "systems"] = "both",
    progress: Progress | None = None,
) -> Report:
    """Correlate metrics with human scores of several systems' outputs.

    Parameters
    ----------
    sets
        The human scores and outputs of one or several test sets; or a TOML file that lists them.
    metric : NAME[:OPTION=VALUE,...]
        Metric; `portmert metrics` lists all. In Python also an object.
    likeness
        Also compute KING and ORANGE: hold out each reference in turn and rank it among the
        systems. Needs two references.
    resampling
        The number of bootstrap samples and permutations, the level of intervals, and the seed.
    resample
        Draw bootstrap samples of segments, of systems, or of both.

    Other parameters are those of `score`.

    Raises
    ------
    PortmertError
        Texts do not fit together, or lack something that a metric needs.
    """
    if isinstance(sets, JudgedSet):
        listed: Sequence[JudgedSet] = [sets]
    else:
        listed = read_judged_sets(Path(sets)) if isinstance(sets, str | Path) else sets
    if not listed:
        raise ValueError("give a test set, or several")
    metrics = registry.labelled([metric] if isinstance(metric, str | Metric) else metric)
    settings = Settings(resampling.samples, resampling.seed, resampling.level, resample)
    measured: list[MetaEvaluation] = []
    signatures: dict[str, None] = {}
    with preparing(annotator, annotation_cache, progress=progress) as prepare:
        ready = prepare(list(metrics.values()), pipeline_of(text, text_model), None)
        for number, one in enumerate(listed, 1):
            judged, counted = _counted(one, metrics, ready, likeness=likeness)
            measured.append(evaluate(judged, counted, settings, name=one.name, number=number))
            signatures |= dict.fromkeys(each.signature for each in counted)
        if ready.annotator is not None:
            notice(coverage(ready.annotator))
    if isinstance(sets, JudgedSet):
        return Report(document_of(measured, None, list(signatures)), as_json(measured[0]))
    groups, scenarios = ([getattr(one, key) for one in listed] for key in ("group", "scenario"))
    together = combined.combine(measured, groups=groups, scenarios=scenarios, settings=settings)
    layout = document_of(measured, together, list(signatures))
    return Report(layout, combined_as_json(together))


def _counted(
    one: JudgedSet, metrics: Mapping[str, Metric], ready: Preparation, *, likeness: bool
) -> tuple[Judged, list[MetricScores]]:
    """Read a test set and count with all metrics."""
    scores, batch = read_judged(one, ready)
    judged, kept = data.judged(scores, batch)
    counted = [
        data.metric_scores(
            label,
            metric,
            batch,
            segments=kept,
            systems=scores.systems,
            signature=ready.signature(metric, batch.reference_offsets),
            threads=processes.available_processors(),
            with_likeness=likeness,
        )
        for label, metric in _labelled(metrics).items()
    ]
    before = f"{one.name}: " if one.name else ""
    for line in data.facts(judged, left_out=len(scores) - len(kept)):
        notice(before + line)
    doubts = [
        *data.doubts(judged, counted),
        *(n for m in metrics.values() for n in notices(m, batch)),
    ]
    warn_of(before + line for line in doubts)
    return judged, counted


def _labelled(metrics: Mapping[str, Metric]) -> Mapping[str, Metric]:
    """Return metrics with their labels: files lose their folders, if that is clear."""
    found = {}
    for text, metric in metrics.items():
        label = text
        for option in fields(metric):
            value = getattr(metric, option.name)
            if isinstance(value, Path):
                label = label.replace(str(value), value.name)
        found[label] = metric
    return found if len(found) == len(metrics) else metrics


def read_judged(one: JudgedSet, ready: Preparation) -> tuple[HumanScores, Batch]:
    """Return the human scores, as long as the test set, and all outputs of each segment."""
    human = read_human_scores(one.human, one.judgments)
    if one.systems:
        human = human.of_systems(one.systems)
    if one.penalties:
        human = human.negated()
    files: dict[Path, TextFile] = {}  # what stands for a file, if segments are left out
    if not any(map(joining.is_gold, one.refs)):
        human, files = _joined(human, one)
    read = corpus.read_references(
        [files.get(path, path) for path in one.refs],
        vocabulary=Vocabulary(),
        source=one.source and files.get(one.source, one.source),
        links=[files.get(path, path) for path in one.ref_links],
    )
    if read.ids is not None:  # human scores name segments by their numbers
        joining.check_order(read.ids, one.refs[0], one.human)
    human = human.of_length(len(read), origin=one.refs[0])
    found, aligned = _outputs(one, human)
    outputs = [
        read_output(
            files.get(path, path),
            read,
            beside=one.refs[0],
            links=links and files.get(links, links),
        )
        for path, links in zip(found, aligned, strict=True)
    ]
    texts = corpus.interleaved(corpus.concatenate(outputs), len(outputs))
    return human, ready.batch(texts, ready.references(read))


def _outputs(one: JudgedSet, human: HumanScores) -> tuple[list[Path], list[Path | None]]:
    """Return the output of each system, and its word alignment if there are any."""
    outputs = find_outputs(one.outputs, human.systems, others_allowed=bool(one.systems))
    links = (
        {} if one.links is None else find_outputs(one.links, human.systems, others_allowed=True)
    )
    return list(outputs.values()), [links.get(system) for system in outputs]


def _joined(human: HumanScores, one: JudgedSet) -> tuple[HumanScores, dict[Path, TextFile]]:
    """Return the scores of the segments that are not left out, and their texts for each file."""
    outputs, links = _outputs(one, human)
    files = [*one.refs, *one.ref_links, *outputs, *filter(None, [one.source, *links])]
    texts = [joining.opened(path, drop=one.drop_missing) for path in files]
    in_order, ids, left_out = joining.joined(texts, drop=one.drop_missing)
    if ids is None:
        return human, {}
    if not left_out:
        return human, dict(zip(files, in_order, strict=True))
    every = next((text.all_ids for text in texts if isinstance(text, joining.LinesById)), ())
    every = every or next(filter(None, map(joining.seem_ids, texts))).ids
    joining.check_order(every, one.refs[0], one.human)
    joining.warn_left_out(left_out, "a text")
    numbers = {name: number for number, name in enumerate(every)}
    segments = np.array([numbers[name] for name in ids], dtype=np.int64)
    human = human.of_length(len(every), origin=one.refs[0]).of_segments(segments)
    return human, dict(zip(files, in_order, strict=True))
