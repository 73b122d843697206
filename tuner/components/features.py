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
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator

from portmert.metrics._base import FloatArray, Metric, Texts

from ..base import options, pipes
from ..base.errors import ConfigError, InputError, counted, faults_at
from ..base.files import Lines, TextFile, read_lines
from ..base.warn import warn
from ..nbest.extra import numbers_of
from ..nbest.model import NBest, finite
from ..texts import corpus, joining, mbr, prepare, statistics
from . import registry


@dataclass(frozen=True, eq=False)
class Ground:
    """The input from which features are computed.

    Parameters
    ----------
    nbest
        The lists as they were read.
    ready
        Prepares texts for metrics, hypotheses and references alike.
    source_lengths : (S,) integer or None
        Tokens of each source segment, if the source is given.
    drop
        Whether NaN stands for a value that a file lacks.
    """

    nbest: NBest
    ready: prepare.Preparation = field(default_factory=prepare.Preparation)
    source_lengths: corpus.IntegerArray | None = None
    drop: bool = False

    @cached_property
    def scored(self) -> Texts:
        """The hypotheses after text steps, without annotations."""
        return self.ready.lazily(self.nbest.texts)[0]

    def metric(self, text: str) -> Metric:
        """Return a metric that compares tokens alone.

        Raises
        ------
        ConfigError
            It is unknown, or needs links or parses.
        """
        found = registry.metric(text)
        if found.needs or not found.reads_references:
            what = (
                ", ".join(sorted(map(str, found.needs)))
                or "no references but a file: write NAME=FILE"
            )
            raise ConfigError(
                f"metric {found.name()} needs {what}; features are made by metrics that compare "
                f"tokens with references"
            )
        return found


def _length(on: Ground, argument: str) -> FloatArray:
    """Return the number of tokens of each hypothesis, as it stands in the list."""
    _only("length", argument)
    return on.nbest.texts.tokens.lengths.astype(np.float64)


def _ratio(on: Ground, argument: str) -> FloatArray:
    """Return the length of each hypothesis divided by the source's, or by the mean of its list.

    The two differ in scale, and weights tuned with one are wrong for the other. So users must name
    the one they mean.
    """
    lengths, offsets = on.nbest.texts.tokens.lengths.astype(np.float64), on.nbest.offsets
    counts = np.diff(offsets)
    if argument == "list":
        by = np.add.reduceat(lengths, offsets[:-1]) / counts
    else:
        _only("ratio", argument, "list")
        if on.source_lengths is None:
            raise InputError(
                "ratio is the length of the hypothesis by that of the source: give --source, or "
                "take `ratio:list`, by the mean length of the segment's hypotheses"
            )
        if len(on.source_lengths) != len(counts):
            raise InputError(
                f"ratio: the source has {counted(len(on.source_lengths), 'segment')}, the lists "
                f"{len(counts)}"
            )
        by = on.source_lengths.astype(np.float64)
    values: FloatArray = lengths / np.repeat(np.where(by == 0, 1.0, by), counts)
    return values


def _mbr(on: Ground, argument: str) -> FloatArray:
    """Return the mean score of each hypothesis against all hypotheses of its list."""
    if not argument:
        raise ConfigError("mbr needs a metric: write mbr:chrf")
    metric, offsets = on.metric(argument), on.nbest.offsets
    return mbr.expected_scores(metric, on.scored, offsets, mbr.uniform(offsets))


COMPUTED: dict[str, Callable[[Ground, str], FloatArray]] = {
    "length": _length,
    "mbr": _mbr,
    "ratio": _ratio,
}
"""Functions that return (H,) values, by name. The second argument is the text behind a colon."""


def _only(name: str, argument: str, *known: str) -> None:
    if argument:
        forms = " or ".join([name, *(f"{name}:{one}" for one in known)])
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
        files_of = tuple(one if str(one) == pipes.STDIN else within / one for one in paths)
        return cls(spec, name, metric=metric, files=files_of)

    def content(self) -> dict[str, object]:
        """Return all that the values depend on besides the lists; files are paths."""
        found = asdict(self)
        del found["spec"]
        return found

    def values(self, on: Ground) -> FloatArray:
        """Return (H,) its values."""
        if self.computed:
            name, _, argument = self.computed.partition(":")
            column = COMPUTED[name](on, argument)
        elif self.metric:
            column = _against(on, self._compared(on), self.files)
        else:
            where = f"--feature {self.spec}"
            column = numbers_of(on.nbest, self.files, where=where, drop=on.drop)
        return 0.0 - column if self.name.startswith("-") else column

    def _compared(self, on: Ground) -> Metric:
        """Return the metric; an unknown one may be the begin of a file's name."""
        try:
            return on.metric(self.metric)
        except ConfigError as error:
            _, _, value = options.name_value(self.spec)
            raise ConfigError(f"{error}; nor is there a file '{value}'") from None


