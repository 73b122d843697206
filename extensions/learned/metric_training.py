"""Trains weights of features that agree best with human scores.

The objective is TERp's, the "weighted mean removed segment Pearson" (docs/metrics/terp.md). The
mean over systems is subtracted from the features and human scores of each segment. The rest is
correlated over all systems and segments, with segments weighted by their length. If there is one
system, the mean of each document is subtracted, or that of all segments if no documents are known.
The weights of a least squares fit have the highest correlation. As in TERp, its edits may only
lower a score, and its matches have no weight. That leaves a convex problem, which is solved
exactly: without a start, random numbers or local optima.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from portmert.extensions.metaeval.correlation import from_sums, mean_removed, pearson
from portmert.metrics._base import FloatArray, IntArray
from portmert.metrics._display import NOTHING
from portmert.tuner.base import streams
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.tables import Table
from portmert.tuner.base.variation import interval
from portmert.tuner.evaluation.formatting import decimals

from .learned import GROUPS, feature_names

BoolArray = NDArray[np.bool_]

DIGITS = 10
"""Digits of weights and correlations that are kept. Later ones depend on the processor."""
_EDITS = GROUPS["T"][1:]
_MATCH = GROUPS["T"][0]


@dataclass(frozen=True, eq=False)
class Examples:
    """The data that weights are learnt from: M systems' translations of S segments.

    Parameters
    ----------
    values : (S, M, F) float64
        Features.
    human : (S, M) float64
        Higher is better.
    lengths : (S,) float64
        Reference words of each segment, the mean of several.
    documents : (S,) int64 or None
        Documents in which means are removed if there is one system; None: all segments are one.
    """

    values: FloatArray
    human: FloatArray
    lengths: FloatArray
    documents: IntArray | None = None

    def of_segments(self, segments: BoolArray) -> Examples:
        """Return the examples of some segments."""
        return Examples(
            self.values[segments],
            self.human[segments],
            self.lengths[segments],
            None if self.documents is None else self.documents[segments],
        )

    def of_features(self, columns: Sequence[int]) -> Examples:
        """Return the examples with some of the features."""
        return replace(self, values=self.values[:, :, columns])

    def removed(self, scores: FloatArray) -> FloatArray:
        """Return scores (..., S, M) without the mean of each segment, or document (see above)."""
        if self.human.shape[1] > 1:
            return mean_removed(scores)
        groups = np.zeros(len(self.lengths), dtype=np.int64)
        if self.documents is not None:
            groups = np.unique(self.documents, return_inverse=True)[1]
        weights = np.zeros((int(groups.max(initial=0)) + 1, len(groups)))
        weights[groups, np.arange(len(groups))] = self.lengths
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        return np.asarray(scores - (weights @ scores)[..., groups, :])


@dataclass(frozen=True)
class Condition:
    """How well one set of features does.

    Parameters
    ----------
    groups
        Letters of `portmert.extensions.learned.learned.GROUPS`.
    trained, tested
        Objective on the half learnt from, and on the other, for either half.
    samples : (B,) float64
        The mean of what is tested, under resampled segments.
    """

    groups: str
    trained: tuple[float, float]
    tested: tuple[float, float]
    samples: FloatArray = field(repr=False, compare=False)

    @property
    def mean(self) -> float:
        """The mean objective of both tests."""
        return sum(self.tested) / 2


def agreement(scores: FloatArray, examples: Examples) -> float:
    """Return the length-weighted mean-removed Pearson's r of scores (S, M) and human scores.

    NaN if scores or human scores do not vary.
    """
    weights = np.repeat(examples.lengths, scores.shape[1])
    x, y = (examples.removed(x).ravel() for x in (scores, examples.human))
    return float(pearson(x, y, weights=weights))


def agreements(scores: FloatArray, examples: Examples, draws: FloatArray) -> FloatArray:
    """Return (B,) agreements of samples; draws (B, S) are the counts of each segment in them.

    NaN in a sample that does not vary, and in all if there is one segment.
    """
    x, y = (examples.removed(x) for x in (scores, examples.human))
    w = np.broadcast_to(examples.lengths[:, np.newaxis], x.shape)
    terms = np.stack(
        [(w * product).sum(axis=1) for product in (np.ones_like(x), x, y, x * x, y * y, x * y)]
    )
    n, sx, sy, xx, yy, xy = (draws @ terms.T).T
    n = np.maximum(n, 1e-300)
    correlations = from_sums(
        xy - sx * sy / n, _positive(xx - sx * sx / n, xx), _positive(yy - sy * sy / n, yy)
    )
    return correlations if len(x) > 1 else np.full_like(correlations, np.nan)


def _positive(variance: FloatArray, squares: FloatArray) -> FloatArray:
    """Return variances, 0 where they are rounding errors."""
    return np.where(variance > 1e-12 * squares, variance, 0.0)


def train(examples: Examples, names: Sequence[str]) -> FloatArray:
    """Return (F,) weights of the highest agreement; features of no use have 0.

    Raises
    ------
    InputError
        Human scores do not differ where means are removed.
    """
    from scipy.optimize import lsq_linear  # noqa: PLC0415  start-up time

    root = np.sqrt(examples.lengths)[:, np.newaxis]
    y = (root * examples.removed(examples.human)).ravel()
    if not np.any(np.abs(y) > 1e-12):
        has_systems = examples.human.shape[1] > 1
        raise InputError(
            f"the human scores are the same for all "
            f"{'systems in every segment' if has_systems else 'segments'} to learn from; nothing "
            f"can be learnt from them"
        )
    values = examples.removed(np.moveaxis(examples.values, 2, 0))
    x = (root * values).reshape(len(names), -1).T
    scale = np.sqrt((x**2).sum(axis=0))
    used = (scale > 1e-9) & np.array([name != _MATCH for name in names])
    weights = np.zeros(len(names))
    if used.any():
        highest = np.array([0.0 if name in _EDITS else np.inf for name in names])
        x = x[:, used] / scale[used]
        # Features that agree share their weight; too weak a pull to lower the agreement.
        x = np.concatenate([x, 1e-3 * np.eye(x.shape[1])])
        y = np.concatenate([y, np.zeros(x.shape[1])])
        solution = lsq_linear(
            x, y, bounds=(np.full(x.shape[1], -np.inf), highest[used]), method="bvls"
        )
        weights[used] = (
            np.minimum(solution.x, highest[used]) / scale[used]
        )  # bvls may pass by 1e-17
    return np.array([float(f"{weight:.{DIGITS}g}") + 0.0 for weight in weights])


def halves(
    documents: IntArray, lengths: FloatArray, seed: int, *, groups: IntArray | None = None
) -> BoolArray:
    """Return (S,) bool: segments of the second half; documents stay whole.

    Documents go, in random order, to the half that has fewer words of their group. If both halves
    have as many, they go to the half with fewer words in all.

    Parameters
    ----------
    groups : (S,) int64, optional
        Groups of documents, such as languages, that are spread evenly over both halves.

    Raises
    ------
    InputError
        Fewer than two documents, or one in two groups.
    """
    names = np.unique(documents)
    if len(names) < 2:
        raise InputError(
            f"{len(names)} document; the halves to learn from and to test on are of whole "
            f"documents, so at least two are needed"
        )
    group_of = np.zeros(len(documents), dtype=np.int64)
    if groups is not None:
        group_of = np.unique(groups, return_inverse=True)[1]
    second = np.zeros(len(documents), dtype=np.bool_)
    words = np.zeros((int(group_of.max()) + 1, 2))
    for name in streams.whole(seed).permutation(names):
        of_document = documents == name
        group = group_of[of_document][0]
        if np.any(group_of[of_document] != group):
            raise InputError("a document has segments of two groups; its halves cannot be even")
        here, all_of_them = words[group], words.sum(axis=0)
        half = int((here[1], all_of_them[1]) < (here[0], all_of_them[0]))
        words[group, half] += float(lengths[of_document].sum())
        second |= of_document & (half == 1)
    return second


def draws_of(second: BoolArray, *, samples: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return (samples, n) counts of each segment in each sample, of second half and first half.

    They are the same for all conditions, so that differences between conditions are paired.
    """
    rng = streams.training_bootstrap(seed)
    first_draws, second_draws = (
        rng.multinomial(n, np.full(n, 1 / n), size=samples).astype(np.float64)
        for n in (int(second.sum()), int((~second).sum()))
    )
    return first_draws, second_draws


