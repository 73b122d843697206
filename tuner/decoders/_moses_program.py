"""Runs a decoder as a program: progress from its output, one readable error when it fails."""

from __future__ import annotations

import queue
import shlex
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tuner.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_PRINTED = 1 << 20
"""Bytes that a decoder may print, besides those of segments."""
MOST_OF_A_SEGMENT = 1 << 16

SHOWN_LINES = 3
"""Last lines of a log that an error shows."""

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
    """

    command: tuple[str, ...]
    output: Path
    log: Path
    most_bytes: int

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
        A program cannot be started or ends with another status than 0.
    """
    events: queue.SimpleQueue[tuple[Job, str] | None] = queue.SimpleQueue()
    running: list[tuple[Job, subprocess.Popen[bytes]]] = []
    threads: list[threading.Thread] = []
    try:
        for job in jobs:
            process = _start(job)
            running.append((job, process))
            thread = threading.Thread(target=_copy, args=(job, process, events), daemon=True)
            threads.append(thread)
            thread.start()
        left = len(jobs)
        while left:
            done = events.get()
            if done is None:
                on_line()
                continue
            left -= 1
            ended, fault = done
            process = next(p for job, p in running if job is ended)
            if fault:
                process.kill()
                raise ended.failure(fault)
            if status := process.wait():
                raise ended.failure(_ended(status))
    finally:
        for _, process in running:
            process.kill()
        for thread in threads:
            thread.join()
        for _, process in running:
            process.wait()


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


def _copy(
    job: Job,
    process: subprocess.Popen[bytes],
    events: queue.SimpleQueue[tuple[Job, str] | None],
) -> None:
    """Copy what a process prints, and tell of each line; at the end, of what went wrong."""
    assert process.stdout is not None  # noqa: S101  a pipe was asked for
    fault, left = "", job.most_bytes
    try:
        with process.stdout, job.output.open("wb") as output:
            while part := process.stdout.readline(MOST_OF_A_SEGMENT):
                output.write(part)
                left -= len(part)
                if left < 0:
                    fault = f"printed more than {job.most_bytes} bytes"
                    break
                if part.endswith(b"\n"):
                    events.put(None)
    except OSError as error:
        fault = f"{job.output}: cannot write: {error.strerror or error}"
    events.put((job, fault))


def _ended(status: int) -> str:
    return f"ended by signal {-status}" if status < 0 else f"exit status {status}"
