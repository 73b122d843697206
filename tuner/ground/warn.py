"""Warnings: lines about what looks wrong, which no option hides.

A warning goes to the log `portmert`, as a warning, and to whatever collects them for a result:
`--json`, result.json, a page. Facts, such as the format of a file, are no warnings; they go to
`notice`.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

LOG = logging.getLogger("portmert")
_COLLECTED: ContextVar[tuple[dict[str, bool], ...]] = ContextVar("collected", default=())


def warn(line: str, *, of_result: bool = True) -> None:
    """Say that something looks wrong; once while warnings are collected.

    Parameters
    ----------
    line
        What looks wrong, and what to do.
    of_result
        False for what concerns this machine, such as a cache that cannot be written: results of
        the same data stay the same.
    """
    collectors = _COLLECTED.get()
    is_new = not collectors or line not in collectors[0]
    for collector in collectors if of_result else collectors[:1]:
        collector.setdefault(line, of_result)
    if is_new:
        LOG.warning(line)


def warn_of_machine(line: str) -> None:
    """Say that something is wrong on this machine, which no result tells."""
    warn(line, of_result=False)


@contextmanager
def collected_warnings() -> Iterator[dict[str, bool]]:
    """Collect the warnings given inside, in their order: line -> whether it is of the result.

    Collectors may stand inside each other: the outer ones get the lines too.
    """
    lines: dict[str, bool] = {}
    token = _COLLECTED.set((*_COLLECTED.get(), lines))
    try:
        yield lines
    finally:
        _COLLECTED.reset(token)


def warnings_so_far() -> tuple[str, ...]:
    """Return the warnings about the result of the operation that is at work."""
    lines = _COLLECTED.get()[-1] if _COLLECTED.get() else {}
    return tuple(line for line, of_result in lines.items() if of_result)


def with_warnings(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a result as plain data, with the key `warnings` if there are any."""
    lines = list(dict.fromkeys((*document.get("warnings", ()), *warnings_so_far())))
    return {**document, "warnings": lines} if lines else document


class _Shown(logging.Handler):
    """Hands each warning to a function."""

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        """Show one warning."""
        self._show(record.getMessage())


@contextmanager
def shown_warnings(show: Callable[[str], None]) -> Iterator[None]:
    """Collect the warnings given inside, and show each line by a function."""
    handler = _Shown(show)
    LOG.addHandler(handler)
    try:
        with collected_warnings():
            yield
    finally:
        LOG.removeHandler(handler)
