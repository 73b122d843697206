"""Kills jobs, and takes away what they need, until the time is over: `make crash`."""

import os
import random
import shutil
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO

from tests.crash.jobs import make_jobs
from tests.crash.trials import TRIALS, Trial, alone, can_mount, full_disk, misbehaving
from tests.support import cases
from tests.support.cli import run


def judge_of(seed, only, place):
    """Return what lets something happen to a job, by the number of the case, and judges it."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1340000000")
    jobs = cases.matching(make_jobs(place / "seeds"), only)
    trials = [trial for trial in TRIALS if trial is not full_disk or can_mount(place)]
    known = {}

    def judge(case):
        rng = random.Random(f"{seed} {case}")
        job = jobs[case % len(jobs)]
        trial = rng.choice([*trials, *[misbehaving] * (4 if job.faults else 0)])
        if job.name not in known:
            known[job.name] = prepared(job, place)
        setting, kind = known[job.name], trial.__name__.replace("_", "-")
        faults = list(trial(setting, rng))
        return cases.Judged(f"{job.name}, {kind}", kind, faults, setting.place)

    return judge


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
    cases.main("crash", __doc__, judge_of)
