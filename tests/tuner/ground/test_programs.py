from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from portmert.aligners import _program
from portmert.tuner.ground.errors import AlignerError
from portmert.tuner.ground.programs import (
    Command,
    find_program,
    run_program,
    run_programs,
    scratch,
)
from portmert.tuner.ground.watching import Bound


def python(code, **more):
    return Command([sys.executable, "-S", "-c", code], log="job.log", **more)


@pytest.fixture
def room(tmp_path):
    with scratch(tmp_path, "room") as folder:
        yield folder


def test_what_a_program_prints_is_its_log(room):
    run_program(python("import sys; print('out'); print('err', file=sys.stderr)"), room)
    assert sorted((room / "job.log").read_text().split()) == ["err", "out"]


def test_a_result_on_stdout_stays_out_of_the_log(room):
    code = "import os, sys; print(os.getcwd(), os.environ['X']); print('err', file=sys.stderr)"
    run_program(python(code, out="result", environment={"X": "1"}), room)
    assert (room / "result").read_text() == f"{room} 1\n"
    assert (room / "job.log").read_text() == "err\n"


def test_a_failure_names_program_status_last_lines_and_log(room):
    code = "print('one\\ntwo\\n\\nthree\\nfour \\n'); raise SystemExit(7)"
    with pytest.raises(AlignerError) as caught:
        run_program(python(code), room)
    text = str(caught.value)
    name = Path(sys.executable).name
    found = re.fullmatch(
        rf"{re.escape(name)} ended with status 7: two / three / four; its log is (.*)", text
    )
    assert found, text
    log = Path(found[1])
    assert log.parent == room.parent  # where it outlives the scratch folder
    assert log.read_text().startswith("one\n")


def test_a_killed_or_silent_program_is_described(room):
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    with pytest.raises(AlignerError, match="was killed by SIGKILL: no message; its log is "):
        run_program(python(kill), room)


@pytest.mark.parametrize(
    ("code", "out", "problem"),
    [
        ("import time; time.sleep(1000)", None, "wrote nothing for 0.5 s"),
        ("while True: print('a' * 99)", None, "wrote more than 20000 bytes to job.log"),
        ("while True: print('a' * 99)", "result", "wrote more than 30000 bytes to result"),
    ],
)
def test_a_program_that_hangs_or_floods_is_ended(room, monkeypatch, code, out, problem):
    monkeypatch.setattr(_program, "MOST_LOGGED", 20000)
    monkeypatch.setattr(_program, "Bound", lambda most=20000: Bound(most))
    (room / "pairs").write_bytes(b"a" * 100)
    with pytest.raises(AlignerError, match=rf"{problem}.*; its log is ") as caught:
        run_program(python(code, out=out), room, timeout_seconds=0.5 if "sleep" in code else 60)
    assert len(str(caught.value)) < 1000


def test_a_program_that_cannot_start_is_one_line(room):
    broken = room / "broken"
    broken.write_text("no program")
    broken.chmod(0o755)
    with pytest.raises(AlignerError, match="broken: cannot start: Exec format error"):
        run_program(Command([broken], log="job.log"), room)


def test_of_programs_one_after_the_other_the_first_failure_counts(room):
    jobs = [replace(python(f"raise SystemExit({n})"), log=f"{n}.log") for n in (0, 5, 6)]
    with pytest.raises(AlignerError, match="ended with status 5"):
        run_programs(jobs, room, at_once=1)
    assert not (room / "6.log").exists()


def test_of_programs_at_once_the_first_that_fails_ends_all(room):
    slow = "import os, time; print(os.getpid(), flush=True); time.sleep(1000)"
    fails = """
import pathlib, time
log = pathlib.Path("slow.log")
while not (log.exists() and log.read_text().endswith("\\n")):
    time.sleep(0.05)
raise SystemExit(5)
"""
    jobs = [
        replace(python(code), log=f"{name}.log") for name, code in (("slow", slow), ("f", fails))
    ]
    with pytest.raises(AlignerError, match="ended with status 5"):
        run_programs(jobs, room, at_once=2, timeout_seconds=30)
    with pytest.raises(ProcessLookupError):
        os.kill(int((room / "slow.log").read_text()), 0)


def test_a_signal_ends_all_of_several_programs(room):
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(1000)"
    jobs = [replace(python(code), log=f"{number}.log") for number in range(3)]
    logs = [room / job.log for job in jobs[:2]]

    def interrupt(_number, _frame):
        raise KeyboardInterrupt

    def when_both_run():
        while not all(log.exists() and log.read_text().endswith("\n") for log in logs):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGALRM)

    before = signal.signal(signal.SIGALRM, interrupt)
    thread = threading.Thread(target=when_both_run)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run_programs(jobs, room, at_once=2)
    finally:
        thread.join()
        signal.signal(signal.SIGALRM, before)
    for log in logs:
        with pytest.raises(ProcessLookupError):
            os.kill(int(log.read_text()), 0)
    assert not (room / jobs[2].log).exists()
    assert [path.name for path in room.parent.iterdir()] == [room.name]  # no log is kept


def test_find_program_on_path_and_in_a_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    program = tmp_path / "mgiza"
    missing = "the program mgiza is not on PATH; install MGIZA.*, or set bin_dir"
    with pytest.raises(AlignerError, match=missing):
        find_program("mgiza", None, package="MGIZA++")
    program.write_text("")
    with pytest.raises(AlignerError, match="holds no program mgiza; set bin_dir to where MGIZA"):
        find_program("mgiza", tmp_path, package="MGIZA++")
    program.chmod(0o755)
    assert find_program("mgiza", None, package="MGIZA++") == program
    monkeypatch.chdir(tmp_path.parent)
    relative = Path(tmp_path.name)
    assert find_program("mgiza", relative, package="MGIZA++") == program


def test_scratch_is_new_each_time_and_goes(tmp_path):
    with scratch(tmp_path / "work", "x") as one, scratch(tmp_path / "work", "x") as two:
        assert one != two
        assert one.is_dir()
    assert list((tmp_path / "work").iterdir()) == []
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(AlignerError, match="Not a directory"),
        scratch(tmp_path / "file", "x"),
    ):
        pass
