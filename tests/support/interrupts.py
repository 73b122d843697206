"""Programs in Python that are interrupted while they work."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HANGS = 600
"""Seconds after which a test takes a program for hung. It bounds a fault, and tells nothing else:
tests run beside other work."""
HANDLED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
"""


def ends_soon(program, *arguments, working, within):
    """Interrupt a program that prints `working` while it works; it must say `interrupted`.

    It may use `within` more seconds of processors, and begin so many more pieces of work: a busy
    machine needs more time for them, and no more of them. (Only Linux tells of the seconds.)
    """
    words = [sys.executable, "-c", HANDLED + program, *arguments]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert working in (line.rstrip("\n") for line in process.stdout)
        time.sleep(0.5)
        before = _used(process.pid)
        process.send_signal(signal.SIGINT)
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    assert "interrupted" in said
    if before is not None:
        assert usage.ru_utime + usage.ru_stime - before < within
    return said.count(working)


def _used(pid):
    """Return the seconds of processors that a process has used; None where nobody knows."""
    path = Path(f"/proc/{pid}/stat")
    if not path.exists():
        return None
    user, system = path.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
