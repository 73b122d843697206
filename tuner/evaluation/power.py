"""What a test of a difference could show: smallest differences, sizes of test sets, margins.

All follow from the standard error of a difference and its degrees of freedom, so they hold for any
metric, for groups, and for replicas.

References
----------
Bloom, "Minimum detectable effects", Evaluation Review 1995; Card et al., "With Little Power Comes
Great Responsibility", EMNLP 2020; Schuirmann, "A comparison of the two one-sided tests procedure",
1987, for margins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

POWER = 0.8
"""Share of test sets on which a difference is to be shown."""
_ROUNDS = 60
"""Steps to the size of a test set; each halves the distance at least."""


def multiple(degrees: float, level: float) -> float:
    """Return how many standard errors a difference must be, so that it is shown with `POWER`."""
    from scipy.special import stdtrit  # noqa: PLC0415  start-up time

    return float(stdtrit(degrees, (1.0 + level) / 2.0) + stdtrit(degrees, POWER))


def smallest_difference(test: Mapping[str, Any], level: float) -> float | None:
    """Return the smallest difference that is shown with `POWER`; None where nothing is tested.

    Parameters
    ----------
    test
        `error` and `degrees` of `significance.PairTest`.
    level
        1 - level is the share of false alarms, not corrected for several comparisons.
    """
    if test["error"] is None:
        return None
    return multiple(test["degrees"], level) * float(test["error"])


def units_needed(
    difference: float, test: Mapping[str, Any], units: int, level: float
) -> int | None:
    """Return how many segments, or groups, show a difference with `POWER`.

    None where nothing is tested, for a difference of 0, and where the chance of few replicas alone
    is too large.

    Parameters
    ----------
    test
        `error`, `degrees` and `tuning_error` of `significance.PairTest`.
    units
        The number of segments or groups that were tested.
    """
    if test["error"] is None or not difference:
        return None
    tuning = float(test["tuning_error"] or 0.0) ** 2
    of_units = max(float(test["error"]) ** 2 - tuning, 0.0)

    def is_shown(count: int) -> bool:
        degrees = max(1.0, test["degrees"] * count / units)
        error = (of_units * units / count + tuning) ** 0.5
        return bool(multiple(degrees, level) * error <= abs(difference))

    high = 2
    while not is_shown(high):
        high *= 2
        if high > units << _ROUNDS // 2:
            return None
    low = high // 2
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_shown(middle) else (middle, high)
    return high


def margin_tests(gain: float, test: Mapping[str, Any], margin: float) -> dict[str, float | None]:
    """Test whether a system is worse than the first by less than a margin, and better by less.

    Returns
    -------
    `p_no_worse` is the p of the one test, `p_equivalent` that of both: the larger one.

    Parameters
    ----------
    gain
        The difference, above 0 if the system is better.
    """
    from scipy.special import stdtr  # noqa: PLC0415  start-up time

    if test["error"] is None:
        return {"p_no_worse": None, "p_equivalent": None}
    no_worse, no_better = (
        float(stdtr(test["degrees"], -(margin + side * gain) / test["error"])) for side in (1, -1)
    )
    least = math.ulp(0.0)  # a p is never 0
    return {"p_no_worse": max(no_worse, least), "p_equivalent": max(no_worse, no_better, least)}
