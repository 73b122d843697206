"""How far the outer loop goes from an iteration's weights to those that its search found.

Lists tell little about weights far from those they were decoded under, so a step is cut short if
it is long, and the weights are the mean of what was found, so that they come to rest. Both keep
something of the weights before. Where these choose no better than chance, there is nothing to
keep, and the whole step is taken. Where the output is better than the lists promised, the next
step may be longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile, zip_longest

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric

from ..nbest.model import NBest, best_hypotheses
from ..weights.feature_weights import FeatureNames, FeatureWeights, absolute_size, columns_by_name
from .averaging import weight_change
from .constraints import Constraints, columns_of
from .problem import within_segment_spread
from .stat_table import StatTable
from .unseen import CLEARLY_BETTER, gain_of

FARTHEST = 0.35
"""The most that weights change at once, both scaled to absolute values that add to 1, until an
output is better than the lists promised, see `Steps`."""

GROWTH = 1.5
"""How much farther the next step may go after each one that was too short."""

DRAWN = 16
"""Hypotheses of each list, evenly spaced, whose mean stands for chance."""

USUAL_SIZES = 1e-6, 1e6
"""Decoders compute in single precision. Sums of absolute weights between these are left alone."""

WeightFlags = Mapping[str, tuple[bool, ...]]
"""Name of a feature -> a truth value for each of its weights."""


def is_by_chance(
    nbest: NBest,
    stats: StatTable,
    metric: Metric,
    weights: FeatureWeights,
    *,
    segments: IntArray | None = None,
    seed: int = 0,
) -> bool:
    """Return whether weights choose from the lists no better than chance would.

    Chance scores as the mean of the lists. To choose better is to score `CLEARLY_BETTER`
    standard errors above it.

    Parameters
    ----------
    segments : (n,) int64, optional
        The segments tuned on. Default: all.
    seed
        Of the bootstrap samples.
    """
    rows = evenly_spaced(nbest.offsets)
    rows = rows if segments is None else rows[:, segments]
    by_chance = stats.rows_of(rows.ravel()).reshape(*rows.shape, -1).mean(axis=0)
    chosen = stats_of_best(nbest, stats, weights, segments)
    gain, error = gain_of(metric, (by_chance, chosen), seed)
    return gain <= CLEARLY_BETTER * error


def evenly_spaced(offsets: IntArray) -> IntArray:
    """Return (DRAWN, S) hypotheses, evenly spaced in each list; a short list has some often."""
    places: IntArray = (2 * np.arange(DRAWN)[:, None] + 1) * np.diff(offsets) // (2 * DRAWN)
    return offsets[:-1] + places


def stats_of_best(
    nbest: NBest, stats: StatTable, weights: FeatureWeights, segments: IntArray | None = None
) -> FloatArray:
    """Return the (n, K) statistics of the best hypotheses of these segments; default: of all."""
    rows = best_hypotheses(nbest, weights)
    return stats.rows_of(rows if segments is None else rows[segments])


def constant_places(features: FloatArray, offsets: IntArray, names: FeatureNames) -> WeightFlags:
    """Return which features have one value within each list, so that they choose nothing.

    Parameters
    ----------
    features : (H, F) float64
    """
    is_constant = within_segment_spread(features.T, offsets, if_constant=0.0) == 0
    columns = columns_by_name(names).items()
    return {name: tuple(map(bool, is_constant[part])) for name, part in columns}


def fixed_places(names: FeatureNames, constraints: Constraints) -> WeightFlags:
    """Return which features are fixed."""
    fixed = {column for name in constraints.fixed for column in columns_of(name, names)}
    columns = columns_by_name(names).items()
    return {name: tuple(n in fixed for n in range(p.start, p.stop)) for name, p in columns}


def counted_part(weights: FeatureWeights, *uncounted: WeightFlags) -> FeatureWeights:
    """Return the weights with 0 at these places: what chooses nothing has no size."""
    values = dict(weights.values)
    for places in uncounted:
        for name, are_out in places.items():
            if name in values:
                row = zip(values[name], are_out, strict=True)
                values[name] = tuple(0.0 if is_out else number for number, is_out in row)
    return FeatureWeights(values)


def decodable(
    weights: FeatureWeights, constant: WeightFlags, fixed: WeightFlags, *, may_scale: bool
) -> FeatureWeights:
    """Return weights of the same order of hypotheses with which single precision can calculate.

    Weights that choose nothing are limited to the size of all others, in whose sum they would
    drown; the sum of very small or large weights becomes 1.
    """
    values, parts = dict(weights.values), counted_part(weights, constant)
    limit = absolute_size(parts)
    for name, are_constant in constant.items():
        if name in values and limit:
            kept = fixed.get(name, (False,) * len(are_constant))
            values[name] = tuple(
                float(np.clip(number, -limit, limit)) if is_out and not is_fixed else number
                for number, is_out, is_fixed in zip(values[name], are_constant, kept, strict=True)
            )
    lowest, highest = USUAL_SIZES
    if not may_scale or not limit or lowest <= limit <= highest:
        return FeatureWeights(values)
    return FeatureWeights({name: tuple(n / limit for n in row) for name, row in values.items()})


def equal_weights_but(weights: FeatureWeights, fixed: WeightFlags) -> FeatureWeights:
    """Return weights that are equal but at the places fixed, of the same size there.

    Where no weights change the score there is nothing to learn from, and these are as good as any.
    Sparse features, which have no places, keep their weights.
    """
    dense = FeatureWeights({name: weights.values[name] for name in fixed})
    count = sum(not is_fixed for places in fixed.values() for is_fixed in places)
    size = absolute_size(counted_part(dense, fixed)) or 1.0
    equal = {
        name: tuple(
            number if is_fixed else size / count
            for number, is_fixed in zip(weights.values[name], places, strict=True)
        )
        for name, places in fixed.items()
    }
    return FeatureWeights({**weights.values, **equal})


@dataclass(frozen=True)
class Steps:
    """How the steps of a run went.

    Parameters
    ----------
    shares
        The share of the way to the weights found that each step went.
    exceeded
        Whether the output after each step was clearly better than the lists promised: then they
        knew too little of what lay ahead, and the step was too short. Not known of the last steps.
    """

    shares: Sequence[float] = ()
    exceeded: Sequence[bool] = ()

    @cached_property
    def numbers(self) -> list[int]:
        """The number of each step in its mean, from 1, and that of the next step.

        The weights are the mean of all that was found since the mean began, so a step goes
        1 / number of the way if it is not cut short. The mean begins anew behind a whole step, and
        behind one that was cut too short.
        """
        numbers = [1]
        for share, was_better in zip_longest(self.shares, self.exceeded, fillvalue=False):
            was_short = share < 1 / numbers[-1]
            numbers.append(2 if share == 1 or (was_short and was_better) else numbers[-1] + 1)
        return numbers

    @property
    def farthest(self) -> float:
        """The most that the next step changes weights: more for each step that was too short."""
        in_a_row = len(list(takewhile(bool, reversed(self.exceeded))))
        return FARTHEST * GROWTH**in_a_row

    @property
    def is_behind(self) -> bool:
        """Whether a step was cut short and no later one has gone the whole way."""
        lags = False
        for number, share in enumerate(self.shares, 1):
            lags = share < 1 and (lags or self.is_cut(number))
        return lags

    def is_cut(self, number: int) -> bool:
        """Return whether the step of an iteration was cut short; False if there was none."""
        if not 0 < number <= len(self.shares):
            return False
        return self.shares[number - 1] < 1 / self.numbers[number - 1]

    def first(self, count: int) -> Steps:
        """Return the first steps."""
        return Steps(self.shares[:count], self.exceeded[:count])

    def and_one(self, share: float) -> Steps:
        """Return these steps and one more."""
        return Steps((*self.shares, share), self.exceeded)

    def next_share(
        self, before: FeatureWeights, target: FeatureWeights, searches: int = 1
    ) -> float:
        """Return the share of the next step from an iteration's weights to those it found.

        Parameters
        ----------
        before, target
            The weights that its lists were decoded under, and those found on the lists so far;
            without features that do not count, see `counted_part`.
        searches
            Before each search after the first, search graphs gave what is best where the search
            before it would have ended, so each may go as far.
        """
        share, change = 1 / self.numbers[-1], weight_change(before, target)
        return min(share, searches * self.farthest / change) if change else share
