"""Judges metrics by human scores, and learns one from them."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metrics._base import Vocabulary
from metrics._learned import Features, Model, checked_groups
from metrics._lexicon_files import content_hash
from tuner.annotation.annotating import open_annotator
from tuner.api.components import as_metric
from tuner.api.texts import log_notice, pipeline_of, preparing
from tuner.components import registry
from tuner.errors import InputError
from tuner.evaluation import metric_training as training
from tuner.evaluation.human_scores import HumanScores, find_outputs, read_human_scores
from tuner.evaluation.metaeval import data, report, summary
from tuner.evaluation.metaeval.combined import combine
from tuner.evaluation.metaeval.evaluation import Settings, measure
from tuner.evaluation.metaeval.page_data import page_data
from tuner.evaluation.metaeval.test_sets import TestSet, read_test_sets
from tuner.evaluation.page.html import render
from tuner.evaluation.reproduction.published import read_published
from tuner.processors import available_processors
from tuner.tables import as_latex, as_text
from tuner.texts import corpus
from tuner.texts.prepare import Preparation, read_output
from tuner.texts.statistics import notices

__all__ = ["Evaluated", "Report", "Trained", "checked_groups", "metaeval", "train_metric"]

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from metrics._base import Batch, Metric, Need
    from tuner.api.texts import Notice, Progress
    from tuner.evaluation.human_scores import Several
    from tuner.evaluation.metaeval.data import Judged, MetricScores
    from tuner.evaluation.metaeval.evaluation import Measured
    from tuner.evaluation.metaeval.intervals import Resampled
    from tuner.tables import Table
    from tuner.texts.text_pipeline import TextPipeline


@dataclass(frozen=True, eq=False)
class Report:
    """Holds what was found, as text, as tables and as plain data."""

    text: str
    tables: Sequence[Table] = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return self.text

    def as_latex(self) -> str:
        """Return the tables for LaTeX (booktabs)."""
        return as_latex(self.tables)


@dataclass(frozen=True, eq=False)
class Evaluated(Report):
    """Holds what a meta-evaluation found; its text is the summary.

    Parameters
    ----------
    signatures
        Of the metrics: all that scores depend on.
    page
        What the page shows.
    """

    signatures: Sequence[str] = field(repr=False, default=())
    page: Mapping[str, Any] = field(repr=False, default_factory=dict)

    @property
    def whole(self) -> str:
        """The summary and all tables."""
        return "\n\n".join([self.text, as_text(self.tables), "\n".join(self.signatures)])

    def as_html(self) -> str:
        """Return a page that needs no network."""
        return render(self.page)


def metaeval(
    human: Path | None = None,
    outputs: Path | None = None,
    refs: Sequence[Path] = (),
    *,
    metric: Sequence[str],
    sets: Path | None = None,
    penalties: bool = False,
    judgments: Several = "refuse",
    systems: Sequence[str] = (),
    source: Path | None = None,
    links: Path | None = None,
    ref_links: Sequence[Path] = (),
    text: str = "",
    text_model: Path | None = None,
    annotator: str | None = None,
    annotation_cache: Path | None = None,
    likeness: bool = False,
    samples: int = 1000,
    level: float = 0.95,
    resample: Resampled = "both",
    seed: int = 1,
    notice: Notice = log_notice,
    progress: Progress | None = None,
) -> Evaluated:
    """Correlate metrics with human scores of several systems' outputs.

    Parameters
    ----------
    human
        Human scores: columns system, segment (from 0), score and maybe document and judge, tabs
        between.
    outputs
        Folder of outputs named after their systems.
    metric
        As `"port:alpha=0.5"`.
    sets
        A TOML file that lists several test sets, in place of the one that `human`, `outputs`,
        `refs` and their kind describe.
    penalties
        Whether lower human scores are better (HTER).
    judgments
        What becomes of several judgments of one output: a fault, their mean, or a data point each.
    systems
        Only these; none: all.
    links
        Folder of links of source and outputs, named after the systems.
    likeness
        Whether to compute KING and ORANGE, which hold out each reference in turn.
    samples, level, resample, seed
        Of the intervals.

    Other parameters are those of `score`.

    Raises
    ------
    PortmertError
        Texts that do not fit, or that lack what a metric needs.
    ValueError
        Neither a test set nor a file of several, or both.
    """
    if (sets is None) == (human is None or outputs is None or not refs):
        raise ValueError("either human scores, outputs and references, or a file of test sets")
    if sets is not None:
        listed = read_test_sets(sets)
    else:
        assert human is not None  # noqa: S101  seen to above
        assert outputs is not None  # noqa: S101
        listed = (
            TestSet(
                human, outputs, tuple(refs), source=source, links=links, penalties=penalties,
                ref_links=tuple(ref_links), judgments=judgments, systems=tuple(systems),
            ),
        )  # fmt: skip
    metrics = {one: as_metric(one) for one in metric}
    settings = Settings(samples=samples, level=level, resampled=resample, seed=seed)
    measured: list[Measured] = []
    signatures: list[str] = []
    with preparing(annotator, annotation_cache, notice=notice, progress=progress) as prepare:
        ready = prepare(list(metrics.values()), pipeline_of(text, text_model), None)
        for number, one in enumerate(listed, 1):
            judged, counted = _counted(one, metrics, ready, notice, likeness=likeness)
            measured.append(measure(judged, counted, settings, name=one.name, number=number))
            signatures += [each.signature for each in counted]
    signatures = list(dict.fromkeys(signatures))
    if sets is None:
        found = measured[0].found
        document = report.as_json(found)
        lines = f"{found.judged.sizes}\n\n{summary.summary(found)}"
        listed_tables = report.tables(found)
        page = page_data([found], None, signatures)
    else:
        groups, scenarios = (
            [getattr(one, key) for one in listed] for key in ("group", "scenario")
        )
        together = combine(measured, groups=groups, scenarios=scenarios, settings=settings)
        document = report.combined_as_json(together)
        sizes = "\n".join(f"{one.found.name}: {one.found.judged.sizes}" for one in measured)
        lines = f"{sizes}\n\n{summary.combined_summary(together)}"
        listed_tables = report.combined_tables(together)
        page = page_data(together.parts, together, signatures)
    return Evaluated(lines, listed_tables, document, signatures, page)


def _counted(
    one: TestSet,
    metrics: Mapping[str, Metric],
    ready: Preparation,
    notice: Notice,
    *,
    likeness: bool,
) -> tuple[Judged, list[MetricScores]]:
    """Read a test set and count with all metrics."""
    scores = _human_scores(
        one.human, one.systems, penalties=one.penalties, judgments=one.judgments
    )
    scores, batch = _read(
        scores, one.outputs, one.refs, one.source, one.links, one.ref_links, ready,
        others=bool(one.systems),
    )  # fmt: skip
    judged, kept = data.judged(scores, batch)
    counted = [
        data.metric_scores(
            label,
            metric,
            batch,
            kept=kept,
            systems=len(scores.systems),
            signature=ready.signature(metric, batch.reference_offsets),
            threads=available_processors(),
            with_likeness=likeness,
        )
        for label, metric in _labelled(metrics).items()
    ]
    before = f"{one.name}: " if one.name else ""
    for line in (
        *data.notices(judged, counted, left_out=len(scores) - len(kept)),
        *dict.fromkeys(n for metric in metrics.values() for n in notices(metric, batch)),
    ):
        notice(before + line)
    return judged, counted


def _labelled(metrics: Mapping[str, Metric]) -> Mapping[str, Metric]:
    """Return metrics by what tables call them: files without their folders, if that is clear."""
    found = {}
    for text, metric in metrics.items():
        label = text
        for option in fields(metric):
            value = getattr(metric, option.name)
            if isinstance(value, Path):
                label = label.replace(str(value), value.name)
        found[label] = metric
    return found if len(found) == len(metrics) else metrics


@dataclass(frozen=True, eq=False)
class Trained:
    """Holds how well sets of features do, and the metric that was learnt.

    Parameters
    ----------
    report
        On documents that a set was not learnt on.
    model
        The file of the metric `learned:model=FILE`, learnt on all documents.
    says_nothing
        Whether all its weights are 0.
    """

    report: Report
    model: str = field(repr=False)
    says_nothing: bool


def train_metric(
    human: Path,
    outputs: Path,
    refs: Sequence[Path],
    *,
    groups: str,
    available: str,
    with_table: bool = False,
    penalties: bool = False,
    systems: Sequence[str] = (),
    text: str = "",
    text_model: Path | None = None,
    annotator: str | None = None,
    annotation_cache: Path | None = None,
    parses: int = 50,
    gamma: float = 0.25,
    costs: str = "terpa",
    language: str = "english",
    resources: Mapping[str, Path | None] | None = None,
    by_references: bool = False,
    published: Path | None = None,
    samples: int = 1000,
    seed: int = 1,
    notice: Notice = log_notice,
    progress: Progress | None = None,
) -> Trained:
    """Learn the weights of a metric's features from human scores.

    Parameters
    ----------
    groups, available
        Letters of the features of the metric, and of all that can be.
    with_table
        Try every set of features that can be.
    parses, gamma, costs, language
        As of `metrics._learned.Features`.
    resources
        `synonyms`, `paraphrases` and `stop_words`: their files.
    by_references
        Learn with fewer references too, to see what one more is worth.
    published
        A paper's tables, as of `reproduce`: what the one of features and correlations reports
        stands beside ours.
    samples
        Of the intervals: resampled segments.
    seed
        Deals out documents, or segments where no documents are known, and draws samples.

    Other parameters are those of `metaeval`.

    Raises
    ------
    PortmertError
        Texts or scores that do not fit.
    """
    wanted = available if with_table else groups
    features = Features(wanted, parses, gamma, costs, language)
    files = {name: path for name, path in (resources or {}).items() if path is not None}
    try:
        lexicon = features.lexicon({**dict.fromkeys(resources or {}), **files})
    except ValueError as error:
        raise InputError(str(error)) from None
    scores = _human_scores(human, systems, penalties=penalties)
    with ExitStack() as opened:
        ready = _preparation(
            annotator,
            annotation_cache,
            features.need,
            pipeline_of(text, text_model),
            notice,
            progress,
            opened,
        )
        scores, batch = _read(scores, outputs, refs, None, None, (), ready, others=bool(systems))
    judged, kept = data.judged(scores, batch)
    if judged.documents is None:
        notice("no documents are known (column 'document'): the halves are of single segments")
    if len(kept) < len(scores):
        notice(
            f"{len(scores) - len(kept)} of {len(scores)} segments are left out: not every system "
            f"has a score of them"
        )

    def examples_of(part: Batch) -> training.Examples:
        values = features.values(part, lexicon).reshape(len(part), len(judged.systems), -1)
        return training.Examples(values[kept], judged.human, judged.lengths, judged.documents)

    examples = examples_of(batch)
    plan = _Halves(judged, wanted, samples, seed)
    conditions = [
        plan.condition(examples, each)
        for each in (training.all_conditions(available) if with_table else [groups])
    ]
    reported = None if published is None else _reported(published)
    listed = [training.table(conditions, plan.sizes, units=plan.units, published=reported)]
    document: dict[str, Any] = {"seed": seed, "conditions": training.as_json(conditions)}
    if by_references:
        of_numbers = _by_references(batch, examples_of, plan, groups)
        listed.append(training.reference_table(of_numbers))
        document["references"] = training.as_json(of_numbers)
    own = Features(groups, parses, gamma, costs, language)
    part = examples.of_features([features.names.index(name) for name in own.names])
    weights = training.train(part, own.names)
    hashes = {name: content_hash(path) for name, path in files.items()}
    model = Model(
        own, tuple(weights.tolist()), hashes, _trained(part, weights, conditions, groups, ready)
    )
    found = Report(f"{judged.sizes}\n\n{as_text(listed)}", listed, document)
    return Trained(found, model.text(), not np.any(weights))


class _Halves:
    """Learns on halves of what was judged: of documents, or of segments where none are known."""

    def __init__(self, judged: Judged, available: str, samples: int, seed: int) -> None:
        self.available = available
        units = judged.documents
        self.units = "segments" if units is None else "documents"
        if units is None:
            units = np.arange(len(judged.human), dtype=np.int64)
        self.second = training.halves(units, judged.lengths, seed, groups=judged.groups)
        self.draws = training.draws_of(self.second, samples=samples, seed=seed)
        one, other = (len(np.unique(units[half])) for half in (~self.second, self.second))
        self.sizes = one, other

    def condition(self, examples: training.Examples, groups: str) -> training.Condition:
        """Return how well a set of features does on the half it was not learnt on."""
        return training.two_fold(
            examples, self.second, groups=groups, available=self.available, draws=self.draws
        )


def _by_references(
    batch: Batch,
    examples_of: Callable[[Batch], training.Examples],
    plan: _Halves,
    groups: str,
) -> list[training.Condition]:
    """Return how well features do with one reference, with two, and so on: means of all choices.

    Raises
    ------
    InputError
        There is one reference.
    """
    count = int(np.diff(batch.reference_offsets).min())
    if count < 2:
        raise InputError("one reference: what one more is worth needs at least two; repeat --ref")
    return [
        training.mean_condition(
            [
                plan.condition(examples_of(corpus.with_references(batch, chosen)), groups)
                for chosen in itertools.combinations(range(count), size)
            ]
        )
        for size in range(1, count + 1)
    ]


def _reported(path: Path) -> dict[str, str]:
    """Return what a paper reports of sets of features.

    Raises
    ------
    InputError
        The file is no such one, or has no table of features.
    """
    for table in read_published(path).table:
        if table.headers[:1] == ("features",) and len(table.headers) > 1:
            return {row[0]: row[1] for row in table.rows}
    raise InputError(f"{path}: no table whose first header is 'features'")


def _preparation(
    annotator: str | None,
    cache: Path | None,
    need: Need | None,
    pipeline: TextPipeline,
    notice: Notice,
    progress: Progress | None,
    opened: ExitStack,
) -> Preparation:
    if annotator is None or need is None:
        if annotator is not None:
            notice("no features of dependency links are asked for: the annotator is not used")
        return Preparation(pipeline)
    found = open_annotator(
        registry.annotator(annotator),
        cache=cache,
        processes=available_processors(),
        notice=notice,
        progress=progress,
    )
    opened.callback(found.close)
    return Preparation(pipeline, found, frozenset({need}))


def _trained(
    examples: training.Examples,
    weights: Any,
    conditions: Sequence[training.Condition],
    groups: str,
    ready: Preparation,
) -> dict[str, Any]:
    """Return what the file says about itself."""
    scores = training.score(examples.values, weights)
    reached = training.agreement(scores, examples)
    return {
        "segments": len(examples.human),
        "systems": examples.human.shape[1],
        "agreement": round(reached, training.DIGITS),
        "two_fold": training.as_json([one for one in conditions if one.groups == groups]),
        "text": ready.pipeline.signature,
        "annotator": "" if ready.annotator is None else ready.annotator.fingerprint,
    }


def _human_scores(
    path: Path, systems: Sequence[str], *, penalties: bool, judgments: Several = "refuse"
) -> HumanScores:
    found = read_human_scores(path, judgments)
    if systems:
        found = found.of_systems(systems)
    return found.negated() if penalties else found


def _read(
    human: HumanScores,
    folder: Path,
    refs: Sequence[Path],
    source: Path | None,
    links: Path | None,
    ref_links: Sequence[Path],
    ready: Preparation,
    *,
    others: bool,
) -> tuple[HumanScores, Batch]:
    """Return the scores, as long as the test set, and all outputs of each segment."""
    read = corpus.read_references(refs, vocabulary=Vocabulary(), source=source, links=ref_links)
    human = human.of_length(len(read), origin=refs[0])
    found = find_outputs(folder, human.systems, others=others)
    found_links = {} if links is None else find_outputs(links, human.systems, others=True)
    outputs = [
        read_output(path, read, beside=refs[0], links=found_links.get(system))
        for system, path in found.items()
    ]
    texts = corpus.interleaved(corpus.concatenate(outputs), len(outputs))
    return human, ready.batch(texts, ready.references(read))
