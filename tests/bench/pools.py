"""Optimize from a pool on disk and in memory: the table of docs/how-to/large-pools.md.

python -m tests.bench.pools [--millions 1 5 20] [--in-memory 5] [--optimizer NAME] [--folder DIR]
python -m tests.bench.pools --tune [--millions 1] ...

With --tune in the outer loop: three iterations, whose lists were decoded before, each with 40 % of
the hypotheses, so that a sixth of those of a list stand in the one before.

Lists of 1,000 hypotheses a segment with 14 features are generated in a stream; 20 million of them
take 4 GB, and as much again while their pool is made.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from tabulate import tabulate

from portmert.tuner.runs.config import load_config
from portmert.tuner.runs.folder import open_run

PER_SEGMENT, FEATURES, WORDS, LENGTH = 1000, 14, 5000, 12
VALUES = 10_000
DIFFERENT = 1000
"""Segments that are made; longer lists repeat them under other ids."""
POLLED = 0.05
"""Seconds between two looks at a process's memory."""
TUNED = """
[tune]
output = "run"
iterations = 2
nbest = 400
patience = 9
min_weight_change = 0.0
[data]
source = "{reference}"
references = ["{reference}"]
[metric]
name = "bleu"
[decoder]
name = "recorded"
lists = ["{lists}"]
start = "{start}"
[optimizer]
name = "{name}"
"""


@dataclass
class Seen:
    """Seconds of a process, and its peaks of memory in bytes."""

    wall: float
    cpu: float
    resident: int
    anonymous: int
    mapped: int


def generate(folder: Path, millions: int) -> tuple[Path, Path]:
    """Write an n-best list and its reference."""
    rng = np.random.default_rng(millions)
    lists, reference = folder / f"{millions}.nbest", folder / f"{millions}.ref"
    different = [segment(rng) for _ in range(DIFFERENT)]
    with lists.open("w") as out, reference.open("w") as refs:
        for number in range(millions * 1_000_000 // PER_SEGMENT):
            right, hypotheses = different[number % DIFFERENT]
            refs.write(right)
            out.writelines([f"{number} {hypothesis}" for hypothesis in hypotheses])
    return lists, reference


def segment(rng: np.random.Generator) -> tuple[str, list[str]]:
    """Return the reference of a segment, and what stands behind the ids of its list."""
    words = [f"w{n}" for n in range(WORDS)]
    numbers = [f"{(n - VALUES // 2) / 1000:.3f}" for n in range(VALUES)]
    right = rng.integers(0, WORDS, size=LENGTH)
    share = rng.uniform(0.1, 0.6, size=(PER_SEGMENT, 1))
    wrong = rng.random((PER_SEGMENT, LENGTH)) < share
    tokens = np.where(wrong, rng.integers(0, WORDS, size=wrong.shape), right).tolist()
    # Half of the features say something of how much is wrong, the more the earlier.
    told = np.linspace(1.5, -0.5, FEATURES).clip(0) * wrong.sum(axis=1, keepdims=True)
    values = rng.normal(size=(PER_SEGMENT, FEATURES)) - told / LENGTH * 4
    rows = (values * 1000 + VALUES // 2).clip(0, VALUES - 1).astype(np.int64).tolist()
    hypotheses = []
    for hypothesis, row in zip(tokens, rows, strict=True):
        text = " ".join([words[token] for token in hypothesis])
        shown = " ".join([numbers[value] for value in row])
        hypotheses.append(f"||| {text} ||| F= {shown} ||| 0\n")
    return " ".join(words[token] for token in right) + "\n", hypotheses


def run(arguments: list[object]) -> Seen:
    """Run `portmert` to its end and look at its memory meanwhile."""
    command = [sys.executable, "-m", "portmert", *map(str, arguments)]
    begin, peaks = time.perf_counter(), {"VmHWM": 0, "RssAnon": 0, "RssFile": 0}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        status = Path(f"/proc/{process.pid}/status")
        while True:
            pid, code, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            for line in status.read_text().splitlines():
                name, _, rest = line.partition(":")
                if name in peaks:
                    peaks[name] = max(peaks[name], int(rest.split()[0]) * 1024)
            time.sleep(POLLED)
        process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command[1:])}: exit status {process.returncode}")
    return Seen(
        time.perf_counter() - begin,
        usage.ru_utime + usage.ru_stime,
        peaks["VmHWM"],
        peaks["RssAnon"],
        peaks["RssFile"],
    )


