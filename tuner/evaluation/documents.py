"""Parts that all reports share: how numbers are written, how sentences list names, charts.

Each kind of result has a `report.py` that turns it into sentences, `Table`s and charts. These
serve the terminal, LaTeX, JSON and the HTML page.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from portmert.tuner.ground.numbers import shown_p

NOTHING = "\N{EN DASH}"
"""Stands in for a number that is not known."""
LIKELY = 0.05
"""A p-value below it counts as more than chance."""

Chart = dict[str, Any]
"""Plain data that charts.js draws. See `chart`."""


def shown(value: float | None, metric: Mapping[str, Any], *, sign: bool = False) -> str:
    """Return a score as printed: in percent, or with four decimals if it is not a share.

    Parameters
    ----------
    metric
        Its key `in_percent` decides.
    sign
        Whether to print a plus.
    """
    if value is None:
        return NOTHING
    plus = "+" if sign else ""
    return f"{100 * value:{plus}.2f}" if metric["in_percent"] else f"{value:{plus}.4f}"


def signed(value: float | None, metric: Mapping[str, Any]) -> str:
    """Return a difference of scores with its sign, a minus in place of a hyphen."""
    return NOTHING if value is None else _sign(value) + shown(abs(value), metric)


def signed_count(value: float) -> str:
    """Return a difference of counts with its sign."""
    return _sign(value) + whole(abs(value))


def _sign(value: float) -> str:
    return "+" if value > 0 else "\N{MINUS SIGN}" if value < 0 else ""


def fixed(value: float | None, digits: int) -> str:
    """Return a number with a fixed number of decimals."""
    return NOTHING if value is None else f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def percent(value: float | None, digits: int = 2) -> str:
    """Return a share in percent."""
    return fixed(None if value is None else 100 * value, digits)


def p_value(value: float | None) -> str:
    """Return a p-value with as many digits as matter."""
    if value is None:
        return NOTHING
    return shown_p(value).replace("<", "< ") if value < 0.1 else f"{value:.2f}"


def whole(value: float | None) -> str:
    """Return a count, or a mean of counts with one decimal."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def directed(metric: Mapping[str, Any]) -> str:
    """Return a metric's label, with an arrow where lower is better."""
    return str(metric["label"]) + ("" if metric["higher_is_better"] else " ↓")


def listed(names: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def chart(
    name: str, place: str, kind: str, title: str, choices: Sequence[Any], **rest: Any
) -> Chart:
    """Return a chart for a section of the page.

    Parameters
    ----------
    place
        The section.
    kind
        `intervals` and `bars` are horizontal, `columns` vertical; `lines`, `steps` and `scatter`
        connect or mark points.
    choices
        The choices of the reader (metrics, features), each with its series. A series has
        a `system`, the number of its colour: the page knows the colours of both themes.
    rest
        Caption, names of the axes, and sizes that differ from the usual ones.
    """
    return {
        "id": f"chart-{name}", "place": place, "kind": kind, "title": title, "choices": choices,
        "caption": "", "x": "", "y": "", "whole": False, "wide": False, "tall": None, **rest,
    }  # fmt: skip


def option(
    label: str, series: Sequence[Any], *, in_percent: bool = False, **rest: Any
) -> dict[str, Any]:
    """Return one choice of a chart; `rest` has categories and where a dashed line stands."""
    return {"label": label, "percent": in_percent, "series": series, **rest}
