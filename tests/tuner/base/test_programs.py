"""Programs that end, fail, hang or flood, and signals that come at any moment."""

import os
import re
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from portmert.tuner.base import programs
from portmert.tuner.base.errors import PortmertError, ProgramError
from portmert.tuner.base.programs import Bound, Command, run, scratch, undisturbed

SLEEP = "import time; time.sleep(1000)"
SAY = "import os, time; print(os.getpid(), flush=True); time.sleep(1000)"


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(programs, "LOOK_SECONDS", 0.02)


@pytest.fixture
def room(tmp_path):
    with scratch(tmp_path, "room") as folder:
        yield folder


def python(code, folder, log="job.log", out=None, **more):
    words = [sys.executable, "-S", "-c", code]
    bounds = {folder / name: bound for name, bound in more.pop("bounds", {}).items()}
    return Command(
        words, folder / log, folder / out if out else None, folder=folder, bounds=bounds, **more
    )


def logged(path):
    """What a program has printed, without the command line."""
    return path.read_text().partition("\n")[2]


def said(path):
    return path.exists() and logged(path).endswith("\n")


def is_dead(process):
    with suppress(ProcessLookupError):
        os.kill(process, 0)
        return False
    return True


def test_what_a_program_prints_is_its_log_behind_the_command(room):
    code = 'import sys; print("out"); print("err", file=sys.stderr)'
    run(python(code, room))
    assert sorted(logged(room / "job.log").split()) == ["err", "out"]
    assert code in (room / "job.log").read_text().splitlines()[0]


def test_a_result_on_stdout_stays_out_of_the_log(room):
    code = "import os, sys; print(os.getcwd(), os.environ['X'], sys.stdin.read())"
    code += "; print('err', file=sys.stderr)"
    (room / "given").write_text("given")
    run(python(code, room, out="result", environment={"X": "1"}, given=room / "given"))
    assert (room / "result").read_text() == f"{room} 1 given\n"
    assert logged(room / "job.log") == "err\n"


@pytest.mark.parametrize("is_scratch", [True, False])
def test_a_failure_names_program_status_last_lines_and_log(room, is_scratch):
    code = "print('one\\ntwo\\n\\nthree\\nfour \\n'); raise SystemExit(7)"
    with pytest.raises(ProgramError) as caught:
        run(python(code, room, is_scratch=is_scratch))
    text = str(caught.value)
    name = Path(sys.executable).name
    found = re.fullmatch(
        rf"{re.escape(name)} ended with status 7: two / three / four; its log is (.*)", text
    )
    assert found, text
    log = Path(found[1])
    assert log.parent == (room.parent if is_scratch else room)  # where it outlives the scratch
    assert logged(log).startswith("one\n")


def test_a_killed_or_silent_program_is_described(room):
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    with pytest.raises(ProgramError, match="was killed by SIGKILL: no message; its log is "):
        run(python(kill, room))


@pytest.mark.parametrize(
    ("code", "bounds", "problem"),
    [
        (SLEEP, {}, "wrote nothing for 0.5 s (timeout_seconds) and was ended"),
        ("while True: print('a' * 99)", {}, "wrote more than 20000 bytes to job.log"),
        (
            "while True: print('a' * 99)",
            {"result": Bound(10**7)},
            "wrote more than 10000000 bytes to result",
        ),
        ("print('a\\n' * 3)", {"result": Bound(5)}, "wrote more than 5 bytes to result"),
        (
            "print('a\\n' * 3)",
            {"result": Bound(99, 2, "one for each of 2")},
            "wrote more than 2 lines to result, one for each of 2",
        ),
    ],
)
def test_a_program_that_hangs_or_floods_is_ended(room, code, bounds, problem):
    command = python(
        code,
        room,
        out="result" if bounds else None,
        bounds={"job.log": Bound(20000), **bounds},
        timeout_seconds=0.5 if code == SLEEP else 600,
    )
    with pytest.raises(ProgramError, match=rf"{re.escape(problem)}.* its log is ") as caught:
        run(command)
    assert len(str(caught.value)) < 1000


def test_what_a_program_writes_keeps_it_alive(room, monkeypatch):
    """The test moves the clock, and writes what the program would."""
    now = 0.0
    monkeypatch.setattr(programs, "time", SimpleNamespace(monotonic=lambda: now, sleep=time.sleep))
    program = programs._Running(python(SLEEP, room, bounds={"out": Bound()}, timeout_seconds=6))
    for _ in range(8):
        now += 5
        with (room / "out").open("a") as out:
            out.write("1\n")
        assert not program.has_ended()
    now += 5
    assert not program.has_ended()
    now += 5
    with pytest.raises(ProgramError, match=r"wrote nothing for 6 s"):
        program.has_ended()
    assert program.process.wait() == -signal.SIGKILL


def test_no_time_limit_is_none(room):
    run(python("import time; time.sleep(0.2)", room, timeout_seconds=0))


def test_lines_are_counted_as_they_come(room):
    """The program goes on when the part of a line is written, and when a line is seen."""
    seen = []

    def step(lines):
        seen.append(lines)
        (room / f"{lines} lines").touch()

    code = """
import os, time
for n in range(4):
    while not os.path.exists(f"{n} lines"):
        time.sleep(0.01)
    print("a long li", end="", flush=True)
    print("ne", flush=True)
"""
    run(python(code, room, out="out"), step=step)
    assert seen == sorted(seen)
    assert set(seen) == {0, 1, 2, 3, 4}


def test_what_a_killed_run_left_is_not_written_to(room):
    """The program of a killed run may still be writing to the files of these names."""
    (room / "out").write_text("old")
    with (room / "out").open("a") as left:
        run(python("print('new')", room, out="out"))
        left.write("old")
    assert (room / "out").read_text() == "new\n"


