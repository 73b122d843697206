"""Trains weights of features that agree best with human scores.

The objective is TERp's, the "weighted mean removed segment Pearson" (docs/metrics/terp.md):
from features and human scores of a segment the mean over systems is subtracted; what is left is
correlated over all systems and segments, segments weighted by their length. Among all weights
those of a least squares fit have the highest correlation. TERp's edits may only lower a score, and
its matches count nothing, as in TERp; that leaves a convex problem, solved exactly: no start, no
random number, no local optimum.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from metrics._learned import GROUPS, feature_names
from tuner import streams
from tuner.errors import InputError
from tuner.evaluation.correlation import mean_removed, pearson
from tuner.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from metrics._base import FloatArray, IntArray

    BoolArray = NDArray[np.bool_]

DIGITS = 10
"""Of weights and correlations that are kept: what lies behind depends on how a processor adds."""
_EDITS = GROUPS["T"][1:]
_MATCH = GROUPS["T"][0]


@dataclass(frozen=True, eq=False)
class Examples:
    """Holds what weights are learnt from: M systems' translations of S segments.

    Parameters
    ----------
    values : (S, M, F) float64
        Features.
    human : (S, M) float64
        Higher is better.
    lengths : (S,) float64
        Reference words of each segment, the mean of several.
    """

    values: FloatArray
    human: FloatArray
    lengths: FloatArray

    def of_segments(self, segments: BoolArray) -> Examples:
        """Return those of some segments."""
        return Examples(self.values[segments], self.human[segments], self.lengths[segments])

    def of_features(self, columns: Sequence[int]) -> Examples:
        """Return those of some features."""
        return Examples(self.values[:, :, columns], self.human, self.lengths)


@dataclass(frozen=True)
class Condition:
    """Says how well one set of features does.

    Parameters
    ----------
    groups
        Letters of `metrics._learned.GROUPS`.
    trained, tested
        Objective on the half learnt from, and on the other, for either half.
    """

    groups: str
    trained: tuple[float, float]
    tested: tuple[float, float]

    @property
    def mean(self) -> float:
        """Of what was tested."""
        return sum(self.tested) / 2


def agreement(scores: FloatArray, human: FloatArray, lengths: FloatArray) -> float:
    """Return the length-weighted mean-removed Pearson's r of scores and human scores (S, M)."""
    weights = np.repeat(lengths, scores.shape[1])
    return float(
        pearson(mean_removed(scores).ravel(), mean_removed(human).ravel(), weights=weights)
    )


def train(examples: Examples, names: Sequence[str]) -> FloatArray:
    """Return (F,) weights of the highest agreement; features of no use have 0.

    Raises
    ------
    InputError
        No system is better than another in the human scores of any segment.
    """
    from scipy.optimize import lsq_linear  # noqa: PLC0415  start-up time

    root = np.sqrt(examples.lengths)[:, np.newaxis]
    y = (root * mean_removed(examples.human)).ravel()
    if not np.any(np.abs(y) > 1e-12):
        raise InputError(
            "the human scores are the same for all systems in every segment to learn from; "
            "nothing can be learnt from them"
        )
    # The mean over systems is that of the last axis.
    values = mean_removed(np.moveaxis(examples.values, 2, 0))
    x = (root * values).reshape(len(names), -1).T
    scale = np.sqrt((x**2).sum(axis=0))
    used = (scale > 1e-9) & np.array([name != _MATCH for name in names])
    weights = np.zeros(len(names))
    if used.any():
        highest = np.array([0.0 if name in _EDITS else np.inf for name in names])
        x = x[:, used] / scale[used]
        # What two features share goes to both alike; far too little to lower the agreement.
        x = np.concatenate([x, 1e-3 * np.eye(x.shape[1])])
        y = np.concatenate([y, np.zeros(x.shape[1])])
        found = lsq_linear(
            x, y, bounds=(np.full(x.shape[1], -np.inf), highest[used]), method="bvls"
        )
        weights[used] = found.x / scale[used]
    return np.array([float(f"{weight:.{DIGITS}g}") + 0.0 for weight in weights])


def score(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return (...) weighted sums of features (..., F)."""
    return np.asarray(values @ weights)


def halves(documents: IntArray, lengths: FloatArray, seed: int) -> BoolArray:
    """Return (S,) bool: segments of the second half; documents stay whole.

    Documents in random order go to the half that has fewer words.

    Raises
    ------
    InputError
        Fewer than two documents.
    """
    names = np.unique(documents)
    if len(names) < 2:
        raise InputError(
            f"{len(names)} document; the halves to learn from and to test on are of whole "
            f"documents, so at least two are needed"
        )
    second = np.zeros(len(documents), dtype=np.bool_)
    words = [0.0, 0.0]
    for name in streams.whole(seed).permutation(names):
        half = int(words[1] < words[0])
        words[half] += float(lengths[documents == name].sum())
        second |= (documents == name) & (half == 1)
    return second


def two_fold(examples: Examples, second: BoolArray, *, groups: str, available: str) -> Condition:
    """Learn on either half and test on the other.

    Parameters
    ----------
    examples
        With the features of the groups `available`.
    second : (S,) bool
        Segments of the second half.
    groups
        Groups to use.

    Raises
    ------
    InputError
        As `train`.
    """
    names = feature_names(groups)
    part = examples.of_features([feature_names(available).index(name) for name in names])
    trained: list[float] = []
    tested: list[float] = []
    for other in (second, ~second):
        learnt, test = part.of_segments(~other), part.of_segments(other)
        weights = train(learnt, names)
        for examined, found in ((learnt, trained), (test, tested)):
            found.append(
                agreement(score(examined.values, weights), examined.human, examined.lengths)
            )
    return Condition(groups, (trained[0], trained[1]), (tested[0], tested[1]))


def all_conditions(available: str) -> list[str]:
    """Return every set of groups, few groups first."""
    return [
        "".join(chosen)
        for size in range(1, len(available) + 1)
        for chosen in itertools.combinations(available, size)
    ]


def table(conditions: Sequence[Condition], documents: tuple[int, int]) -> Table:
    """Return the conditions as the paper prints them.

    Parameters
    ----------
    documents
        How many there are in either half.
    """
    rows = [
        [one.groups, *(f"{value:.4f}" for value in (*one.tested, one.mean, *one.trained))]
        for one in conditions
    ]
    return Table(
        "Agreement with human scores: Pearson's r of segments, weighted by length, the mean of "
        "systems removed",
        ["features", "test on B", "test on A", "mean", "learnt on A", "learnt on B"],
        rows,
        note=(
            f"Weights are learnt on one half of the documents (A has {documents[0]}, B "
            f"{documents[1]}) and tested on the other. E: precision and recall of dependency "
            f"links; T: edits of TERp; P: its paraphrases; N: precision and recall of words and "
            f"word pairs; B: differences of length."
        ),
        label="learned",
    )


def as_json(conditions: Sequence[Condition]) -> list[dict[str, Any]]:
    """Return the conditions as JSON holds them."""
    return [
        {
            "groups": one.groups,
            "tested": [round(value, DIGITS) for value in one.tested],
            "trained": [round(value, DIGITS) for value in one.trained],
            "mean": round(one.mean, DIGITS),
        }
        for one in conditions
    ]
