"""Runs a decoder as a program: progress from its output, one readable error when it fails."""

from __future__ import annotations

import queue
import shlex
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from aligners._watching import LOOK_SECONDS, Bound, Watch, wait
from tuner.errors import ProgramError
from tuner.processes import undisturbed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
    """

    command: tuple[str, ...]
    output: Path
    log: Path
    most_bytes: int
    bounds: Mapping[Path, Bound] = field(default_factory=dict)
    timeout_seconds: float = PATIENCE_SECONDS

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
        return ProgramError(
            f"{Path(self.command[0]).name}: {problem}; {said}; its log is {self.log}; the command "
            f"was: {shlex.join(self.command)}"
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


def run_jobs(jobs: Sequence[Job], on_line: Callable[[], None]) -> None:
    """Run all jobs at once; `on_line` is called here for each line that one of them prints.

    When one fails, or this process is interrupted, the others are ended.

    Raises
    ------
    ProgramError
        A program cannot be started, ends with another status than 0, writes too much, or nothing
        for too long.
    """
    events: queue.SimpleQueue[tuple[_Running, str | None]] = queue.SimpleQueue()
    running: list[_Running] = []
    threads: list[threading.Thread] = []
    try:
        for job in jobs:
            with undisturbed():
                running.append(_Running(job, _start(job), job.watch()))
                thread = threading.Thread(target=_copy, args=(running[-1], events), daemon=True)
                threads.append(thread)
                thread.start()
        _until_done(running, events, on_line)
    finally:
        for one in running:
            one.process.kill()
        for thread in threads:
            thread.join(CLOSING_SECONDS)
        for one in running:
            one.process.wait()


def _until_done(
    running: Sequence[_Running],
    events: queue.SimpleQueue[tuple[_Running, str | None]],
    on_line: Callable[[], None],
) -> None:
    """Wait for all to end well, and look at what they write meanwhile."""
    working = list(running)
    looked = time.monotonic()
    while working:
        try:
            one, fault = events.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            pass
        else:
            one.watch.alive()
            if fault is None:
                on_line()
            else:
                one.finish(fault)
                working.remove(one)
        if time.monotonic() - looked >= LOOK_SECONDS:
            for one in working:
                one.look()
            looked = time.monotonic()


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
        log.write(f"{shlex.join(job.command)}\n".encode())
        log.flush()
        try:
            return subprocess.Popen(  # noqa: S603  the user's decoder, no shell
                job.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
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


def _copy(running: _Running, events: queue.SimpleQueue[tuple[_Running, str | None]]) -> None:
    """Copy what a process prints, and tell of each line; at the end, of what went wrong."""
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
                    events.put((running, None))
    except OSError as error:
        fault = f"{job.output}: cannot write: {error.strerror or error}"
    events.put((running, fault))


def _ended(status: int) -> str:
    return f"ended by signal {-status}" if status < 0 else f"exit status {status}"
