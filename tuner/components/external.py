"""Metrics from outside: scores in files; an extension adds others, as programs."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from portmert.metrics._base import Batch, FloatArray, Metric

from ..base import options
from ..base.errors import InputError
from ..nbest.feature_files import numbers_of
from ..nbest.findings import warn_of_dropped_outcomes
from ..nbest.model import NBest

NAMES = {
    "scores": "FILE",
    "command": "PROGRAM ARGUMENTS",
    "command+links": "PROGRAM ARGUMENTS",
    "comet": "MODEL",
    "m2": "FILE",
}
"""Names of metrics from outside, and what stands behind their colon."""
WRITTEN: str = (
    r"(?i:scores|comet|m2|command(?:\+links)?):"
    rf"(?:{options.QUOTES}|[^\s()*+,\"'])+(?:,(?:{options.QUOTES}|[^\s()*+,\"'])+)*"
)
"""Such a metric in a formula. Other arguments than this stand in quotes."""


@dataclass(frozen=True)
class MeanOfScores(Metric):
    """Averages scores that a subclass has for each hypothesis."""

    compares_words: ClassVar[bool] = False
    in_percent: ClassVar[bool] = False

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The score, and 1 for the hypothesis."""
        return ("sum", "segments")

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the mean score of stats (..., 2)."""
        return np.asarray(stats[..., 0] / np.maximum(stats[..., 1], 1.0))

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the number of segments."""
        return {"segments": float(stats[1])}


class NeuralMetric(MeanOfScores):
    """A metric whose scores come from a neural network and are kept in a cache."""

    @abstractmethod
    def use(self) -> None:
        """Keep scores in the cache of the context from now on, and show progress there."""


def neural(metric: Metric) -> Iterator[NeuralMetric]:
    """Yield the neural metrics in a metric: itself, or the parts of a formula."""
    if isinstance(metric, NeuralMetric):
        yield metric
    for part in getattr(metric, "metrics", ()):
        yield from neural(part)


@dataclass(frozen=True)
class Scores(MeanOfScores):
    """Averages scores that another program computed, one number for each hypothesis.

    Parameters
    ----------
    files
        One file for each n-best list, separated by commas. Line n is the score of the n-th
        hypothesis of the list, duplicates included. If hypotheses are equal, the score of the
        first counts. FILE#KEY takes the values of KEY in JSON lines, FILE.tsv#COLUMN those of a
        column. Where these have ids, they are joined by id and index, in any order.
    """

    files: tuple[Path, ...]

    source: ClassVar[str] = "the program that made the scores"
    reads_references: ClassVar[bool] = False
    of_lists: ClassVar[bool] = True

    @property
    def signature(self) -> str:
        """The name and the files."""
        return f"scores:{options.written_files(self.files)}"

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2)."""
        values = batch.outcomes.get(self.signature)
        if values is None:
            raise InputError("metric scores: these hypotheses are from no n-best list with scores")
        return np.column_stack([values, np.ones(len(values))])


@dataclass(frozen=True)
class Function(MeanOfScores):
    """Averages what a function of Python returns for each hypothesis; more is better.

    Parameters
    ----------
    function
        Takes the text of a hypothesis, tokens separated by spaces, and a list of its references.
    """

    function: Callable[[str, list[str]], float]

    source: ClassVar[str] = "the function"
    reads_references: ClassVar[bool] = False

    @property
    def signature(self) -> str:
        """The name of the function."""
        return f"function:{getattr(self.function, '__qualname__', 'function')}"

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2)."""
        values = []
        bounds = zip(pairwise(batch.offsets), pairwise(batch.reference_offsets), strict=True)
        for (first, last), (first_reference, last_reference) in bounds:
            references = [
                " ".join(batch.references.words(k)) for k in range(first_reference, last_reference)
            ]
            for row in range(first, last):
                value = float(self.function(" ".join(batch.hypotheses.words(row)), references))
                if not math.isfinite(value):
                    raise InputError(
                        f"metric {self.signature} is {value} for hypothesis {row - first + 1} of "
                        f"a segment, expected a finite number"
                    )
                values.append(value)
        return np.column_stack([values, np.ones(len(values))])


@dataclass(frozen=True)
class NameOf:
    """The name of a metric of outcomes is its attribute; the name of the class is `outcome`."""

    attribute: str

    def __get__(self, metric: Metric | None, _: type[Metric]) -> Callable[[], str]:
        return lambda: "outcome" if metric is None else str(getattr(metric, self.attribute))


@dataclass(frozen=True)
class Outcome(MeanOfScores):
    """Averages an outcome that lists have for each hypothesis, such as right or wrong.

    Parameters
    ----------
    column
        The name of the outcome; behind a hyphen if less is better.
    """

    column: str

    name = NameOf("column")  # pyright: ignore[reportAssignmentType]
    source: ClassVar[str] = "whoever judged the hypotheses"
    reads_references: ClassVar[bool] = False
    of_lists: ClassVar[bool] = True

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]
        """Whether no hyphen says that less is."""
        return not self.column.startswith("-")

    @property
    def signature(self) -> str:
        """The column."""
        return self.column

    @property
    def key(self) -> str:
        """The name of the outcome in the lists."""
        return self.column.removeprefix("-")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2)."""
        values = batch.outcomes.get(self.key)
        if values is None:
            raise InputError(f"these lists have no outcome {self.key}")
        return np.column_stack([values, np.ones(len(values))])


def scores_in(metrics: Iterable[Metric]) -> list[Scores]:
    """Return the metrics, or parts of formulas, that read scores of files."""
    parts = [part for metric in metrics for part in (metric, *getattr(metric, "metrics", ()))]
    return [part for part in parts if isinstance(part, Scores)]


def with_outcomes(nbest: NBest, metrics: Iterable[Metric], *, drop: bool) -> NBest:
    """Return lists with the scores of files that metrics, or parts of formulas, are made of.

    Parameters
    ----------
    drop
        Whether NaN stands where a file has no score.

    Raises
    ------
    InputError
        As `numbers_of`: there are more or fewer files or scores than hypotheses.
    """
    columns = dict(nbest.outcomes)
    for part in scores_in(metrics):
        if part.signature not in columns:
            values = numbers_of(nbest, part.files, where=part.signature, noun="score", drop=drop)
            warn_of_dropped_outcomes(nbest, {part.signature: values})
            columns[part.signature] = values[nbest.lines]
    return nbest if len(columns) == len(nbest.outcomes) else replace(nbest, outcomes=columns)
