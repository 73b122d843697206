"""Tries cases until the time is over, and keeps what is found: `make fuzz`, `make crash`."""

import argparse
import itertools
import shutil
import sys
import tempfile
import time
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import click


class Judged(NamedTuple):
    """Holds what one case showed.

    Parameters
    ----------
    name
        Of what was tried.
    kind
        What is counted.
    faults
        A line each; none where all is well.
    said
        More lines that are kept beside the faults.
    folder
        Its files, kept where there is a fault.
    """

    name: str
    kind: str
    faults: list[str]
    folder: Path
    said: tuple[str, ...] = ()


def main(name, about, judge_of):
    """Run `make NAME`, and end with status 1 if there are findings.

    Parameters
    ----------
    judge_of : callable
        Takes seed, a pattern of names and an empty folder; returns what judges case n.
    """
    parser = argparse.ArgumentParser(prog=f"make {name}", description=about)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--case", type=int, help="only this one; its files are kept in any case")
    parser.add_argument("--only", default="*", help="what is tried is of these names, as 'moses*'")
    given = parser.parse_args()
    cases = itertools.count() if given.case is None else [given.case]
    with tempfile.TemporaryDirectory(prefix=f"portmert-{name}-") as folder:
        judge = judge_of(given.seed, given.only, Path(folder))
        findings = Path(f"{name}-findings") / f"seed-{given.seed}"
        counts, found = tried(
            cases, judge, findings, seconds=given.seconds, keep_all=given.case is not None
        )
    seen = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items()))
    click.echo(f"{counts.total()} cases of seed {given.seed}: {seen}; {len(found)} findings")
    sys.exit(bool(found))


def tried(cases, judge, findings, *, seconds, keep_all=False):
    """Judge cases until the time is over; return how often each kind was seen, and findings."""
    end, counts, found = time.monotonic() + seconds, Counter(), []
    for case in cases:
        if time.monotonic() > end:
            break
        name, kind, faults, folder, said = judge(case)
        counts[kind] += 1
        if faults or keep_all:
            kept = findings / f"case-{case}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept, symlinks=True, ignore_dangling_symlinks=True)
            text = "\n".join([*faults, *said])
            (kept / "judged.txt").write_text(text, encoding="utf-8", errors="backslashreplace")
            line = f"case {case} ({name}): {'; '.join(faults) or 'no fault'}; see {kept}"
            click.echo(line)
            found += [line] * bool(faults)
    return counts, found


def chosen(every, only):
    """Return those of a pattern of names."""
    found = [one for one in every if fnmatch(one.name, only)]
    if not found:
        sys.exit(f"nothing is called '{only}'; there is {', '.join({x.name: 0 for x in every})}")
    return found
