"""Scores, differences, p-values and counts as text, for all reports.

`metric` is what JSON says of a metric; it has the fields of `Display`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from portmert.metrics._display import Display

from ..base.numbers import shown_p
from ..base.tables import NOTHING

LIKELY = 0.05
"""A p-value below it counts as more than chance."""


def shown(value: float | None, metric: Mapping[str, Any]) -> str:
    """Return a score as printed: see `Display`, whose fields `metric` has."""
    return NOTHING if value is None else Display.of(metric).shown(value)


def signed(value: float | None, metric: Mapping[str, Any]) -> str:
    """Return a difference of scores with its sign, a minus in place of a hyphen."""
    if value is None:
        return NOTHING
    change = Display.of(metric).change(value)
    return _sign(change) + spread(abs(change), metric)


def changed(value: float | None, metric: Mapping[str, Any]) -> str:
    """Return a difference of scores with its sign, for tables of plain text."""
    return NOTHING if value is None else Display.of(metric).shown_change(value)


def spread(value: float | None, metric: Mapping[str, Any]) -> str:
    """Return a standard deviation or error of scores, or the size of a difference."""
    return NOTHING if value is None else Display.of(metric).shown_spread(value)


def charted(value: float | None, metric: Mapping[str, Any]) -> float | None:
    """Return the value that a chart or a column to sort by has for a score."""
    return None if value is None else Display.of(metric).value(value)


def span(
    low: float | None, high: float | None, metric: Mapping[str, Any]
) -> tuple[float | None, float | None]:
    """Return the ends of an interval so that the value shown for the first is the lower."""
    return (high, low) if Display.of(metric).is_turned else (low, high)


def interval(low: float | None, high: float | None, metric: Mapping[str, Any]) -> str:
    """Return the interval of a difference as printed."""
    if low is None or high is None:
        return NOTHING
    return "..".join(changed(end, metric) for end in span(low, high, metric))


def p_or_dash(value: float | None) -> str:
    """Return a p-value with four decimals."""
    return NOTHING if value is None else shown_p(value)


def _sign(value: float) -> str:
    return "+" if value > 0 else "\N{MINUS SIGN}" if value < 0 else ""


def decimals(value: float | None, digits: int) -> str:
    """Return a number with a fixed number of decimals; 0 has no sign."""
    return NOTHING if value is None or math.isnan(value) else f"{value:z.{digits}f}"


def p_value(value: float | None) -> str:
    """Return a p-value with as many digits as matter."""
    if value is None:
        return NOTHING
    return shown_p(value).replace("<", "< ") if value < 0.1 else f"{value:.2f}"


def directed(metric: Mapping[str, Any]) -> str:
    """Return a metric's label, with an arrow where lower is better."""
    return Display.of(metric).labelled(str(metric["label"]))


def listed(names: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
