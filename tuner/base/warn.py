"""Warnings: lines about what looks wrong, which no option hides.

A warning goes to the log `portmert`, as a warning, and to whatever collects them for a result:
`--json`, result.json, a page. Facts, such as the format of a file, are no warnings; they go to
`notice`.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

LOG = logging.getLogger("portmert")


class Warnings(dict[str, bool]):
    """Warnings in their order: line -> whether it is of the result.

    Attributes
    ----------
    left_out
        Warning -> the number of segments that are left out, as it says.
    """

    def __init__(self) -> None:
        super().__init__()
        self.left_out: dict[str, int] = {}


_COLLECTED: ContextVar[tuple[Warnings, ...]] = ContextVar("collected", default=())


def warn(line: str, *, of_result: bool = True, left_out: int = 0) -> None:
    """Say that something looks wrong; once while warnings are collected.

    Parameters
    ----------
    line
        What looks wrong, and what to do.
    of_result
        False for what concerns this machine, such as a cache that cannot be written: results of
        the same data stay the same.
    left_out
        The number of segments that are left out, if the warning is about them.
    """
    collectors = _COLLECTED.get()
    is_new = not collectors or line not in collectors[0]
    for collector in collectors if of_result else collectors[:1]:
        collector.setdefault(line, of_result)
        if left_out:
            collector.left_out[line] = left_out
    if is_new:
        LOG.warning(line)


def warn_of(lines: Iterable[str]) -> None:
    """Say of several lines, each once, that something looks wrong."""
    for line in dict.fromkeys(lines):
        warn(line)


def warn_of_machine(line: str) -> None:
    """Say that something is wrong on this machine, which no result tells."""
    warn(line, of_result=False)


@contextmanager
def collected_warnings() -> Iterator[Warnings]:
    """Collect the warnings given inside.

    Collectors may stand inside each other: the outer ones get the lines too.
    """
    lines = Warnings()
    token = _COLLECTED.set((*_COLLECTED.get(), lines))
    try:
        yield lines
    finally:
        _COLLECTED.reset(token)


def warnings_so_far() -> tuple[str, ...]:
    """Return the warnings about the result of the operation that is at work."""
    lines = _COLLECTED.get()[-1] if _COLLECTED.get() else {}
    return tuple(line for line, of_result in lines.items() if of_result)


def left_out_so_far() -> int:
    """Return the number of segments that the operation at work has left out."""
    return sum(_COLLECTED.get()[-1].left_out.values()) if _COLLECTED.get() else 0


def with_warnings(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a result as plain data, with the keys `warnings` and `left_out` if there are any."""
    lines = list(dict.fromkeys((*document.get("warnings", ()), *warnings_so_far())))
    count = document.get("left_out") or left_out_so_far()
    found = {**document, **({"left_out": count} if count else {})}
    return {**found, "warnings": lines} if lines else found


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
