"""What an iteration of mert-moses.pl costs besides decoding, with us in the place of its programs.

Moses' own share of the seventh iteration is extractor's on one list and mert's on seven: 1.6 and
188 to 212 units on the lists of ../shared/data/moses-ja-en (its README).
"""

from __future__ import annotations

import gzip
import shutil
import stat
from typing import TYPE_CHECKING

from tests.bench.lists import FEATURES
from tests.bench.measure import run, unit_seconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.bench.lists import Lists
    from tests.bench.measure import Process

LAST = 7
GOAL = "<= 47 (a quarter of Moses' 190 to 214)"
ROUNDS = 3


def drop_in(folder: Path, lists: Lists) -> list[list[str]]:
    """Measure step 7 by `portmert mert-moses`, from the start of the process."""
    work = prepared(folder, lists)
    arguments = [
        "mert-moses", lists.source, lists.reference, folder / "decoder", folder / "moses.ini",
        f"--working-dir={work}", "--no-filter-phrase-table", "--predictable-seeds",
        f"--maximum-iterations={LAST}", "--continue", "--skip-decoder",
    ]  # fmt: skip

    def loop() -> list[Process]:
        (work / "finished_step.txt").write_text(f"{LAST - 1}\n")
        return [run(arguments)]

    loop()  # compile
    return [["mert-moses, step 7 without decoding: units of CPU", units(loop), GOAL]]


def mert_arguments() -> list[object]:
    """Return how mert-moses.pl calls `mert` on all lists."""
    steps = range(1, LAST + 1)
    return [
        "-d", sum(size for _, size in FEATURES), "--sctype", "BLEU", "--scconfig", "case:true",
        "--ffile", ",".join(f"run{k}.features.dat" for k in steps),
        "--scfile", ",".join(f"run{k}.scores.dat" for k in steps),
        "--ifile", f"run{LAST}.init.opt", "-n", 20, "-r", LAST * 1000,
    ]  # fmt: skip


def units(work: Callable[[], list[Process]]) -> str:
    """Return the median of some rounds, each beside units measured around it."""
    found = []
    for _ in range(ROUNDS):
        before = unit_seconds()
        cpu = sum(process.cpu for process in work())
        found.append(cpu / ((before + unit_seconds()) / 2))
    return f"{sorted(found)[ROUNDS // 2]:.1f}"


def prepared(folder: Path, lists: Lists) -> Path:
    """Return a folder as mert-moses.pl leaves it behind step 6, with the list of step 7."""
    work = folder / "mert-work"
    work.mkdir()
    names = [name for name, size in FEATURES for _ in range(size)]
    start = " ".join(["0.1"] * len(names))
    for step in range(1, LAST + 1):
        files = zip(
            ("features", "scores"), (lists.features[step - 1], lists.scores[step - 1]), strict=True
        )
        for kind, packed in files:
            with gzip.open(packed) as source, (work / f"run{step}.{kind}.dat").open("wb") as out:
                shutil.copyfileobj(source, out)
        for row in (start, "0 " * len(names), "1 " * len(names)):
            with (work / f"run{step}.init.opt").open("a") as out:
                out.write(f"{row}\n")
    last = lists.nbest
    if lists.real:
        last = lists.nbest.with_name(f"run{LAST}.best100.out.gz")
    for step in (LAST - 1, LAST):
        shutil.copyfile(last, work / f"run{step}.best100.out.gz")
    for step in range(1, LAST):
        (work / f"run{step}.mert.log").write_text(f"Best point: {start}  => 0.3\n")
    (work / f"run{LAST - 1}.weights.txt").write_text(f"{start}\n")
    dense = "".join(f"{name}= 0.1\n" for name in names)
    (work / "run1.dense").write_text(dense)  # the default searches from the first weights
    weights = "".join(f"{name}= {' '.join(['0.1'] * size)}\n" for name, size in FEATURES)
    (folder / "moses.ini").write_text(f"[weight]\n{weights}")
    (folder / "shown").write_text(weights)
    decoder = folder / "decoder"  # asked for the names of its features alone
    decoder.write_text(f"#!/bin/sh\ncat {folder / 'shown'}\n")
    decoder.chmod(decoder.stat().st_mode | stat.S_IXUSR)
    return work
