"""Adds features to n-best lists: numbers from files, lengths, metrics against other outputs.

    feature = computed | ["-"] name "=" (computed | metric "@" file ("," file)* | file ("," file)*)

A feature without a name is called as it is written. With `-` before its name it is taken times -1,
and the `-` stays part of the name: for numbers of which less is better.

    qe=FILE[,FILE]     one number for each hypothesis, in the order of the list, duplicates and
                       all (of equal hypotheses the first one's counts); a file for each list
    other=METRIC@FILE  the metric's score of each hypothesis against a text with one line a
                       segment, as another system's output; several files are several references

What else is computed stands in `COMPUTED`. A file whose name has an @ and that is there is a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BeforeValidator

from portmert.metrics._base import FloatArray, Metric, Texts
from portmert.tuner.components import registry
from portmert.tuner.ground.errors import ConfigError, InputError, counted, faults_at
from portmert.tuner.nbest.extra import numbers_of
from portmert.tuner.nbest.model import NBest
from portmert.tuner.texts.corpus import IntegerArray, make_batch, read_references
from portmert.tuner.texts.mbr import expected_scores, uniform
from portmert.tuner.texts.prepare import Preparation
from portmert.tuner.texts.statistics import compute_stats, notices


@dataclass(frozen=True, eq=False)
class Ground:
    """Holds what features are computed from.

    Parameters
    ----------
    nbest
        The lists as they were read.
    ready
        Makes texts ready for metrics, hypotheses and references alike.
    source_lengths : (S,) integer or None
        Tokens of each source segment, where the source is given.
    notice
        Called with one line for what is worth knowing.
    """

    nbest: NBest
    ready: Preparation = field(default_factory=Preparation)
    source_lengths: IntegerArray | None = None
    notice: Callable[[str], None] = lambda _: None

    @cached_property
    def scored(self) -> Texts:
        """The hypotheses as metrics see them, without annotations."""
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
    """Return tokens of the hypothesis, as it stands in the list."""
    _only("length", argument)
    lengths: FloatArray = on.nbest.texts.tokens.lengths.astype(np.float64)
    return lengths


def _ratio(on: Ground, argument: str) -> FloatArray:
    """Return tokens of the hypothesis per token of the source, or of its list's mean.

    The two differ in scale, so that what is meant must be said: weights tuned with one of them
    are wrong for the other.
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
    """Return the mean score of the hypothesis against all hypotheses of its list, each once."""
    if not argument:
        raise ConfigError("mbr needs a metric: write mbr:chrf")
    metric, offsets = on.metric(argument), on.nbest.offsets
    return expected_scores(metric, on.scored, offsets, uniform(offsets))


COMPUTED: dict[str, Callable[[Ground, str], FloatArray]] = {
    "length": _length,
    "mbr": _mbr,
    "ratio": _ratio,
}
"""Name -> what returns (H,) values; its second argument is what stands behind a colon, or ""."""


def _only(name: str, argument: str, *known: str) -> None:
    if argument:
        forms = " or ".join([name, *(f"{name}:{one}" for one in known)])
        raise ConfigError(f"there is no {name}:{argument}; write {forms}")


@dataclass(frozen=True)
class Feature:
    """Says what a feature is called and made of; the top has the form that it is written in.

    Parameters
    ----------
    spec
        As it was written.
    name
        What it is called; with `-` before it the values are taken times -1.
    computed
        The name in `COMPUTED`, maybe with a colon and more, or "".
    metric
        The metric whose scores against the files it has, or "".
    files
        Of numbers, or of texts for a metric.
    """

    spec: str
    name: str
    computed: str = ""
    metric: str = ""
    files: tuple[Path, ...] = ()

    @classmethod
    def parse(cls, spec: str, folder: Path | None = None) -> Feature:
        """Return the feature written so; relative files are those of the folder.

        Raises
        ------
        ConfigError
            It has no name, nothing behind the name, or a name of several words.
        """
        name, equals, value = spec.partition("=")
        wrong = ConfigError(
            f"--feature {spec}: expected NAME=FILE, NAME=METRIC@FILE, or one of "
            f"{', '.join(COMPUTED)}"
        )
        if _key(spec) in COMPUTED:
            return cls(spec, spec, computed=spec)
        if not equals or not name.strip("-") or not all(value.split(",")):
            raise wrong
        if _key(value) in COMPUTED:
            return cls(spec, name, computed=value)

        def paths(text: str) -> tuple[Path, ...]:
            return tuple((folder or Path()) / Path(part).expanduser() for part in text.split(","))

        metric, at, files = value.partition("@")
        if at and not os.path.isfile(paths(value)[0]):  # noqa: PTH113  long names
            if not metric or not files:
                raise wrong
            return cls(spec, name, metric=metric, files=paths(files))
        return cls(spec, name, files=paths(value))

    def content(self) -> dict[str, object]:
        """Return all that the values depend on but the lists, files among it as paths."""
        found = asdict(self)
        del found["spec"]
        return found

    def values(self, on: Ground) -> FloatArray:
        """Return (H,) its values."""
        if self.computed:
            name, _, argument = self.computed.partition(":")
            column = COMPUTED[name](on, argument)
        elif self.metric:
            column = _against(on, on.metric(self.metric), self.files)
        else:
            column = numbers_of(on.nbest, self.files, where=f"--feature {self.spec}")
        return 0.0 - column if self.name.startswith("-") else column


def as_feature(given: object) -> object:
    """Return the feature that a text describes; anything else stays."""
    return Feature.parse(given) if isinstance(given, str) else given


FeatureLike = Annotated[Feature, BeforeValidator(as_feature)]
"""The type of components' options that are features."""


def with_features(
    nbest: NBest,
    features: Sequence[str | Feature],
    *,
    ready: Preparation | None = None,
    source_lengths: IntegerArray | None = None,
    notice: Callable[[str], None] = lambda _: None,
) -> NBest:
    """Return lists with more features, behind those that they have.

    Raises
    ------
    ConfigError
        A feature of no name or file, or one that the lists have.
    InputError
        A file that cannot be read, or with more or fewer numbers or lines; says both.
    """
    if not features:
        return nbest
    on = Ground(nbest, ready or Preparation(), source_lengths, notice)
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
        if (np.maximum.reduceat(column, starts) == np.minimum.reduceat(column, starts)).all():
            notice(f"feature {name} is equal for all hypotheses of a segment: it changes nothing")
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
    read = read_references(files, vocabulary=texts.vocabulary)
    if len(read) != len(on.nbest):
        raise InputError(
            f"{files[0]}: {counted(len(read), 'line')}, the lists have "
            f"{counted(len(on.nbest), 'segment')}"
        )
    batch = make_batch(texts, offsets, on.ready.references(read))
    for line in notices(metric, batch):
        on.notice(line)
    return np.asarray(metric.score(compute_stats(metric, batch)), dtype=np.float64)
