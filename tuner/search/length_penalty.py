"""Search a length penalty beside the weights: weights . features / max(1, length)^alpha.

For one alpha this is an ordinary tuning problem, in which all features of a hypothesis are divided
by the same number. A grid and golden sections search alpha itself. The length is the number of
tokens in the n-best list, before any text pipeline.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from portmert.metrics._base import Metric
from portmert.metrics._elementary import power

from ..base.errors import ConfigError, ScoreError
from ..base.numbers import parse_number
from ..base.warn import collected_notices, notice
from ..nbest.model import NBest, best_hypotheses
from . import problem, weight_search
from .results import Optimized
from .stat_table import StatTable
from .unseen import middle_estimate

GRID_POINTS = 9
"""Alphas tried first, at equal distances, from one end of the range to the other."""
TOLERANCE = 0.01
"""Share of the range at which the search ends; test sets differ by more than that."""
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
LARGEST = 10.0
"""The largest exponent: a length to this power is still finite."""


@dataclass(frozen=True)
class LengthPenalty:
    """The alphas to choose from.

    Parameters
    ----------
    low, high : float
        The range; equal if alpha is given.
    """

    low: float
    high: float

    @classmethod
    def parse(cls, text: str) -> LengthPenalty:
        """Read `0.6`, or `0:2` for a range.

        Raises
        ------
        ConfigError
            It is neither.
        """
        ends = [parse_number(part) for part in text.split(":")]
        numbers = [end for end in ends if end is not None and abs(end) <= LARGEST]
        if not 1 <= len(numbers) == len(ends) <= 2 or numbers[0] > numbers[-1]:
            raise ConfigError(
                f"length penalty '{text}': expected a number, as 0.6, or a range, as 0:2, "
                f"of at most {LARGEST:g}"
            )
        return cls(numbers[0], numbers[-1])


def penalised(nbest: NBest, alpha: float) -> NBest:
    """Return the list with the features of each hypothesis divided by max(1, length)^alpha.

    The length is the number of its tokens, so `nbest` has the texts before any text step.
    """
    if alpha == 0.0:
        return nbest
    divisors = power(np.maximum(nbest.texts.tokens.lengths, 1), alpha)
    sparse = nbest.sparse
    if sparse is not None:
        sparse = replace(
            sparse, values=sparse.values / np.repeat(divisors, np.diff(sparse.offsets))
        )
    features = np.asfortranarray(nbest.features / divisors[:, None])
    return replace(nbest, features=features, sparse=sparse)


def find_weights_and_alpha(
    nbest: NBest,
    stats: StatTable,
    metric: Metric,
    setup: weight_search.Setup,
    *,
    penalty: LengthPenalty | None,
    start_alpha: float,
) -> Optimized:
    """Find weights and alpha under which the lists' best hypotheses score highest.

    An optimizer that holds segments out chooses alpha by its estimates for unseen text. The
    estimate that is returned is not the highest one but the middle one of the grid's alphas, see
    `middle_estimate`: the golden sections look only where the estimates are high.

    Parameters
    ----------
    stats : StatTable
        Statistics of the list's hypotheses.
    start_alpha : float
        Belongs to the start weights; `start_score` is under both.

    Returns
    -------
    Optimized
        `length_penalty` is alpha, with equal scores the one nearest 0; None without a penalty to
        choose. `known`, `line_searches`
        and all seconds are sums over all alphas.
    """
    if penalty is None or (penalty == LengthPenalty(0.0, 0.0) and start_alpha == 0.0):
        result = weight_search.find_weights(nbest, stats, metric, setup)
        return result if penalty is None else replace(result, length_penalty=0.0)
    tried: dict[float, Optimized] = {}
    without_score: dict[float, ScoreError] = {}
    notices: dict[float, list[str]] = {}

    def value(alpha: float) -> tuple[float, float]:
        """Return the oriented score and how near to 0 alpha is, by which alphas are compared."""
        if alpha not in tried and alpha not in without_score:
            try:
                with collected_notices() as notices[alpha]:
                    scaled = penalised(nbest, alpha)
                    tried[alpha] = weight_search.find_weights(scaled, stats, metric, setup)
            except ScoreError as error:  # the worst there is; another alpha may have a score
                without_score[alpha] = error
        if alpha in without_score:
            return -math.inf, -abs(alpha)
        score = tried[alpha].unseen_score
        if score is None:
            score = tried[alpha].score
        return problem.oriented(metric, score), -abs(alpha)

    alpha = find_alpha(value, penalty)
    if alpha in without_score:
        raise without_score[alpha]
    for line in notices[alpha]:  # notices on other alphas are of no interest
        notice(line)
    on_grid = [tried[alpha] for alpha in grid(penalty) if alpha in tried]
    estimates = [result.unseen for result in on_grid if result.unseen is not None]
    unseen = middle_estimate(estimates, stats, metric) if estimates else None
    start = setup.start(nbest.feature_names)
    at_start = best_hypotheses(penalised(nbest, start_alpha), start)
    return replace(
        tried[alpha],
        length_penalty=alpha,
        start_score=stats.score(metric, at_start),
        known=stats.known,
        line_searches=sum(result.line_searches for result in tried.values()),
        cpu_seconds=sum(result.cpu_seconds for result in tried.values()),
        seconds={
            phase: sum(result.seconds[phase] for result in tried.values())
            for phase in tried[alpha].seconds
        },
        unseen=unseen,
        unseen_score=None if unseen is None else unseen.score(metric),
        unseen_error=None if unseen is None else unseen.error or None,
    )


def grid(penalty: LengthPenalty) -> list[float]:
    """Return the alphas that are tried first, rising; no penalty is always among them."""
    if penalty.low == penalty.high:
        return [penalty.low]
    alphas: list[float] = np.linspace(penalty.low, penalty.high, GRID_POINTS).tolist()
    if penalty.low < 0.0 < penalty.high and 0.0 not in alphas:
        alphas = sorted([*alphas, 0.0])
    return alphas


def find_alpha(value: Callable[[float], tuple[float, float]], penalty: LengthPenalty) -> float:
    """Return the alpha of the highest value that a grid and golden sections around its best find.

    `value` is called with alphas of the range, with some of them repeatedly.
    """
    alphas = grid(penalty)
    if len(alphas) == 1:
        value(penalty.low)
        return penalty.low
    best = max(range(len(alphas)), key=lambda k: value(alphas[k]))
    left, right = alphas[max(best - 1, 0)], alphas[min(best + 1, len(alphas) - 1)]
    inner, outer = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
    tried = [*alphas, inner, outer]
    while right - left > TOLERANCE * (penalty.high - penalty.low):
        if value(inner) >= value(outer):  # one of the two points stays, one is new
            right, outer = outer, inner
            inner = right - _GOLDEN * (right - left)
            tried.append(inner)
        else:
            left, inner = inner, outer
            outer = left + _GOLDEN * (right - left)
            tried.append(outer)
    return max(tried, key=value)
