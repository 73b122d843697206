"""Programs in Python that are interrupted while they work."""

import signal
import subprocess
import sys
import time

HANDLED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
"""


def ends_soon(program, *arguments, working, within):
    """Interrupt a program a moment after its line `working`; it must soon say `interrupted`."""
    words = [sys.executable, "-c", HANDLED + program, *arguments]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert working in (line.rstrip("\n") for line in process.stdout)
        time.sleep(0.5)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        said = process.stdout.read()
        assert process.wait(60) == 0
    assert "interrupted" in said
    assert time.monotonic() - begin < within
