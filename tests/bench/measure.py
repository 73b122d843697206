"""What a bench row is made of: the unit, whole processes, work inside this one."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LIBRARIES = ThreadpoolController()
PRODUCTS = 100
MATRIX = np.random.default_rng(1).random((350_000, 14))
VECTOR = np.random.default_rng(2).random(14)


def unit_seconds() -> float:
    """CPU seconds of 100 products of a float64 350,000 x 14 matrix with a vector, now.

    On one thread: a second one would wait for its share by turning, which counts as CPU time.
    """
    with LIBRARIES.limit(limits=1, user_api="blas"):
        begin = time.process_time()
        for _ in range(PRODUCTS):
            MATRIX @ VECTOR
        return time.process_time() - begin


@dataclass(frozen=True)
class Process:
    """A finished process: CPU and wall seconds, peak memory in bytes, what it printed."""

    cpu: float
    wall: float
    memory: int
    output: str


LAUNCHER = """
import atexit, runpy, sys

def report():
    with open("/proc/self/status") as status, open(peak, "w") as out:
        out.write(next(line.split()[1] for line in status if line.startswith("VmHWM")))

_, peak, module, *arguments = sys.argv
sys.argv = [module, *arguments]
if sys.platform == "linux":
    atexit.register(report)
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
"""Runs a module and writes its peak memory (KiB) to a file: on Linux what wait4 says of a child is
at least the memory of the process that started it."""


def run(
    arguments: Sequence[object], *, module: str = "portmert", folder: Path | None = None
) -> Process:
    """Run `portmert`, or another module, with these arguments to its end, in a folder."""
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryFile() as said:
        peak = Path(name) / "peak"
        command = [sys.executable, "-c", LAUNCHER, str(peak), module, *map(str, arguments)]
        begin = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, cwd=folder) as process:
            output = process.stdout.read().decode()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - begin
        if process.returncode:
            said.seek(0)
            text = said.read().decode(errors="replace")
            raise RuntimeError(f"{' '.join(command[4:])}: {process.returncode}: {text}")
        if peak.exists():
            memory = int(peak.read_text()) * 1024
        else:
            memory = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Process(usage.ru_utime + usage.ru_stime, wall, memory, output)


def in_turn(*work: Callable[[], object], rounds: int = 15) -> list[list[float]]:
    """CPU seconds of each piece of work, taken in turn, so that all see the same machine.

    Those of processes that it starts count too, ended or not.
    """
    for piece in work:  # compile and warm up
        piece()
    seconds: list[list[float]] = [[] for _ in work]
    for _ in range(rounds):
        for piece, taken in zip(work, seconds, strict=True):
            begin = _cpu_seconds()
            piece()
            taken.append(_cpu_seconds() - begin)
    return seconds


def _cpu_seconds() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = sum(_ticks(path) for path in Path("/proc").glob("[0-9]*/stat"))
    at_work = ticks / os.sysconf("SC_CLK_TCK")
    return time.process_time() + ended.ru_utime + ended.ru_stime + at_work


def _ticks(stat: Path) -> int:
    """Return the CPU time of a process if this one has started it."""
    try:
        fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0
    return int(fields[11]) + int(fields[12]) if int(fields[1]) == os.getpid() else 0


def median_ratio(first: list[float], second: list[float]) -> float:
    """Median of the ratios pair by pair."""
    return float(np.median(np.array(first) / np.array(second)))
