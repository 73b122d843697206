"""Messages for the user: warnings and facts.

Both go to the logger `portmert`. The command line shows them on stderr.

A warning says that something looks wrong. No option hides it, and results collect it: `--json`,
result.json, a page. A fact, such as the format of a file, is logged as INFO.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

LOG = logging.getLogger("portmert")


Receive = Callable[[str], None]
"""Called with one line."""

_RECEIVER: ContextVar[Receive | None] = ContextVar("receiver", default=None)


def notice(line: str) -> None:
    """Log a fact as INFO, or hand it to the function that `notices_to` names."""
    receive = _RECEIVER.get()
    if receive is None:
        LOG.info(line)
    else:
        receive(line)


@contextmanager
def notices_to(receive: Receive) -> Iterator[None]:
    """Hand the facts noticed inside to a function; it may notice them again."""
    outside = _RECEIVER.get()

    def received(line: str) -> None:
        token = _RECEIVER.set(outside)
        try:
            receive(line)
        finally:
            _RECEIVER.reset(token)

    token = _RECEIVER.set(received)
    try:
        yield
    finally:
        _RECEIVER.reset(token)


@contextmanager
def collected_notices() -> Iterator[list[str]]:
    """Collect the facts noticed inside; nobody else gets them."""
    lines: list[str] = []
    with notices_to(lines.append):
        yield lines


def notices_behind(name: str) -> AbstractContextManager[None]:
    """Put a name before each fact noticed inside."""
    return notices_to(lambda line: notice(f"{name}: {line}"))


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

    def copied(self) -> "Warnings":
        """Return warnings of their own."""
        warnings = Warnings()
        warnings.update(self)
        warnings.left_out.update(self.left_out)
        return warnings


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


def take_over(warnings: Warnings) -> None:
    """Collect warnings that were logged before, for the result at work too."""
    for collector in _COLLECTED.get():
        for line, of_result in warnings.items():
            collector.setdefault(line, of_result)
        collector.left_out |= warnings.left_out


class _Known(Warnings):
    """Has every line."""

    def __contains__(self, line: object) -> bool:
        return True


@contextmanager
def unsaid() -> Iterator[None]:
    """Say no warning or fact from inside, where the same data are read again and said to be so."""
    token = _COLLECTED.set((_Known(),))
    try:
        with collected_notices():
            yield
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
    content = {**document, **({"left_out": count} if count else {})}
    return {**content, "warnings": lines} if lines else content


@contextmanager
def shown_messages(handler: logging.Handler) -> Iterator[None]:
    """Collect the warnings given inside; the handler shows each warning and each fact."""
    level = LOG.level
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    try:
        with collected_warnings():
            yield
    finally:
        LOG.setLevel(level)
        LOG.removeHandler(handler)