def measure(folder: Path, millions: int, optimizer: str, *, in_memory: bool) -> list[list[str]]:
    """Return one row for each way."""
    lists, reference = generate(folder, millions)
    common = ["optimize", "--metric", "bleu", "--optimizer", optimizer]
    common += ["--nbest", lists, "--ref", reference]
    pool, out = folder / f"{millions}.pool", folder / "weights.json"
    ways = {"in memory": []} if in_memory else {}
    ways |= {"pool made": ["--pool", pool], "pool used again": ["--pool", pool]}
    rows, results = [], set()
    for way, options in ways.items():
        seen = run([*common, *options, "--out", out])
        results.add(out.read_bytes())
        rows.append(row(f"{millions} M", way, seen))
    if len(results) > 1:
        raise RuntimeError("the results differ")
    for path in (lists, reference, *pool.iterdir()):
        path.unlink()
    return rows


def measure_tune(folder: Path, millions: int, optimizer: str) -> list[list[str]]:
    """Return one row for each way to keep the lists of a run's iterations."""
    lists, reference = generate(folder, millions)
    parts = [folder / f"{number}.gz" for number in (1, 2, 3)]
    with lists.open("rb") as lines, contextlib.ExitStack() as opened:
        files = [opened.enter_context(gzip.open(path, "wb", compresslevel=1)) for path in parts]
        for number, line in enumerate(lines):
            place = 10 * (number % PER_SEGMENT) // PER_SEGMENT
            for file, first in zip(files, (0, 3, 6), strict=True):
                if first <= place < first + 4:
                    file.write(line)
    (folder / "start.json").write_text(json.dumps({"weights": {"F": [1.0] * FEATURES}}))
    name, _, options = optimizer.partition(":")
    config = folder / "tune.toml"
    config.write_text(
        TUNED.format(reference=reference, lists=parts[0], start=folder / "start.json", name=name)
        + options.replace(",", "\n")
    )
    rows, results = [], set()
    for way, pool in (("in memory", "false"), ("pool", "true")):
        out = folder / f"run-{pool}"
        given = [f"tune.output={out}", f"tune.pool={pool}"]
        experiment = load_config(config, overrides=given)
        with open_run(out, experiment.fingerprint(), origin="bench") as run_folder:
            for number, path in enumerate(parts, 1):
                run_folder.iteration(number).mkdir()
                (run_folder.iteration(number) / "nbest.gz").hardlink_to(path)
        seen = run(["tune", config, *(word for one in given for word in ("--set", one))])
        results.add((out / "result.json").read_bytes())
        rows.append(row(f"{millions} M", f"tune, {way}", seen))
        shutil.rmtree(out)
    if len(results) > 1:
        raise RuntimeError("the results differ")
    for path in (lists, reference, *parts):
        path.unlink()
    return rows


def row(millions: str, way: str, seen: Seen) -> list[str]:
    """Return the row of a table."""
    sizes = (f"{size / 1e9:.2f}" for size in (seen.resident, seen.anonymous, seen.mapped))
    shown = [millions, way, f"{seen.cpu:.0f}", f"{seen.wall:.0f}", *sizes]
    click.echo(" ".join(shown), err=True)
    return shown


def main() -> None:
    """Print one row for each size and way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=int, nargs="+", default=[1, 5, 20])
    parser.add_argument("--in-memory", type=int, default=5, help="Not more than so many millions.")
    parser.add_argument("--optimizer", default="bagged")
    parser.add_argument("--tune", action="store_true", help="The outer loop.")
    parser.add_argument("--folder", type=Path, help="Where the lists go; default: temporary.")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for millions in given.millions:
            if given.tune:
                rows += measure_tune(Path(folder), millions, given.optimizer)
                continue
            in_memory = millions <= given.in_memory
            rows += measure(Path(folder), millions, given.optimizer, in_memory=in_memory)
    headers = ["hypotheses", "", "CPU s", "s", "peak GB", "anonymous", "mapped"]
    click.echo(tabulate(rows, headers=headers, disable_numparse=True, tablefmt="pipe"))


if __name__ == "__main__":
    main()
