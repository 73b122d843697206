"""Scores of single hypotheses beside a background corpus, of which optimizers learn."""

import numpy as np

from portmert.metrics._base import FloatArray

from ...base.threads import raise_if_cancelled
from ..problem import TuningProblem, finite

_SCORED = 1 << 14
"""Hypotheses that are scored at once."""


def background_scores(
    problem: TuningProblem, stats: FloatArray, background: FloatArray, segments: float
) -> FloatArray:
    """Return (n,): the oriented score of each hypothesis together with a background corpus.

    Most metrics say little about one segment alone: a BLEU without a matching 4-gram is 0, and a
    penalty of one short segment ignores that the others are long enough. So each hypothesis is
    scored as one more segment of a background corpus (Chiang et al., EMNLP 2008). The score is
    multiplied by the number of segments: differences then have the size of those of segment
    scores, whatever the size of the background. All values are finite.

    Parameters
    ----------
    stats : (n, K) float64
        Statistics of n hypotheses.
    background : (K,) float64
        Summed statistics of the background corpus.
    segments : float
        How many segments it counts as.
    """
    values = np.empty(len(stats))
    for begin in range(0, len(stats), _SCORED):
        rows = slice(begin, begin + _SCORED)
        raise_if_cancelled()
        values[rows] = scores_with_background(problem, background + stats[rows], segments)
    return values


def scores_with_background(
    problem: TuningProblem, sums: FloatArray, segments: float
) -> FloatArray:
    """Return `background_scores` of (n, K) statistics that have the background added."""
    return finite(problem.oriented_scores(sums)) * (segments + 1.0)
