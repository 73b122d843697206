"""Evaluates metrics by human scores."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from portmert.aligners._base import Aligner
from portmert.metrics._base import Batch, IntArray, Metric, Vocabulary
from portmert.tuner.api.texts import PathLike, pipeline_of, preparing
from portmert.tuner.base import arguments
from portmert.tuner.base.context import Progress, using
from portmert.tuner.base.errors import InputError, suggest
from portmert.tuner.base.errors import counted as counted_of
from portmert.tuner.base.files import TextFile, called
from portmert.tuner.base.options import file_key
from portmert.tuner.base.warn import notice, warn, warn_of
from portmert.tuner.components import external, registry
from portmert.tuner.evaluation.comparison.questions import Direction
from portmert.tuner.evaluation.report import Report
from portmert.tuner.evaluation.significance import Resampling
from portmert.tuner.families import provided
from portmert.tuner.texts import corpus, forms, joining, text_pipeline
from portmert.tuner.texts.annotator import Annotator
from portmert.tuner.texts.links import linking, links_made
from portmert.tuner.texts.prepare import Preparation, coverage, read_output
from portmert.tuner.texts.statistics import notices

from . import combined, data
from . import published as of_paper
from .data import Judged, MetricScores
from .evaluation import RESAMPLING, MetaEvaluation, evaluate
from .human_scores import HumanScores, JudgedSet, find_outputs, read_human_scores, read_judged_sets
from .report import document_of
from .results import as_json, combined_as_json


@arguments.checked
def metaeval(
    sets: JudgedSet | Sequence[JudgedSet] | PathLike,
    *,
    metric: str | Metric | Sequence[str | Metric],
    text: str | Sequence[str] | text_pipeline.TextPipeline = "",
    text_model: PathLike | None = None,
    annotator: str | Annotator | None = None,
    annotation_cache: PathLike | None = None,
    aligner: str | Aligner | None = None,
    likeness: bool = False,
    resampling: Resampling = RESAMPLING,
    resample: Literal["both", "segments", "systems"] = "both",
    better: Direction | None = None,
    published: Path | None = None,
    progress: Progress | None = None,
) -> Report:
    """Correlate metrics with human scores of several systems' outputs.

    Parameters
    ----------
    sets
        The human scores and outputs of one or several test sets; or a TOML file that lists them.
    metric : NAME[:OPTION=VALUE,...]
        Metric; `portmert metrics` lists all. In Python also an object. `scores:FILE#KEY` has
        scores computed elsewhere, with a key `system`, and the segment's number from 0 as id;
        or FILE.seg.score of mt-metrics-eval. Several sets take a file each: `scores:FILE,FILE`.
    aligner
        Aligner for the sets that have no links, as in `score`.
    likeness
        Also compute KING and ORANGE: hold out each reference in turn and rank it among the
        systems. Needs two references.
    resampling
        The number of samples and exchanges, the level of intervals, and the seed.
    resample
        Whether intervals of correlations are for other segments, other systems, or both. Tests of
        two metrics are of these systems.
    better
        Whether higher or lower scores are better, for `scores:` whose key does not tell.
    published
        A paper's results, such as configs/paper-edpm/published.toml. They are shown beside the
        correlations.

    Other parameters are those of `score`.

    Raises
    ------
    PortmertError
        Texts do not fit together, or lack something that a metric needs.

    Examples
    --------
    >>> import portmert
    >>> files = [f"configs/people/{name}" for name in ("human.tsv", "outputs", "post-edit.en")]
    >>> judged, few = portmert.JudgedSet(*files[:2], files[2:]), portmert.Resampling(20)
    >>> str(portmert.metaeval(judged, metric="chrf", resampling=few)).splitlines()[6]
    'chrf      0.624'
    """
    if isinstance(sets, JudgedSet):
        test_sets: Sequence[JudgedSet] = [sets]
    else:
        test_sets = read_judged_sets(Path(sets)) if isinstance(sets, str | Path) else sets
    if not test_sets:
        raise ValueError("give a test set, or several")
    metrics = registry.labelled(metric)
    if isinstance(aligner, str):
        aligner = registry.aligner(aligner, {}, where="aligner")
    figures = None if published is None else of_paper.read(published, metrics)
    measured: list[MetaEvaluation] = []
    signatures: dict[str, None] = {}
    with (
        using(threads=0, annotation_cache=annotation_cache, progress=progress),
        preparing(annotator) as prepare,
    ):
        preparation = prepare(list(metrics.values()), pipeline_of(text, text_model), None)
        for number, test_set in enumerate(test_sets):
            of_set = _of_set(metrics, number, len(test_sets))
            judged, counted = _counted(
                test_set, of_set, preparation, aligner, likeness=likeness, better=better
            )
            measured.append(evaluate(judged, counted, resampling, resample, name=test_set.name))
            signatures |= dict.fromkeys(each.signature for each in counted)
        if preparation.annotator is not None:
            notice(coverage(preparation.annotator))
    beside = partial(of_paper.tables, figures, metrics) if figures else lambda *_: ()
    if isinstance(sets, JudgedSet):
        layout = document_of(measured, None, list(signatures), beside(measured, None))
        return Report(layout, as_json(measured[0]))
    groups, scenarios = (
        [getattr(test_set, key) for test_set in test_sets] for key in ("group", "scenario")
    )
    together = combined.combine(measured, groups=groups, scenarios=scenarios)
    layout = document_of(measured, together, list(signatures), beside(measured, together))
    return Report(layout, combined_as_json(together))


def _counted(
    test_set: JudgedSet,
    metrics: Mapping[str, Metric],
    preparation: Preparation,
    aligner: Aligner | None,
    *,
    likeness: bool,
    better: Direction | None,
) -> tuple[Judged, list[MetricScores]]:
    """Read a test set and count with all metrics."""
    scores, batch = read_judged(test_set, preparation, aligner)
    judged, segments = data.judged(scores, batch, test_set.system_scores)
    computed = {label: x for label, x in metrics.items() if isinstance(x, external.Scores)}
    if computed and (likeness or test_set.missing == "segment"):
        raise InputError(
            f"metric {next(iter(computed))}: scores computed elsewhere are of the outputs of all "
            f"segments; leave out --likeness and --missing segment"
        )
    counted = [
        _computed_elsewhere(label, metric.files[0], scores, segments, better)
        if isinstance(metric, external.Scores)
        else data.metric_scores(
            label,
            metric,
            batch,
            segments=segments,
            systems=scores.systems,
            signature=preparation.signature(metric, batch.reference_offsets),
            with_likeness=likeness,
        )
        for label, metric in _labelled(metrics).items()
    ]
    before = f"{test_set.name}: " if test_set.name else ""
    for line in data.facts(judged, left_out=len(scores) - len(segments)):
        notice(before + line)
    doubts = [
        *data.doubts(judged, counted),
        *(n for label, m in metrics.items() if label not in computed for n in notices(m, batch)),
    ]
    warn_of(before + line for line in doubts)
    return judged, counted


def _of_set(metrics: Mapping[str, Metric], number: int, count: int) -> dict[str, Metric]:
    """Return the metrics of a test set: of scores in files, the set's file."""
    of_set = dict(metrics)
    for label, metric in metrics.items():
        if isinstance(metric, external.Scores):
            if len(metric.files) != count:
                raise InputError(
                    f"metric {label}: {counted_of(len(metric.files), 'file')}; expected one for "
                    f"each of {counted_of(count, 'test set')}"
                )
            of_set[label] = external.Scores((metric.files[number],))
    return of_set


