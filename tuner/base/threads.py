"""Run tasks on any `concurrent.futures.Executor`: threads of this process, or a cluster's.

Tasks are pure functions of plain data, so it does not matter where, in what order and how often
they run. The caller puts the results into a fixed order. How many threads: context.py.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, ClassVar, TypeVar

from .context import current, within
from .programs import Cancelled

CHECK_SECONDS = 5.0
"""Seconds without a finished task after which `Team.check_alive` is called."""

Result = TypeVar("Result")
Value = TypeVar("Value")


class Team:
    """A team that runs tasks, several at once: threads of this process, or workers elsewhere.

    Parameters
    ----------
    threads
        The number of threads.
    waits
        Whether an interrupted run waits for running tasks, which must then check often whether to
        end. Tasks that run programs need this, since the programs would go on. Searches that
        parse do not: they would take too long.

    Attributes
    ----------
    is_remote
        True if tasks run in other processes; their arguments and results are then pickled.
    """

    is_remote: ClassVar[bool] = False

    @staticmethod
    def step(phase: str, count: int, total: int) -> None:  # noqa: ARG004
        """End the calling task if nobody waits for its result. Long tasks call it now and then.

        Raises
        ------
        Cancelled
        """
        raise_if_cancelled()

    @staticmethod
    def folder() -> Path:
        """Return the folder in which the calling task may write scratch files."""
        return Path(tempfile.gettempdir())

    def __init__(self, threads: int, *, waits: bool = False) -> None:
        self.threads = max(1, threads)
        self._waits = waits

    def wait_for_workers(self) -> int:
        """Return the number of tasks that run at once."""
        return self.threads

    @property
    def queue_size(self) -> int:
        """The number of tasks that are handed out before the first one ends."""
        return 2 * self.threads

    def opened(self, count: int) -> Executor:
        """Return an executor for this number of tasks."""
        return _Pool(max(1, min(self.threads, count)))

    def close(self, executor: Executor, *, interrupted: bool) -> None:
        """End an executor and drop the tasks that have not begun."""
        assert isinstance(executor, _Pool)  # noqa: S101  it is from `opened`
        executor.closed.set()
        executor.shutdown(wait=self._waits or not interrupted, cancel_futures=True)

    def submit(
        self, executor: Executor, work: Callable[..., Result], task: tuple[Any, ...]
    ) -> Future[Result]:
        """Hand out a task, which works in a copy of this context."""
        return executor.submit(copy_context().run, work, *task)

    def shared(self, value: Value) -> Value:
        """Return a stand-in for a large value in tasks, so that it travels once."""
        return value

    def check_alive(self) -> None:
        """Tell the user if workers are gone; called when no task has ended for a while."""

    def fault(self, error: Exception, task: str) -> Exception:  # noqa: ARG002  has its own name
        """Return the error to raise for a failed task."""
        return error

    def run(
        self,
        work: Callable[..., Result],
        tasks: Sequence[tuple[Any, ...]],
        *,
        phase: str = "",
        name_of: Callable[[int], str] = "task {}".format,
    ) -> Generator[tuple[int, Result]]:
        """Yield the number and the result of each `work(*task)`, in the order in which they end.

        If several tasks fail, the error of the first one is raised after all tasks before it are
        done, so that their results are not lost. Leaving early drops tasks that have not begun.

        Parameters
        ----------
        phase
            The name under which the context's progress shows how many tasks are done, from this
            thread. Without a name tasks show their own progress.
        name_of
            Number -> name of the task, for the message if workers died of it.
        """
        ended: SimpleQueue[int] = SimpleQueue()
        under_way: dict[int, Future[Result]] = {}
        todo = iter(enumerate(tasks))
        faults: dict[int, Exception] = {}
        context = current()
        inside = replace(
            context,
            threads=max(1, context.threads // max(1, min(self.threads, len(tasks)))),
            cluster=None,
            progress=self.step if phase else context.progress,
        )
        executor = self.opened(len(tasks))
        interrupted, count = True, 0
        try:
            while True:
                while not faults and len(under_way) < self.queue_size:
                    number, task = next(todo, (-1, ()))
                    if number < 0:
                        break
                    with within(inside):
                        future = self.submit(executor, work, task)
                    under_way[number] = future
                    future.add_done_callback(partial(_tell, ended, number))
                may_wait_for_earlier = not faults or min(under_way, default=0) < min(faults)
                if not under_way or not may_wait_for_earlier:
                    break
                try:
                    number = ended.get(timeout=CHECK_SECONDS)
                except Empty:
                    self.check_alive()
                    continue
                try:
                    result = under_way.pop(number).result()
                except Exception as error:  # noqa: BLE001  raised below
                    faults[number] = error
                    continue
                count += 1
                yield number, result
                if phase:
                    context.progress(phase, count, len(tasks))
            interrupted = False
        finally:
            self.close(executor, interrupted=interrupted)
        if faults:
            first = min(faults)
            fault = self.fault(faults[first], name_of(first))
            raise fault from fault.__cause__


def _tell(ended: SimpleQueue[int], number: int, _: Future[Any]) -> None:
    ended.put(number)


class _Here(threading.local):
    pool: _Pool | None = None


_here = _Here()


class _Pool(ThreadPoolExecutor):
    """Threads that know when their pool, or that of the thread waiting for it, is closed."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads, initializer=self._begin)
        self.closed = threading.Event()
        self._outer = _here.pool

    @property
    def is_given_up(self) -> bool:
        """Whether nobody waits for its tasks any more."""
        return self.closed.is_set() or (self._outer is not None and self._outer.is_given_up)

    def _begin(self) -> None:
        _here.pool = self


def raise_if_cancelled() -> None:
    """End the task of a `Team` at work in this thread, if nobody waits for its result.

    Threads cannot be ended from outside, and a process waits for its threads before it ends: long
    searches call this every second or more often. Elsewhere it does nothing.

    Raises
    ------
    Cancelled
    """
    if _here.pool is not None and _here.pool.is_given_up:
        raise Cancelled


def team() -> Team:
    """Return the workers of the context: its cluster, or threads of this process."""
    return current().cluster or Team(current().threads)


def each(work: Callable[[int], Result], count: int, *, phase: str = "") -> list[Result]:
    """Return `work(0)`, `work(1)` and so on, in order, computed in the context's threads."""
    numbers = [(number,) for number in range(count)]
    results = dict(Team(current().threads).run(work, numbers, phase=phase))
    return [results[number] for number in range(count)]
