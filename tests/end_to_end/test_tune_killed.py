"""A run killed with SIGKILL at every step, and started again each time, ends as one left alone.

A driver process imports everything once and forks: each child works until it has made one new
file (or is about to make its second) and kills itself.
"""

import gzip
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from tests.support.places import ROOT

SHORT = ("tune.iterations=2",)
MERT = ("optimizer.name=mert", "optimizer.searches_per_feature=5")
POOL = (*MERT, "metric.name=bleu", "tune.pool=true")

DRIVER = """
import os, pathlib, signal, sys, tempfile
from portmert.tuner.texts import links
from portmert.tuner.runs.config import load_config
from portmert.tuner.runs.experiment import run
from tests.support.places import ROOT

config, mode = sys.argv[1:3]
replace = pathlib.Path.replace
align = links.Linker._align

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def work():
    made = 0
    def replace_then_die(self, target):
        nonlocal made
        new = not pathlib.Path(target).exists()
        made += new
        if mode == "before" and made == 2:
            die()  # the new file lies aside, complete, but has not taken its place
        replace(self, target)
        if mode == "after" and new:
            die()
        return target
    def align_then_die(self, pairs):
        links = align(self, pairs)
        mark = self.folder / f"died-{hash(tuple(pairs))}"  # hashes are the parent's: it forks
        if mode == "align" and not mark.exists():
            mark.touch()
            die()  # aligned, not yet kept
        return links
    pathlib.Path.replace = replace_then_die
    links.Linker._align = align_then_die
    run(load_config(config, overrides=sys.argv[3:]), log=lambda _: None, progress=lambda *_: None)

# Compiled code is loaded once, in the parent. Threads and thot's library must not be: they do not
# survive a fork.
with tempfile.TemporaryDirectory() as warm:
    run(
        load_config(config, overrides=[*sys.argv[3:5], f"tune.output={warm}"]),
        log=lambda _: None, progress=lambda *_: None,
    )
kills = 0
while True:
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status):
        break
    kills += 1
print(kills)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def products(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in {"log.txt", ".lock"}
        and "scratch" not in path.parts and "annotations" not in path.parts
    }  # fmt: skip


def drive(mode, *overrides):
    config = ROOT / "configs/recorded.toml"
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, config, mode, *SHORT, *overrides],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.parametrize(
    ("modes", "options"),
    [(["after", "before"], ()), (["after"], MERT), (["after", "before"], POOL)],
    ids=["default", "mert", "pool"],
)
def test_a_run_killed_at_every_file_ends_as_one_left_alone(tmp_path, modes, options):
    assert drive("never", *options, f"tune.output={tmp_path / 'alone'}") == 0
    left_alone = products(tmp_path / "alone")
    assert "iteration-03/weights.json" in left_alone
    for mode in modes:
        kills = drive(mode, *options, f"tune.output={tmp_path / mode}")
        assert kills >= len(left_alone) // 2
        assert products(tmp_path / mode) == left_alone


def test_a_run_killed_while_aligning_ends_as_one_left_alone(tmp_path):
    lists = []
    for number in (1, 2):
        packed = (ROOT / f"configs/recorded/{number}.nbest.gz").read_bytes()
        lines = gzip.decompress(packed).decode().splitlines()
        lists.append(tmp_path / f"{number}.nbest")
        fields = (line.split(" ||| ")[:4] for line in lines)  # without segmentation and alignment
        lists[-1].write_text("".join(" ||| ".join(kept) + "\n" for kept in fields))
    options = [
        f"decoder.lists={[str(path) for path in lists]}",
        "data.reference_links=[]",
        "aligner.name=thot",
        "aligner.model=ibm1",
    ]
    assert drive("never", f"tune.output={tmp_path / 'alone'}", *options) == 0
    for mode in ("align", "after"):
        killed = tmp_path / mode
        assert drive(mode, f"tune.output={killed}", *options) > 0
        assert products(killed) == products(tmp_path / "alone")
        assert links(killed) == links(tmp_path / "alone")


def links(folder):
    (made,) = folder.glob("annotations/dev-1.links")
    with closing(sqlite3.connect(folder / "annotations" / "links.sqlite3")) as database:
        return made.read_text(), sorted(database.execute("SELECT * FROM links"))