def _computed_elsewhere(
    label: str, file: Path, human: HumanScores, segments: IntArray, better: Direction | None
) -> MetricScores:
    """Read a metric's scores of all systems; `segments` are kept.

    Raises
    ------
    InputError
        A system or a segment has no score.
    """
    outside = provided("portmert.outside_scores", "outside-scores")
    by_system = outside.read_outcomes(file)
    outputs = []
    names = tuple(map(str, range(len(human))))
    for system in human.systems:
        if system not in by_system:
            near = suggest(system, by_system)
            raise InputError(f"{called(file)}: no score of system '{system}'{near}")
        output = by_system[system]
        for lacking in output.lacking.values():
            raise InputError(f"{lacking}; every output needs a score")
        if output.ids is None and len(output) != len(names):
            raise InputError(
                f"{output.where}: {counted_of(len(output), 'score')}, the test set has "
                f"{counted_of(len(names), 'segment')}"
            )
        places = {name: place for place, name in enumerate(output.ids or names)}
        order = joining.positions(names, places, str(human.path), output.where)
        outputs.append(output.of_segments(order))
    (metric,) = outside.outcome_metrics(["mean"], outputs, better or "", "")
    stats = np.stack([metric.of_outcomes(output, "") for output in outputs], axis=1)
    return MetricScores(label, metric, metric.signature, stats[segments])


