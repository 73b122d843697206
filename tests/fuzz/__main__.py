"""Damages input until the time is over: `make fuzz`; with CASE=n one case again."""

import argparse
import itertools
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import click

from tests.fuzz.judging import run_case
from tests.fuzz.targets import make_targets

FINDINGS = Path("fuzz-findings")


def main():
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--case", type=int, help="only this one; its files are kept in any case")
    parser.add_argument("--only", default="*", help="targets of these names, as 'moses*'")
    given = parser.parse_args()
    cases = itertools.count() if given.case is None else [given.case]
    with tempfile.TemporaryDirectory(prefix="portmert-fuzz-") as name:
        os.environ["PORTMERT_CACHE"] = f"{name}/cache"
        findings = FINDINGS / f"seed-{given.seed}"
        statuses, found = fuzz(
            given.seed, cases, Path(name), findings,
            seconds=given.seconds, only=given.only, keep_all=given.case is not None,
        )  # fmt: skip
    seen = ", ".join(f"{n} with status {status}" for status, n in sorted(statuses.items()))
    click.echo(f"{statuses.total()} cases of seed {given.seed}: {seen}; {len(found)} findings")
    sys.exit(bool(found))


def fuzz(seed, cases, place, findings, *, seconds, only="*", keep_all=False):
    """Run cases until the time is over; return how often each status was seen, and findings."""
    targets = [one for one in make_targets(place / "seeds") if fnmatch(one.name, only)]
    end, statuses, found = time.monotonic() + seconds, Counter(), []
    for case in cases:
        if time.monotonic() > end:
            break
        folder = place / "case" / "files"
        target, words, ended, faults = run_case(seed, case, targets, place / "seeds", folder)
        statuses[ended.status] += 1
        if faults or keep_all:
            kept = findings / f"case-{case}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept / "files")
            said = "\n".join([*faults, f"portmert {' '.join(words)}", *ended[1:]])
            (kept / "judged.txt").write_text(said, encoding="utf-8", errors="backslashreplace")
            line = f"case {case} ({target.name}): {'; '.join(faults) or 'no fault'}; see {kept}"
            click.echo(line)
            found += [line] * bool(faults)
    return statuses, found


if __name__ == "__main__":
    main()
