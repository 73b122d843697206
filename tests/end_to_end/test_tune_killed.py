"""A run killed with SIGKILL at every step, and started again each time, ends as one left alone.

A driver process imports everything once and forks: each child works until it has made one new
file (or is about to make its second) and kills itself.
"""

import gzip
import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from tests.support.places import ROOT
from tests.support.run_folders import LITTLE

SHORT = ("tune.iterations=2",)
MERT = ("optimizer.name=mert", "optimizer.searches_per_feature=5")
POOL = (*MERT, "metric.name=bleu", "tune.pool=true")

DRIVER = """
import importlib, json, os, pathlib, signal, sys, tempfile
from portmert.tuner.texts import links
from portmert.tuner.runs.config import load_config

config, job = sys.argv[1:]
job = json.loads(job)
run = importlib.import_module(job["module"]).run
replace = pathlib.Path.replace
align = links.Linker._align

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def work(mode, folder):
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
    tune(folder, job["options"])

def tune(folder, options):
    given = [*options, f"tune.output={folder}"]
    run(load_config(config, overrides=given), log=lambda _: None, progress=lambda *_: None)

# Compiled code is loaded once, in the parent. Threads and thot's library must not be: they do not
# survive a fork.
with tempfile.TemporaryDirectory() as warm:
    tune(warm, job["warm"])
for mode, folder in job["runs"]:
    kills = 0
    while True:
        child = os.fork()
        if child == 0:
            try:
                work(mode, folder)
            except BaseException as error:
                print(repr(error), file=sys.stderr)
                os._exit(1)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if not os.WIFSIGNALED(status):
            break
        kills += 1
    print(kills)
    assert os.waitstatus_to_exitcode(status) == 0
"""


def products(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in {"log.txt", ".lock"}
        and "scratch" not in path.parts and "annotations" not in path.parts
    }  # fmt: skip


def drive(folder, modes, options, *, warm=None, module="portmert.tuner.runs.experiment"):
    """Tune once for each mode, in a folder of its name; return how often each was killed."""
    runs = [(mode, str(folder / mode)) for mode in modes]
    options = (*SHORT, *options)
    job = {"runs": runs, "options": options, "warm": warm or options, "module": module}
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, ROOT / "configs/recorded.toml", json.dumps(job)],
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(zip(modes, map(int, done.stdout.split()), strict=True))


@pytest.mark.parametrize(
    ("modes", "options"),
    [(["after", "before"], LITTLE), (["after"], MERT), (["after", "before"], POOL)],
    ids=["default", "mert", "pool"],
)
def test_a_run_killed_at_every_file_ends_as_one_left_alone(tmp_path, modes, options):
    kills = drive(tmp_path, ["never", *modes], options)
    assert kills["never"] == 0
    left_alone = products(tmp_path / "never")
    assert "iteration-03/weights.json" in left_alone
    for mode in modes:
        assert kills[mode] >= len(left_alone) // 2
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
        *MERT,
        f"decoder.lists={[str(path) for path in lists]}",
        "data.reference_links=[]",
        "aligner.name=thot",
        "aligner.model=ibm1",
    ]
    kills = drive(tmp_path, ["never", "align", "after"], options, warm=MERT)
    assert kills["never"] == 0
    for mode in ("align", "after"):
        assert kills[mode] > 0
        assert products(tmp_path / mode) == products(tmp_path / "never")
        assert links(tmp_path / mode) == links(tmp_path / "never")


def links(folder):
    (made,) = folder.glob("annotations/dev-1.links")
    with closing(sqlite3.connect(folder / "annotations" / "links.sqlite3")) as database:
        return made.read_text(), sorted(database.execute("SELECT * FROM links"))
