"""How processes that translate are asked, and what is said of those that end or hang."""

from __future__ import annotations

import sys
import types

import pytest

from portmert.extensions.demo import thot
from portmert.extensions.demo.thot import ThotWork
from portmert.extensions.processes import pools
from portmert.extensions.processes.line_processes import LineProcess
from portmert.tuner.base.context import using
from portmert.tuner.base.errors import ProgramError
from portmert.tuner.base.threads import Team
from portmert.tuner.decoders._shards import decode_lines

WORKER = """
import json, os, sys, time
first = sys.stdin.readline().strip()
for line in sys.stdin:
    segment, words, size, weights = json.loads(line)
    word = words[0]
    if word == "kill":
        os.kill(os.getpid(), 9)
    if word == "fail":
        raise ValueError("cannot say fail")
    if word == "sleep":
        open(os.path.join(os.path.dirname(__file__), f"{os.getpid()}.sleeps"), "w").close()
        time.sleep(1000)
    print(json.dumps(f"{first}{word}\\n"), flush=True)
"""


@pytest.fixture(autouse=True)
def worker(tmp_path, monkeypatch):
    """A program in place of thot."""
    (tmp_path / "echo_worker_of_a_test.py").write_text(WORKER)
    # A test changes the file within a second, and Python would run what it has compiled before.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(
        thot, "_thot_worker", types.SimpleNamespace(__name__="echo_worker_of_a_test")
    )


def run(words, tmp_path, threads=2, task="re:", patience=600):
    work = ThotWork(task, "", (1.0,), size=1, source="text", timeout_seconds=patience)
    decode_lines(
        work,
        [word.encode() for word in words],
        {"workdir": tmp_path, "size": 1, "out": tmp_path / "out"},
        name="thot",
        shards=lambda count, _: count,
        here=Team(threads),
    )
    return (tmp_path / "out").read_text().splitlines(keepends=True)


@pytest.mark.parametrize("threads", [1, 3, 50])
def test_answers_come_in_the_order_of_the_lines(tmp_path, threads):
    words = [str(number) for number in range(40)]
    assert run(words, tmp_path, threads) == [f"re:{number}\n" for number in range(40)]
    assert not (tmp_path / "thot.journal").exists()
    assert not pools._by_key


def test_no_line_needs_no_process(tmp_path):
    assert run([], tmp_path) == []
    assert not list(tmp_path.glob("*.log"))


def test_progress_counts_every_answer(tmp_path):
    seen = []
    with using(progress=lambda _, *step: seen.append(step)):
        run(["a", "b", "c"], tmp_path)
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("kill", r"text:3: the decoder process was killed by SIGKILL: no message; its log is .*"),
        ("fail", r"text:3: .* ended with status 1: ValueError: cannot say fail; its log is .*"),
        (
            "sleep",
            r"text:3: the decoder process is stuck: it gave no answer for 15 s .*_seconds.*",
        ),
    ],
)
def test_a_process_that_ends_or_hangs_is_named_by_its_line(tmp_path, monkeypatch, word, said):
    def watch(process):
        """The clock is not asked: who sleeps is late."""
        while not process._closed.wait(0.01):
            if (tmp_path / f"{process._process.pid}.sleeps").exists():
                process._is_late = True
                process.kill()
                return

    monkeypatch.setattr(LineProcess, "_watch", watch)
    with pytest.raises(ProgramError, match=f"^{said}"):
        run(["a", "b", word, "c"], tmp_path, patience=15 if word == "sleep" else 600)
    assert not pools._by_key


def test_what_was_answered_before_a_death_is_not_asked_again(tmp_path):
    words = [*"abcdefgh", "kill", "i"]
    with pytest.raises(ProgramError):
        run(words, tmp_path, threads=1)
    assert (tmp_path / "thot.journal").read_bytes().count(b"\n") == 9
    (tmp_path / "echo_worker_of_a_test.py").write_text(
        WORKER.replace('"kill"', '"never"').replace("{first}", "again:")
    )
    seen = []
    with using(progress=lambda _, *step: seen.append(step)):
        found = run(words, tmp_path)
    assert found == [*(f"re:{word}\n" for word in "abcdefgh"), "again:kill\n", "again:i\n"]
    assert seen == [(9, 10), (10, 10)]
