"""Programs that hang or flood."""

import os
import signal
import subprocess
import sys
import time

import pytest

from portmert.aligners import _watching
from portmert.tuner.ground.watching import Bound, Watch, started, undisturbed, wait


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(_watching, "LOOK_SECONDS", 0.02)


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


def test_a_signal_that_nothing_of_python_handles_is_left_alone():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with undisturbed():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def start(code, folder):
    return subprocess.Popen([sys.executable, "-S", "-E", "-c", code], cwd=folder)


def test_a_program_that_writes_little_and_ends_is_at_no_fault(tmp_path):
    process = start("open('out', 'w').write('a\\n' * 3); raise SystemExit(3)", tmp_path)
    watch = Watch({tmp_path / "out": Bound(6, 3, "three were asked for")}, 60)
    assert wait(process, watch) == (3, "")


@pytest.mark.parametrize(
    ("bound", "fault"),
    [
        (Bound(5), "wrote more than 5 bytes to out"),
        (Bound(99, 2, "one for each of 2"), "wrote more than 2 lines to out, one for each of 2"),
    ],
)
def test_too_much_is_a_fault_even_of_one_that_ended(tmp_path, bound, fault):
    process = start("open('out', 'w').write('a\\n' * 3)", tmp_path)
    process.wait()
    assert wait(process, Watch({tmp_path / "out": bound}, 60)) == (0, fault)


def test_lines_are_counted_as_they_come(tmp_path):
    path = tmp_path / "out"
    watch = Watch({path: Bound(10**6, 4, "four")}, 60)
    with path.open("w") as out:
        for number in range(4):
            out.write("a long li")
            out.flush()
            assert watch.fault() == "", number
            out.write("ne\n")
            out.flush()
            assert watch.fault() == "", number
        out.write("one more\n")
    assert watch.fault() == "wrote more than 4 lines to out, four"


def test_an_endless_flood_is_ended(tmp_path):
    code = "with open('out', 'w') as out:\n while True: out.write('a' * 99 + '\\n')"
    process = start(code, tmp_path)
    status, fault = wait(process, Watch({tmp_path / "out": Bound(10**6)}, 60))
    assert (status, fault) == (-9, "wrote more than 1000000 bytes to out")


def test_silence_ends_a_program_and_what_it_writes_keeps_it_alive(tmp_path):
    code = "import time\nwith open('out', 'w', 1) as out:\n"
    code += " for _ in range(8): print(1, file=out); time.sleep(0.25)\ntime.sleep(1000)"
    begin = time.monotonic()
    process = start(code, tmp_path)
    status, fault = wait(process, Watch({tmp_path / "out": Bound()}, 1.5))
    assert (status, fault) == (-9, "wrote nothing for 1.5 s (timeout_seconds) and was ended")
    assert len((tmp_path / "out").read_text().split()) == 8
    assert time.monotonic() - begin > 3.25


def test_no_limit_is_none(tmp_path, monkeypatch):
    watch = Watch({tmp_path / "out": Bound()}, 0)
    monkeypatch.setattr(time, "monotonic", lambda: 1e9)
    assert watch.fault() == ""


def test_an_interrupt_ends_the_program_too(tmp_path):
    class Interrupted(Watch):
        def fault(self):
            raise KeyboardInterrupt

    command = [sys.executable, "-S", "-E", "-c", "import time; time.sleep(1000)"]
    with (
        pytest.raises(KeyboardInterrupt),
        started(command, cwd=tmp_path) as process,
    ):
        wait(process, Interrupted({}, 0))
    assert process.returncode == -9


def test_a_signal_at_the_start_of_a_program_ends_it_too(told, monkeypatch):
    made = []

    class Disturbed(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            made.append(self)
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(subprocess, "Popen", Disturbed)
    command = [sys.executable, "-S", "-E", "-c", "import time; time.sleep(1000)"]
    with pytest.raises(KeyboardInterrupt), started(command):
        pytest.fail("the block began")
    assert told == [signal.SIGTERM]
    assert [process.returncode for process in made] == [-9]
