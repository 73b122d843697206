"""Features to add to n-best lists: numbers from files, lengths, metrics against other outputs.

    feature = computed | ["-"] name "=" (computed | metric "@" file ("," file)* | file ("," file)*)

The name of a feature without one is its own text. A `-` before the name negates the values, for
numbers where less is better; it stays part of the name.

    qe=FILE[,FILE]     one number for each hypothesis in the order of the list, duplicates included
                       (the first of equal hypotheses counts); a file for each list. Or lines as
                       `utt-2 -1.5`, by segment and number; one file may then be of all lists
    other=METRIC@FILE  the metric's score of each hypothesis against a text with one line a
                       segment, such as another system's output; several files are several
                       references

`COMPUTED` has the others. `base/options.py` says where texts are split, and what quotes do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BeforeValidator

from portmert.metrics._base import FloatArray, Metric, Texts, rows_taken

from ..base import options, pipes
from ..base.errors import ConfigError, InputError, counted, faults_at
from ..base.files import TextFile
from ..base.warn import warn
from ..families import provided
from ..nbest import votes
from ..nbest.feature_files import numbers_of
from ..nbest.model import NBest, columns_added, finite_feature
from ..texts import corpus, forms, joining, prepare, statistics
from . import registry


@dataclass(frozen=True, eq=False)
class FeatureInputs:
    """What features are computed from.

    Parameters
    ----------
    nbest
        The lists as they were read.
    preparation
        Prepares texts for metrics, hypotheses and references alike.
    source_lengths : (S,) integer or None
        Tokens of each source segment, if the source is given.
    drop
        Whether NaN stands for a value that a file lacks.
    """

    nbest: NBest
    preparation: prepare.Preparation = field(default_factory=prepare.Preparation)
    source_lengths: corpus.IntegerArray | None = None
    drop: bool = False

    @property
    def texts(self) -> Texts:
        """The hypotheses as they stand in the lists."""
        if not self.nbest.has_texts:
            raise InputError("it needs texts, and these lists have no texts")
        return self.nbest.texts

    @cached_property
    def scored(self) -> Texts:
        """The hypotheses after text steps, without annotations."""
        return self.preparation.lazily(self.texts)[0]

    def metric(self, text: str) -> Metric:
        """Return a metric that compares tokens alone.

        Raises
        ------
        ConfigError
            It is unknown, or needs links or parses.
        """
        metric = registry.metric(text)
        if metric.needs or not metric.reads_references:
            needs = (
                ", ".join(sorted(map(str, metric.needs)))
                or "no references but a file: write NAME=FILE"
            )
            raise ConfigError(
                f"metric {metric.name()} needs {needs}; features are made by metrics that compare "
                f"tokens with references"
            )
        return metric


def _length(inputs: FeatureInputs, argument: str) -> FloatArray:
    """Return the number of tokens of each hypothesis, as it stands in the list."""
    _only("length", argument)
    return inputs.texts.tokens.lengths.astype(np.float64)


def _ratio(inputs: FeatureInputs, argument: str) -> FloatArray:
    """Return the length of each hypothesis divided by the source's, or by the mean of its list.

    The two differ in scale, and weights tuned with one are wrong for the other. So users must name
    the one they mean.
    """
    lengths, offsets = inputs.texts.tokens.lengths.astype(np.float64), inputs.nbest.offsets
    counts = np.diff(offsets)
    if argument == "list":
        by = np.add.reduceat(lengths, offsets[:-1]) / counts
    else:
        _only("ratio", argument, "list")
        if inputs.source_lengths is None:
            raise InputError(
                "ratio is the length of the hypothesis by that of the source: give --source, or "
                "take `ratio:list`, by the mean length of the segment's hypotheses"
            )
        if len(inputs.source_lengths) != len(counts):
            raise InputError(
                f"ratio: the source has {counted(len(inputs.source_lengths), 'segment')}, the "
                f"lists {len(counts)}"
            )
        by = inputs.source_lengths.astype(np.float64)
    values: FloatArray = lengths / np.repeat(np.where(by == 0, 1.0, by), counts)
    return values


def _mbr(inputs: FeatureInputs, argument: str) -> FloatArray:
    """Return the mean score of each hypothesis against all hypotheses of its list."""
    if not argument:
        raise ConfigError("mbr needs a metric: write mbr:chrf")
    metric, offsets = inputs.metric(argument), inputs.nbest.offsets
    expected_scores = provided("portmert.expected_scores", "mbr")
    values: FloatArray = expected_scores(metric, inputs.scored, offsets, votes.uniform(offsets))
    return values


COMPUTED: dict[str, Callable[[FeatureInputs, str], FloatArray]] = {
    "length": _length,
    "mbr": _mbr,
    "ratio": _ratio,
}
"""Functions that return (H,) values, by name. The second argument is the text behind a colon."""


def _only(name: str, argument: str, *arguments: str) -> None:
    if argument:
        forms = " or ".join([name, *(f"{name}:{form}" for form in arguments)])
        raise ConfigError(f"there is no {name}:{argument}; write {forms}")


@dataclass(frozen=True)
class Feature:
    """A feature; the docstring of this module shows how to write it.

    Parameters
    ----------
    spec
        The text of the feature as it was written.
    name
        The name of the feature; values are negated if it begins with `-`.
    computed
        A name in `COMPUTED`, which a colon and an argument may follow; or "".
    metric
        The metric that compares hypotheses with the files; or "".
    files
        Files of numbers, or of texts for the metric.
    """

    spec: str
    name: str
    computed: str = ""
    metric: str = ""
    files: tuple[Path, ...] = ()

    @classmethod
    def parse(cls, spec: str, folder: Path | None = None) -> Feature:
        """Return the feature that is written so; relative paths begin at the folder.

        Raises
        ------
        ConfigError
            It has no name, a name of several words, or nothing behind the name.
        """
        where = f"--feature {spec}"
        if _key(spec) in COMPUTED:
            return cls(spec, spec, computed=spec)
        with faults_at(where, ConfigError, ConfigError):
            name, _, value = options.name_value(spec)
        if not value or not name.strip("-"):
            missing = "the name" if value else "a file or a metric"
            raise ConfigError(
                f"{where}: {missing} is missing; expected NAME=FILE, NAME=METRIC@FILE, or one of "
                f"{', '.join(COMPUTED)}"
            )
        if _key(value) in COMPUTED and not options.exists(value, folder):
            return cls(spec, name, computed=value)
        with faults_at(where, ConfigError, ConfigError):
            metric, at, files = options.metric_file(value, folder)
        if at and not metric:
            raise ConfigError(f"{where}: the metric before the @ is missing in '{value}'")
        paths = options.files(files, where=where, folder=folder)
        within = folder or Path()
        files_of = tuple(path if str(path) == pipes.STDIN else within / path for path in paths)
        return cls(spec, name, metric=metric, files=files_of)

    def content(self) -> dict[str, object]:
        """Return all that the values depend on besides the lists; files are paths."""
        content = asdict(self)
        del content["spec"]
        return content

    def values(self, inputs: FeatureInputs) -> FloatArray:
        """Return (H,) its values."""
        if self.computed:
            name, _, argument = self.computed.partition(":")
            column = COMPUTED[name](inputs, argument)
        elif self.metric:
            column = _against(inputs, self._compared(inputs), self.files)
        else:
            where = f"--feature {self.spec}"
            column = numbers_of(inputs.nbest, self.files, where=where, drop=inputs.drop)
            column = column[inputs.nbest.lines]
        return 0.0 - column if self.name.startswith("-") else column

    def _compared(self, inputs: FeatureInputs) -> Metric:
        """Return the metric; an unknown one may be the begin of a file's name."""
        try:
            return inputs.metric(self.metric)
        except ConfigError as error:
            _, _, value = options.name_value(self.spec)
            raise ConfigError(f"{error}; nor is there a file '{value}'") from None