def two_fold(
    examples: Examples,
    second: BoolArray,
    *,
    groups: str,
    available: str,
    draws: tuple[FloatArray, FloatArray],
) -> Condition:
    """Learn on either half and test on the other.

    Parameters
    ----------
    examples
        With the features of the groups `available`.
    second : (S,) bool
        Segments of the second half.
    groups
        Groups to use.
    draws
        Samples of the second half, and of the first, as of `draws_of`.

    Raises
    ------
    InputError
        As `train`.
    """
    names = feature_names(groups)
    part = examples.of_features([feature_names(available).index(name) for name in names])
    trained: list[float] = []
    tested: list[float] = []
    samples = np.zeros(len(draws[0]))
    for half, drawn in zip((second, ~second), draws, strict=True):
        learnt, test = part.of_segments(~half), part.of_segments(half)
        weights = train(learnt, names)
        for examined, results in ((learnt, trained), (test, tested)):
            results.append(agreement(examined.values @ weights, examined))
        samples += agreements(test.values @ weights, test, drawn) / 2
    return Condition(groups, (trained[0], trained[1]), (tested[0], tested[1]), samples)


def all_conditions(available: str) -> list[str]:
    """Return every set of groups, few groups first."""
    return [
        "".join(groups)
        for size in range(1, len(available) + 1)
        for groups in itertools.combinations(available, size)
    ]


