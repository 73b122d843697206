from __future__ import annotations

import sys

import pytest

from tuner.decoders._journal import Journal, answers
from tuner.errors import ProgramError

WORKER = """
import os, sys, time
first = sys.stdin.readline().strip()
for line in sys.stdin:
    word = line.strip()
    if word == "kill":
        os.kill(os.getpid(), 9)
    if word == "fail":
        raise ValueError("cannot say fail")
    if word == "sleep":
        time.sleep(1000)
    print(first + word, flush=True)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "echo_worker_of_a_test.py").write_text(WORKER)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return "echo_worker_of_a_test"


def run(module, requests, tmp_path, processes=2, progress=lambda _done, _total: None):
    with Journal(tmp_path / "journal", requests) as journal:
        return answers(
            module,
            "re:",
            requests,
            processes=processes,
            logs=tmp_path / "logs",
            name=lambda index: f"line {index + 1}",
            progress=progress,
            journal=journal,
            timeout_seconds=8,
        )


@pytest.mark.parametrize("processes", [1, 3, 50])
def test_answers_come_in_the_order_of_the_requests(module, tmp_path, processes):
    requests = [str(number) for number in range(40)]
    found = run(module, requests, tmp_path, processes)
    assert found == [f"re:{number}\n" for number in range(40)]


def test_a_process_that_hangs_is_ended_and_the_request_named(module, tmp_path):
    stuck = "line 2: the decoder process is stuck: it gave no answer for 8 s and was ended"
    with pytest.raises(ProgramError, match=rf"{stuck} \(timeout_seconds\); its log is .*\.log"):
        run(module, ["one", "sleep"], tmp_path, processes=1)


def test_no_request_needs_no_process(tmp_path):
    assert run("no.such.module", [], tmp_path) == []


def test_progress_counts_every_answer(module, tmp_path):
    seen = []
    run(module, ["a", "b", "c"], tmp_path, progress=lambda *step: seen.append(step))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_a_killed_process_is_named_by_what_it_worked_on(module, tmp_path):
    with pytest.raises(ProgramError) as error:
        run(module, ["a", "b", "kill", "c"], tmp_path)
    assert "line 3: the decoder process ended with status -9: no message; its log" in str(
        error.value
    )


def test_what_was_answered_before_a_death_is_not_asked_again(module, tmp_path):
    requests = [*"abcdefgh", "kill", "i"]
    with pytest.raises(ProgramError):
        run(module, requests, tmp_path, processes=1)
    # The journal knows eight answers. Spoil one to see that it is taken from there, add half one.
    journal = tmp_path / "journal"
    text = journal.read_text()
    assert text.count("\n") == 9
    journal.write_text(text.replace("re:c", "known") + "9\tre:cut")
    (tmp_path / f"{module}.py").write_text(WORKER.replace('"kill"', '"never"'))
    seen = []
    found = run(module, requests, tmp_path, progress=lambda *step: seen.append(step))
    assert found == ["re:a\n", "re:b\n", "known\n", *(f"re:{r}\n" for r in requests[3:])]
    assert seen == [(9, 10), (10, 10)]


def test_answers_to_other_requests_are_forgotten(module, tmp_path):
    run(module, ["a", "b"], tmp_path)
    assert run(module, ["b", "a"], tmp_path) == ["re:b\n", "re:a\n"]


def test_an_exception_in_a_process_shows_its_last_line(module, tmp_path):
    with pytest.raises(
        ProgramError, match=r"line 1: .*status 1: ValueError: cannot say fail; its"
    ):
        run(module, ["fail", "a"], tmp_path, processes=1)
