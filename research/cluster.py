"""Measure what a Dask cluster costs: `python -m research.cluster KIND [NUMBER ...]`.

tasks [SECONDS [WORKERS ...]]
    The overhead of one task, through threads here and through Dask. Then clusters of workers that
    sleep for so many seconds in place of a parse or a decoding: how much of the time they are at
    work, and what each task costs scheduler, client and workers.
annotation [SENTENCES ...]
    Texts of so many sentences, annotated by sleeping workers: time, and the client's memory.
udpipe [SENTENCES]
    A text annotated by UDPipe, by one and two processes of this machine, and of a cluster.

Sleeping workers are threads of few processes and need no processor, so that one machine can stand
for many; scheduler (a process of its own), client and the workers' own bookkeeping share its
processors, which is worse than on a real cluster.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import TYPE_CHECKING, NamedTuple

import click
from distributed import Client, LocalCluster
from pydantic.dataclasses import dataclass
from tabulate import tabulate

import portmert
from portmert.extensions.cluster.cluster import Cluster
from portmert.tuner.base.threads import Team
from portmert.tuner.texts.annotator import Annotation, Annotator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from portmert.tuner.texts.annotator import AnnotationRequest

PROCESSES = 4
TASKS_FOR_EACH = 31
"""Tasks of each sleeping worker: 64 of them share some 2,000, as the segments of a dev set."""
SHORT_TASKS = 500
WORKERS = (1, 4, 16, 64, 128, 256)
SENTENCES = (250_000, 500_000, 1_000_000)
PARSERS = 64
"""Sleeping workers that annotate."""
PARSE_SECONDS = 0.02
TICKS = os.sysconf("SC_CLK_TCK")

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


@dataclass(frozen=True)
class Sleeping(Annotator):
    """Sleeps as long as a parse takes, and tags each word with its first letter."""

    seconds: float = PARSE_SECONDS

    @classmethod
    def name(cls) -> str:
        return "sleeping"

    @property
    def gives(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({"tags", "heads"})

    def fingerprint(self) -> str:
        return "sleeping 1"

    def annotate(
        self,
        sentences: Sequence[Sequence[str]],
        request: AnnotationRequest,
        *,
        processes=1,
    ) -> Iterator[Annotation]:
        del request, processes
        time.sleep(self.seconds * len(sentences))
        for words in sentences:
            heads = tuple((0, "root") if n == 0 else (1, "dep") for n in range(len(words)))
            yield Annotation(tuple(word[0] for word in words), heads)


class Sleepers(NamedTuple):
    """Holds a cluster of sleeping workers; the first of its processes is the scheduler."""

    team: Team
    pids: list[int]
    file: Path


def tasks(seconds: float = 5.0, *workers: int) -> None:
    """Print the overhead of a task, and how workers are used."""
    rows = [["two threads of this process", overhead(Team(2))]]
    with sleepers(2) as cluster:
        rows.append(["Dask, two workers", overhead(cluster.team)])
    click.echo(tabulate(rows, headers=["a task that does nothing", "milliseconds"]))
    each = [f"{who}, CPU ms a task" for who in ("scheduler", "client", "workers")]
    headers = ["workers", f"tasks of {seconds:g} s", "seconds", "efficiency", *each, "load"]
    click.echo("  ".join(headers))
    for count in map(int, workers or WORKERS):
        with sleepers(count) as cluster:
            given = [(seconds,)] * TASKS_FOR_EACH * count
            before, begin = _cpu(cluster), time.perf_counter()
            done = sum(1 for _ in cluster.team.run(time.sleep, given))
            took = time.perf_counter() - begin
            used = [now - then for now, then in zip(_cpu(cluster), before, strict=True)]
            row = [f"{count}", f"{done}", f"{took:.1f}", f"{done * seconds / count / took:.3f}"]
            _line(headers, [*row, *(f"{1000 * cpu / done:.2f}" for cpu in used), _load()])


def overhead(team: Team) -> str:
    """Return milliseconds of one of many tasks that do nothing."""
    list(team.run(abs, [(1,)] * 10))
    begin = time.perf_counter()
    list(team.run(abs, [(1,)] * SHORT_TASKS))
    return f"{1000 * (time.perf_counter() - begin) / SHORT_TASKS:.2f}"


def annotation(*sentences: int) -> None:
    """Print what annotation at sleeping workers takes, each text in a client of its own."""
    click.echo(f"{PARSERS} workers, {1000 * PARSE_SECONDS:g} ms a sentence")
    headers = ["sentences", "seconds", "efficiency", "client's CPU seconds", "client's peak MB",
               "load"]  # fmt: skip
    click.echo("  ".join(headers))
    for count in map(int, sentences or SENTENCES):
        with sleepers(PARSERS) as cluster, tempfile.TemporaryDirectory() as name:
            text = Path(name, "text.gz")
            with gzip.open(text, "wt", compresslevel=1) as file:
                for number in range(count):
                    file.write(f"this is sentence number {number} of a text that is long\n")
            words = [sys.executable, "-m", __spec__.name, "client", str(text), str(cluster.file)]
            done = subprocess.run(words, check=True, capture_output=True, text=True)
            took, cpu, peak = map(float, done.stdout.split())
            row = [f"{count}", f"{took:.0f}", f"{count * PARSE_SECONDS / PARSERS / took:.3f}",
                   f"{cpu:.0f}", f"{peak / 1e6:.0f}", _load()]  # fmt: skip
            _line(headers, row)


def client(text: str, file: str) -> None:
    """Annotate a text at a cluster; print seconds, processor seconds and bytes held at most."""
    begin = time.perf_counter()
    folder = Path(text).parent
    portmert.annotate(
        text,
        folder / "out.conllu.gz",
        annotator=Sleeping(),
        executor=f"dask:{file}",
        annotation_cache=folder / "cache",
    )
    peak = 1024 * getrusage(RUSAGE_SELF).ru_maxrss
    click.echo(f"{time.perf_counter() - begin} {time.process_time()} {peak}")


def udpipe(sentences: int = 4000) -> None:
    """Print how many sentences a second UDPipe annotates."""
    from tests.support import annotation_models
    from tests.support.languages.grammar import generate

    model = f"udpipe:model={annotation_models.udpipe()}"
    lines = [" ".join(pair.target) for pair in generate(int(sentences), seed=5)]
    rows = []
    for count in (1, 2):
        rows.append(_annotated("processes of this machine", count, model, lines, "local"))
        with LocalCluster(
            n_workers=count, threads_per_worker=1, dashboard_address=":0", silence_logs=60
        ) as cluster:
            place = f"dask:{cluster.scheduler_address}"
            rows.append(_annotated("workers of a cluster", count, model, lines, place))
    headers = ["by", "how many", "sentences a second", "load"]
    click.echo(tabulate(rows, headers=headers, disable_numparse=True))


def _annotated(what: str, count: int, model: str, lines: list[str], place: str) -> list[str]:
    with tempfile.TemporaryDirectory() as name:
        found = portmert.annotate(
            lines,
            Path(name, "out.conllu"),
            annotator=model,
            processes=count,
            executor=place,
            annotation_cache=Path(name, "cache"),
        )
    return [what, f"{count}", f"{found.annotated / found.seconds:.0f}", _load()]


def _line(headers: list[str], row: list[str]) -> None:
    """Print a line as soon as it is known."""
    cells = (cell.rjust(len(head)) for cell, head in zip(row, headers, strict=True))
    click.echo("  ".join(cells))


def _cpu(cluster: Sleepers) -> tuple[float, float, float]:
    """Return processor seconds of the scheduler, of this process, and of the workers."""
    first, *others = [_used(pid) for pid in cluster.pids]
    return first, time.process_time(), sum(others)


def _used(pid: int) -> float:
    fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


@contextmanager
def sleepers(count: int) -> Iterator[Sleepers]:
    """Give a cluster of so many workers of one thread each, in a few processes."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as opened:
        file = Path(name, "scheduler.json")
        own = ["--no-dashboard", "--scheduler-file", str(file)]
        scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0"]
        quiet = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        processes = [subprocess.Popen([*scheduler, *own], **quiet)]
        try:
            while not file.exists():
                time.sleep(0.05)
            share = [len(range(n, count, PROCESSES)) for n in range(PROCESSES)]
            processes += [
                subprocess.Popen([sys.executable, "-c", SLEEPERS, str(file), str(number)], **quiet)
                for number in share
                if number
            ]
            connected = opened.enter_context(
                Client(scheduler_file=str(file), set_as_default=False)
            )
            connected.wait_for_workers(count)
            pids = [process.pid for process in processes]
            yield Sleepers(Cluster(connected, "sleepers"), pids, file)
        finally:
            opened.close()
            for process in processes:
                process.kill()
                process.wait()


KINDS = {"tasks": tasks, "annotation": annotation, "udpipe": udpipe, "client": client}

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the processes started end, too
    kind, *numbers = sys.argv[1:] or ["tasks"]
    KINDS[kind](*(numbers if kind == "client" else map(float, numbers)))
