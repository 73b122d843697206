"""A signal at any moment leaves no program behind: aligners, filters, metric programs."""

import contextlib
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.interrupts import HANGS
from tests.support.places import ROOT

TRIALS = 12
SERVER = """
import contextlib, os, random, shlex, signal, sys, tempfile, time
from pathlib import Path
import numpy as np
from portmert.metrics._base import Ragged, Texts, Vocabulary
from portmert.extensions.programs import metric as programs_metric
from portmert.extensions.mert_moses import _scorer
from portmert.tuner.base import programs
from portmert.tuner.base.interrupts import ENDING, signals_as_interrupts

kind, trials, sleeper = sys.argv[1], int(sys.argv[2]), sys.argv[3]
signal.signal(signal.SIGINT, signal.default_int_handler)
for one in ENDING:  # jobs in the background and under nohup ignore some
    signal.signal(one, signal.SIG_DFL)
signals = [signal.SIGINT, *ENDING]
TEXTS = Texts(Vocabulary(["a"]), Ragged(np.zeros(1, np.int32), np.array([0, 1])))


def work(words):
    if kind == "aligner":
        with programs.scratch(None, "gap") as folder:
            jobs = [programs.Command(words, folder / f"{n}.log") for n in (1, 2)]
            programs.run(*jobs, at_once=2)
    elif kind == "filter":
        _scorer._filtered(TEXTS, shlex.join(words))
    else:
        programs_metric._Process(words, 60.0).width("SCORE ||| a ||| a")


def child(words):
    try:
        with signals_as_interrupts():
            signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
            work(words)
    except BaseException as error:
        print(type(error).__name__, flush=True)
    finally:
        programs.end_all()
        os._exit(0)


def left(mark):
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes()
            if mark.encode() in words and path.parent.name != str(os.getpid()):
                yield int(path.parent.name)


rng = random.Random(1)
for trial in range(trials):
    mark = f"gap-{os.getpid()}-{trial}"
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    pid = os.fork()
    if pid == 0:
        child([sys.executable, "-S", "-c", sleeper, mark])
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    time.sleep(rng.uniform(0, 0.06))
    os.kill(pid, rng.choice(signals))
    os.waitpid(pid, 0)
    deadline = time.monotonic() + 600
    while (found := list(left(mark))) and time.monotonic() < deadline:
        time.sleep(0.02)
    for one in found:
        print("left", trial, flush=True)
        os.kill(one, signal.SIGKILL)
print("tried", trials)
"""
SLEEPER = "import time; time.sleep(3000)"


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("kind", ["aligner", "filter", "metric"])
def test_a_signal_at_any_moment_leaves_no_program(kind):
    words = [sys.executable, "-c", SERVER, kind, str(TRIALS), SLEEPER]
    result = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, timeout=100 * HANGS, check=True
    )
    said = result.stdout.split("\n")
    assert f"tried {TRIALS}" in said
    assert not [line for line in said if line.startswith("left")]
    assert {"KeyboardInterrupt", "Interrupted"} & {*said}


def commands_with(mark):
    """Return the command lines of processes that have a word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            found.append(path.read_bytes())
    return [command for command in found if mark in command.split(b"\0")]


METRIC = """
import pathlib, sys, time
asked = 0
for line in sys.stdin:
    print(1, 2, flush=True) if line.startswith("SCORE") else print(0.5, flush=True)
    asked += line.startswith("EVAL")
    if asked == 500:  # the search has begun
        pathlib.Path(sys.argv[1]).touch()
time.sleep(3000)
"""


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for processes in /proc")
def test_a_metric_program_that_stays_is_ended_while_threads_search(tmp_path):
    """The command does not wait for its threads, so nothing closed the program."""
    (tmp_path / "metric.py").write_text(METRIC)
    lines = [f"{s} ||| {h} a ||| F= {h} {h * h % 7} ||| 0\n" for s in range(9) for h in range(9)]
    (tmp_path / "list").write_text("".join(lines))
    (tmp_path / "ref").write_text("a\n" * 9)
    program = shlex.join(
        [sys.executable, "-S", str(tmp_path / "metric.py"), str(tmp_path / "asked")]
    )
    words = [
        *(sys.executable, "-m", "portmert", "optimize", "--metric", f"command:{program}"),
        *("--nbest", tmp_path / "list", "--ref", tmp_path / "ref", "--threads", "2", "-v"),
        *("--out", tmp_path / "weights"),
        *("--optimizer", "mert:searches_per_feature=10000000,restarts=2"),
    ]
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        while not (tmp_path / "asked").exists():
            assert process.poll() is None
            time.sleep(0.1)
        process.terminate()
        assert process.wait(HANGS) == 143
    assert not commands_with(str(tmp_path / "metric.py").encode())
