"""Turn feature weights into the variables that are searched, and back."""

import itertools
from dataclasses import dataclass

import numpy as np

from portmert.metrics._base import FloatArray, IntArray

from ..base import errors
from ..base.warn import notice
from ..weights.feature_weights import FeatureNames, FeatureWeights
from .constraints import Bounds, Constraints, columns_of, multiples
from .problem import NOTHING, within_segment_spread

EQUAL_SPREADS = 1e-9
"""Relative difference up to which two features may be equal; a closer look follows."""


@dataclass(frozen=True, eq=False)
class Variables:
    """The vectors that an optimizer searches: V variables, and then P sparse features.

    F weights of dense features are multiples of the variables: w[columns[v]] = ratios[v] * x[v].
    Weights outside of all variables keep their start value.

    Parameters
    ----------
    names, sparse_names
        The dense features, and the sparse ones that are searched.
    start : FeatureWeights
    columns : V arrays of columns, none in two of them.
    ratios : V arrays of float64, of the same lengths.
    bounds : Bounds
        Bounds of the vectors.
    left : columns that are not searched and, with a weight that is not 0, move hypotheses.
    """

    names: FeatureNames
    sparse_names: tuple[str, ...]
    start: FeatureWeights
    columns: tuple[IntArray, ...]
    ratios: tuple[FloatArray, ...]
    bounds: Bounds
    left: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.columns)

    def expand(self, vector: FloatArray) -> FeatureWeights:
        """Return the weights of all features for a (V + P,) vector."""
        weights, numbers = self.start.vector(self.names).copy(), vector[: len(self)]
        for columns, ratios, number in zip(self.columns, self.ratios, numbers, strict=True):
            weights[columns] = ratios * number
        dense, start = FeatureWeights.from_vector(self.names, weights), self.start.values
        sparse = {  # a weight of 0 is kept only where it replaces another
            name: (float(number),)
            for name, number in zip(self.sparse_names, vector[len(self) :], strict=True)
            if number != 0 or name in start or name in dense.values
        }
        return FeatureWeights({**start, **dense.values, **sparse})

    def reduce(self, weights: FeatureWeights) -> FloatArray:
        """Return the (V + P,) vector of weights; of tied weights the largest decides.

        A sparse feature without a weight has weight 0.
        """
        dense, numbers = weights.vector(self.names), np.empty(len(self))
        for v, (columns, ratios) in enumerate(zip(self.columns, self.ratios, strict=True)):
            largest = np.argmax(np.abs(ratios))
            numbers[v] = dense[columns[largest]] / ratios[largest]
        return np.append(
            numbers, [weights.values.get(name, (0.0,))[0] for name in self.sparse_names]
        )

    def features(self, features: FloatArray) -> FloatArray:
        """Return (V, H), C order, of features (F, H); `features` itself if nothing changes."""
        if len(self) == len(features) and all(len(c) == 1 for c in self.columns):
            return features
        out = np.empty((len(self), features.shape[1]))
        for v, (columns, ratios) in enumerate(zip(self.columns, self.ratios, strict=True)):
            out[v] = (
                np.einsum("c,ch->h", ratios, features[columns])
                if len(columns) > 1
                else features[columns[0]]
            )
        return out

    def fixed(self, features: FloatArray) -> FloatArray:
        """Return the (H,) part of the model scores that is not searched, empty if it is inert."""
        if not self.left:
            return NOTHING
        start, scores = self.start.vector(self.names), np.zeros(features.shape[1])
        for column in self.left:
            scores += start[column] * features[column]
        return scores


def choose_variables(
    features: FloatArray,
    offsets: IntArray,
    names: FeatureNames,
    start: FeatureWeights,
    constraints: Constraints,
    sparse_names: tuple[str, ...] = (),
) -> Variables:
    """Decide which weights are searched.

    Three kinds of features keep their start weights: fixed ones; those that are constant within
    every segment, which move no hypothesis above another; and those equal to an earlier feature,
    because only the sum of both weights matters. The last two kinds are reported.

    Parameters
    ----------
    features : (F, H) float64
    sparse_names
        The sparse features that are searched too.

    Raises
    ------
    ConfigError
        A constraint names an unknown feature, ties a weight of 0, or constraints contradict.
    """
    weights = start.vector(names)
    labels = [f"{name}_{i}" if size > 1 else name for name, size in names for i in range(size)]
    fixed = {column for name in constraints.fixed for column in columns_of(name, names)}
    groups = [
        [column for name in group for column in columns_of(name, names)]
        for group in constraints.tied
    ]
    _check_groups(groups, fixed, weights, labels)
    spread = within_segment_spread(features, offsets, if_constant=0.0)
    constant = np.flatnonzero(spread == 0).tolist()
    if constant:
        notice(
            f"left at their start value: {_joined(constant, labels)}: constant within every "
            f"segment, so no weight of theirs changes anything"
        )
    tied = {column for group in groups for column in group}
    left_out = fixed | set(constant)
    for column, equal in _duplicates(features, offsets, spread, left_out, tied).items():
        notice(
            f"left at its start value: {labels[column]}: equal to {labels[equal]} in every "
            f"hypothesis, so only the sum of both weights matters"
        )
        left_out.add(column)
    groups += [[column] for column in range(len(labels)) if column not in tied]
    members = [[column for column in group if column not in left_out] for group in groups]
    members = sorted(filter(None, members))
    ratios = tuple(weights[group] if len(group) > 1 else np.ones(1) for group in members)
    columns = tuple(np.array(group, dtype=np.int64) for group in members)
    bounds = Bounds.none(len(members) + len(sparse_names))
    lower, upper = constraints.limits(names)
    for v, group in enumerate(members):
        bounds.lower[v], bounds.upper[v] = multiples(ratios[v], lower[group], upper[group])
        if not bounds.lower[v] < bounds.upper[v]:
            raise errors.ConfigError(f"the bounds leave no weight for {_joined(group, labels)}")
    inert = {*itertools.chain(*members), *np.flatnonzero((spread == 0) | (weights == 0)).tolist()}
    left = tuple(column for column in range(len(labels)) if column not in inert)
    return Variables(names, sparse_names, start, columns, ratios, bounds, left)


