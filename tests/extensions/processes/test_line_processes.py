"""Processes of our own."""

import ast
import tempfile
import threading
import time
from types import SimpleNamespace

import pytest

from portmert.extensions.processes import line_processes
from portmert.extensions.processes.line_processes import Died, LineProcess, ProcessPool, Silent
from tests.support.places import ROOT

WORKER = """
import json, os, sys, time
for line in sys.stdin:
    word = json.loads(line)
    if word == "sleep":
        time.sleep(600)
    if word == "close":
        os.close(1)
        time.sleep(600)
    if word == "die":
        print("last words", file=sys.stderr, flush=True)
        os._exit(3)
    print(word, flush=True)
"""


@pytest.fixture
def start(tmp_path, monkeypatch):
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "worker_of_a_test.py").write_text(WORKER)
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    made = []

    def new(**limit):
        made.append(LineProcess("worker_of_a_test", tempfile.TemporaryFile(), **limit))  # noqa: SIM115  it closes it
        return made[-1]

    yield new
    for process in made:
        process.close()


def test_a_process_that_closes_its_output_is_not_waited_for(start):
    with pytest.raises(Died, match="was killed by SIGKILL: it closed its output and went on"):
        start().ask('"close"')


def test_what_lies_in_the_current_folder_is_not_run(start, tmp_path, monkeypatch):
    for name in ("json", "encodings", "worker_of_a_test", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('hostile')")
    monkeypatch.chdir(tmp_path)
    assert start().ask('"word"') == "word\n"


def test_every_python_that_is_started_is_safe_of_the_current_folder():
    lists = [
        node
        for package in ("tuner", "metrics", "aligners", "extensions")
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.List) and "sys.executable" in map(ast.unparse, node.elts)
    ]
    assert lists
    for node in lists:
        assert "'-P'" in map(ast.unparse, node.elts), ast.unparse(node)


def test_a_death_says_how_and_what_was_said_last(start):
    with pytest.raises(Died) as caught:
        start().ask('"die"')
    assert (caught.value.status, caught.value.last) == (3, "last words")
    assert str(caught.value) == "it ended with status 3: last words"


def test_one_that_is_silent_for_too_long_is_ended(start):
    process = start(timeout_seconds=2)
    with pytest.raises(Silent, match="it gave no answer for 2 s and was ended"):
        process.ask('"sleep"')
    with pytest.raises(Died):
        process.ask('"word"')


def test_one_thread_watches_a_process(start):
    before = threading.active_count()
    process = start(timeout_seconds=600)
    for _ in range(20):
        assert process.ask('"word"') == "word\n"
        assert threading.active_count() == before + 1
    process.close()
    deadline = time.monotonic() + 600
    while threading.active_count() > before:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("asked_at", [None, 5.0])
def test_a_process_is_let_be_while_nothing_is_asked(start, monkeypatch, asked_at):
    """The clock moves on by what is waited."""
    now, waits = 0.0, []

    class Closed(threading.Event):
        def wait(self, timeout=None):
            nonlocal now
            waits.append(timeout)
            now += timeout
            return len(waits) == 9

    process = start()
    monkeypatch.setattr(line_processes, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(process, "_timeout_seconds", 15.0)
    monkeypatch.setattr(process, "_closed", Closed())
    monkeypatch.setattr(process, "_asked_at", asked_at)
    process._watch()
    assert waits == ([15.0] * 9 if asked_at is None else [15.0, 5.0])
    assert process.runs == (asked_at is None)


@pytest.mark.parametrize("count", [1, 3])
def test_a_pool_answers_in_order_and_keeps_its_processes(start, count):
    pool = ProcessPool(lambda _begun: start())
    tasks = [f'"{number}"' for number in range(20)]
    for _ in range(2):
        found = list(pool.run(lambda ask, task: ask(task), tasks, processes=count))
        assert found == [f"{number}\n" for number in range(20)]
    assert 1 <= len(pool.idle) <= count


def test_a_process_that_never_gets_ready_is_ended_with_the_others(start):
    waits = threading.Event()

    def slow(begun):
        process = start()
        begun(process)
        waits.set()
        process.ask('"sleep"')
        return process

    def work(ask, task):
        if task == "fail":
            waits.wait()
            raise ValueError(task)
        return ask(task)

    with pytest.raises(ValueError, match="fail"):
        list(ProcessPool(slow).run(work, ["fail", "never"], processes=2))
