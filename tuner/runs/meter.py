"""Measures work: time, processor time, and the memory of the processes that it starts."""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

LOOK_SECONDS = 0.05
"""How often it is looked at what processes hold."""
_TASKS = Path("/proc/self/task")


class Cost(NamedTuple):
    """Holds seconds on the clock, and of processors."""

    wall: float = 0.0
    cpu: float = 0.0

    def plus(self, other: Cost) -> Cost:
        """Return both together."""
        return Cost(self.wall + other.wall, self.cpu + other.cpu)

    def times(self, factor: float) -> Cost:
        """Return the cost of so many."""
        return Cost(self.wall * factor, self.cpu * factor)

    def less(self, other: Cost) -> Cost:
        """Return what is left without the other, none below 0."""
        return Cost(max(0.0, self.wall - other.wall), max(0.0, self.cpu - other.cpu))


class Meter:
    """Measures what is done within `measured`.

    Attributes
    ----------
    cost
        Of the last piece of work, processes that it started and that have ended included.
    child_bytes
        The most memory that one of the processes that were started held; None where the system
        does not tell.
    """

    def __init__(self) -> None:
        self.cost = Cost()
        self.child_bytes: int | None = None

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Measure what is done within."""
        self.child_bytes = None
        ended = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(ended,), daemon=True)
        before, begin = cpu_seconds(), time.perf_counter()
        watcher.start()
        try:
            yield
        finally:
            self.cost = Cost(time.perf_counter() - begin, cpu_seconds() - before)
            ended.set()
            watcher.join()

    def _watch(self, ended: threading.Event) -> None:
        while not ended.wait(LOOK_SECONDS):
            found = max((peak_bytes(pid) for pid in _descendants(_TASKS)), default=0)
            if found:
                self.child_bytes = max(self.child_bytes or 0, found)


def cpu_seconds() -> float:
    """Return processor seconds of this process and of those that it started and that ended."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def _descendants(tasks: Path) -> Iterator[int]:
    """Yield processes that a process has started, and those that they have."""
    try:
        for task in tasks.iterdir():
            for pid in (task / "children").read_text().split():
                yield int(pid)
                yield from _descendants(Path("/proc", pid, "task"))
    except OSError:  # it has ended, or the system tells nothing
        return


def peak_bytes(process: int | str = "self") -> int:
    """Return the most bytes that a process has held; 0 where that is not told."""
    try:
        for line in Path("/proc", str(process), "status").read_text().splitlines():
            key, _, value = line.partition(":")
            if key == "VmHWM":
                return 1024 * int(value.split()[0])
    except (OSError, ValueError):
        pass
    return 0