def as_feature(given: object) -> object:
    """Return the feature that a text describes; return other objects as they are."""
    return Feature.parse(given) if isinstance(given, str) else given


FeatureLike = Annotated[Feature, BeforeValidator(as_feature)]
"""The type of options of components that are features."""


def with_features(
    nbest: NBest,
    features: Sequence[str | Feature],
    *,
    ready: prepare.Preparation | None = None,
    source_lengths: corpus.IntegerArray | None = None,
    lacking: set[int] | None = None,
) -> NBest:
    """Return lists with more features, behind their own.

    Parameters
    ----------
    lacking
        Gets the numbers of the segments that lack a value, which is then 0; None: all have each.

    Raises
    ------
    ConfigError
        A feature has no name or file, or the lists have one of its name.
    InputError
        A file cannot be read, or has more or fewer numbers or lines than the lists.
    """
    if not features:
        return nbest
    drop = lacking is not None
    on = Ground(nbest, ready or prepare.Preparation(), source_lengths, drop=drop)
    known = {name for name, _ in nbest.feature_names}
    if nbest.sparse is not None:
        known.update(nbest.sparse.names)
    columns, names, starts = [nbest.features], list(nbest.feature_names), nbest.offsets[:-1]
    for given in features:
        feature = Feature.parse(given) if isinstance(given, str) else given
        where, name = f"--feature {feature.spec}", feature.name
        if name in known or len(name.split()) != 1 or "=" in name:
            what = "the lists have it already" if name in known else "a name is one word without ="
            raise ConfigError(f"{where}: there can be no feature '{name}': {what}")
        with faults_at(where, ConfigError, ConfigError):
            column = feature.values(on)
            if lacking is not None and feature.files:
                rows = np.flatnonzero(np.isnan(column))
                lacking.update((np.searchsorted(nbest.offsets, rows, side="right") - 1).tolist())
                column = np.where(np.isnan(column), 0.0, column)
            column = finite(name, column, nbest)
        if (np.maximum.reduceat(column, starts) == np.minimum.reduceat(column, starts)).all():
            warn(f"feature {name} is equal for all hypotheses of a segment: it changes nothing")
        known.add(name)
        names.append((name, 1))
        columns.append(column[:, np.newaxis])
    return replace(
        nbest, features=np.asfortranarray(np.hstack(columns)), feature_names=tuple(names)
    )


def _key(text: str) -> str:
    return text.partition(":")[0]


def _against(on: Ground, metric: Metric, files: Sequence[Path]) -> FloatArray:
    """Return (H,) scores of the hypotheses against texts in place of references."""
    texts, offsets = on.scored, on.nbest.offsets
    given, lacking = _of_segments(on, files)
    read = corpus.read_references(given, vocabulary=texts.vocabulary)
    if len(read) != len(on.nbest):
        raise InputError(
            f"{files[0]}: {counted(len(read), 'line')}, the lists have "
            f"{counted(len(on.nbest), 'segment')}"
        )
    batch = corpus.make_batch(texts, offsets, on.ready.references(read))
    for line in statistics.notices(metric, batch):
        warn(line)
    scores = np.asarray(metric.score(statistics.compute_stats(metric, batch)), dtype=np.float64)
    return np.where(np.repeat(lacking, np.diff(offsets)), np.nan, scores)


def _of_segments(
    on: Ground, files: Sequence[Path]
) -> tuple[Sequence[TextFile], NDArray[np.bool_]]:
    """Return texts in the order of the lists, and (S,) which segments one of them lacks."""
    lacking = np.zeros(len(on.nbest), dtype=np.bool_)
    opened = [joining.opened(file, drop=on.drop) for file in files]
    if on.nbest.ids is None and not any(isinstance(one, joining.LinesById) for one in opened):
        return opened, lacking
    ids = on.nbest.ids or tuple(map(str, range(len(on.nbest))))
    lists = joining.LinesById("the n-best lists", (), ids)
    given, common, _ = joining.joined(opened, lists, drop=on.drop)
    if common == ids:
        return given, lacking
    places = {name: number for number, name in enumerate(common or ())}
    lacking = np.array([name not in places for name in ids])
    texts = [read_lines(text) for text in given]
    return [
        Lines(str(name), (text[places[one]] if one in places else "" for one in ids))
        for name, text in zip(files, texts, strict=True)
    ], lacking
