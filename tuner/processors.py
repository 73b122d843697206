"""Counts the processors there are to use, and lets several threads work on them."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


def available_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def each(
    work: Callable[[int], Result],
    count: int,
    *,
    threads: int,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Return `work(0)`, `work(1)` and so on, in order, so many of them at once.

    Parameters
    ----------
    progress : callable, optional
        Called as progress(done, count), from this thread.
    """
    found = []
    pool = ThreadPoolExecutor(max(1, min(threads, count)))
    interrupted = False
    try:
        for done, result in enumerate(pool.map(work, range(count)), 1):
            found.append(result)
            if progress is not None:
                progress(done, count)
    except KeyboardInterrupt:
        interrupted = True
        raise
    finally:
        # A search that parses takes minutes: who interrupts it does not wait for its end.
        pool.shutdown(wait=not interrupted, cancel_futures=True)
    return found
