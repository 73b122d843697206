"""The problem that an optimizer solves: features, statistics, a metric; no texts or files."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric
from portmert.metrics._elementary import ROW, inner, norm, summed

from . import _line_search_kernels as kernels
from .stat_table import StatTable

NOTHING: FloatArray = np.empty(0)

MANY = 3000
"""With more segments than this, the standard error of the score is larger than what is gained by
scoring, passing, penalising or choosing more finely."""

SPREAD_AT_ONCE = 1 << 16
"""Numbers of which the spread is computed at once."""


@dataclass(frozen=True, eq=False)
class Prior:
    """A penalty on distance from given weights: strength * |u/|u| - u0/|u0||^2.

    The objective is the oriented score less this penalty. u is the weights times the spread of
    their features, u0 the same for the given weights. Only the direction of weights counts,
    because only that chooses hypotheses. The spread makes the penalty independent of the units of
    features. The penalty is in units of the metric: 0 at `toward`, `2 * strength` at right angles
    to it, `4 * strength` opposite to it.

    Parameters
    ----------
    strength : float
        Above 0.
    toward : (F,) float64
        The given weights: u0 divided by spread. If all are 0 there is no penalty.
    spread : (F,) float64
        See `TuningProblem`.
    """

    strength: float
    toward: FloatArray
    spread: FloatArray

    @property
    def _unit(self) -> FloatArray:
        scaled = self.toward * self.spread
        return scaled / (norm(scaled) or 1.0)

    def penalty(self, weights: FloatArray) -> float:
        """Return the penalty of (F,) weights; weights of 0 count as at right angles."""
        scaled = weights * self.spread
        length = norm(scaled)
        cosine = inner(scaled, self._unit) / length if length > 0 else 0.0
        return self.strength * 2 * (1 - cosine) if self.toward.any() else 0.0

    def gradient(self, weights: FloatArray) -> FloatArray:
        """Return the (F,) derivative of the penalty by weights * spread."""
        scaled = weights * self.spread
        length = norm(scaled)
        if length == 0 or not self.toward.any():
            return np.zeros(len(weights))
        cosine = inner(scaled, self._unit) / length
        return -2 * self.strength * (self._unit - cosine * scaled / length) / length

    def along(
        self, weights: FloatArray, columns: IntArray, direction: FloatArray, steps: FloatArray
    ) -> tuple[FloatArray, float]:
        """Return the penalties at steps along a line, and the step of the lowest (maybe NaN)."""
        if not self.toward.any():
            return np.zeros(len(steps)), np.nan
        scaled, unit = weights * self.spread, self._unit
        slopes = direction * self.spread[columns]
        along, length = inner(scaled, unit), inner(scaled, scaled)
        rise, mixed = inner(slopes, unit[columns]), inner(slopes, scaled[columns])
        square = inner(slopes, slopes)

        def cosines(at: FloatArray) -> FloatArray:
            lengths = np.sqrt(np.maximum(length + at * (2 * mixed + at * square), 1e-300))
            return (along + at * rise) / lengths

        # The cosine's derivative is 0 where rise * length - along * mixed + step * curve = 0.
        curve = rise * mixed - along * square
        nearest = np.nan if curve == 0 else (along * mixed - rise * length) / curve
        # At both ends of the line the cosine is the same but for its sign. So the one place
        # without a slope is the highest if the cosine is above 0 there, and else the lowest.
        if np.isfinite(nearest) and not cosines(np.array([nearest]))[0] > 0:
            nearest = np.nan
        penalties: FloatArray = self.strength * 2 * (1 - cosines(steps))
        return penalties, float(nearest)


@dataclass(frozen=True, eq=False)
class TuningProblem:
    """Find the weights whose best hypotheses, one a segment, score highest.

    Parameters
    ----------
    features : (F, H) float64, C order
        Feature-major: the column of one feature over all hypotheses is contiguous.
    offsets : (S + 1,) int64
        Hypotheses of segment s are `offsets[s]:offsets[s + 1]`, at least one.
    stats : StatTable
    metric : Metric
    fixed : (H,) float64, or empty for 0
        The part of each model score that is not searched.
    rows : (H,) int64, or None for 0..H-1
        Which row of `stats` belongs to each hypothesis.
    spread : (F,) float64, positive
        Root mean square deviation of each feature from its segment's mean. Weights times spread
        are comparable between features; distances and random directions are measured in it.
    sparse : scipy.sparse.csr_array (H, P) of float64, or None
        Features that few hypotheses have; their weights follow those of `features`. Only
        optimizers that declare `sparse` are given any.
    prior : Prior or None
        A pull towards given weights.
    """

    features: FloatArray
    offsets: IntArray
    stats: StatTable
    metric: Metric
    fixed: FloatArray = field(default_factory=lambda: NOTHING)
    rows: IntArray | None = None
    spread: FloatArray = field(default_factory=lambda: NOTHING)
    sparse: Any = None
    prior: Prior | None = None

    def __post_init__(self) -> None:
        if self.spread.size == 0:
            object.__setattr__(self, "spread", within_segment_spread(self.features, self.offsets))

    @property
    def size(self) -> int:
        """H, the number of hypotheses."""
        return int(self.features.shape[1])

    @property
    def width(self) -> int:
        """Number of weights: F, and P more where there are sparse features."""
        return len(self.features) + (0 if self.sparse is None else int(self.sparse.shape[1]))

    @cached_property
    def _deviations(self) -> FloatArray:
        deviations: FloatArray = kernels.deviations(self.features, self.offsets, self.spread)
        return deviations

    @cached_property
    def all_columns(self) -> IntArray:
        """0..F-1."""
        return np.arange(self.features.shape[0])

    def model_scores(self, weights: FloatArray) -> FloatArray:
        """Return the (H,) model scores under (F,) weights, (F + P,) with sparse features."""
        scores = np.empty(self.size)
        dense = len(self.features)
        kernels.weighted_sums(self.features, self.all_columns, weights[:dense], self.fixed, scores)
        if self.sparse is not None:
            scores += self.sparse @ weights[dense:]
        return scores

    def rows_of(self, hypotheses: IntArray) -> IntArray:
        """Return the rows of `stats.rows` of hypotheses, in their shape; known from now on."""
        rows = hypotheses if self.rows is None else self.rows[hypotheses]
        self.stats.need(rows)
        return rows

    def known_hypotheses(self) -> IntArray:
        """Return the hypotheses whose statistics are known, rising."""
        is_known = self.stats.is_known
        return np.flatnonzero(is_known if self.rows is None else is_known[self.rows])

    def all_stats(self) -> FloatArray:
        """Return the (H, K) statistics of every hypothesis."""
        return self.stats.take(self.rows_of(np.arange(self.size)))

    def total(self, hypotheses: IntArray) -> FloatArray:
        """Return the (K,) summed statistics of (n,) hypotheses."""
        total: FloatArray = kernels.total(self.stats.take(self.rows_of(hypotheses)))
        return total

    def oriented_scores(self, stats: FloatArray) -> FloatArray:
        """Return the oriented scores of summed statistics (..., K); see `oriented_scores`."""
        scores = oriented_scores(self.metric, stats)
        if (none := scores == -np.inf).any():
            sums = stats[none]
            self.stats.note_no_score(tuple(sums[np.lexsort(sums.T[::-1])[0]].tolist()))
        return scores

    def oriented_score(self, model_scores: FloatArray) -> float:
        """Return the oriented score of the best hypotheses under these model scores."""
        best = kernels.first_maxima(model_scores, self.offsets)
        return float(self.oriented_scores(self.total(best)))

    def penalty(self, weights: FloatArray) -> float:
        """Return the penalty of the prior at `weights`; 0 without one."""
        return 0.0 if self.prior is None else self.prior.penalty(weights)

    def objective(self, weights: FloatArray, model_scores: FloatArray | None = None) -> float:
        """Return what optimizers maximise: the oriented score from scratch, less the penalty.

        `model_scores` are those under `weights`, if they are known.
        """
        scores = self.model_scores(weights) if model_scores is None else model_scores
        return self.oriented_score(scores) - self.penalty(weights)

    def winners(self, weights: FloatArray) -> IntArray:
        """Return the (S,) best hypothesis of each segment; of equal model scores the first."""
        best: IntArray = kernels.first_maxima(self.model_scores(weights), self.offsets)
        return best

    def score(self, weights: FloatArray) -> float:
        """Return the metric's score under (F,) weights, from scratch, on the metric's scale."""
        return float(self.metric.score(self.total(self.winners(weights))))

    def within(self, weights: FloatArray, radius: float) -> TuningProblem:
        """Return the same problem without the hypotheses that cannot win near `weights`.

        Exact: all weights w' with |(w' - weights) * spread| <= radius have the same winners.
        """
        scores, deviations = self.model_scores(weights), self._deviations
        reachable = kernels.reachable(
            self.features, self.offsets, scores, self.spread, deviations, radius
        )
        return self.take(reachable, np.searchsorted(reachable, self.offsets))

    def take(self, hypotheses: IntArray, offsets: IntArray) -> TuningProblem:
        """Return the problem of some hypotheses, once or repeatedly; `spread` stays as it is."""
        return replace(
            self,
            features=np.take(self.features, hypotheses, axis=1),
            offsets=offsets,
            fixed=self.fixed[hypotheses] if self.fixed.size else self.fixed,
            rows=hypotheses if self.rows is None else self.rows[hypotheses],
            sparse=None if self.sparse is None else self.sparse[hypotheses],
        )


def oriented_scores(metric: Metric, stats: FloatArray) -> FloatArray:
    """Return the scores of summed statistics (..., K), negated if lower is better.

    A score that is not finite (0/0, say) counts as the worst: it is -inf here.
    """
    scores = np.asarray(metric.oriented(metric.score(stats)), dtype=np.float64)
    return np.where(np.isfinite(scores), scores, -np.inf)


def oriented(metric: Metric, score: float) -> float:
    """Return one score, oriented as `oriented_scores` does."""
    return metric.oriented(score) if math.isfinite(score) else -math.inf


def finite(values: FloatArray) -> FloatArray:
    """Return values in which each -inf is a finite value, clearly below all others.

    For means, deviations and differences, which infinite values would spoil.
    """
    is_finite = np.isfinite(values)
    if is_finite.all():
        return values
    lowest, highest = 0.0, 0.0
    if is_finite.any():
        lowest, highest = float(values[is_finite].min()), float(values[is_finite].max())
    return np.where(is_finite, values, lowest - (max(highest - lowest, abs(lowest)) or 1.0))


def within_segment_spread(
    features: FloatArray, offsets: IntArray, *, if_constant: float = 1.0
) -> FloatArray:
    """Return the (F,) root mean square deviation of features (F, H) from their segment's mean.

    `if_constant` stands where a feature is constant in every segment (up to the rounding of the
    mean).
    """
    lengths, hypotheses = np.diff(offsets), features.shape[1]
    spread = np.empty(len(features))
    at_once = max(1, SPREAD_AT_ONCE // max(hypotheses, 1))
    for row in range(0, len(features), at_once):
        block = features[row : row + at_once]
        means = np.add.reduceat(block, offsets[:-1], axis=1) / lengths
        squares = np.zeros(len(block))
        step = max(1, SPREAD_AT_ONCE // ROW) * ROW
        for begin in range(0, hypotheses, step):
            part = block[:, begin : begin + step]
            edges = np.clip(offsets, begin, begin + part.shape[1])
            centred = part - np.repeat(means, np.diff(edges), axis=1)
            squares = summed(np.square(centred, out=centred), squares)
        deviation = np.sqrt(squares / hypotheses)
        differs = deviation > 1e-12 * np.abs(means).max(axis=1)
        spread[row : row + at_once] = np.where(differs, deviation, if_constant)
    return spread
