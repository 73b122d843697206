"""Sharing work among processes that answer line by line, and saying which line killed one."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from typing import IO, TYPE_CHECKING

from tuner.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tuner.decoders._base import Progress
    from tuner.decoders._journal import Journal


def answers(
    module: str,
    first: str,
    requests: Sequence[str],
    *,
    processes: int,
    logs: Path,
    name: Callable[[int], str],
    progress: Progress,
    journal: Journal,
) -> list[str]:
    """Send each request to one of some processes `python -m module`; return the answers in order.

    Processes rather than a pool: a pool that loses a worker cannot say what it was working on,
    and needs the calling script to be importable.

    Parameters
    ----------
    first
        The line that every process gets first.
    requests
        One line each, answered with one line each.
    logs
        Folder for what the processes print besides, one file each.
    name
        Names a request in the error message.
    journal
        Open; requests that it has answers of are not sent again, new answers are added.

    Raises
    ------
    ProgramError
        A process died; says with which request.
    """
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    missing = [index for index in range(len(requests)) if index not in journal.found]
    for index in missing:
        todo.put(index)
    done: queue.SimpleQueue[tuple[int, str] | ProgramError | None] = queue.SimpleQueue()
    logs.mkdir(parents=True, exist_ok=True)
    running: list[subprocess.Popen[str]] = []
    threads: list[threading.Thread] = []
    found = [journal.found.get(index, "") for index in range(len(requests))]
    try:
        for number in range(min(processes, len(missing))):
            log = logs / f"{module.rpartition('.')[2].lstrip('_')}-{number}.log"
            process = _start(module, log)
            running.append(process)
            threads.append(
                threading.Thread(
                    target=_serve,
                    args=(process, first, requests, todo, done, log, name),
                    daemon=True,
                )
            )
        for thread in threads:
            thread.start()
        ready, finished = len(requests) - len(missing), 0
        while finished < len(threads):
            event = done.get()
            if isinstance(event, ProgramError):
                raise event
            if event is None:
                finished += 1
                continue
            found[event[0]] = event[1]
            journal.add(*event)
            ready += 1
            progress(ready, len(requests))
    finally:
        _stop(running, threads)
    return found


def _stop(running: Sequence[subprocess.Popen[str]], threads: Sequence[threading.Thread]) -> None:
    for process in running:
        process.kill()
    for thread in threads:
        if thread.ident is not None:  # started
            thread.join()
    for process in running:
        process.wait()
        _close(process.stdin)
        _close(process.stdout)


def _start(module: str, log: Path) -> subprocess.Popen[str]:
    path = os.pathsep.join(path for path in sys.path if path)
    with log.open("wb") as errors:
        return subprocess.Popen(  # noqa: S603  our own program
            [sys.executable, "-m", module],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            encoding="utf-8",
        )


def _serve(
    process: subprocess.Popen[str],
    first: str,
    requests: Sequence[str],
    todo: queue.SimpleQueue[int],
    done: queue.SimpleQueue[tuple[int, str] | ProgramError | None],
    log: Path,
    name: Callable[[int], str],
) -> None:
    assert process.stdin is not None  # noqa: S101  pipes were asked for
    assert process.stdout is not None  # noqa: S101
    line = first
    while True:
        try:
            index = todo.get_nowait()
        except queue.Empty:
            done.put(None)
            return
        try:
            process.stdin.write(f"{line}\n{requests[index]}\n" if line else f"{requests[index]}\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except (BrokenPipeError, ValueError):
            answer = ""
        line = ""
        if not answer.endswith("\n"):
            done.put(_died(process, log, name(index)))
            return
        done.put((index, answer))


def _died(process: subprocess.Popen[str], log: Path, request: str) -> ProgramError:
    status = process.wait()
    last = (log.read_text("utf-8", "replace").strip().splitlines() or ["no message"])[-1]
    return ProgramError(
        f"{request}: the decoder process ended with status {status}: {last}; its log is {log}"
    )


def _close(pipe: IO[str] | None) -> None:
    try:
        if pipe is not None:
            pipe.close()
    except BrokenPipeError:  # what was not yet sent to a dead process
        pass
