"""Finds the dev set of a run after the fact, and scores lists of it.

Results are stored in the folder `history` of the run, because its lists never change. Nothing is
stored if the folder cannot be written to.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from portmert.metrics._base import IntArray, Metric, Need, Vocabulary

from ...base.errors import ConfigError, InputError, ProgramError, StateError
from ...base.files import file_digest, read_lines, text_digest
from ...nbest.check import check_links
from ...nbest.model import NBest
from ...nbest.read import read_first_hypotheses
from ...runs.inputs import NAME, Inputs, read_inputs
from ...runs.records import read_json, write_json
from ...runs.scorer import held_out_split
from ...search import list_statistics
from ...search.stat_table import StatTable
from ...texts import corpus, joining, statistics
from ...texts.annotator import Annotator
from ...texts.links import Linker
from ...texts.prepare import Preparation, Prepare


class UnknownDevSet(Exception):  # noqa: N818  not a fault: the answer is not known
    """The reason why something cannot be scored on a run's dev set."""


@dataclass(frozen=True, eq=False)
class ScoringTools:
    """Tools to score the dev sets of runs with.

    Parameters
    ----------
    lenders
        Folders of other runs. The first one with links of the same dev set lends them to a run
        that has none.
    prepare
        Makes texts ready. Without it, metrics of syntax cannot be computed.
    annotator
        For runs that have none of their own.
    """

    lenders: Sequence[Path] = ()
    prepare: Prepare | None = None
    annotator: Annotator | None = None


@dataclass(frozen=True, eq=False)
class DevSet:
    """The dev set of one run.

    Parameters
    ----------
    folder
        The folder of the run.
    inputs
        The files and components of the run.
    tuned : (n,) int64, or None for all
        The segments that were tuned on.
    digests
        Hashes of source and references; stored results of other files are ignored.
    lender
        The run whose aligner links this run's texts, if this run has no links.
    """

    folder: Path
    inputs: Inputs
    tuned: IntArray | None
    digests: tuple[str, ...]
    tools: ScoringTools
    lender: tuple[Path, Inputs] | None = None
    _references: dict[frozenset[Need], corpus.References] = field(default_factory=dict)

    @classmethod
    def of_run(cls, folder: Path, fingerprint: Mapping[str, str], tools: ScoringTools) -> DevSet:
        """Find the dev set of a run.

        Raises
        ------
        UnknownDevSet
            The run did not record its dev set, or the files have changed or are gone.
        """
        try:
            inputs = read_inputs(folder)
        except ConfigError as error:
            raise UnknownDevSet(str(error)) from None
        if inputs is None:
            raise UnknownDevSet("the run did not record its dev set")
        data = inputs.data
        for path in (data.source, *data.references):
            if not path.is_file():
                raise UnknownDevSet(f"{path.name} of the dev set is gone")
        digests = _digests(inputs)
        recorded = [fingerprint.get("data.source"), fingerprint.get("data.references")]
        if recorded != [json.dumps(digests[0]), json.dumps(digests[1:])]:
            raise UnknownDevSet("the files of the dev set have changed since")
        share = float(fingerprint["tune.held_out"])
        seed = int(fingerprint["tune.seed"])
        tuned = held_out_split(len(read_lines(data.source)), share, seed)[0] if share else None
        lender = None
        if not _has_links(inputs):
            lender = next(_able(tools.lenders, digests), None)
        return cls(folder, inputs, tuned, tuple(digests), tools, lender)

    @cached_property
    def sources(self) -> list[str]:
        """The lines of the source."""
        return read_lines(self.inputs.data.source)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of references and all hypotheses."""
        return Vocabulary()

    @cached_property
    def linker(self) -> Linker:
        """The linker of the run, or of the lender; it reuses links in that run's folder."""
        folder, inputs = self.lender or (self.folder, self.inputs)
        data = inputs.data
        return Linker(
            inputs.components.get("aligner"),
            folder / "annotations",
            data.source,
            tuple(data.references),
        )

    @cached_property
    def references(self) -> corpus.References:
        """The references as read, with links if they are known or can be made."""
        data = self.inputs.data
        links: tuple[Path, ...] = ()
        if self.has_links:
            _, inputs = self.lender or (self.folder, self.inputs)
            links = tuple(inputs.data.reference_links) or self.linker.dev_links()
        return corpus.read_references(
            data.references, vocabulary=self.vocabulary, source=data.source, links=links
        )

    def preparation(self, metric: Metric) -> Preparation:
        """Return what makes texts ready for a metric."""
        pipeline = self.inputs.data.pipeline
        if self.tools.prepare is None or not statistics.needs_of([metric]):
            return Preparation(pipeline)
        annotator = self.inputs.components.get("annotator", self.tools.annotator)
        return self.tools.prepare([metric], pipeline, annotator)

    @property
    def has_links(self) -> bool:
        """Whether links of the references are known or can be made."""
        return self.lender is not None or _has_links(self.inputs)

    def check(self, metric: Metric) -> Metric:
        """Return a metric. Raise UnknownDevSet if its annotations or links are not known here."""
        try:
            if statistics.needs_of([metric]) and self.preparation(metric).annotator is None:
                raise UnknownDevSet(f"{metric.name()} needs an annotator")
        except (InputError, ProgramError) as error:
            raise UnknownDevSet(str(error)) from None
        if "links" in metric.needs and not self.has_links:
            raise UnknownDevSet(f"{metric.name()} needs word alignments")
        return metric

    def stats(self, metric: Metric, nbest: NBest) -> StatTable:
        """Return the statistics of a list read into `vocabulary`."""
        texts = nbest.texts
        if "links" in metric.needs:
            if self.references.source_lengths is not None:
                check_links(nbest, self.references.source_lengths)
            texts = self.linker.hypothesis_links(
                texts, offsets=nbest.offsets, sources=self.sources
            )
        needs = statistics.needs_of([metric])
        if needs not in self._references:
            self._references[needs] = self.preparation(metric).references(self.references)
        scored, annotate = self.preparation(metric).lazily(texts)
        return list_statistics.statistics_table(
            replace(nbest, texts=scored),
            self._references[needs],
            metric,
            annotate=annotate,
            check=False,  # the run itself has warned
        )

    def score_first(self, path: Path, metrics: Mapping[str, Metric]) -> dict[str, float]:
        """Return the score of a list's first hypotheses under each metric, by label."""
        stored = StoredResults(
            self, f"scores-{'-'.join(path.relative_to(self.folder).parent.parts)}.json"
        )
        content, scores = file_digest(path), {}

        @cache
        def nbest() -> NBest:
            _ = self.references  # their words come first in the vocabulary
            return read_first_hypotheses(path, self.vocabulary, segments=len(self.sources))

        for label, metric in metrics.items():
            key = self.key(metric)

            def score(metric: Metric = metric) -> float:
                return self.stats(metric, nbest()).score(metric, all_segments(self))

            scores[label] = float(stored.get(key and f"{key}|{content}", score))
        return scores

    def key(self, metric: Metric) -> str | None:
        """Return all that a score depends on besides the list; None if a file is part of it."""
        for option in dataclasses.fields(metric):
            value = getattr(metric, option.name)
            if isinstance(value, Path | tuple):
                return None
        lent = ""
        if self.lender is not None and "links" in metric.needs:
            # A relative path: it stays the same if both runs are moved.
            folder = os.path.relpath(self.lender[0].resolve(), self.folder.resolve())
            lent = f"|{folder}|{file_digest(self.lender[0] / NAME)}"
        return self.preparation(metric).signature(metric, len(self.inputs.data.references)) + lent