def _duplicates(
    features: FloatArray,
    offsets: IntArray,
    spread: FloatArray,
    left_out: set[int],
    tied: set[int],
) -> dict[int, int]:
    """Return column -> the earlier column that it is equal to, for columns that are free.

    Columns of `left_out`, and columns that are duplicates themselves, have no duplicates.
    """
    duplicates: dict[int, int] = {}
    similar = _similar(features, offsets, spread)
    for column in sorted(similar.keys() - left_out - tied):
        for earlier in similar[column]:
            if earlier >= column:
                break
            if earlier in left_out or earlier in duplicates:
                continue
            if _equal(features, offsets, spread, earlier, column):
                duplicates[column] = earlier
                break
    return duplicates


def _check_groups(
    groups: list[list[int]], fixed: set[int], start: FloatArray, labels: list[str]
) -> None:
    seen: set[int] = set()
    for group in groups:
        for column in group:
            if column in seen:
                raise errors.ConfigError(f"{labels[column]} is tied twice; tie each feature once")
            if column in fixed:
                raise errors.ConfigError(
                    f"{labels[column]} is fixed and tied; it can be only one of them"
                )
            if start[column] == 0:
                raise errors.ConfigError(
                    f"{labels[column]} is tied, but its start weight is 0 and tied weights keep "
                    f"the ratios of their start weights; give it another start weight"
                )
            seen.add(column)


def _similar(features: FloatArray, offsets: IntArray, spread: FloatArray) -> dict[int, list[int]]:
    """Return for columns that may be equal to others all of these, itself too, in their order.

    Equal features have equal spreads, and equal sums of hypotheses times fixed numbers. Only these
    are compared one by one: pairs would be too many for thousands of features.
    """
    of_equal_spread = _neighbours(np.flatnonzero(spread > 0), spread, EQUAL_SPREADS * spread)
    columns = np.array(sorted(itertools.chain(*of_equal_spread)), dtype=np.int64)
    if not len(columns):
        return {}
    # No result depends on these numbers.
    numbers: FloatArray = np.random.default_rng(0).random((features.shape[1],))
    lengths = np.diff(offsets)
    numbers -= np.repeat(np.add.reduceat(numbers, offsets[:-1]) / lengths, lengths)
    rounding = 1e-10 * np.abs(numbers).sum()  # more than there is
    sums, errors = np.zeros(len(spread)), np.zeros(len(spread))
    for column in columns:
        values = features[column]
        sums[column] = np.einsum("h,h->", values, numbers)
        errors[column] = rounding * np.abs(values).max()
    groups = _neighbours(columns, sums, errors)
    return {column: group for group in groups for column in group}


def _neighbours(columns: IntArray, values: FloatArray, errors: FloatArray) -> list[list[int]]:
    """Return the groups of two and more columns whose sorted values differ by errors at most."""
    columns = columns[np.argsort(values[columns], kind="stable")]
    near = np.diff(values[columns]) <= 2 * (errors[columns[1:]] + errors[columns[:-1]])
    groups = np.split(columns, np.flatnonzero(~near) + 1)
    return [sorted(group.tolist()) for group in groups if len(group) > 1]


def _equal(
    features: FloatArray, offsets: IntArray, spread: FloatArray, first: int, second: int
) -> bool:
    """Whether two columns differ by nothing but a constant in each segment."""
    if abs(spread[first] - spread[second]) > EQUAL_SPREADS * spread[first]:
        return False
    difference = (features[first] - features[second])[np.newaxis]
    return bool(
        within_segment_spread(difference, offsets, if_constant=0.0)[0] <= 1e-12 * spread[first]
    )


def _joined(columns: list[int], labels: list[str]) -> str:
    return ", ".join(labels[column] for column in columns)
