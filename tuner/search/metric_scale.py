"""Search scores of an ordinary size, whatever the size of the metric's own."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from portmert.metrics._base import Batch, FloatArray, Metric

from .problem import TuningProblem, oriented_scores

PARTS = 16
"""The text is scored in so many parts, to see how much the metric's scores differ."""

ORDINARY = 10
"""Scores whose largest is between 2 to the power -10 and 2 to the power 10 stay as they are."""

FAR = 2.0**17
"""A constant is taken off scores that are larger than this many times their differences: a gain
counts if it is above a share of the score."""

LARGEST_POWER = 1000


@dataclass(frozen=True)
class Rescaled(Metric):
    """A metric's oriented score, less a constant, divided by a power of 2.

    Optimizers have limits for the smallest gain that counts, and they compute squares. Both suit
    scores like shares and percentages. Scores of another size, 1e-13 or 1e250, or with a large
    constant added, are brought to that size here.

    Parameters
    ----------
    metric : Metric
    base : float
        The constant, as an oriented score of the metric.
    exponent : int
        That of the power of 2.
    """

    metric: Metric
    base: float
    exponent: int

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Those of the metric."""
        return self.metric.stat_names

    def stats(self, batch: Batch) -> FloatArray:
        """Return those of the metric."""
        return self.metric.stats(batch)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the rescaled score: higher is better."""
        values = oriented_scores(self.metric, stats)
        return np.asarray(np.ldexp(values - self.base, -self.exponent))

    def restored(self, value: float) -> float:
        """Return the metric's oriented score from the rescaled one."""
        return math.ldexp(value, self.exponent) + self.base


def rescaled(problem: TuningProblem, start: FloatArray) -> tuple[TuningProblem, Rescaled]:
    """Return the problem with scores of an ordinary size, and how to undo this.

    The size is that of the scores of the text, and of parts of it, under the start weights. Most
    problems stay as they are, and their results the same to the last bit.
    """
    winners = problem.winners(start)
    rows = [winners, *(winners[part::PARTS] for part in range(min(PARTS, len(winners))))]
    values = problem.oriented_scores(np.stack([problem.total(hypotheses) for hypotheses in rows]))
    values, at_start = values[np.isfinite(values)], float(values[0])
    size = float(np.abs(values).max(initial=0.0))
    half = float(np.max(values, initial=-np.inf) / 2 - np.min(values, initial=np.inf) / 2)
    base = 0.0
    if np.isfinite(at_start) and 0 < half * FAR < abs(at_start):
        base, size = at_start - half, half
    exponent = min(max(math.frexp(size)[1], -LARGEST_POWER), LARGEST_POWER)
    if abs(exponent) <= ORDINARY:
        exponent = 0
    scale = Rescaled(problem.metric, base, exponent)
    if not (base or exponent):
        return problem, scale
    prior = problem.prior
    if prior is not None:
        prior = replace(prior, strength=math.ldexp(prior.strength, -exponent))
    return replace(problem, metric=scale, prior=prior), scale
