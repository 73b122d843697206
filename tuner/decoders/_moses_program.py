"""Runs a decoder as a program: progress from its output, one readable error when it fails."""

from __future__ import annotations

import contextlib
import os
import queue
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from portmert.tuner.ground.errors import ProgramError
from portmert.tuner.ground.watching import LOOK_SECONDS, Bound, Watch, undisturbed, wait

MOST_PRINTED = 1 << 20
"""Bytes that a decoder may print, besides those of segments."""
MOST_OF_A_SEGMENT = 1 << 16

SHOWN_LINES = 3
"""Last lines of a log that an error shows."""

PATIENCE_SECONDS = 4 * 3600.0
"""A decoder that writes nothing for so long hangs: its models load in minutes, and a segment takes
seconds. It is hours for those who wait in a queue; what is given up goes on when started again."""
CLOSING_SECONDS = 5.0
"""What a program has started may hold its output open: it is not waited for."""

PLACEHOLDER = "{command}"
REMOTE_SHELLS = frozenset({"ssh", "rsh"})
"""Programs that join what they are given by spaces for another shell to take apart."""


@dataclass(frozen=True)
class Job:
    """Holds one process.

    Parameters
    ----------
    command
        Program and arguments.
    output
        Gets what it prints to stdout, a line for each segment.
    log
        Gets its command line and what it prints to stderr.
    most_bytes
        More than so many on stdout are a fault: nobody knows when they end.
    bounds
        How much it may write to other files.
    timeout_seconds
        It is ended when it writes nothing, nowhere, for so long; 0: never.
    what
        What it is to do, for messages, where there are others like it.
    folder
        Where it runs; None: here.
    """

    command: tuple[str, ...]
    output: Path
    log: Path
    most_bytes: int
    bounds: Mapping[Path, Bound] = field(default_factory=dict)
    timeout_seconds: float = PATIENCE_SECONDS
    what: str = ""
    folder: Path | None = None

    def watch(self) -> Watch:
        """Return what tells when it hangs or floods."""
        return Watch({self.log: Bound(), **self.bounds}, self.timeout_seconds)

    def failure(self, problem: str) -> ProgramError:
        """Return the error that says what went wrong, and all that is known besides."""
        lines = (
            self.log.read_text("utf-8", "replace").splitlines()[1:] if self.log.exists() else []
        )
        last = [line.strip() for line in lines if line.strip()][-SHOWN_LINES:]
        said = f"it last said: {' / '.join(last)}" if last else "it said nothing"
        where = f"{self.what}: " if self.what else ""
        return ProgramError(
            f"{Path(self.command[0]).name}: {where}{problem}; {said}; its log is {self.log}; "
            f"the command was: {shlex.join(self.command)}"
        )


def wrapped(wrapper: str, command: Sequence[str]) -> tuple[str, ...]:
    """Return the command line that starts `command` through a launcher.

    `{command}` in the wrapper becomes the whole command as one argument, quoted for a shell; else
    the command follows the wrapper's words, quoted if it is `ssh` that passes them on.
    """
    words = shlex.split(wrapper)
    if any(PLACEHOLDER in word for word in words):
        return tuple(word.replace(PLACEHOLDER, shlex.join(command)) for word in words)
    if words and Path(words[0]).name in REMOTE_SHELLS:
        return (*words, shlex.join(command))
    return (*words, *command)


def run_job(job: Job, on_line: Callable[[int], None]) -> None:
    """Run a job to its end; when it fails, or `on_line` raises something, it is ended.

    Parameters
    ----------
    on_line
        Called here with the number of lines printed so far: for each line, and now and then.

    Raises
    ------
    ProgramError
        The program cannot be started, ends with another status than 0, writes too much, or nothing
        for too long.
    """
    events: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    started: list[tuple[_Running, threading.Thread]] = []
    try:
        with undisturbed():
            one = _Running(job, _start(job), job.watch())
            thread = threading.Thread(target=_copy, args=(one, events), daemon=True)
            started.append((one, thread))
            thread.start()
        _until_done(one, events, on_line)
    finally:
        for one, thread in started:
            one.process.kill()
            thread.join(CLOSING_SECONDS)
            one.process.wait()


def _until_done(
    one: _Running, events: queue.SimpleQueue[str | None], on_line: Callable[[int], None]
) -> None:
    """Wait for it to end well, and look at what it writes meanwhile."""
    lines, fault = 0, None
    looked = time.monotonic()
    while fault is None:
        with contextlib.suppress(queue.Empty):
            fault = events.get(timeout=LOOK_SECONDS)
            lines += fault is None
            one.watch.alive()
        on_line(lines)
        if time.monotonic() - looked >= LOOK_SECONDS:
            one.look()
            looked = time.monotonic()
    one.finish(fault)


@dataclass(frozen=True, eq=False)
class _Running:
    """Holds a job at work."""

    job: Job
    process: subprocess.Popen[bytes]
    watch: Watch

    def look(self) -> None:
        """Raise a ProgramError if it hangs or floods."""
        if fault := self.watch.fault():
            raise self.job.failure(fault)

    def finish(self, fault: str) -> None:
        """Wait for its end, now that its output has ended; raise a ProgramError if it failed."""
        if fault:
            raise self.job.failure(fault)
        status, fault = wait(self.process, self.watch)
        if status or fault:
            raise self.job.failure(fault or _ended(status))


def _start(job: Job) -> subprocess.Popen[bytes]:
    job.log.parent.mkdir(parents=True, exist_ok=True)
    with job.log.open("wb") as log:
        log.write(os.fsencode(f"{shlex.join(job.command)}\n"))
        log.flush()
        try:
            return subprocess.Popen(  # noqa: S603  the user's decoder, no shell
                job.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=job.folder,
            )
        except OSError as error:
            raise ProgramError(
                f"{job.command[0]}: cannot be started: {error.strerror}; the command was: "
                f"{shlex.join(job.command)}"
            ) from None
        except ValueError:
            raise ProgramError(
                f"{job.command[0]}: cannot be started: a NUL character in its arguments; is it in "
                f"moses.ini, or in what -show-weights prints? {job.log} has the command"
            ) from None


def _copy(running: _Running, events: queue.SimpleQueue[str | None]) -> None:
    """Copy what a process prints; tell None for each line, at the end what went wrong or ""."""
    job, stdout = running.job, running.process.stdout
    assert stdout is not None  # noqa: S101  a pipe was asked for
    fault, left = "", job.most_bytes
    try:
        with stdout, job.output.open("wb") as output:
            while part := stdout.readline(MOST_OF_A_SEGMENT):
                output.write(part)
                left -= len(part)
                if left < 0:
                    fault = f"printed more than {job.most_bytes} bytes"
                    break
                if part.endswith(b"\n"):
                    events.put(None)
    except OSError as error:
        fault = f"{job.output}: cannot write: {error.strerror or error}"
    events.put(fault)


def _ended(status: int) -> str:
    return f"ended by signal {-status}" if status < 0 else f"exit status {status}"
