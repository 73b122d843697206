"""A run killed with SIGKILL at every step, and started again each time, ends as one left alone.

A driver process imports everything once and forks: each child works until it has made one new
file (or is about to make its second) and kills itself.
"""

import gzip
import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest

from tests.support.places import INVENTED, ROOT
from tests.support.run_folders import LITTLE

SHORT = ("tune.iterations=2",)
MERT = ("optimizer.name=mert", "optimizer.searches_per_feature=5")

DRIVER = """
import importlib, json, os, pathlib, signal, sys, tempfile
from portmert.tuner.texts import links
from portmert.tuner.runs.config import load_config

config, = sys.argv[1:]
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
    run(load_config(config, overrides=given))

for line in sys.stdin:
    job = json.loads(line)
    run = importlib.import_module(job["module"]).run
    # Compiled code is loaded once, in the parent. Threads and thot's library must not be: they do
    # not survive a fork.
    with tempfile.TemporaryDirectory() as warm:
        tune(warm, job["warm"])
    counts = []
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
        assert os.waitstatus_to_exitcode(status) == 0
        counts.append(kills)
    print(json.dumps(counts), flush=True)
"""


@contextmanager
def driver():
    """Start the process; `drive` hands it jobs."""
    command = [sys.executable, "-c", DRIVER, INVENTED / "recorded.toml"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:
        yield process
        process.stdin.close()


@pytest.fixture(scope="module")
def process():
    with driver() as process:
        yield process


def products(folder):
    """Return the files of a folder; pages without the command that made them."""
    return {
        str(path.relative_to(folder)): re.sub(rb'<p class="command">.*\n', b"", path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in {"log.txt", ".lock"}
        and "scratch" not in path.parts and "annotations" not in path.parts
    }  # fmt: skip


def drive(process, folder, modes, options, *, warm=None, module="portmert.tuner.runs.experiment"):
    """Tune once for each mode, in a folder of its name; return how often each was killed."""
    runs = [(mode, str(folder / mode)) for mode in modes]
    options = (*SHORT, *options)
    job = {"runs": runs, "options": options, "warm": warm or options, "module": module}
    process.stdin.write(f"{json.dumps(job)}\n")
    process.stdin.flush()
    counts = process.stdout.readline()
    assert counts, "the driver has ended"
    return dict(zip(modes, json.loads(counts), strict=True))


@pytest.mark.parametrize(
    ("modes", "options"),
    [(["after", "before"], LITTLE), (["after"], MERT)],
    ids=["default", "mert"],
)
def test_a_run_killed_at_every_file_ends_as_one_left_alone(process, tmp_path, modes, options):
    kills = drive(process, tmp_path, ["never", *modes], options)
    assert kills["never"] == 0
    left_alone = products(tmp_path / "never")
    assert "iteration-03/weights.json" in left_alone
    for mode in modes:
        assert kills[mode] >= len(left_alone) // 2
        assert products(tmp_path / mode) == left_alone


def test_a_run_killed_while_aligning_ends_as_one_left_alone(process, tmp_path):
    lists = []
    for number in (1, 2):
        packed = (INVENTED / f"recorded/{number}.nbest.gz").read_bytes()
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
    kills = drive(process, tmp_path, ["never", "align", "after"], options, warm=MERT)
    assert kills["never"] == 0
    for mode in ("align", "after"):
        assert kills[mode] > 0
        assert products(tmp_path / mode) == products(tmp_path / "never")
        assert links(tmp_path / mode) == links(tmp_path / "never")


def links(folder):
    (made,) = folder.glob("annotations/dev-1.links")
    with closing(sqlite3.connect(folder / "annotations" / "links.sqlite3")) as database:
        return made.read_text(), sorted(database.execute("SELECT * FROM links"))
