"""Learns a metric from human scores."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from portmert.metrics._base import Batch, Need
from portmert.metrics._lexicon_files import content_hash
from portmert.metrics.learned import Features, Model, checked_groups
from portmert.tuner.annotation.annotating import TextAnnotator
from portmert.tuner.annotation.cache import default_folder
from portmert.tuner.api.judging import JudgedSet, Report, read_judged
from portmert.tuner.api.texts import Notice, Progress, log_notice, pipeline_of
from portmert.tuner.components import registry
from portmert.tuner.evaluation import metric_training as training
from portmert.tuner.evaluation.metaeval import data
from portmert.tuner.evaluation.metaeval.data import Judged
from portmert.tuner.evaluation.reproduction.published import read_published
from portmert.tuner.ground.errors import InputError
from portmert.tuner.ground.processes import available_processors
from portmert.tuner.ground.tables import as_text
from portmert.tuner.texts import corpus
from portmert.tuner.texts.prepare import Preparation, coverage
from portmert.tuner.texts.text_pipeline import TextPipeline

__all__ = ["Trained", "checked_groups", "train_metric"]


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
        As of `portmert.metrics.learned.Features`.
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
    judged_set = JudgedSet(
        human, outputs, tuple(refs), penalties=penalties, systems=tuple(systems)
    )
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
        scores, batch = read_judged(judged_set, ready)
        if ready.annotator is not None:
            notice(coverage(ready.annotator))
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
    listed = [
        training.table(
            conditions, plan.sizes, units=plan.units, removed=_removed(judged), published=reported
        )
    ]
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


def _removed(judged: Judged) -> str:
    """Return which means are removed, as the title of the table ends."""
    if len(judged.systems) > 1:
        return ", the mean of systems removed"
    return "" if judged.documents is None else ", the mean of each document removed"


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
    found = TextAnnotator(
        registry.annotator(annotator),
        cache=cache or default_folder(),
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