def _labelled(metrics: Mapping[str, Metric]) -> Mapping[str, Metric]:
    """Return metrics with their labels: files lose their folders, if that is clear."""
    by_label = {}
    for text, metric in metrics.items():
        label = text
        for option in fields(metric):
            value = getattr(metric, option.name)
            if isinstance(value, Path):
                label = label.replace(str(value), value.name)
        by_label[label] = metric
    return by_label if len(by_label) == len(metrics) else metrics


def read_judged(
    test_set: JudgedSet, preparation: Preparation, aligner: Aligner | None = None
) -> tuple[HumanScores, Batch]:
    """Return the human scores, as long as the test set, and all outputs of each segment."""
    human = read_human_scores(test_set.human, test_set.judgments)
    first = np.flatnonzero(~np.isnan(human.scores).all(axis=1))[:1].tolist()
    if first == [1] and not human.is_ranking:
        warn(
            f"{test_set.human}: no score of segment 0, one of segment 1: do its segments count "
            f"from 1? portmert counts them from 0; subtract 1 from each"
        )
    if test_set.systems:
        human = human.of_systems(test_set.systems)
    if test_set.penalties and human.is_ranking:
        raise InputError(f"{test_set.human}: ranks are penalties already; leave out --penalties")
    if test_set.penalties:
        human = human.negated()
    files: dict[Path, TextFile] = {}  # what stands for a file, if segments are left out
    if not any(map(joining.is_gold, test_set.refs)):
        human, files = _joined(human, test_set)
    refs = [files.get(path, path) for path in test_set.refs]
    source = test_set.source and files.get(test_set.source, test_set.source)
    ref_links = [files.get(path, path) for path in test_set.ref_links]
    with linking(aligner, source, refs) as linker:
        if linker is not None and not ref_links:
            ref_links = list(linker.dev_links())
        read = corpus.read_references(
            refs, vocabulary=Vocabulary(), source=source, links=ref_links
        )
        if read.ids is not None:  # human scores name segments by their numbers
            joining.check_order(read.ids, test_set.refs[0], test_set.human)
        human = human.of_length(len(read), origin=test_set.refs[0])
        if test_set.groups is not None:
            groups = _column_of_groups(test_set)
            human = human.in_groups(
                test_set.groups if groups is None else files.get(groups) or joining.opened(groups)
            )
        output_files, aligned = _outputs(test_set, human)
        outputs = [
            read_output(
                files.get(path, path),
                read,
                beside=test_set.refs[0],
                links=links and files.get(links, links),
            )
            for path, links in zip(output_files, aligned, strict=True)
        ]
        texts = corpus.interleaved(corpus.concatenate(outputs), len(outputs))
        texts = links_made(linker, texts, len(outputs), read)
    return human, preparation.batch(texts, preparation.references(read))


def _outputs(test_set: JudgedSet, human: HumanScores) -> tuple[list[Path], list[Path | None]]:
    """Return the output of each system, and its word alignment if there are any."""
    outputs = find_outputs(test_set.outputs, human.systems, others_allowed=bool(test_set.systems))
    links = (
        {}
        if test_set.links is None
        else find_outputs(test_set.links, human.systems, others_allowed=True)
    )
    return list(outputs.values()), [links.get(system) for system in outputs]


def _column_of_groups(test_set: JudgedSet) -> Path | None:
    """Return the column of a test set's groups; None where markup or lines tell them."""
    groups = test_set.groups
    return None if groups is None or file_key(groups)[1] is None else groups


def _joined(human: HumanScores, test_set: JudgedSet) -> tuple[HumanScores, dict[Path, TextFile]]:
    """Return the scores of the segments that are not left out, and their texts for each file."""
    outputs, links = _outputs(test_set, human)
    files = [
        *test_set.refs,
        *test_set.ref_links,
        *outputs,
        *filter(None, [test_set.source, _column_of_groups(test_set), *links]),
    ]
    texts = [joining.opened(path, drop=test_set.missing == "segment") for path in files]
    in_order, ids, left_out = joining.joined(texts, drop=test_set.missing == "segment")
    if ids is None:
        return human, {}
    if not left_out:
        return human, dict(zip(files, in_order, strict=True))
    every = next((text.all_ids for text in texts if isinstance(text, forms.LinesById)), ())
    every = every or next(filter(None, map(joining.seem_ids, texts))).ids
    joining.check_order(every, test_set.refs[0], test_set.human)
    joining.warn_left_out(left_out, "a text")
    numbers = {name: number for number, name in enumerate(every)}
    segments = np.array([numbers[name] for name in ids], dtype=np.int64)
    human = human.of_length(len(every), origin=test_set.refs[0]).of_segments(segments)
    return human, dict(zip(files, in_order, strict=True))
