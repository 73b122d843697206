"""Starts programs that end with this one, and watches that they neither hang nor flood."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from portmert.tuner.ground.errors import counted

LOOK_SECONDS = 0.5
"""How often it is looked at what a program has written."""
MOST_LOGGED = 1 << 30
"""Bytes of messages that nobody will read: `-v 3` of Moses takes some MB a segment."""
PART = 1 << 20


class Cancelled(Exception):  # noqa: N818  no fault: nobody waits for the answer
    """Says that the work was given up."""


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let signals that end this program wait until what is started here is known, to be ended too.

    A handler runs between any two steps of Python, also before what a call returns has a name.
    """
    handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
    waiting: list[tuple[int, FrameType | None]] = []
    if threading.current_thread() is threading.main_thread():  # no other gets signals
        for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            handler = signal.getsignal(ending)
            if callable(handler):
                handlers[ending] = handler
                signal.signal(ending, lambda *told: waiting.append(told))
    try:
        yield
    finally:
        for ended, usual in handlers.items():
            signal.signal(ended, usual)
        for number, frame in waiting:
            handlers[number](number, frame)


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a program and end it with the block, also where a signal comes at its start.

    Parameters
    ----------
    options
        As of `subprocess.Popen`.

    Raises
    ------
    OSError, ValueError
        It cannot be started.
    """
    with ExitStack() as stack:
        with undisturbed():
            process = stack.enter_context(subprocess.Popen(command, **options))  # noqa: S603  no shell
            stack.callback(process.kill)
        yield process


@dataclass(frozen=True)
class Bound:
    """Says how much a program may write to a file.

    Parameters
    ----------
    most_bytes
    most_lines
        None: as many as there is room for.
    asked
        What was asked for, the end of a message on more lines.
    """

    most_bytes: int = MOST_LOGGED
    most_lines: int | None = None
    asked: str = ""


class Watch:
    """Tells when a program has been silent for too long, or has written too much.

    Parameters
    ----------
    bounds
        The files that it writes; one that grows is a sign of life.
    timeout_seconds
        Time without a sign of life; 0: it takes as long as it takes.
    given_up
        Set where nobody waits for the program any more.
    """

    def __init__(
        self,
        bounds: Mapping[Path, Bound],
        timeout_seconds: float,
        given_up: threading.Event | None = None,
    ) -> None:
        self._files = [_File(path, bound) for path, bound in bounds.items()]
        self._timeout_seconds = timeout_seconds
        self._given_up = given_up
        self.alive()

    def alive(self) -> None:
        """Take note of a sign of life."""
        self._last = time.monotonic()

    def fault(self) -> str:
        """Return what is wrong by now, empty if nothing is.

        Raises
        ------
        Cancelled
            It was given up.
        """
        if self._given_up is not None and self._given_up.is_set():
            raise Cancelled
        for file in self._files:
            if file.grown():
                self.alive()
            if file.fault:
                return file.fault
        limit = self._timeout_seconds
        if limit and time.monotonic() - self._last > limit:
            return f"wrote nothing for {limit:g} s (timeout_seconds) and was ended"
        return ""


class _File:
    """Keeps how far a file has been looked at."""

    def __init__(self, path: Path, bound: Bound) -> None:
        self._path = path
        self._bound = bound
        self._size = 0
        self._lines = 0
        self.fault = ""

    def grown(self) -> bool:
        """Return whether there is more than before; sees to it that it is not too much."""
        try:
            size = self._path.stat().st_size
        except OSError:  # not there yet
            return False
        if size == self._size:
            return False
        bound, where = self._bound, self._path.name
        if size > bound.most_bytes:
            self.fault = f"wrote more than {bound.most_bytes} bytes to {where}"
        elif bound.most_lines is not None:
            self._count(self._size, size)
            if self._lines > bound.most_lines:
                lines = counted(bound.most_lines, "line")
                self.fault = f"wrote more than {lines} to {where}, {bound.asked}"
        self._size = size
        return True

    def _count(self, begin: int, end: int) -> None:
        with self._path.open("rb") as file:
            file.seek(begin)
            while begin < end and (part := file.read(min(PART, end - begin))):
                self._lines += part.count(b"\n")
                begin += len(part)


def wait(process: subprocess.Popen[bytes], watch: Watch) -> tuple[int, str]:
    """Wait for the end of a program; return its status and what is wrong with what it did.

    A program that is at fault is ended.
    """
    while True:
        try:
            status = process.wait(LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            if fault := watch.fault():
                process.kill()
                return process.wait(), fault
        else:
            watch.alive()  # it has ended in time
            return status, watch.fault()
