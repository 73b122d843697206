"""Settings of all tests."""

import gc
import os
import signal
import sys
import tempfile
from collections import Counter

import pytest
from hypothesis import settings

# Headers of tuned configurations have a date; runs that are compared must have the same.
os.environ["SOURCE_DATE_EPOCH"] = "1340000000"

# Programs of the tests begin with `env python3`; a version manager's takes three times as long.
os.environ["PATH"] = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))  # noqa: PTH120

# Tests kill processes, but nobody pulls the plug: to wait for the disk shows nothing.
os.fsync = lambda _: None

# No test may find, or leave, anything in the user's own cache or where temporary files go. What
# tests themselves write there pytest keeps for a while, to look at.
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
_SCRATCH = tempfile.TemporaryDirectory(prefix="portmert-", ignore_cleanup_errors=True)
os.environ["PORTMERT_CACHE"] = os.path.join(_SCRATCH.name, "cache")  # noqa: PTH118
os.environ["TMPDIR"] = tempfile.tempdir = _SCRATCH.name

# The first call of a kernel compiles it, so that no example can be held to a time.
for name, examples in (("portmert", 20), ("thorough", 60)):
    settings.register_profile(name, deadline=None, print_blob=True, max_examples=examples)
settings.load_profile("portmert")

SIGNALS = (signal.SIGALRM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGTERM)


@pytest.fixture(autouse=True)
def _signals():
    """Put back the handlers of signals; fail a test that leaves one that ends the process.

    By the default handler of SIGPIPE, which `sacrebleu.sacrebleu` sets, a later test that writes
    to a dead program would end pytest's worker without a word.
    """
    before = [signal.getsignal(number) for number in SIGNALS]
    yield
    deadly = []
    for number, handler in zip(SIGNALS, before, strict=True):
        if signal.signal(number, handler) == signal.SIG_DFL != handler:
            deadly.append(number)
    assert not deadly


def pytest_xdist_auto_num_workers():
    """One more than processors: some tests wait for a program that hangs, or for a cluster."""
    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else _processors() + 1


def _processors():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def pytest_collection_finish():
    """Keep what has been imported out of every later garbage collection, also in forked children.

    With thousands of tests a collection takes a second, and `tests/crash` asks for one a child.
    """
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter):
    """Say how many tests were skipped and why, in groups: a reason is `GROUP: what`."""
    skipped = Counter(
        tuple(report.longrepr[2].removeprefix("Skipped: ").partition(": ")[::2])
        for report in terminalreporter.stats.get("skipped", [])
    )
    groups = Counter()
    for (group, _), number in skipped.items():
        groups[group] += number
    if groups:
        terminalreporter.section("skipped")
    for group, number in groups.most_common():
        terminalreporter.write_line(f"{number:5} {group}")
        for (of, what), times in skipped.most_common():
            if of == group and what:
                terminalreporter.write_line(f"{times:11} {what}")