def test_a_program_that_cannot_start_is_one_line(room):
    broken = room / "broken"
    broken.write_text("no program")
    broken.chmod(0o755)
    with pytest.raises(ProgramError, match="broken: cannot be started: Exec format error"):
        run(Command([broken], room / "job.log"))
    with pytest.raises(ProgramError, match="cannot be started: a NUL character in its arguments"):
        run(Command(["echo", "a\0b"], room / "job.log"))


def test_of_programs_one_after_the_other_the_first_failure_counts(room):
    jobs = [python(f"raise SystemExit({n})", room, f"{n}.log") for n in (0, 5, 6)]
    with pytest.raises(ProgramError, match="ended with status 5"):
        run(*jobs)
    assert not (room / "6.log").exists()


def test_of_programs_at_once_the_first_that_fails_ends_all(room):
    fails = """
import pathlib, time
log = pathlib.Path("slow.log")
while not (log.exists() and log.read_text().count("\\n") == 2):
    time.sleep(0.05)
raise SystemExit(5)
"""
    jobs = [python(code, room, f"{name}.log") for name, code in (("slow", SAY), ("f", fails))]
    with pytest.raises(ProgramError, match="ended with status 5"):
        run(*(replace(job, timeout_seconds=600) for job in jobs), at_once=2)
    assert is_dead(int(logged(room / "slow.log")))


# Signals.


@pytest.fixture
def told():
    """A handler as the command line has it, and what it was told."""
    numbers = []

    def end(number, _):
        numbers.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    yield numbers
    signal.signal(signal.SIGTERM, before)


def test_a_signal_ends_all_of_several_programs_and_what_they_started(room, told):
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SAY!r}])"
    jobs = [python(child, room, f"{number}.log") for number in range(3)]
    logs = [job.log for job in jobs[:2]]

    def when_both_run():
        while not all(map(said, logs)):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=when_both_run)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run(*jobs, at_once=2)
    thread.join()
    assert told == [signal.SIGTERM]
    deadline = time.monotonic() + 600
    while not all(is_dead(int(logged(log))) for log in logs):  # init takes note of orphans
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not jobs[2].log.exists()


def test_a_signal_waits_until_what_was_started_is_known(told):
    known = []

    def disturbed():
        with undisturbed():
            os.kill(os.getpid(), signal.SIGTERM)
            known.append("process")

    with pytest.raises(KeyboardInterrupt):
        disturbed()
    assert (known, told) == (["process"], [signal.SIGTERM])
    with pytest.raises(KeyboardInterrupt):  # the handler is back
        os.kill(os.getpid(), signal.SIGTERM)


def test_a_signal_while_a_handler_is_put_back_keeps_no_other_handler(told, monkeypatch):
    put = signal.signal

    def signalled(number, handler):
        before = put(number, handler)
        if number == signal.SIGINT and handler is signal.default_int_handler:
            os.kill(os.getpid(), signal.SIGINT)
        return before

    def disturbed():
        with undisturbed():
            monkeypatch.setattr(signal, "signal", signalled)

    ours = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background: none
    try:
        with pytest.raises(KeyboardInterrupt):
            disturbed()
        assert told == []
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        assert told == [signal.SIGTERM]
    finally:
        put(signal.SIGINT, ours)


@pytest.mark.parametrize("ask", ["poll", "wait"])
def test_a_signal_while_a_program_is_asked_for_its_status_leaves_no_lock(told, ask):
    """Popen asks with a lock; a signal right after it took the lock kept it, and `end` hung."""

    class Signalling:
        def __init__(self, lock):
            self._lock = lock

        def acquire(self, *how):
            got = self._lock.acquire(*how)
            if not told:
                os.kill(os.getpid(), signal.SIGTERM)
            return got

        def __getattr__(self, name):
            return getattr(self._lock, name)

    with undisturbed():
        process = programs.start(["sleep", "1000"])
    process._waitpid_lock = Signalling(process._waitpid_lock)
    with pytest.raises(KeyboardInterrupt):
        process.poll() if ask == "poll" else process.wait(600)
    assert told == [signal.SIGTERM]
    assert not process._waitpid_lock.locked()
    programs.end(process)
    assert process.returncode == -signal.SIGKILL


def test_a_signal_that_nothing_of_python_handles_is_left_alone():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with undisturbed():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_no_step_of_a_start_is_a_gap_for_a_signal(room, told, monkeypatch):
    """Send a signal before the n-th line that is run after the start, for each n."""
    made, lines = [], 0

    class Noted(programs._Program):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            made.append(self)

    def trace(_frame, event, _argument):
        nonlocal lines
        if event == "line" and made and not told:
            lines += 1
            if lines == wanted:
                os.kill(os.getpid(), signal.SIGTERM)
        return trace

    monkeypatch.setattr(programs, "_Program", Noted)
    command = Command(["sleep", "1000"], room / "log")
    for wanted in range(1, 60):
        made.clear()
        told.clear()
        lines = 0
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            with pytest.raises(KeyboardInterrupt):
                run(command)
        finally:
            sys.settrace(before)
        assert [process.returncode for process in made] == [-signal.SIGKILL], wanted


# Folders.


def test_scratch_is_new_each_time_and_goes(tmp_path):
    with scratch(tmp_path / "work", "x") as one, scratch(tmp_path / "work", "x") as two:
        assert one != two
        assert one.is_dir()
    assert list((tmp_path / "work").iterdir()) == []
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(PortmertError, match="Not a directory"),
        scratch(tmp_path / "file", "x"),
    ):
        pass
