"""Searches a length penalty beside the weights: weights . features / max(1, length)^alpha.

For one alpha this is an ordinary tuning problem, all features of a hypothesis being divided by
the same number; alpha itself is searched around it, by a grid and golden sections. The length is
the number of tokens in the n-best list, before any text pipeline.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from portmert.metrics._base import IntArray, Metric
from portmert.tuner.ground.errors import ConfigError
from portmert.tuner.ground.numbers import parse_number
from portmert.tuner.nbest.model import NBest, best_hypotheses, model_scores
from portmert.tuner.search.optimization import Optimization, Setup, equal_weights, optimize_stats
from portmert.tuner.search.problem import StatTable

GRID_POINTS = 9
"""Alphas tried first, at equal distances, both ends among them."""
TOLERANCE = 0.01
"""The section that is left of the range when the search ends; sets differ by more than that."""
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
LARGEST = 10.0
"""The largest exponent: a length to this power is a number yet."""


@dataclass(frozen=True)
class LengthPenalty:
    """Holds the alphas to choose from.

    Parameters
    ----------
    low, high : float
        The range; equal for a given alpha.
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


def penalised(nbest: NBest, alpha: float, *, lengths: IntArray) -> NBest:
    """Return the list with the features of each hypothesis divided by max(1, length)^alpha.

    Parameters
    ----------
    lengths : (H,) int64
        Tokens of each hypothesis as they stood in the list.
    """
    if alpha == 0.0:
        return nbest
    divisors = np.maximum(lengths, 1).astype(np.float64) ** alpha
    sparse = nbest.sparse
    if sparse is not None:
        sparse = replace(
            sparse, values=sparse.values / np.repeat(divisors, np.diff(sparse.offsets))
        )
    features = np.asfortranarray(nbest.features / divisors[:, None])
    return replace(nbest, features=features, sparse=sparse)


def optimize_penalised(
    nbest: NBest,
    stats: StatTable,
    metric: Metric,
    setup: Setup,
    *,
    penalty: LengthPenalty,
    lengths: IntArray,
    start_alpha: float,
    notice: Callable[[str], None],
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Optimization, float]:
    """Find weights and alpha under which the lists' best hypotheses score highest.

    Parameters
    ----------
    stats : StatTable
        Of the list's hypotheses.
    lengths : (H,) int64
        Tokens of each hypothesis as they stood in the list.
    start_alpha : float
        What belongs to the start weights; `start_score` is under both.
    progress : callable, optional
        Called as progress(restarts done, restarts in all), for each alpha anew.

    Returns
    -------
    found : Optimization
        `known`, `line_searches` and all seconds are those of all alphas together.
    alpha : float
        Of equal scores the alpha nearest 0.
    """
    tried: dict[float, Optimization] = {}
    said: dict[float, list[str]] = {}

    def value(alpha: float) -> tuple[float, float]:
        """Return the objective, and how near to 0: what makes one alpha better than another."""
        if alpha not in tried:
            tried[alpha] = optimize_stats(
                penalised(nbest, alpha, lengths=lengths),
                stats,
                metric,
                setup,
                notice=said.setdefault(alpha, []).append,
                progress=progress,
            )
        found = tried[alpha]
        score = found.final_score if found.unseen_score is None else found.unseen_score
        return metric.oriented(score), -abs(alpha)

    alpha = search_alpha(value, penalty)
    for line in said.get(alpha, ()):  # what was said of other alphas is no longer of interest
        notice(line)
    seconds: dict[str, float] = {}
    for each in tried.values():
        for phase, time in each.seconds.items():
            seconds[phase] = seconds.get(phase, 0.0) + time
    found = replace(
        tried[alpha],
        start_score=_start_score(
            penalised(nbest, start_alpha, lengths=lengths), metric, setup, stats
        ),
        known=stats.known,
        line_searches=sum(each.line_searches for each in tried.values()),
        cpu_seconds=sum(each.cpu_seconds for each in tried.values()),
        seconds=seconds,
    )
    return found, alpha


def search_alpha(value: Callable[[float], tuple[float, float]], penalty: LengthPenalty) -> float:
    """Return the alpha of the highest value that a grid and golden sections around its best find.

    `value` is called with alphas of the range, repeatedly with some of them.
    """
    if penalty.low == penalty.high:
        value(penalty.low)
        return penalty.low
    grid: list[float] = np.linspace(penalty.low, penalty.high, GRID_POINTS).tolist()
    if penalty.low < 0.0 < penalty.high and 0.0 not in grid:
        grid = sorted([*grid, 0.0])  # no penalty is always tried
    best = max(range(len(grid)), key=lambda k: value(grid[k]))
    left, right = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    inner, outer = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
    tried = [*grid, inner, outer]
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


def _start_score(nbest: NBest, metric: Metric, setup: Setup, stats: StatTable) -> float:
    start = setup.starts[0] if setup.starts else equal_weights(nbest.feature_names)
    best = best_hypotheses(nbest, model_scores(nbest, start))
    return float(metric.score(stats.total(best)))
