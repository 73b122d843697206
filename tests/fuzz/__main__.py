"""Damages input until the time is over: `make fuzz`; with CASE=n one case again."""

import os

from tests.fuzz.judging import run_case
from tests.fuzz.targets import make_targets
from tests.support import cases


def judge_of(seed, only, place):
    """Return what runs a case of a seed and judges it."""
    targets = cases.matching(make_targets(place / "seeds"), only)

    def judge(case):
        folder = place / "case" / "files"
        target, words, ended, faults = run_case(seed, case, targets, place / "seeds", folder)
        said = (f"portmert {' '.join(words)}", *ended[1:])
        kind = f"with status {ended.status}"
        return cases.Judged(target.name, kind, faults, folder.parent, said)

    return judge


def with_cache(seed, only, place):
    """Keep what users have in their caches out of it, and threads."""
    os.environ["PORTMERT_CACHE"] = str(place / "cache")
    os.environ["OMP_NUM_THREADS"] = "1"  # a library's threads would not be there in a child
    return judge_of(seed, only, place)


if __name__ == "__main__":
    cases.main("fuzz", __doc__, with_cache)
