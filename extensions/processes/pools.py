"""Processes that stay from shard to shard, and from decoding to decoding."""

import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

from portmert.tuner.base import errors, programs

from .line_processes import Died, LineProcess, ProcessPool, Silent

KEPT = 4
"""Models whose processes a worker keeps; a command has one, under changing weights."""

_by_key: dict[object, ProcessPool] = {}
_lock = threading.Lock()


def pool_of(
    key: object, log: Path, start_process: Callable[[IO[bytes]], LineProcess]
) -> ProcessPool:
    """Return the processes of a model; end those of models not used lately.

    Parameters
    ----------
    log
        Begins the names of their logs.
    start_process
        Starts a process with a log.
    """
    numbers = itertools.count()

    def start(begun: Callable[[LineProcess], None]) -> LineProcess:
        log.parent.mkdir(parents=True, exist_ok=True)
        file = log.with_name(f"{log.name}-{next(numbers)}.log").open("w+b")
        try:
            process = start_process(file)
        except BaseException:
            file.close()
            raise
        begun(process)
        return process

    with _lock:
        pool = _by_key.pop(key, None) or ProcessPool(start)
        _by_key[key] = pool  # the last one is the one used last
        while len(_by_key) > KEPT:
            _by_key.pop(next(iter(_by_key))).close()
        return pool


def cancel(key: object) -> None:
    """End the processes of a model that are at work."""
    with _lock:
        pool = _by_key.get(key)
    if pool is not None:
        pool.cancel()


def end(key: object) -> None:
    """End the processes of a model here, also those at work."""
    with _lock:
        pool = _by_key.pop(key, None)
    if pool is not None:
        pool.end()


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
