"""Processes of our own that answer line by line, and how work is shared among them.

The pool of `concurrent.futures` cannot say what a lost worker was working on, and it needs the
calling script to be importable.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from io import BufferedReader
from typing import IO, TypeVar, cast
from weakref import WeakSet

from portmert.tuner.base.programs import (
    Cancelled,
    described,
    end,
    environment,
    python,
    start,
    undisturbed,
)

Ask = Callable[[str], str]

Task = TypeVar("Task")
Result = TypeVar("Result")

CLOSING_SECONDS = 2.0
"""A process that runs this long after it closed its output is ended."""


class Died(Exception):  # noqa: N818  the caller knows what the process worked on, and makes the fault
    """A process ended in place of an answer.

    Parameters
    ----------
    status : int
        Its exit status, -n for signal n.
    last : str
        The last line it printed besides answers, or nothing.
    log : str
        The file with all that it printed.
    """

    def __init__(self, status: int, last: str, log: str) -> None:
        super().__init__(status, last, log)
        self.status = status
        self.last = last
        self.log = log

    def __str__(self) -> str:
        """Return it as the rest of a sentence."""
        return f"it {described(self.status)}" + (f": {self.last}" if self.last else "")


class Endless(Died):
    """A process closed its output and went on, or gave an answer without an end; it was ended."""


class Silent(Died):
    """A process gave no answer in time and was ended.

    Parameters
    ----------
    seconds : float
        How long it was waited for.
    log : str
        The file with all that it printed.
    """

    def __init__(self, seconds: float, log: str) -> None:
        super().__init__(-signal.SIGKILL, "", log)
        self.seconds = seconds

    def __str__(self) -> str:
        """Return it as the rest of a sentence."""
        return f"it gave no answer for {self.seconds:g} s and was ended"


class LineProcess:
    """A process that answers each line with lines.

    Parameters
    ----------
    command : str or sequence of str
        A module of ours, which runs as `python -P -m module`; or another program.
    log : binary file
        Gets what the process prints besides answers; closed with the process.
    timeout_seconds : float
        It is ended when an answer takes longer; 0: it takes as long as it takes.
    most : int
        Bytes of an answer; a longer one is endless.

    Raises
    ------
    OSError, ValueError
        It cannot be started.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        log: IO[bytes],
        *,
        timeout_seconds: float = 0.0,
        most: int = -1,
    ) -> None:
        self._log = log
        self._most = most
        is_ours = isinstance(command, str)
        self._errors = "strict" if is_ours else "surrogateescape"
        self._timeout_seconds = timeout_seconds
        self._asked_at: float | None = None
        self._is_late = False
        self._closed = threading.Event()
        self._turn = threading.Lock()
        with undisturbed():
            self._process = start(
                python(command) if isinstance(command, str) else command,
                env=environment() if is_ours else None,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        if timeout_seconds:
            threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        """End the process when an answer is late; an idle one is looked at now and then."""
        left = self._timeout_seconds
        while not self._closed.wait(left):
            with self._turn:
                since = 0.0 if self._asked_at is None else time.monotonic() - self._asked_at
                left = self._timeout_seconds - since
                if left <= 0:
                    self._is_late = True
                    self.kill()
                    return

    def tell(self, line: str) -> None:
        """Send a line that has no answer; where it cannot be sent, the next `ask` raises."""
        assert self._process.stdin is not None  # noqa: S101  pipes were asked for
        try:
            self._process.stdin.write(f"{line}\n".encode("utf-8", self._errors))
            self._process.stdin.flush()
        except (OSError, ValueError):  # ended, or closed by another thread
            pass

    def ask(self, line: str | None) -> str:
        """Send a line and return the answer, with its newline; None: wait for one more answer.

        Raises
        ------
        Died
            There is none, or (`Silent`) not in time.
        """
        assert self._process.stdout is not None  # noqa: S101
        self._asked_at = time.monotonic()
        if line is not None:
            self.tell(line)
        try:
            answer = self._process.stdout.readline(self._most)
        except ValueError:
            answer = b""
        with self._turn:
            self._asked_at = None
        if self._is_late:
            self._process.wait()
            raise Silent(self._timeout_seconds, str(self._log.name))
        if answer.endswith(b"\n"):
            return str(answer, "utf-8", self._errors)
        fault = "it closed its output and went on"
        if len(answer) == self._most:
            fault = f"it gave an answer of more than {self._most} bytes, without an end of line"
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = self._process.wait(CLOSING_SECONDS)
                raise Died(status, self._last_line(), str(self._log.name))
        self.kill()
        raise Endless(self._process.wait(), fault, str(self._log.name))

    def ask_all(self, lines: Sequence[str]) -> Iterator[str]:
        """Send lines and yield the answer to each, without its newline; see `ask`.

        A thread sends, so that a full pipe stops nobody from reading.
        """
        threading.Thread(target=self.tell, args=("\n".join(lines),), daemon=True).start()
        for _ in lines:
            yield self.ask(None)[:-1]

    def unread(self) -> bytes:
        """Return what it has printed beyond the answers that were asked for; do not wait."""
        assert self._process.stdout is not None  # noqa: S101
        os.set_blocking(self._process.stdout.fileno(), False)
        try:
            printed: bytes = cast("BufferedReader", self._process.stdout).peek()
        finally:
            os.set_blocking(self._process.stdout.fileno(), True)
        return printed

    def _last_line(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process; a thread that waits for its answer gets `Died`."""
        end(self._process)

    def close(self) -> None:
        """End the process and close its files."""
        self._closed.set()
        end(self._process)
        for pipe in (self._process.stdin, self._process.stdout, self._log):
            try:
                if pipe is not None:
                    pipe.close()
            except BrokenPipeError:  # what was not yet sent to a dead process
                pass


class ProcessPool:
    """Processes that do the same work; one is started when no other is idle.

    Parameters
    ----------
    start : callable
        Returns a new process that is ready to be asked. It passes the process to its argument
        before it waits for anything that the process says.
    """

    def __init__(self, start: Callable[[Callable[[LineProcess], None]], LineProcess]) -> None:
        self._start = start
        self.idle: list[LineProcess] = []
        self._calls: WeakSet[Call] = WeakSet()
        self._lock = threading.Lock()

    def call(self) -> Call:
        """Return a `Call` for a caller who may give up."""
        call = Call(self)
        with self._lock:
            self._calls.add(call)
        return call

    def run(
        self, work: Callable[[Ask, Task], Result], tasks: Sequence[Task], *, processes: int
    ) -> Iterator[Result]:
        """Yield `work(ask, task)` of each task, in order; `ask(line)` returns the answer.

        Only some tasks are under way before the first one is done: results may be large. Leaving
        early ends what is under way.
        """
        threads = min(processes, len(tasks)) or 1
        call = self.call()
        todo = deque(tasks)
        waiting: deque[Future[Result]] = deque()
        executor = ThreadPoolExecutor(threads)
        try:
            while todo or waiting:
                while todo and len(waiting) < 2 * threads:
                    waiting.append(executor.submit(work, call.ask, todo.popleft()))
                yield waiting.popleft().result()
        finally:
            call.cancel()
            executor.shutdown(wait=True, cancel_futures=True)

    def take(self, begun: Callable[[LineProcess], None]) -> LineProcess:
        """Return a process that nobody uses; `begun` is called with one that is not ready yet."""
        try:
            return self.idle.pop()  # one step: lists are safe among threads
        except IndexError:
            return self._start(begun)

    def close(self) -> None:
        """End all processes that have nothing to do."""
        while self.idle:
            self.idle.pop().close()

    def cancel(self) -> None:
        """End the processes that are at work."""
        with self._lock:
            calls = list(self._calls)
        for call in calls:
            call.cancel()

    def end(self) -> None:
        """End all processes, also those at work."""
        self.cancel()
        self.close()


class Call:
    """Questions of one caller to the processes of a pool, in several threads, until cancelled."""

    def __init__(self, pool: ProcessPool) -> None:
        self._pool = pool
        self._busy: set[LineProcess] = set()
        self._cancelled = False
        self._lock = threading.Lock()

    def ask(self, line: str) -> str:
        """Return the answer of one process to a line; raise `Died` or `Cancelled`."""
        (answer,) = self.answers(line, 1)
        return answer

    def answers(self, line: str, count: int) -> Iterator[str]:
        """Yield the answers of one process to a line; see `ask`.

        Leaving early ends the process: what it still says belongs to nobody.
        """
        process = self._pool.take(self._begun)
        is_done = False
        with self._lock:
            if self._cancelled:
                process.close()
                raise Cancelled
            self._busy.add(process)
        try:
            for number in range(count):
                yield process.ask(None if number else line)
            is_done = True
        except Died:
            if self._cancelled:
                raise Cancelled from None
            raise
        finally:
            with self._lock:
                self._busy.discard(process)
            if is_done and process.runs and not self._cancelled:
                self._pool.idle.append(process)
            else:
                process.close()

    def _begun(self, process: LineProcess) -> None:
        """Note a process that is not ready yet, so that `cancel` ends it too."""
        with self._lock:
            self._busy.add(process)
            if self._cancelled:
                process.kill()

    def cancel(self) -> None:
        """End the processes that are at work."""
        with self._lock:
            self._cancelled = True
            for process in self._busy:
                process.kill()


def own_output() -> IO[str]:
    """Return the stream for answers in a process of ours; other output goes to the log."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers
