"""What looks wrong about weights tuned on outcomes: gains by negative weights, and losses.

nbest/findings.py checks the lists before.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric

from ..base.errors import counted
from ..base.warn import unsaid
from ..nbest.missing import MISSING
from ..nbest.model import NBest, best_hypotheses
from ..weights.feature_weights import FeatureWeights
from .optimizers.min_risk import MinRisk
from .stat_table import StatTable
from .weight_search import Setup, find_weights

CLEARLY = 3.0
"""Standard errors of a paired difference from which it is told."""
SHARE = 0.1
"""The share of the gain over chance from which negative weights are told."""
MOST_SEARCHED = 5_000
"""Segments, evenly spaced, on which weights at 0 or above are searched."""
_SHOWN = 5
_OWN_DIRECTION = re.compile(
    rf"-.*|length|ratio|.*{re.escape(MISSING)}|[A-Z][A-Za-z]*[0-9]+|[A-Za-z]*Penalty"
)
"""Features whose name says that less is better, or of which less may well be: lengths, what is
missing, and the features of decoders."""


def outcomes_of(metric: Metric, stats: StatTable) -> FloatArray | None:
    """Return (H,) outcomes of which the metric is the mean, more is better; None for others."""
    if metric.stat_names != ("sum", "segments") or stats.is_lazy:
        return None
    return np.asarray(metric.oriented(stats.rows[:, 0].astype(np.float64)))


def by_chance(outcomes: FloatArray, offsets: IntArray) -> FloatArray:
    """Return (S,) the mean outcome of each segment: what choosing by chance gets."""
    return np.asarray(np.add.reduceat(outcomes, offsets[:-1]) / np.diff(offsets))


def is_clear(differences: FloatArray) -> bool:
    """Whether (S,) paired differences are above 0 by `CLEARLY` standard errors."""
    error = differences.std(ddof=1) / math.sqrt(len(differences)) if len(differences) > 1 else 0.0
    return bool(differences.mean() > CLEARLY * error and error > 0)


def loss_finding(
    name: str, metric: Metric, outcomes: FloatArray, offsets: IntArray, rows: IntArray
) -> str:
    """Return a line if (S,) chosen rows are worse than chance; else "".

    Parameters
    ----------
    outcomes : (H,) float64
        More is better.
    """
    chance, chosen = by_chance(outcomes, offsets), outcomes[rows]
    if not is_clear(chance - chosen):
        return ""
    found, mean = (metric.shown(float(metric.oriented(row.mean()))) for row in (chosen, chance))
    return (
        f"{name}: the tuned choices are worse than chance ({found}, by chance {mean}): do its "
        f"numbers have the direction of those tuned on? Write a minus before its name where less "
        f"is better"
    )


def negative_finding(
    nbest: NBest,
    stats: StatTable,
    metric: Metric,
    setup: Setup,
    weights: FeatureWeights,
) -> str:
    """Return a line if a gain rests on negative weights; else "".

    Where judges differ by who wrote a hypothesis, weights of both signs learn the writer. Minimum
    risk searches again with these weights at 0 or above: a tenth of the default's time.
    """
    outcomes = outcomes_of(metric, stats)
    negative = [
        name
        for name, numbers in weights.values.items()
        if min(numbers, default=0.0) < 0
        and len(numbers) == 1
        and not _OWN_DIRECTION.fullmatch(name)
        and name not in setup.constraints.bounds
    ]
    if outcomes is None or not negative or len(nbest) < 2:
        return ""
    chance = by_chance(outcomes, nbest.offsets)
    del outcomes  # they are large

    def chosen(weights: FeatureWeights) -> FloatArray:
        return np.asarray(metric.oriented(stats.take(best_hypotheses(nbest, weights))[:, 0]))

    tuned = chosen(weights)
    zeros = FeatureWeights({**weights.values, **dict.fromkeys(negative, (0.0,))})
    if not _is_clear_gain(tuned, chosen(zeros), chance):
        return ""
    bounds = dict.fromkeys(_free(nbest, setup), (0.0, math.inf))
    constraints = replace(setup.constraints, bounds={**setup.constraints.bounds, **bounds})
    with unsaid():
        bounded = replace(setup, optimizer=MinRisk(), constraints=constraints)
        searched = np.arange(0, len(nbest), 1 + (len(nbest) - 1) // MOST_SEARCHED)
        found = find_weights(nbest, stats, metric, bounded, segments=searched)
    above = chosen(found.weights)
    if not _is_clear_gain(tuned, above, chance):
        return ""
    with_them, without, mean = (
        metric.shown(float(metric.oriented(row.mean()))) for row in (tuned, above, chance)
    )
    names = ", ".join(negative[:_SHOWN]) + (
        f" and {counted(len(negative) - _SHOWN, 'other')}" if len(negative) > _SHOWN else ""
    )
    return (
        f"negative weights carry the gain: {metric.display.labelled(metric.name())} {with_them}, "
        f"with weights at 0 or above {without} (by chance {mean}). They may tell who wrote a "
        f"hypothesis, not which is good. If less of {names} is better, write a minus before the "
        f"name; else hold them at 0 or above (--sign NAME=+)"
    )


def _free(nbest: NBest, setup: Setup) -> Sequence[str]:
    """Return the features that shall have weights at 0 or above."""
    limited = {*setup.constraints.bounds, *setup.constraints.fixed}
    return [
        name
        for name, size in nbest.feature_names
        if size == 1 and name not in limited and not _OWN_DIRECTION.fullmatch(name)
    ]


def _is_clear_gain(tuned: FloatArray, others: FloatArray, chance: FloatArray) -> bool:
    """Whether (S,) outcomes are clearly above others, by a good part of what is above chance."""
    gain = max(tuned.mean() - chance.mean(), 0.0)
    return is_clear(tuned - others) and (tuned - others).mean() > SHARE * gain
