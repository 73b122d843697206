"""What a bench row is made of: the unit, whole processes, work inside this one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

PRODUCTS = 100
MATRIX = np.random.default_rng(1).random((350_000, 14))
VECTOR = np.random.default_rng(2).random(14)


def unit_seconds() -> float:
    """CPU seconds of 100 products of a float64 350,000 x 14 matrix with a vector, now."""
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


def run(
    arguments: Sequence[object], *, module: str = "tuner", folder: Path | None = None
) -> Process:
    """Run `portmert`, or another module, with these arguments to its end, in a folder."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    begin = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder
    ) as process:
        output = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit status {process.returncode}")
    return Process(
        cpu=usage.ru_utime + usage.ru_stime,
        wall=time.perf_counter() - begin,
        memory=usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        output=output,
    )


def in_turn(*work: Callable[[], object], rounds: int = 15) -> list[list[float]]:
    """CPU seconds of each piece of work, taken in turn, so that all see the same machine."""
    for piece in work:  # compile and warm up
        piece()
    seconds: list[list[float]] = [[] for _ in work]
    for _ in range(rounds):
        for piece, taken in zip(work, seconds, strict=True):
            begin = time.process_time()
            piece()
            taken.append(time.process_time() - begin)
    return seconds


def median_ratio(first: list[float], second: list[float]) -> float:
    """Median of the ratios pair by pair."""
    return float(np.median(np.array(first) / np.array(second)))
