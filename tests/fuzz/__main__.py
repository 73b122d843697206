"""Damages input until the time is over: `make fuzz`, with CASE=n one case again."""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import click

from tests.fuzz.judging import run_case
from tests.fuzz.targets import make_targets

FINDINGS = Path("fuzz-findings")


def main():
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--case", type=int)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="portmert-fuzz-") as name:
        os.environ["PORTMERT_CACHE"] = f"{name}/cache"
        found = fuzz(given, Path(name), FINDINGS / f"seed-{given.seed}")
    sys.exit(bool(found))


def fuzz(given, place, findings):
    """Run cases until the time is over, or the one asked for; return how many had a finding."""
    targets = make_targets(place / "seeds")
    end, found, statuses = time.monotonic() + given.seconds, 0, Counter()
    case = 0 if given.case is None else given.case
    while time.monotonic() < end:
        folder = place / "case" / "files"
        target, words, ended, faults = run_case(given.seed, case, targets, place / "seeds", folder)
        statuses[ended.status] += 1
        if faults or given.case is not None:
            kept = findings / f"case-{case}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept / "files")
            said = "\n".join([*faults, f"portmert {' '.join(words)}", *ended[1:]])
            (kept / "judged.txt").write_text(said, encoding="utf-8", errors="backslashreplace")
            found += bool(faults)
            click.echo(f"case {case} ({target.name}): {'; '.join(faults)}; see {kept}")
        shutil.rmtree(folder)
        if given.case is not None:
            break
        case += 1
    seen = ", ".join(f"{number} with status {status}" for status, number in sorted(statuses.items()))
    click.echo(f"{statuses.total()} cases of seed {given.seed}: {seen}; {found} with findings")
    return found


if __name__ == "__main__":
    main()
