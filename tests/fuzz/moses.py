"""What Moses' users give: words and files of mert-moses."""

import sys
from contextlib import chdir

from tests.fuzz.target import Target, new_place
from tests.support.cli import run
from tests.support.run_folders import LINKS, REFERENCE, SOURCE, write_lines

DECODER = f"""#!{sys.executable} -SE
import sys
words = sys.argv[1:]
if "-show-weights" in words:
    print(open("shown").read(), end="")
else:
    name = words[words.index("-n-best-list") + 1]
    with open("list", "rb") as given, open(name, "wb") as out:
        out.write(given.read())
"""
"""Answers with what lies in its folder."""

SHOWN = "LM0= 0.5\nWordPenalty0= -1\nTM0= 0.2 0.3\nUnknownWordPenalty0 UNTUNEABLE\n"
INI = "[feature]\nKENLM name=LM0\n[weight]\nLM0= 0.5\nWordPenalty0= -1\nTM0= 0.2 0.3\n"
WORDS = (
    "--nbest=8",
    "--decoder-flags=-v 0 -threads 1",
    "--sctype=PORT",
    "--scconfig=source:src,reflinks:links,case:true",
    "--mertargs=--type powell --sctype PORT",
    "--mertmertargs=-r 7 -o LM0_0,TM0_0",
    "--extractorargs=--factors 0",
    "--proargs=-b",
    "--batch-mira-args=-C 0.01 --sctype PORT",
    "--range=TM0:-1..1,0..2",
    "--activate-features=LM0_0,TM0_1",
    "--prev-aggregate-nbestlist=2",
    "--minimum-required-change-in-weights=0.01",
    "--historic-interpolation=0.1",
    "--seed=3",
    "--jobs=1",
    "--threads=1",
    "--inputtype=0",
)
"""Of these words some are damaged; what decides how long a run takes is not among them."""
LAST = ("--no-filter-phrase-table", "--working-dir=work", "--maximum-iterations=1")
CALL = ("mert-moses", "src", "ref", "./decoder", "moses.ini")
PORT = ("--sctype=PORT", "--scconfig=source:src,reflinks:links", "--nbest=8")


def targets(folder):
    """Return all targets of this kind."""
    yield from _mert_moses(folder)


def _corpus(folder, name):
    place = new_place(folder, name)
    for file, lines in (("src", SOURCE), ("ref", REFERENCE), ("links", LINKS)):
        write_lines(place / file, lines)
    (place / "moses.ini").write_text(INI)
    (place / "shown").write_text(SHOWN)
    (place / "decoder").write_text(DECODER)
    (place / "decoder").chmod(0o755)
    rows = []
    for number, line in enumerate(REFERENCE):
        words = line.split()
        for turn in range(3):
            text = " ".join(words[turn % len(words) :] + words[: turn % 2])
            features = (
                f"LM0= {0.5 * turn - number} WordPenalty0= {-turn} TM0= 0.{turn} 1 s_{turn}= 1"
            )
            rows.append(f"{number} ||| {text} ||| {features} ||| {-turn} ||| 0-0")
    write_lines(place / "list", rows)
    return place


def _mert_moses(folder):
    place = _corpus(folder, "moses")
    for file in ("list", "shown", "moses.ini", "src", "ref", "links"):
        yield Target("moses", (*CALL, *PORT, *LAST), (file,), changed=("work",), names=("work",))
    write_lines(place / "words", WORDS)
    yield Target("moses", (*CALL, "@", *LAST), ("words",), changed=("work",),
                 names=("--", "metric", "feature"))  # fmt: skip
    place = _corpus(folder, "moses-continued")
    words = ("--return-best-dev", "--prev-aggregate-nbestlist=2", "--continue")
    with chdir(place):
        run(*CALL, *PORT, *LAST)
    call = (*CALL, *PORT, *LAST[:-1], "--maximum-iterations=2", *words)
    yield Target("moses-continued", call, ("work/*",), changed=("work",), names=("work",))
