"""Writes numbers as the page and its sentences show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOTHING = "\N{EN DASH}"
"""Stands where there is no number."""


def shown(value: float | None, metric: Mapping[str, Any]) -> str:
    """Return a score as it is printed."""
    if value is None:
        return NOTHING
    return f"{100 * value:.2f}" if metric["in_percent"] else f"{value:.4f}"


def signed(value: float | None, metric: Mapping[str, Any]) -> str:
    """Return a difference of scores with its sign."""
    if value is None:
        return NOTHING
    text = shown(abs(value), metric)
    return ("+" if value > 0 else "\N{MINUS SIGN}" if value < 0 else "") + text


def spoken(system: str, tuned_on: str | None) -> str:
    """Return what sentences call a system: one named as the metric it was tuned on `PORT-tuned`.

    Parameters
    ----------
    tuned_on
        The signature of that metric, where it is known.
    """
    metric = (tuned_on or "").partition("|")[0].partition(":")[0]
    return f"{system.upper()}-tuned" if metric and system.lower() == metric else system


def signed_count(value: float) -> str:
    """Return a difference of counts with its sign."""
    return ("+" if value > 0 else "\N{MINUS SIGN}" if value < 0 else "") + whole(abs(value))


def fixed(value: float | None, digits: int) -> str:
    """Return a number with so many decimals."""
    return NOTHING if value is None else f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def percent(value: float | None, digits: int = 2) -> str:
    """Return a share in percent."""
    return fixed(None if value is None else 100 * value, digits)


def p_value(value: float | None) -> str:
    """Return a p-value with as many digits as matter."""
    if value is None:
        return NOTHING
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}" if value < 0.1 else f"{value:.2f}"


def whole(value: float | None) -> str:
    """Return a count; a mean of counts with one decimal."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
