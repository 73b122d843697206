"""Warnings: lines about what looks wrong, which no option hides.

A warning goes to the log `portmert`, as a warning, and to whatever collects them for a result:
`--json`, result.json, a page. Facts, such as the format of a file, are no warnings; they go to
`notice`.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LOG = logging.getLogger("portmert")
_COLLECTED: ContextVar[tuple[dict[str, None], ...]] = ContextVar("collected", default=())


def warn(line: str) -> None:
    """Say that something looks wrong; once while warnings are collected."""
    collectors = _COLLECTED.get()
    if all(line in collector for collector in collectors) and collectors:
        return
    for collector in collectors:
        collector[line] = None
    LOG.warning(line)


@contextmanager
def collected_warnings() -> Iterator[dict[str, None]]:
    """Collect the warnings given inside, in their order; the keys are the lines.

    Collectors may stand inside each other: the outer ones get the lines too.
    """
    lines: dict[str, None] = {}
    token = _COLLECTED.set((*_COLLECTED.get(), lines))
    try:
        yield lines
    finally:
        _COLLECTED.reset(token)
