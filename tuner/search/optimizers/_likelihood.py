"""Weights under which the better hypotheses of each segment are the most likely."""

import numpy as np

from portmert.metrics._base import FloatArray, IntArray
from portmert.metrics._elementary import exp, inner, log, summed

from ...base.threads import raise_if_cancelled
from .._line_search_kernels import first_maxima
from ..lbfgs import minimise
from ..problem import MANY, TuningProblem, oriented_scores, within_segment_spread
from ..stat_table import ROWS_AT_ONCE
from . import _linear

STRENGTHS = (0.3, 0.1, 0.03, 0.01, 0.003)
"""Weights of half the squared numbers, of which held-out segments choose one; the strongest first,
because each search begins where the one before has ended."""

ITERATIONS = 50
"""L-BFGS iterations of each search."""

SHARPNESS = 2.0
"""How sharply a score says which hypothesis is right, in units of its spread within segments."""

LOWEST = -300.0
"""The lowest logarithm of a probability, relative to that of the best hypothesis: none is 0."""


def are_outcomes(problem: TuningProblem) -> bool:
    """Return whether the score is the mean of outcomes: right or wrong, two values.

    It counts as the mean of the segments' own if it is for the first, the last and the best
    hypotheses of the segments, and of the first two, four, eight and so on of them. One segment
    alone says nothing. The statistics of every hypothesis are read.
    """
    offsets = problem.offsets
    sizes = {2**n for n in range(1, 63) if 2**n < len(offsets) - 1} | {len(offsets) - 1}
    counts = np.array(sorted(sizes))

    def is_so(rows: IntArray) -> bool:
        stats = problem.stats.take(problem.rows_of(rows))
        scores_alone, sums = oriented_scores(problem.metric, stats), np.cumsum(stats, axis=0)
        whole = oriented_scores(problem.metric, sums[counts - 1])
        return bool(
            np.allclose(np.cumsum(scores_alone)[counts - 1] / counts, whole, rtol=1e-9, atol=1e-12)
        )

    if len(offsets) < 3 or not (is_so(offsets[:-1]) and is_so(offsets[1:] - 1)):
        return False
    scores = np.empty(problem.size)
    for begin in range(0, problem.size, ROWS_AT_ONCE):
        rows = np.arange(begin, min(begin + ROWS_AT_ONCE, problem.size))
        stats = problem.stats.take(problem.rows_of(rows))
        scores[rows] = oriented_scores(problem.metric, stats)
    lowest, highest = scores.min(), scores.max()
    are_two = lowest < highest and ((scores == lowest) | (scores == highest)).all()
    if not are_two or not np.isfinite([lowest, highest]).all():
        return False
    return is_so(first_maxima(scores, offsets))


class Likelihood:
    """Minus the log-likelihood of the right hypotheses under a softmax of the model scores.

    Each segment has a right hypothesis. Which one it is, is known by its score: the probability
    of a hypothesis is a softmax of `SHARPNESS` times its score. (With outcomes, 1 for right and 0
    for wrong, this is a conditional logit; McFadden 1974.) The likelihood of a segment is the
    probability that the model scores choose the right one. Segments whose hypotheses all have one
    score say nothing.

    Parameters
    ----------
    linear : Linear
    scores : (H,) float64
        The score of each hypothesis; higher is better.
    """

    def __init__(self, linear: _linear.Linear, scores: FloatArray) -> None:
        self.linear = linear
        offsets = linear.problem.offsets
        self._starts, self._lengths = offsets[:-1], np.diff(offsets)
        gains = scores - self._each(np.maximum.reduceat(scores, self._starts))
        self._says = np.minimum.reduceat(gains, self._starts) < 0.0
        spread = within_segment_spread(scores[np.newaxis], offsets)[0]
        self._truth = exp(np.maximum(SHARPNESS * gains / spread, LOWEST))
        self._shares = np.zeros(len(self._starts))
        self._l2 = 0.0

    def learn(self, segments: IntArray, *, part: int) -> FloatArray:
        """Return the weights (F + P,) that some segments teach.

        Two thirds of them teach under each strength of the penalty. The strength under which the
        last third is most likely is then that under which all of them teach. Many segments begin
        with the weakest, and end with the first stronger one under which it is less likely.

        Parameters
        ----------
        part
            Which third.
        """
        judges = segments[part % 3 :: 3]
        teachers = np.setdiff1d(segments, judges)
        numbers, likelihoods = [np.zeros_like(self.linear.start)], []
        is_many = len(segments) > MANY
        strengths = STRENGTHS[::-1] if is_many else STRENGTHS
        for strength in strengths:
            numbers.append(self._taught(teachers, strength, numbers[-1]))
            likelihoods.append(float(summed(self._logs(numbers[-1])[0][judges])))
            if is_many and likelihoods[-1] < max(likelihoods):
                break
        best = int(np.argmax(likelihoods))
        return self.linear.weights(self._taught(segments, strengths[best], numbers[best + 1]))

    def _taught(self, segments: IntArray, strength: float, begin: FloatArray) -> FloatArray:
        """Return the scaled weights (X,) that segments teach under a strength of the penalty."""
        counted = segments[self._says[segments]]
        self._shares = np.zeros(len(self._starts))
        self._shares[counted] = 1.0 / max(len(counted), 1)
        self._l2 = strength
        lower, upper = self.linear.lower, self.linear.upper
        return minimise(self.loss, begin, lower, upper, iterations=ITERATIONS)

    def loss(self, numbers: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss at (X,) scaled weights and its gradient."""
        raise_if_cancelled()
        linear = self.linear
        logs, slopes = self._logs(numbers)
        slopes *= self._each(self._shares)
        gradient = np.einsum("hd,h->d", linear.matrix, slopes)
        if linear.sparse is not None:
            gradient = np.concatenate([gradient, linear.sparse.T @ slopes])
        value = 0.5 * self._l2 * inner(numbers, numbers) - inner(self._shares, logs)
        return value, self._l2 * numbers - gradient

    def _logs(self, numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the (S,) log-likelihoods of the segments, and (H,) derivatives by model score."""
        scores = self.linear.scores(numbers)
        scores -= self._each(np.maximum.reduceat(scores, self._starts))
        probabilities = exp(np.maximum(scores, LOWEST))
        probabilities /= self._each(np.add.reduceat(probabilities, self._starts))
        both = probabilities * self._truth
        right = np.add.reduceat(both, self._starts)
        return log(right), both / self._each(right) - probabilities

    def _each(self, values: FloatArray) -> FloatArray:
        """Return (H,) the value (S,) of the segment of each hypothesis."""
        return np.repeat(values, self._lengths)
