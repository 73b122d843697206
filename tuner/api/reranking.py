"""The best hypothesis of each segment: under weights, by minimum Bayes risk, or by a metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from portmert.metrics._base import FloatArray, IntArray, Metric, Texts

from ..base import arguments, errors
from ..base.context import Progress, using
from ..base.frames import Framed
from ..base.numbers import NonNegative, Positive
from ..base.tables import aligned, preformatted
from ..base.warn import notice, warn, warn_of, warnings_so_far
from ..components import registry
from ..components.registry import MetricLike
from ..families import provided
from ..nbest.check import length_order
from ..nbest.findings import range_findings
from ..nbest.model import NBest, finite_feature, highest, model_scores
from ..nbest.votes import by_model
from ..search.length_penalty import penalised
from ..search.oracle import oracle
from ..weights.feature_weights import MOST_SHOWN, FeatureWeights
from ..weights.moses_ini import NEVER_TUNED
from .lists import Lists, ListsLike, Original, as_lists
from .optimizing import PreparedLists, Search, Start, WeightsLike, as_weights
from .texts import preparing


@dataclass(frozen=True, eq=False)
class Reranked(Framed):
    """The hypothesis chosen for each segment.

    Parameters
    ----------
    lines : tuple of str
        The texts of the hypotheses, tokens separated by spaces.
    rows : (S,) int64
        Their rows in the lists.
    texts : Texts
        Their tokens, with word alignments if the lists have them.
    ids : tuple of str
        The ids of the segments in the lists, or numbers from 0.
    scores : (S,) float64 or None
        Their model scores under the weights, or their expected scores; None without both.
    lists : Lists or None
        The lists that they are from.
    warnings : tuple of str
        What looks wrong with lists and weights, one line each.
    """

    lines: tuple[str, ...] = field(repr=False)
    rows: IntArray = field(repr=False)
    texts: Texts = field(repr=False)
    ids: tuple[str, ...] = field(repr=False)
    scores: FloatArray | None = field(default=None, repr=False)
    lists: Lists | None = field(default=None, repr=False)
    warnings: tuple[str, ...] = field(default_factory=warnings_so_far, repr=False, kw_only=True)

    @classmethod
    def of(cls, texts: Texts, rows: IntArray, *, ids: tuple[str, ...] | None = None) -> Reranked:
        """Return the hypotheses of these rows of `texts`, those of all lists."""
        best = texts.take(rows)
        lines = tuple(" ".join(best.words(row)) for row in range(len(best)))
        return cls(lines, rows, best, ids or tuple(str(n) for n in range(len(lines))))

    def __repr__(self) -> str:
        first = f", first={self.lines[0][:60]!r}" if self.lines else ""
        return f"Reranked(segments={len(self.lines)}{first})"

    def _repr_html_(self) -> str:
        """Return the first of them as a notebook shows it."""
        pairs = zip(self.ids[:MOST_SHOWN], self.lines, strict=False)
        rows = [[name, line[:60]] for name, line in pairs]
        title = f"{errors.counted(len(self.lines), 'segment')}, the first {len(rows)}:"
        return preformatted(f"{title}\n{aligned(['id', 'chosen'], rows)}")

    @property
    def frame_rows(self) -> list[dict[str, Any]]:
        """A row for each segment, as `as_json` returns it."""
        return self.as_json()

    @cached_property
    def _originals(self) -> tuple[Original, ...] | None:
        originals = None if self.lists is None else self.lists.originals
        return None if originals is None else tuple(originals[row] for row in self.rows)

    @property
    def given(self) -> tuple[str, ...] | None:
        """The texts as JSON or records have them, with line ends and indentation.

        None if the lists are neither.
        """
        return (
            None
            if self._originals is None
            else tuple(original.text for original in self._originals)
        )

    @property
    def records(self) -> tuple[dict[str, Any] | None, ...] | None:
        """The JSON objects of the hypotheses, None for one without; None for other lists."""
        return (
            None
            if self._originals is None
            else tuple(original.record for original in self._originals)
        )

    @property
    def indices(self) -> tuple[int, ...]:
        """The place of each among the hypotheses of its segment in its file, from 0.

        Equal hypotheses count. Without files: its place in the list.
        """
        if self.lists is None:
            raise ValueError("it is not known which lists these hypotheses are from")
        nbest = self.lists.nbest
        places = self.rows - nbest.offsets[:-1]
        return tuple((nbest.ranks[self.rows] - 1 if len(nbest.ranks) else places).tolist())

    def as_json(self) -> list[dict[str, Any]]:
        """Return what `portmert rerank --json` prints: an object for each segment.

        It has no place for warnings, which the command writes to stderr; see `warnings`.
        """
        records, size = self.records or (), len(self.lines)
        scores = (None,) * size if self.scores is None else self.scores.tolist()
        rows = zip(self.ids, self.indices, scores, self.given or self.lines, strict=True)
        keys = ("id", "index", "score", "text")
        objects: list[dict[str, Any]] = [dict(zip(keys, row, strict=True)) for row in rows]
        return [
            row if record is None else {**row, "record": record}
            for row, record in zip_longest(objects, records)
        ]

    @property
    def links(self) -> tuple[str, ...] | None:
        """The word alignments of the hypotheses, as `0-0 1-2`; None if the lists have none."""
        links = self.texts.links
        if links is None:
            return None
        return tuple(" ".join(f"{i}-{j}" for i, j in links.row(k)) for k in range(len(links)))


@dataclass(frozen=True)
class Mbr:
    """How minimum Bayes risk compares the hypotheses of a list with each other.

    Parameters
    ----------
    metric
        A metric of tokens; it needs no word alignments or parses. In Python also a matrix for each
        segment, (N, N): entry [i, j] is the utility of the i-th hypothesis if the j-th is right.
    temperature : T
        Minimum Bayes risk: as a reference, a hypothesis counts by the softmax of T times its model
        score, under the weights or, without weights, as in the list. Default: all count alike.
    size : N
        Minimum Bayes risk: use only the N hypotheses with the highest model scores as references;
        without weights and temperature the first N. Any one can still be chosen. Default: all.
    average
        Minimum Bayes risk: average the scores against all references, or score the average of the
        statistics, which is fast for BLEU and chrF on lists of any length.
    """

    metric: Any
    temperature: NonNegative | None = None
    size: Positive | None = None
    average: Literal["scores", "statistics"] = "scores"

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.size is not None and self.size < 1:
            raise ValueError(f"size is {self.size}; it must be at least 1")
        if self.temperature is not None and not 0.0 <= self.temperature < math.inf:
            raise ValueError(
                f"temperature is {self.temperature}; it must be 0 or more, and finite"
            )
        if self.average not in ("scores", "statistics"):
            raise ValueError(f"average is {self.average!r}; it is scores or statistics")


@arguments.checked
def rerank(
    lists: ListsLike,
    weights: WeightsLike | None = None,
    *,
    by: str | None = None,
    missing_features: Literal["refuse", "zero"] = "refuse",
    mbr: MetricLike | Mbr | Sequence[Any] | NDArray[Any] | None = None,
    oracle_metric: MetricLike | None = None,
    progress: Progress | None = None,
) -> Reranked:
    """Choose the best hypothesis of each segment, the first in the list if several are equal.

    Parameters
    ----------
    lists
        The n-best lists, `Lists`, or the names of files. Segments stay in the order of the lists.
    weights
        Weights: a file (our JSON, whose length penalty is applied, a moses.ini, or a runN.dense of
        mert-moses.pl); in Python also weights by name, or the result of `optimize`.
    by : NAME
        Choose by this feature alone, -NAME by the lowest; the others need no weights.
    missing_features
        Treatment of a feature that has a weight other than 0 but is in no list: an error, or its
        value is 0. Lists with sparse features may always lack some.
    mbr
        Minimum Bayes risk: choose the hypothesis with the highest expected score by this metric if
        one of the segment's hypotheses is right. Weights then only give probabilities, see `Mbr`.
    oracle_metric : METRIC
        Choose for a high score by this metric against the references: exchange hypotheses while
        the score rises, beginning with the best under the weights or with the first ones. The
        score is about the best of any choice.
    progress
        As in `optimize`, with phases `"annotating"` and `"comparing"`.

    Raises
    ------
    PortmertError
        Lists and weights do not fit.

    Examples
    --------
    >>> import portmert
    >>> records = [
    ...     {"id": 0, "text": "a b", "features": {"LM": -2.0, "TM": -1.0}},
    ...     {"id": 0, "text": "b a", "features": {"LM": -1.0, "TM": -3.0}},
    ... ]
    >>> lists = portmert.Lists.from_records(records)
    >>> portmert.rerank(lists, {"LM": 1.0, "TM": 0.1})
    Reranked(segments=1, first='b a')
    """
    metric = None if oracle_metric is None else registry.metric(oracle_metric)
    metrics = [] if metric is None else [metric]
    if mbr is not None and metric is not None:
        raise ValueError("mbr and oracle_metric choose by different things; give one of them")
    how = mbr if mbr is None or isinstance(mbr, Mbr) else Mbr(mbr)
    judge: Metric | list[FloatArray] | None = None
    if how is not None:
        of_utilities = not isinstance(how.metric, str) and hasattr(how.metric, "__len__")
        judge = list(map(_matrix, how.metric)) if of_utilities else registry.metric(how.metric)
    if by is not None and weights is not None:
        raise errors.ConfigError("--weights and --by choose by different things; give one of them")
    nbest_lists = as_lists(lists)
    if by is not None:
        weights = _only(by, nbest_lists.nbest)
    start = as_weights(weights)
    if nbest_lists.missing is None and start.rule != "error" and start.weights is not None:
        wanted = tuple(name for name, size in start.weights.names if size == 1)
        nbest_lists = replace(nbest_lists, missing=start.rule, wanted=wanted)
    with (
        using(threads=0, annotation_cache=nbest_lists.annotation_cache, progress=progress),
        preparing(nbest_lists.annotator) as prepare,
    ):
        preparation = prepare(metrics, nbest_lists.pipeline, None)
        read = PreparedLists.of(nbest_lists, metrics, preparation, Search())
        scores = None
        if weights is not None:
            scores = _model_scores(read, start, zero=missing_features == "zero")
        if how is not None and judge is not None:
            scores = _expected(how, judge, read, scores)
        best = read.nbest.offsets[:-1] if scores is None else highest(scores, read.nbest.offsets)
        if metric is not None:
            best = _oracle(read, best)
    reranked = Reranked.of(read.scored.texts, best, ids=read.nbest.ids)
    return replace(reranked, scores=None if scores is None else scores[best], lists=read.lists)


def _only(by: str, nbest: NBest) -> FeatureWeights:
    """Return the weights that choose by one feature."""
    names = dict(nbest.feature_names)
    name = by if by in names else by.removeprefix("-")
    if names.get(name) != 1:
        raise errors.InputError(
            f"the lists have no feature '{by}' of one value{errors.suggest(by, names)}"
        )
    zeros = {name: (0.0,) * size for name, size in names.items()}
    return FeatureWeights({**zeros, name: (1.0 if name == by else -1.0,)})


def _matrix(utilities: ArrayLike) -> FloatArray:
    return np.asarray(utilities, dtype=np.float64)


def _expected_utility(matrices: list[FloatArray], nbest: NBest, weights: FloatArray) -> FloatArray:
    """Return (H,) the mean utility of each hypothesis over those of its segment."""
    if len(matrices) != len(nbest):
        raise ValueError(
            f"{errors.counted(len(matrices), 'matrix')} of utilities for "
            f"{errors.counted(len(nbest), 'segment')}; give one for each, in their order"
        )
    parts = []
    for begin, end, matrix, name in zip(
        nbest.offsets[:-1], nbest.offsets[1:], matrices, nbest.names, strict=True
    ):
        size = end - begin
        places = nbest.ranks[begin:end] - 1 if len(nbest.ranks) else np.arange(size)
        if matrix.shape != (len(matrix),) * 2 or len(matrix) <= places.max() or len(matrix) < size:
            raise ValueError(
                f"segment {name}: utilities of shape {matrix.shape}; the list has "
                f"{errors.counted(int(size), 'hypothesis')}, so give ({size}, {size})"
            )
        parts.append(matrix[np.ix_(places, places)] @ weights[begin:end])
    return finite_feature("mbr", np.concatenate(parts), nbest)


def _expected(
    mbr: Mbr, metric: Metric | list[FloatArray], lists: PreparedLists, scores: FloatArray | None
) -> FloatArray:
    """Return (H,) expected scores, such that higher is better.

    Parameters
    ----------
    metric
        The metric of `mbr`, or its matrices.
    scores : (H,) float64 or None
        Model scores under the weights, if any.

    Raises
    ------
    InputError
        The metric needs more than tokens, or there are no scores for the temperature.
    """
    nbest = lists.nbest
    if scores is None and mbr.temperature is None:
        scores = np.zeros(len(nbest.texts))  # of equal ones the first come first
    elif scores is None:
        scores = nbest.model_scores
        starts = nbest.offsets[:-1]
        if (np.maximum.reduceat(scores, starts) == np.minimum.reduceat(scores, starts)).all():
            raise errors.InputError(
                "a temperature weighs hypotheses by their model scores, but in no segment do "
                "those of these lists differ; give weights, or no temperature"
            )
    weights = by_model(nbest.offsets, scores, temperature=mbr.temperature, size=mbr.size)
    if isinstance(metric, list):
        return _expected_utility(metric, nbest, weights)
    expected_scores = provided("portmert.expected_scores", "mbr")
    expected = expected_scores(
        metric, lists.scored.texts, nbest.offsets, weights, average=mbr.average
    )
    return finite_feature(f"mbr:{metric.name()}", metric.oriented(expected), nbest)


def _model_scores(lists: PreparedLists, start: Start, *, zero: bool) -> FloatArray:
    """Return (H,) scores under the weights."""
    weights, alpha, origin, tuned_on = start
    assert weights is not None  # noqa: S101  None is the caller's case
    if not zero:
        _refuse_missing(lists.nbest, weights, origin)
    scores = model_scores(penalised(lists.nbest, alpha), weights, origin=origin)
    warn_of(range_findings(tuned_on.ranges, lists.nbest, where="the lists"))
    if not alpha and (line := length_order(lists.nbest, scores)):
        warn(line)
    return scores


def _refuse_missing(nbest: NBest, weights: FeatureWeights, origin: str) -> None:
    """Raise `InputError` for weights of features that the lists lack."""
    if nbest.sparse is not None:
        return
    names = dict(nbest.feature_names)
    missing = [
        name
        for name, values in weights.values.items()
        if name not in names and any(values) and name.rstrip("0123456789") not in NEVER_TUNED
    ]
    if missing:
        raise errors.InputError(
            f"{origin}: weights of {', '.join(missing)}, which the lists lack (they have "
            f"{', '.join(names) or 'none'}); add the features to the lists, or count them as 0: "
            f"--missing-features zero"
        )


def _oracle(lists: PreparedLists, start: IntArray) -> IntArray:
    """Return hypotheses chosen for the metric, and notice their score."""
    stats, metric = lists.stats, lists.metric
    stats.need(np.arange(len(stats.rows)))
    score, rows = oracle(stats.rows, lists.nbest.offsets, metric, start)
    notice(f"oracle {metric.display.labelled(metric.signature)}: {metric.shown(score)}")
    return rows