FeatureLike = Annotated[
    Feature,
    BeforeValidator(lambda value: Feature.parse(value) if isinstance(value, str) else value),
]
"""The type of options of components that are features; a text describes one."""


def with_features(
    nbest: NBest,
    features: Sequence[str | Feature],
    *,
    preparation: prepare.Preparation | None = None,
    source_lengths: corpus.IntegerArray | None = None,
    drop: bool = False,
) -> NBest:
    """Return lists with more features, behind their own.

    Parameters
    ----------
    drop
        Whether files may lack values, which are NaN then.

    Raises
    ------
    ConfigError
        A feature has no name or file, or the lists have one of its name.
    InputError
        A file cannot be read, or has more or fewer numbers or lines than the lists.
    """
    if not features:
        return nbest
    inputs = FeatureInputs(nbest, preparation or prepare.Preparation(), source_lengths, drop=drop)
    names_so_far = {name for name, _ in nbest.feature_names}
    if nbest.sparse is not None:
        names_so_far.update(nbest.sparse.names)
    columns: dict[str, FloatArray] = {}
    starts = nbest.offsets[:-1]
    for spec in features:
        feature = Feature.parse(spec) if isinstance(spec, str) else spec
        where, name = f"--feature {feature.spec}", feature.name
        if name in names_so_far or len(name.split()) != 1 or "=" in name:
            fault = (
                "the lists have it already"
                if name in names_so_far
                else "a name is one word without ="
            )
            raise ConfigError(f"{where}: there can be no feature '{name}': {fault}")
        with faults_at(where, ConfigError, ConfigError):
            column = feature.values(inputs)
            lacks = np.isnan(column) if drop and feature.files else np.False_
            column = finite_feature(name, np.where(lacks, 0.0, column), nbest)
            columns[name] = np.where(lacks, np.nan, column)
        if (np.maximum.reduceat(column, starts) == np.minimum.reduceat(column, starts)).all():
            warn(f"feature {name} is equal for all hypotheses of a segment: it changes nothing")
        names_so_far.add(name)
    return columns_added(nbest, columns)


def _key(text: str) -> str:
    return text.partition(":")[0]


def _against(inputs: FeatureInputs, metric: Metric, files: Sequence[Path]) -> FloatArray:
    """Return (H,) scores of the hypotheses against texts in place of references; NaN without."""
    texts, nbest = inputs.scored, inputs.nbest
    opened: Sequence[TextFile] = [joining.opened(file, drop=inputs.drop) for file in files]
    has_ids = nbest.ids or any(isinstance(text, forms.LinesById) for text in opened)
    like = forms.LinesById("the n-best lists", (), nbest.names) if has_ids else None
    read = corpus.read_references(opened, vocabulary=texts.vocabulary, like=like, drop=inputs.drop)
    if like is None and len(read) != len(nbest):
        raise InputError(
            f"{files[0]}: {counted(len(read), 'line')}, the lists have "
            f"{counted(len(nbest), 'segment')}"
        )
    there = set(read.ids or nbest.names)
    present = np.flatnonzero([name in there for name in nbest.names])
    rows, offsets = rows_taken(nbest.offsets, present)
    batch = corpus.make_batch(texts.take(rows), offsets, inputs.preparation.references(read))
    for line in statistics.notices(metric, batch):
        warn(line)
    stats = statistics.compute_stats(metric, batch)
    scores = np.full(len(texts), np.nan)
    scores[rows] = metric.segment_scores(stats, stats.sum(axis=0))
    return scores
