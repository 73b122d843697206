"""How the values of a metric are shown. Every output prints them by the methods of `Display`.

Optimizers maximise the score of WER, 1 minus the rate; people read the rate. So a score is turned
into the rate where it is shown, and only there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from ._base import Metric

Value = TypeVar("Value")
"""A number or an array of numbers."""

NOTHING = "\N{EN DASH}"
"""Stands in for a number that is not known, or has no value."""


@dataclasses.dataclass(frozen=True)
class Display:
    """What a metric's score means to a reader.

    Parameters
    ----------
    in_percent
        Whether it is a share.
    higher_is_better
        Whether a higher score is better.
    is_error_rate
        Whether it is an error rate, or 1 minus an error rate if higher is better.
    """

    in_percent: bool = True
    higher_is_better: bool = True
    is_error_rate: bool = False

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Self:
        """Return the display of a metric that JSON describes; keys that it lacks have defaults."""
        names = (field.name for field in dataclasses.fields(cls))
        return cls(**{name: described[name] for name in names if name in described})

    @property
    def is_turned(self) -> bool:
        """Whether the score is 1 minus the rate that is shown."""
        return self.is_error_rate and self.higher_is_better

    @property
    def lower_is_better(self) -> bool:
        """Whether a lower value is better, as values are shown."""
        return self.is_error_rate or not self.higher_is_better

    @property
    def arrow(self) -> str:
        """The direction in which shown values get better."""
        return "↓" if self.lower_is_better else "↑"

    def labelled(self, label: str) -> str:
        """Return a label, with an arrow where lower is better."""
        return f"{label} ↓" if self.lower_is_better else label

    def value(self, score: Value) -> Value:
        """Return the value shown for a score: the rate of an error rate, else the score."""
        return 1.0 - score if self.is_turned else score  # type: ignore[operator,return-value]

    def of_oriented(self, score: Value) -> Value:
        """Return the value shown for a score that was negated if lower is better."""
        return self.value(score if self.higher_is_better else -score)  # type: ignore[operator]

    def change(self, difference: Value) -> Value:
        """Return the difference of the values shown for a difference of scores."""
        return 0.0 + (-difference if self.is_turned else difference)  # type: ignore[operator,return-value]

    def rate(self, score: float) -> float | None:
        """Return the error rate of a score; None if the metric is none."""
        return self.value(score) if self.is_error_rate else None

    def with_rates(self, document: Any) -> Any:
        """Return JSON in which each score of an error rate has the rate beside it.

        `score` gets `rate` as a neighbour, `dev_score` `dev_rate`. A mean and a standard deviation
        (`mean`, `sd`) may stand in place of a score. Weights and ranges of
        features are left alone: a feature may be called `score`.
        """
        if not self.is_error_rate:
            return document
        if isinstance(document, list | tuple):
            return [self.with_rates(item) for item in document]
        if not isinstance(document, Mapping):
            return document
        complete: dict[str, Any] = {}
        for key, item in document.items():
            complete[key] = item if key in ("weights", "ranges") else self.with_rates(item)
            if key == "score" or key.endswith("_score"):
                complete[f"{key.removesuffix('score')}rate"] = self._rate(item)
        return complete

    def _rate(self, score: Any) -> Any:
        if isinstance(score, Mapping):
            return {**score, "mean": self.value(score["mean"])}
        return None if score is None else self.value(score)

    def shown(self, score: float | None) -> str:
        """Return a score as it is printed: a share in percent, an error rate as the rate."""
        return NOTHING if score is None else self._printed(self.value(score))

    def shown_change(self, difference: float | None) -> str:
        """Return a difference of scores as printed, with a plus where the value rises."""
        return NOTHING if difference is None else self._printed(self.change(difference), "+")

    def shown_spread(self, deviation: float | None) -> str:
        """Return a standard deviation or error of scores as printed."""
        return NOTHING if deviation is None else self._printed(deviation)

    def _printed(self, value: float, sign: str = "") -> str:
        # `z`: what rounds to 0 has no minus.
        return f"{100.0 * value:{sign}z.2f}" if self.in_percent else f"{value:{sign}z.4f}"


class Rated:
    """A dataclass with a metric and scores of it, shown with the rates of error rates beside them.

    Fields that are scores are called `score`, or end in `_score`.
    """

    metric: Metric

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher score is better; a lower rate is better in any case."""
        return self.metric.higher_is_better

    @property
    def rates(self) -> dict[str, float | None]:
        """The rate of each score, as `first_score` -> `first_rate`; empty if there is none."""
        fields = self._fields()
        values = self.metric.display.with_rates(fields)
        return {name: values[name] for name in values if name not in fields}

    @property
    def rate(self) -> float | None:
        """The error rate of `score`; None if the metric is none."""
        return self.rates.get("rate")

    def _fields(self) -> dict[str, Any]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type] # subclasses are dataclasses
        return {field.name: getattr(self, field.name) for field in fields if field.repr}

    def __repr__(self) -> str:
        values = self.metric.display.with_rates(self._fields())
        values["higher_is_better"] = self.higher_is_better
        return f"{type(self).__name__}({', '.join(f'{key}={values[key]!r}' for key in values)})"
