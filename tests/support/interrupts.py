"""Programs in Python that are interrupted while they work."""

import contextlib
import signal
import subprocess
import sys

HANGS = 600
"""Seconds after which a test takes a program for hung. It bounds a fault, and tells nothing else:
tests run beside other work."""


@contextlib.contextmanager
def must_end():
    """Raise `TimeoutError` in work that takes for ever: `HANGS` seconds."""

    def give_up(_number, _frame):
        raise TimeoutError(f"no end in {HANGS} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(HANGS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


HANDLED = """
import signal, threading
from portmert.tuner.base import threads
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
interrupts = [signal.SIGINT]

def interrupt():
    "Interrupt the main thread once, in a task; return when the main thread has given all up."
    if interrupts:
        signal.pthread_kill(threading.main_thread().ident, interrupts.pop())
    assert threads._here.pool.closed.wait(600)
"""


def pieces_begun(program, *, working):
    """Return how often a program printed `working`; it must end, and say `interrupted`.

    It calls `interrupt()` in each piece of its work. So all pieces but the first ones of its
    threads have begun after the interrupt.
    """
    words = [sys.executable, "-c", HANDLED + program]
    ended = subprocess.run(
        words, stdout=subprocess.PIPE, text=True, timeout=HANGS, check=True
    )  # fmt: skip
    assert "interrupted" in ended.stdout
    return ended.stdout.count(working)


def ends(program, *arguments, working):
    """Interrupt a program that prints `working` while it works; it must say `interrupted`."""
    words = [sys.executable, "-c", HANDLED + program, *arguments]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert working in (line.rstrip("\n") for line in process.stdout)
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=HANGS)[0]
    assert process.returncode == 0
    assert "interrupted" in output
