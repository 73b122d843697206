"""Run outside programs: bounded output, a log, one line of error, and an end with this process."""

import contextlib
import math
import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any
from weakref import WeakSet

import portmert

from .errors import PortmertError, ProgramError, counted, faults_at

LOOK_SECONDS = 0.5
"""Time between two looks at what a program has written."""
MOST_LOGGED = 1 << 30
"""Bytes of messages that nobody will read: `-v 3` of Moses writes some MB a segment."""
LEAST_FREE = 1 << 16
"""A disk with fewer bytes is full, and the first cause of what a program failed of."""
PATIENCE_SECONDS = 24 * 3600.0
"""A program that prints nothing for so long hangs: mkcls is silent for hours on a large bitext."""


class Cancelled(Exception):  # noqa: N818  no fault: nobody waits for the answer
    """The work was given up."""


def python(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module, but never one that lies in the current folder.

    Whatever lies where the user works, a `json.py` say, must not be run.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def module_path() -> str:
    """Return PYTHONPATH for a process that finds the same modules as this one.

    `python -m` and an empty entry of PYTHONPATH add the current folder. It is left out, unless
    portmert lies there.
    """
    here, ours = Path.cwd().resolve(), Path(portmert.__file__).resolve().parent.parent
    return os.pathsep.join(
        entry for entry in sys.path if entry and (Path(entry).resolve() != here or here == ours)
    )


# Start and end.


def environment() -> dict[str, str]:
    """Return the environment variables of our processes.

    They find the same modules as this process. Each has one thread, as there are as many processes
    as the user wants. They see no GPU and no network: no bit of an answer may depend on what this
    machine has.
    """
    libraries = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR")
    alone = {f"{library}_NUM_THREADS": "1" for library in libraries}
    alone |= {"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}
    return {**os.environ, **alone, "PYTHONPATH": module_path()}


_started: WeakSet[subprocess.Popen[Any]] = WeakSet()


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Let signals that end this process wait until the block has named what it starts.

    A signal's handler may run between any two steps of Python, even before the result of a call
    has a name.
    """
    handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
    waiting: list[tuple[int, FrameType | None]] = []
    is_over = False

    def later(number: int, frame: FrameType | None) -> None:
        if is_over:  # and the signal before this one kept its handler from its place
            handlers[number](number, frame)
        else:
            waiting.append((number, frame))

    if threading.current_thread() is threading.main_thread():  # no other thread gets signals
        for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            handler = signal.getsignal(ending)
            if callable(handler):
                handlers[ending] = handler
                signal.signal(ending, later)
    try:
        yield
    finally:
        is_over = True
        for ended, usual in handlers.items():
            signal.signal(ended, usual)
        for number, frame in waiting:
            handlers[number](number, frame)


class _Program(subprocess.Popen[Any]):
    """A program whose status can be asked for after a signal at any moment.

    `Popen` asks while it holds a lock. A signal right after it took the lock would leave it
    locked, and the next `wait` would never end.
    """

    def poll(self) -> int | None:
        with undisturbed():
            return super().poll()

    def wait(self, timeout: float | None = None) -> int:
        begin, pause = time.monotonic(), 0.0005
        while (status := self.poll()) is None:
            if timeout is not None:
                left = begin + timeout - time.monotonic()
                if left <= 0:
                    raise subprocess.TimeoutExpired(self.args, timeout)
                pause = min(pause, left)
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        return status


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a program in a session of its own, so that `end` reaches all that it starts.

    Call it in `undisturbed`, and name the result there.

    Parameters
    ----------
    options
        As of `subprocess.Popen`.

    Raises
    ------
    OSError, ValueError
        It cannot be started.
    """
    process = _Program(command, start_new_session=True, **options)
    _started.add(process)
    return process


def end(process: subprocess.Popen[Any]) -> None:
    """End a program that still runs, with all that it has started, and wait for its end."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def end_all() -> None:
    """End all programs that still run, for a process that ends without waiting for its threads."""
    for process in list(_started):
        end(process)


def described(status: int) -> str:
    """Return how a program ended, as the rest of a sentence."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


# Run to the end.


@dataclass(frozen=True)
class Bound:
    """How much a program may write to a file.

    Parameters
    ----------
    most_bytes, most_lines
        More is a fault.
    asked
        The request, as the end of a message about too many lines.
    """

    most_bytes: int = MOST_LOGGED
    most_lines: float = math.inf
    asked: str = ""


@dataclass(frozen=True)
class Command:
    """A program that runs to its end.

    Parameters
    ----------
    arguments
        The program first, then its arguments.
    log
        File for what it prints to stderr, and to stdout too unless there is an `out`. The command
        line is its first line.
    out
        File for its stdout.
    given
        File that it reads as stdin; None: nothing.
    folder
        Where it runs; None: here.
    environment
        Variables besides those of this process.
    bounds
        How much it may write to `out` and to other files.
    timeout_seconds
        It is ended when it writes nothing to any of its files for so long; 0: never.
    name
        How messages name it, if not by its file.
    is_scratch
        Whether the log's folder goes when the work is done or has failed. Then an error copies
        the log beside that folder.
    """

    arguments: Sequence[str | Path]
    log: Path
    out: Path | None = None
    given: Path | None = None
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    bounds: Mapping[Path, Bound] = field(default_factory=dict)
    timeout_seconds: float = PATIENCE_SECONDS
    name: str = ""
    is_scratch: bool = False

    def failure(self, problem: str) -> ProgramError:
        """Return the error that tells what went wrong, with the last 3 lines and place of the log.

        Parameters
        ----------
        problem
            The problem, as in `ended with status 3`.
        """
        log, last = self.log, list[str]()
        if log.exists():
            with log.open("rb") as file:
                begin = len(file.readline())
                file.seek(max(begin, log.stat().st_size - 4096))
                lines = file.read().decode("utf-8", "replace").splitlines()
            last = [line.strip() for line in lines if line.strip()][-3:]
            if self.is_scratch:
                plain = re.sub(r"[^\w-]+", "-", self.shown).strip("-")
                log = log.parent.parent / f"{plain}-{secrets.token_hex(4)}.log"
                shutil.copyfile(self.log, log)
        message = " / ".join(last) or "no message"
        for folder in {path.parent for path in (self.log, self.out or self.log, *self.bounds)}:
            if folder.is_dir() and shutil.disk_usage(folder).free < LEAST_FREE:
                problem += f" (the disk of {folder} is full; make room, and start again)"
                break
        return ProgramError(f"{self.shown} {problem}: {message}; its log is {log}")

    @property
    def shown(self) -> str:
        """How messages name the program."""
        return self.name or Path(self.arguments[0]).name

    @property
    def line(self) -> str:
        """The command line, quoted as for a shell."""
        return shlex.join(map(str, self.arguments))


def run(
    *commands: Command, at_once: int = 1, step: Callable[[int], None] = lambda _lines: None
) -> None:
    """Run programs to their end, some `at_once`; the first that fails ends all.

    Parameters
    ----------
    step
        Called now and then with the number of lines written to all `out` so far. What it raises
        ends the programs.

    Raises
    ------
    ProgramError
        A program cannot be started, ends with another status than 0, writes too much, or nothing
        for too long.
    """
    todo, running, lines_ended = list(commands), list[_Running](), 0
    try:
        while todo or running:
            while todo and len(running) < at_once:
                with undisturbed():
                    running.append(_Running(todo.pop(0)))
            with contextlib.suppress(subprocess.TimeoutExpired):
                alone = len(running) == 1  # else another may have ended meanwhile
                running[0].process.wait(LOOK_SECONDS if alone else 0.05)
            ended = [program for program in running if program.has_ended()]
            lines_ended += sum(program.lines for program in ended)
            running = [program for program in running if program not in ended]
            step(lines_ended + sum(program.lines for program in running))
    finally:
        for program in running:
            end(program.process)


class _Running:
    """A program at work."""

    def __init__(self, command: Command) -> None:
        self._command = command
        bounds = {command.log: Bound(), **command.bounds}
        if command.out is not None:
            bounds.setdefault(command.out, Bound())
        for path in bounds:  # what a killed run has left may still be written to
            path.unlink(missing_ok=True)
        self._files = {path: _File(path, bound) for path, bound in bounds.items()}
        self._alive = time.monotonic()
        self.process = self._started(command)

    @staticmethod
    def _started(command: Command) -> subprocess.Popen[bytes]:
        try:
            with contextlib.ExitStack() as stack:
                log = stack.enter_context(command.log.open("wb"))
                log.write(os.fsencode(f"{command.line}\n"))
                log.flush()
                out = log if command.out is None else stack.enter_context(command.out.open("wb"))
                stdin: Any = subprocess.DEVNULL
                if command.given is not None:
                    stdin = stack.enter_context(command.given.open("rb"))
                return start(
                    [str(argument) for argument in command.arguments],
                    cwd=command.folder,
                    env={**os.environ, **command.environment},
                    stdin=stdin,
                    stdout=out,
                    stderr=log,
                )
        except OSError as error:
            problem = str(error.strerror or error)
        except ValueError:
            problem = "a NUL character in its arguments"
        name = command.name or command.arguments[0]
        raise ProgramError(f"{name}: cannot be started: {problem}")

    @property
    def lines(self) -> int:
        """Lines that it has written to its `out`."""
        return 0 if self._command.out is None else self._files[self._command.out].lines

    def has_ended(self) -> bool:
        """Return whether it has ended well; raise `ProgramError` if it is at fault."""
        status = self.process.poll()
        moment, limit = time.monotonic(), self._command.timeout_seconds
        for file in self._files.values():
            if file.grown():
                self._alive = moment
            if file.fault:
                raise self._failure(file.fault)
        if status is None and limit and moment - self._alive > limit:
            raise self._failure(f"wrote nothing for {limit:g} s (timeout_seconds) and was ended")
        if status:
            raise self._failure(described(status))
        return status is not None

    def _failure(self, problem: str) -> ProgramError:
        end(self.process)
        return self._command.failure(problem)


@dataclass
class _File:
    """A file that a program writes, and how far it has been looked at."""

    _path: Path
    _bound: Bound
    _size: int = 0
    lines: int = 0
    fault: str = ""

    def grown(self) -> bool:
        """Return whether there is more than before; set `fault` if it is too much."""
        try:
            size = self._path.stat().st_size
        except OSError:  # not there yet
            return False
        if size == self._size:
            return False
        bound, where = self._bound, self._path.name
        if size > bound.most_bytes:
            self.fault = f"wrote more than {bound.most_bytes} bytes to {where}"
        else:
            self._count(self._size, size)
            if self.lines > bound.most_lines:
                lines = counted(int(bound.most_lines), "line")
                self.fault = f"wrote more than {lines} to {where}, {bound.asked}"
        self._size = size
        return True

    def _count(self, begin: int, stop: int) -> None:
        with self._path.open("rb") as file:
            file.seek(begin)
            while begin < stop and (part := file.read(min(1 << 20, stop - begin))):
                self.lines += part.count(b"\n")
                begin += len(part)


@contextlib.contextmanager
def scratch(parent: Path | None = None, name: str = "work") -> Iterator[Path]:
    """Give a new folder inside `parent` to one run, and remove it afterwards.

    Parameters
    ----------
    parent
        None: where the system keeps what is temporary.

    Raises
    ------
    PortmertError
        It cannot be written.
    """
    parent = parent or Path(tempfile.gettempdir())
    folder = parent / f".portmert-{name}.{secrets.token_hex(4)}.tmp"
    try:
        with faults_at(folder, OSError, PortmertError):
            folder.mkdir(mode=0o700, parents=True)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
