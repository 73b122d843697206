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
    options = parser.parse_args()
    cases = itertools.count() if options.case is None else [options.case]
    with tempfile.TemporaryDirectory(prefix=f"portmert-{name}-") as folder:
        judge = judge_of(options.seed, options.only, Path(folder))
        findings = Path(f"{name}-findings") / f"seed-{options.seed}"
        counts, faulty = tried(
            cases, judge, findings, seconds=options.seconds, keep_all=options.case is not None
        )
    seen = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items()))
    click.echo(f"{counts.total()} cases of seed {options.seed}: {seen}; {len(faulty)} findings")
    sys.exit(bool(faulty))


def tried(cases, judge, findings, *, seconds, keep_all=False):
    """Judge cases until the time is over; return how often each kind was seen, and findings."""
    end, counts, faulty = time.monotonic() + seconds, Counter(), []
    for case in cases:
        if time.monotonic() > end:
            break
        name, kind, faults, folder, lines = judge(case)
        counts[kind] += 1
        if faults or keep_all:
            copy = findings / f"case-{case}"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(folder, copy, symlinks=True, ignore_dangling_symlinks=True)
            text = "\n".join([*faults, *lines])
            (copy / "judged.txt").write_text(text, encoding="utf-8", errors="backslashreplace")
            line = f"case {case} ({name}): {'; '.join(faults) or 'no fault'}; see {copy}"
            click.echo(line)
            faulty += [line] * bool(faults)
    return counts, faulty


def matching(every, only):
    """Return those of a pattern of names."""
    matches = [case for case in every if fnmatch(case.name, only)]
    if not matches:
        sys.exit(f"nothing is called '{only}'; there is {', '.join({x.name: 0 for x in every})}")
    return matches