def table(
    conditions: Sequence[Condition],
    halved: tuple[int, int],
    *,
    units: str = "documents",
    removed: str = ", the mean of systems removed",
    published: Mapping[str, str] | None = None,
) -> Table:
    """Return the table of conditions, as the paper prints it.

    Parameters
    ----------
    halved
        How many units there are in either half.
    units
        The units that are in one half each: `documents` or `segments`.
    removed
        The end of the title: the means that were removed.
    published
        Groups and the correlation that a paper reports for them.
    """
    rows = [
        [
            condition.groups,
            *(decimals(r, 4) for r in (*condition.tested, condition.mean)),
            shown_interval(condition.samples),
            *(decimals(r, 4) for r in condition.trained),
            *([] if published is None else [published.get(condition.groups, "-")]),
        ]
        for condition in conditions
    ]
    return Table(
        f"Agreement with human scores: Pearson's r of segments, weighted by length{removed}",
        [
            "features", "test on B", "test on A", "mean", "95 %", "learnt on A", "learnt on B",
            *([] if published is None else ["published"]),
        ],
        rows,
        note=(
            f"Weights are learnt on one half of the {units} (A has {halved[0]}, B {halved[1]}) "
            f"and tested on the other; 95 %: interval of the mean over resampled segments. E: "
            f"precision and recall of dependency links; T: edits of TERp; P: its paraphrases; N: "
            f"precision and recall of words and word pairs; B: differences of length."
        ),
        label="learned",
    )  # fmt: skip


def shown_interval(samples: FloatArray) -> str:
    """Return the interval that holds 95 % of the samples; a dash if they do not differ."""
    bounds = interval(samples, 0.95)
    return NOTHING if bounds is None else f"({bounds[0]:.4f} to {bounds[1]:.4f})"


def rounded(r: float) -> float | None:
    """Return a correlation as JSON holds it; None without one."""
    return None if np.isnan(r) else round(r, DIGITS)


def as_json(conditions: Sequence[Condition]) -> list[dict[str, Any]]:
    """Return the conditions as JSON holds them."""
    rows = []
    for condition in conditions:
        low, high = interval(condition.samples, 0.95) or (None, None)
        rows.append(
            {
                "groups": condition.groups,
                "tested": list(map(rounded, condition.tested)),
                "trained": list(map(rounded, condition.trained)),
                "mean": rounded(condition.mean),
                "low": None if low is None else round(low, DIGITS),
                "high": None if high is None else round(high, DIGITS),
            }
        )
    return rows
