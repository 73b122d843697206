"""Scores, differences, p-values and counts as text, for all reports."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from portmert.metrics._display import NOTHING, Display

from ..base.numbers import shown_p

LIKELY = 0.05
"""A p-value below it counts as more than chance."""


@dataclass(frozen=True)
class ShownMetric(Display):
    """A metric of a document: how it is called, and how its values are printed."""

    label: str = ""

    @property
    def directed(self) -> str:
        """The label, with an arrow where lower is better."""
        return self.labelled(self.label)

    def charted(self, score: float | None) -> float | None:
        """Return the value that a chart or a column to sort by has for a score."""
        return None if score is None else self.value(score)

    def with_spread(self, row: Mapping[str, Any]) -> str:
        """Return the score of a row as printed, with its deviation over replicas if it has one."""
        spread = "" if row["s_opt"] is None else f" ± {self.shown_spread(row['s_opt'])}"
        return f"{self.shown(row['score'])}{spread}"

    def signed(self, difference: float | None) -> str:
        """Return a difference of scores with its sign, a minus in place of a hyphen."""
        if difference is None:
            return NOTHING
        change = self.change(difference)
        sign = "+" if change > 0 else "\N{MINUS SIGN}" if change < 0 else ""
        return sign + self.shown_spread(abs(change))

    def span(self, low: float | None, high: float | None) -> tuple[float | None, float | None]:
        """Return the ends of an interval, first the one whose shown value is the lower."""
        return (high, low) if self.is_turned else (low, high)

    def interval(self, low: float | None, high: float | None) -> str:
        """Return the interval of a difference as printed."""
        if low is None or high is None:
            return NOTHING
        return "..".join(map(self.shown_change, self.span(low, high)))

    def interval_of_score(self, low: float | None, high: float | None) -> str:
        """Return the interval of a score as printed."""
        if low is None or high is None:
            return NOTHING
        return " to ".join(map(self.shown, self.span(low, high)))


def p_or_dash(value: float | None) -> str:
    """Return a p-value with four decimals."""
    return NOTHING if value is None else shown_p(value)


def decimals(value: float | None, digits: int) -> str:
    """Return a number with a fixed number of decimals; 0 has no sign."""
    return NOTHING if value is None or math.isnan(value) else f"{value:z.{digits}f}"


def p_value(value: float | None) -> str:
    """Return a p-value with as many digits as matter."""
    if value is None:
        return NOTHING
    return shown_p(value).replace("<", "< ") if value < 0.1 else f"{value:.2f}"


def listed(names: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
