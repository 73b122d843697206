"""Processes that stay from shard to shard, and from decoding to decoding."""

import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

from ..base import errors, programs
from ..base.processes import Crew, Died, LineProcess, Silent

KEPT = 4
"""Models whose processes a worker keeps; a command has one, under changing weights."""

_crews: dict[object, Crew] = {}
_lock = threading.Lock()


def crew_of(key: object, log: Path, made: Callable[[IO[bytes]], LineProcess]) -> Crew:
    """Return the processes of a model; end those of models not used lately.

    Parameters
    ----------
    log
        Begins the names of their logs.
    made
        Starts a process with a log.
    """
    numbers = itertools.count()

    def start(begun: Callable[[LineProcess], None]) -> LineProcess:
        log.parent.mkdir(parents=True, exist_ok=True)
        file = log.with_name(f"{log.name}-{next(numbers)}.log").open("w+b")
        try:
            process = made(file)
        except BaseException:
            file.close()
            raise
        begun(process)
        return process

    with _lock:
        crew = _crews.pop(key, None) or Crew(start)
        _crews[key] = crew  # the last one is the one used last
        while len(_crews) > KEPT:
            _crews.pop(next(iter(_crews))).close()
        return crew


def cancel(key: object) -> None:
    """End the processes of a model that are at work."""
    with _lock:
        crew = _crews.get(key)
    if crew is not None:
        crew.cancel()


def end(key: object) -> None:
    """End the processes of a model here, also those at work."""
    with _lock:
        crew = _crews.pop(key, None)
    if crew is not None:
        crew.end()


def fault(where: str, death: Died) -> errors.ProgramError:
    """Return the error that a process died or is stuck."""
    log = f"; its log is {death.log}" if Path(death.log).is_file() else ""
    if isinstance(death, Silent):
        stuck = f"the decoder process is stuck: {death} (timeout_seconds)"
        return errors.ProgramError(f"{where}: {stuck}{log}")
    return errors.ProgramError(
        f"{where}: the decoder process {programs.described(death.status)}: "
        f"{death.last or 'no message'}{log}"
    )