class StoredResults:
    """Results stored in one file of a run's folder, for one state of the dev set."""

    def __init__(self, dev: DevSet, name: str) -> None:
        self._path = dev.folder / "history" / name
        self._data = list(dev.digests)
        self._values: dict[str, Any] = {}
        try:
            content = read_json(self._path) if self._path.is_file() else {}
        except StateError:
            content = {}  # it is made again
        if content.get("data") == self._data and content.get("digest") == self._digest(content):
            self._values = content["found"]

    def get(self, key: str | None, make: Callable[[], Any], *, alone: bool = False) -> Any:
        """Return the value of a key; one that is not known is made, of JSON's types, and stored.

        Without a key, or in a folder that cannot be written to, it is not stored. A value that
        stands `alone` replaces all others.
        """
        if key is not None and key in self._values:
            return self._values[key]
        value = make()
        if key is not None:
            self._values = {**({} if alone else self._values), key: value}
            if os.access(self._path.parent.parent, os.W_OK):
                self._path.parent.mkdir(exist_ok=True)
                content = {"data": self._data, "found": self._values}
                write_json(self._path, {**content, "digest": self._digest(content)})
        return value

    @staticmethod
    def _digest(content: Mapping[str, Any]) -> str:
        """Return a hash by which a damaged file is noticed."""
        return text_digest(json.dumps(content.get("found"), sort_keys=True))


def metric_of(signature: str) -> Metric:
    """Return the metric of a signature that a run has written.

    Raises
    ------
    UnknownDevSet
        The signature is not enough: it does not contain the folders of files.
    """
    from ...components import registry  # noqa: PLC0415  it reads all metrics

    text = signature.partition("|")[0]
    try:
        metric = registry.metric(text)
    except (ConfigError, StateError, ValueError) as error:
        raise UnknownDevSet(f"{text} cannot be computed again: {error}") from None
    if metric.signature != text:
        raise UnknownDevSet(f"{text} cannot be computed again: it is now {metric.signature}")
    return metric


def _has_links(inputs: Inputs) -> bool:
    return bool(inputs.data.reference_links) or inputs.components.get("aligner") is not None


def _able(lenders: Sequence[Path], digests: Sequence[str]) -> Iterator[tuple[Path, Inputs]]:
    """Yield the runs that have links of a dev set with these digests."""
    for folder in lenders:
        try:
            inputs = read_inputs(folder)
        except (ConfigError, StateError):
            continue  # the report on that run says so
        if inputs is None or not _has_links(inputs):
            continue
        files = (inputs.data.source, *inputs.data.references)
        if all(path.is_file() for path in files) and _digests(inputs) == list(digests):
            yield folder, inputs


def _digests(inputs: Inputs) -> list[str]:
    """Return hashes of source and references."""
    files = (inputs.data.source, *inputs.data.references)
    return [joining.content_digest(path) for path in files]


def all_segments(dev: DevSet) -> IntArray:
    """Return the segments that scores of the run are about."""
    return np.arange(len(dev.sources)) if dev.tuned is None else dev.tuned
