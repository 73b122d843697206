"""Learns a metric from human scores."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from portmert.extensions.metaeval import data
from portmert.extensions.metaeval import operation as metric_evaluation
from portmert.extensions.metaeval.data import Judged
from portmert.extensions.metaeval.human_scores import JudgedSet
from portmert.metrics import _lexicon_files
from portmert.metrics._base import Batch, IntArray, Need
from portmert.tuner.api import texts
from portmert.tuner.base import arguments, pipes
from portmert.tuner.base.context import Progress, available_processors, using
from portmert.tuner.base.errors import InputError, faults_at
from portmert.tuner.base.numbers import Natural, Positive
from portmert.tuner.base.tables import Table
from portmert.tuner.base.warn import notice
from portmert.tuner.components import registry
from portmert.tuner.evaluation.document import Document, Paragraph
from portmert.tuner.evaluation.published import read_published
from portmert.tuner.evaluation.report import Report
from portmert.tuner.texts import prepare, text_pipeline
from portmert.tuner.texts.annotator import open_annotator

from . import learned
from . import metric_training as training


@dataclass(frozen=True, eq=False)
class TrainedMetric:
    """The results of sets of features, and the metric that was learnt.

    Parameters
    ----------
    report
        How well each set of features does on documents from which it was not learnt.
    model
        The file of the metric `learned:model=FILE`, learnt on all documents.
    says_nothing
        Whether all weights of the metric are 0.
    """

    report: Report
    model: str = field(repr=False)
    says_nothing: bool


@arguments.checked
def train_metric(
    judged: JudgedSet,
    *,
    features: learned.LearnedFeatures | None = None,
    resources: Mapping[str, Path] | None = None,
    with_table: bool = False,
    published: Path | None = None,
    text: str = "",
    text_model: Path | None = None,
    annotator: str | None = None,
    annotation_cache: Path | None = None,
    samples: Positive = 1000,
    seed: Natural = 1,
    progress: Progress | None = None,
) -> TrainedMetric:
    """Learn the weights of a metric's features from human scores.

    Parameters
    ----------
    judged
        Human scores, the systems' outputs and the references.
    features
        The features of the metric. Default: all that the annotator and resources allow.
    resources
        The files of `synonyms`, `paraphrases` and `stop_words`.
    with_table
        Also try every possible set of features.
    published
        A paper's results, such as configs/paper-edpm/published.toml. They are shown too.
    samples
        Number of bootstrap samples for the intervals.
    seed
        Seed of the split by documents (by segments if documents are unknown) and of the samples.

    Other parameters are those of `metaeval`. Raises `PortmertError` if texts do not fit together.

    Examples
    --------
    >>> import portmert
    >>> files = [f"configs/people/{name}" for name in ("human.tsv", "outputs", "post-edit.en")]
    >>> trained = portmert.train_metric(portmert.JudgedSet(*files[:2], files[2:]), samples=20)
    >>> str(trained.report).splitlines()[6].split()[:4]  # on one half, the other, the mean
    ['TNB', '0.5129', '0.6026', '0.5577']
    """
    files = {name: pipes.standing(path) for name, path in (resources or {}).items()}
    available = "".join(
        group
        for group in learned.GROUPS
        if (group != "E" or annotator is not None) and (group != "P" or "paraphrases" in files)
    )
    learned_features = features or learned.LearnedFeatures("")
    learned_features = replace(
        learned_features,
        groups=learned.checked_groups(learned_features.groups)
        if learned_features.groups
        else available,
    )
    widest = replace(learned_features, groups=available) if with_table else learned_features
    try:
        lexicon = widest.lexicon(files)
    except ValueError as error:
        raise InputError(str(error)) from None
    pipeline = texts.pipeline_of(text, text_model)
    with (
        using(annotation_cache=annotation_cache, progress=progress),
        _prepared(annotator, widest.need, pipeline) as preparation,
    ):
        scored, used, batch = _read(judged, preparation)
    values = widest.values(batch, lexicon).reshape(len(batch), len(scored.systems), -1)
    examples = training.Examples(
        values[used], scored.human, scored.lengths, scored.numbers("document")
    )
    with faults_at(judged.human, InputError, InputError):
        halves = _Halves(scored, widest.groups, samples, seed)
    tried = training.all_conditions(available) if with_table else [learned_features.groups]
    conditions = [halves.condition(examples, groups) for groups in tried]
    report_tables = [_table(conditions, halves, scored, published)]
    document: dict[str, Any] = {"seed": seed, "conditions": training.as_json(conditions)}
    part = examples.of_features([widest.names.index(name) for name in learned_features.names])
    weights = training.train(part, learned_features.names)
    hashes = {name: _lexicon_files.content_hash(path) for name, path in files.items()}
    about = _trained(part, weights, conditions, learned_features.groups, preparation)
    model = learned.LearnedModel(learned_features, tuple(weights.tolist()), hashes, about)
    layout = Document("Learned metric", [Paragraph(scored.sizes, "headline"), *report_tables])
    report = Report(layout, document)
    return TrainedMetric(report, model.text(), not np.any(weights))


class _Halves:
    """Learns on halves of what was judged: of documents, or of segments where none are known."""

    def __init__(self, judged: Judged, available: str, samples: int, seed: int) -> None:
        self.available = available
        units = judged.numbers("document")
        self.units = "segments" if units is None else "documents"
        if units is None:
            units = np.arange(len(judged.human), dtype=np.int64)
        self.second = training.halves(units, judged.lengths, seed, groups=judged.numbers("group"))
        self.draws = training.draws_of(self.second, samples=samples, seed=seed)
        first_size, second_size = (
            len(np.unique(units[half])) for half in (~self.second, self.second)
        )
        self.sizes = first_size, second_size

    def condition(self, examples: training.Examples, groups: str) -> training.Condition:
        """Return how well a set of features does on the half it was not learnt on."""
        return training.two_fold(
            examples, self.second, groups=groups, available=self.available, draws=self.draws
        )


def _read(judged: JudgedSet, preparation: prepare.Preparation) -> tuple[Judged, IntArray, Batch]:
    """Return the human scores, the segments that have them of all systems, and all texts."""
    scores, batch = metric_evaluation.read_judged(judged, preparation)
    if preparation.annotator is not None:
        notice(prepare.coverage(preparation.annotator))
    scored, used = data.judged(scores, batch)
    if "document" not in scored.partitions:
        notice("no documents are known (column 'document'): the halves are of single segments")
    if len(used) < len(scores):
        notice(
            f"{len(scores) - len(used)} of {len(scores)} segments are left out: not every system "
            f"has a score of them"
        )
    return scored, used, batch


def _table(
    conditions: Sequence[training.Condition],
    halves: _Halves,
    judged: Judged,
    published: Path | None,
) -> Table:
    """Return the table of all sets of features; its title says which means are removed."""
    removed = ", the mean of each document removed" if "document" in judged.partitions else ""
    if len(judged.systems) > 1:
        removed = ", the mean of systems removed"
    reported = None if published is None else _reported(published)
    return training.table(
        conditions, halves.sizes, units=halves.units, removed=removed, published=reported
    )


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


@contextmanager
def _prepared(
    annotator: str | None, need: Need | None, pipeline: text_pipeline.TextPipeline
) -> Iterator[prepare.Preparation]:
    """Prepare texts, with an annotator while the context lasts."""
    tagger = None if annotator is None else registry.annotator(annotator)
    if tagger is None or need is None:
        if tagger is not None:
            notice("no features of dependency links are asked for: the annotator is not used")
        yield prepare.Preparation(pipeline)
        return
    text_annotator = open_annotator(tagger, processes=available_processors())
    with closing(text_annotator):
        yield prepare.Preparation(pipeline, text_annotator, frozenset({need}))


def _trained(
    examples: training.Examples,
    weights: Any,
    conditions: Sequence[training.Condition],
    groups: str,
    preparation: prepare.Preparation,
) -> dict[str, Any]:
    """Return what the file says about itself."""
    scores = examples.values @ weights
    reached = training.agreement(scores, examples)
    return {
        "segments": len(examples.human),
        "systems": examples.human.shape[1],
        "agreement": training.rounded(reached),
        "two_fold": training.as_json(
            [condition for condition in conditions if condition.groups == groups]
        ),
        "text": preparation.pipeline.signature,
        "annotator": "" if preparation.annotator is None else preparation.annotator.fingerprint,
    }
