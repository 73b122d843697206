"""Metrics and optimizers by the names that the command line knows them by."""

from __future__ import annotations

from portmert.metrics._base import Metric
from portmert.tuner.components import registry
from portmert.tuner.search.optimizers._base import Optimizer


def metric(text: str) -> Metric:
    """Return the metric written `name`, `name:option=value,...` or as a formula.

    Parameters
    ----------
    text
        As on the command line: `bleu`, `port:alpha=0.5`, `0.6*port + 0.4*bleu`,
        `scores:FILE`, `command:"PROGRAM ..."`. `portmert metrics` lists all.

    Raises
    ------
    PortmertError
        There is no such metric or option, or a value is out of range.

    Examples
    --------
    >>> import portmert
    >>> portmert.metric("port:alpha=0.5").signature
    'port:alpha=0.5,order=v,...'
    >>> portmert.metric("PRT")
    Traceback (most recent call last):
        ...
    portmert.tuner.ground.errors.ConfigError: unknown metric 'prt'; did you mean 'port'?
    """
    return registry.metric(text)


def as_metric(given: str | Metric) -> Metric:
    """Return a metric given by itself or as text."""
    return given if isinstance(given, Metric) else registry.metric(given)


def as_optimizer(given: str | Optimizer) -> Optimizer:
    """Return an optimizer given by itself or as text, `name:option=value,...`."""
    return registry.optimizer(given) if isinstance(given, str) else given
