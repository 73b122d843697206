"""Measure what a Dask cluster costs: `python -m tests.bench.cluster [SECONDS [WORKERS ...]]`.

First the overhead of one task, through threads here and through Dask. Then clusters of workers
that sleep for so many seconds in place of a parse or a decoding: how much of the time they are at
work. Such workers need no processor, so that one machine can stand for many; scheduler, client and
the workers' own bookkeeping share its processors, which is worse than on a real cluster.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from distributed import Client
from tabulate import tabulate

from tuner.executors.cluster import Cluster
from tuner.executors.team import Threads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuner.executors.team import Team

PROCESSES = 2
TASKS_FOR_EACH = 31
"""Tasks of each sleeping worker: 64 of them share some 2,000, as the segments of a dev set."""
SHORT_TASKS = 500
WORKERS = (1, 4, 16, 64)

SLEEPERS = """
import asyncio, sys
from distributed import Worker

async def main(file, count):
    workers = [Worker(scheduler_file=file, nthreads=1, dashboard=False) for _ in range(count)]
    await asyncio.gather(*workers)
    await asyncio.gather(*(worker.finished() for worker in workers))

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""
"""Runs several workers in one process."""


def main(seconds: float = 5.0, *workers: int) -> None:
    """Print both tables."""
    rows = [["two threads of this process", overhead(Threads(2))]]
    with sleepers(2) as team:
        rows.append(["Dask, two workers", overhead(team)])
    click.echo(tabulate(rows, headers=["a task that does nothing", "milliseconds"]))
    rows = []
    for count in workers or WORKERS:
        with sleepers(count) as team:
            tasks = TASKS_FOR_EACH * count
            begin = time.perf_counter()
            done = sum(1 for _ in team.run(time.sleep, [(seconds,)] * tasks))
            took = time.perf_counter() - begin
            rows.append([count, done, f"{took:.1f}", f"{done * seconds / count / took:.3f}"])
    headers = ["workers", f"tasks of {seconds:g} s", "seconds", "parallel efficiency"]
    click.echo(tabulate(rows, headers=headers, disable_numparse=True))


def overhead(team: Team) -> str:
    """Return milliseconds of one of many tasks that do nothing."""
    list(team.run(abs, [(1,)] * 10))
    begin = time.perf_counter()
    list(team.run(abs, [(1,)] * SHORT_TASKS))
    return f"{1000 * (time.perf_counter() - begin) / SHORT_TASKS:.2f}"


@contextmanager
def sleepers(count: int) -> Iterator[Team]:
    """Give a cluster of so many workers of one thread each, in a few processes."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name, "scheduler.json")
        own = ["--no-dashboard", "--scheduler-file", str(file)]
        scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0"]
        processes = [subprocess.Popen([*scheduler, *own], stderr=subprocess.DEVNULL)]
        try:
            while not file.exists():
                time.sleep(0.05)
            share = [len(range(n, count, PROCESSES)) for n in range(PROCESSES)]
            processes += [
                subprocess.Popen(
                    [sys.executable, "-c", SLEEPERS, str(file), str(number)],
                    stderr=subprocess.DEVNULL,
                )
                for number in share
                if number
            ]
            with Client(scheduler_file=str(file), set_as_default=False) as client:
                client.wait_for_workers(count)
                yield Cluster(client, "sleepers")
        finally:
            for process in processes:
                process.kill()
                process.wait()


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]), *map(int, sys.argv[2:]))
