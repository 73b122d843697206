"""What an operation works with: threads, a cluster, a cache, and who is shown how far it is.

Here stands how many threads there are by default; threads.py runs them.

Public operations enter a context once. What they call reads it where it is needed, so that it is
not passed from function to function.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .threads import Team

Progress = Callable[[str, int, int], None]
"""Called with the name of a phase, how much of it is done, and of how much."""


def _silent(_phase: str, _count: int, _total: int) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class Context:
    """What an operation works with. No field changes a result.

    Parameters
    ----------
    threads
        The number of threads, 1 or more.
    cluster
        The workers that tasks are sent to; None: tasks run here.
    annotation_cache
        The folder of the cache of annotations; None: the user's own.
    progress
        Shows phases: `annotating` sentences, `decoding` segments, `searching` restarts, `sampling`
        bootstrap samples, `comparing` blocks of pairs.
    command
        The command that was typed, for pages; empty in Python.
    """

    threads: int = 1
    cluster: Team | None = None
    annotation_cache: Path | None = None
    progress: Progress = _silent
    command: str = ""


_CONTEXT: ContextVar[Context] = ContextVar("context", default=Context())  # noqa: B039  frozen


def available_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def current() -> Context:
    """Return the context of the operation at work."""
    return _CONTEXT.get()


@contextmanager
def within(context: Context) -> Iterator[None]:
    """Work in a context."""
    token = _CONTEXT.set(context)
    try:
        yield
    finally:
        _CONTEXT.reset(token)


def using(*, threads: int | None = None, **changes: Any) -> AbstractContextManager[None]:
    """Change the context inside; a field that is None stays as it is.

    Parameters
    ----------
    threads
        The number of threads; 0: one for each processor.
    """
    if threads is not None:
        changes["threads"] = threads or available_processors()
    if changes.get("annotation_cache") is not None:
        changes["annotation_cache"] = Path(changes["annotation_cache"])
    fields = {name: value for name, value in changes.items() if value is not None}
    return within(replace(current(), **fields))
