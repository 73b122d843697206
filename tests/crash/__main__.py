"""Kills jobs, and takes away what they need, until the time is over: `make crash`."""

import argparse
import itertools
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from contextlib import chdir, redirect_stderr, redirect_stdout
from fnmatch import fnmatch
from io import StringIO
from pathlib import Path

import click

from tests.crash.jobs import make_jobs
from tests.crash.trials import TRIALS, Trial, alone, can_mount, full_disk, misbehaving
from tests.support.cli import run

FINDINGS = Path("crash-findings")


def main():
    parser = argparse.ArgumentParser(prog="make crash", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--case", type=int, help="only this one; its files are kept in any case")
    parser.add_argument("--only", default="*", help="jobs of these names, as 'tune*'")
    given = parser.parse_args()
    cases = itertools.count() if given.case is None else [given.case]
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1340000000")
    with tempfile.TemporaryDirectory(prefix="portmert-crash-") as name:
        findings = FINDINGS / f"seed-{given.seed}"
        counts, found = crash(
            given.seed, cases, Path(name), findings,
            seconds=given.seconds, only=given.only, keep_all=given.case is not None,
        )  # fmt: skip
    seen = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items()))
    click.echo(f"{counts.total()} cases of seed {given.seed}: {seen}; {len(found)} findings")
    sys.exit(bool(found))


def crash(seed, cases, place, findings, *, seconds, only="*", keep_all=False):
    """Try until the time is over; return how often each trial was made, and findings."""
    jobs = [job for job in make_jobs(place / "seeds") if fnmatch(job.name, only)]
    known = {}
    trials = [trial for trial in TRIALS if trial is not full_disk or can_mount(place)]
    end, counts, found = time.monotonic() + seconds, Counter(), []
    for case in cases:
        if time.monotonic() > end:
            break
        rng = random.Random(f"{seed} {case}")
        job = jobs[case % len(jobs)]
        trial = rng.choice([*trials, *[misbehaving] * (4 if job.faults else 0)])
        if job.name not in known:
            known[job.name] = prepared(job, place)
        setting = known[job.name]
        faults = list(trial(setting, rng))
        counts[trial.__name__.replace("_", "-")] += 1
        if faults or keep_all:
            kept = findings / f"case-{case}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(setting.place, kept, symlinks=True, ignore_dangling_symlinks=True)
            (kept / "judged.txt").write_text("\n".join(faults), errors="backslashreplace")
            line = f"case {case} ({job.name}, {trial.__name__}): {'; '.join(faults) or 'no fault'}"
            click.echo(f"{line}; see {kept}")
            found += [line] * bool(faults)
    return counts, found


def prepared(job, place):
    """Return a job that has been run alone, its kernels loaded where that can be."""
    if job.runs_here:
        _load(job, place / "seeds", place / "warm")
    case = place / "case"
    return Trial(job, place / "seeds", case, alone(job, place / "seeds", case))


def _load(job, seeds, place):
    shutil.copytree(seeds / job.name, place)
    with chdir(place), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        run(*job.words)
    shutil.rmtree(place)


if __name__ == "__main__":
    main()
