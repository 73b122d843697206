"""Runs tests of one tree in forked children.

The parent imports numpy, numba, pytest and all else that the tests need, but no module of the
tree. Each child imports those: a changed file costs a fork and these imports, not a new
interpreter.
"""

import contextlib
import importlib
import json
import os
import pkgutil
import resource
import signal
import sys
import time
from pathlib import Path

import numba
import pytest
from hypothesis import Phase, settings

OURS = ("portmert", "tests")
"""Packages of the tree."""
EXAMPLES = 25
"""Hypothesis makes no more of a test: most changes are noticed by the first."""
LONGEST = 300
"""CPU seconds of a test while lines are noted; one that takes longer fails and is not used."""


class TooLongError(BaseException):
    """Ends a test; no test may catch it."""


class Watch:
    """Notes the CPU seconds and the lines of each test, and the first that fails."""

    def __init__(self, lines):
        self.seconds, self.failed, self.lines = {}, None, lines
        signal.signal(signal.SIGVTALRM, self._end)

    def _end(self, *_):
        raise TooLongError

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        if self.lines:
            self.lines.switch_context(item.nodeid)
            signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
        begin, self.failed = time.process_time(), None
        try:
            return (yield)
        finally:
            if self.failed is None:
                self.seconds[item.nodeid] = round(time.process_time() - begin, 3)
            if self.lines:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                self.lines.switch_context("")

    def pytest_runtest_logreport(self, report):
        if report.failed and self.failed is None:
            self.failed = report.nodeid


def tested(job):
    """Run tests; return what became of them and, if asked, which lines each of them runs."""
    os.setpgid(0, 0)
    sys.dont_write_bytecode = True  # that of a changed file must not stay
    resource.setrlimit(resource.RLIMIT_CPU, (job["limit"], job["limit"]))
    if not job["compiled"]:
        os.environ["NUMBA_DISABLE_JIT"] = "1"
        numba.config.DISABLE_JIT = True
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    lines = None
    if job["lines"]:
        import coverage

        lines = coverage.Coverage(
            data_file=None,
            config_file=False,
            include=[f"{Path.cwd()}/{folder}/*" for folder in ("metrics", "tuner", "extensions")],
        )
        lines.start()
    watch = Watch(lines)
    make_few_examples()
    status = pytest.main(
        ["-q", "-p", "no:cacheprovider", "-m", "not slow", "--assert=plain",
         "--hypothesis-seed=0", "--hypothesis-profile=mutants", *["-x"][: not lines],
         *job["tests"]],
        plugins=[watch],
    )  # fmt: skip
    found = {"status": int(status), "failed": watch.failed}
    if lines:
        if status == pytest.ExitCode.TESTS_FAILED:
            found["status"] = 0  # a test that fails unchanged is not used
        lines.stop()
        data = lines.get_data()
        found["seconds"] = watch.seconds
        found["lines"] = {
            os.path.relpath(os.path.realpath(name)): data.contexts_by_lineno(name)
            for name in data.measured_files()
        }
    return found


def make_few_examples():
    """Let tests of hypothesis end soon, also those that ask for many examples."""
    begin = settings.__init__

    def begin_with_few(self, *of, **given):
        if "max_examples" in given:
            given["max_examples"] = min(given["max_examples"], EXAMPLES)
        begin(self, *of, **given)

    settings.__init__ = begin_with_few
    # To make a failing example smaller would tell nothing more.
    settings.register_profile(
        "mutants", deadline=None, max_examples=EXAMPLES, phases=[Phase.explicit, Phase.generate]
    )


def others():
    """Return the names of all modules that the tree imports and does not hold."""
    import portmert

    assert Path(portmert.__file__).is_relative_to(Path.cwd()), portmert.__file__
    for folder in ("metrics", "tuner", "aligners", "extensions"):
        package = importlib.import_module(f"portmert.{folder}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    return [name for name in sys.modules if name.partition(".")[0] not in OURS]


def forked(work, seconds):
    """Return as JSON what work returns in a child; nothing if the child died."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            signal.alarm(seconds)
            said = json.dumps(work())
            with os.fdopen(writing, "w") as answer:
                answer.write(said)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        written = pipe.read()
    with contextlib.suppress(ProcessLookupError):  # a test may have left processes
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return written


def main():
    for name in json.loads(forked(others, 600)):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    numba.njit(lambda x: x + 1)(1)  # the compiler is ready
    for line in sys.stdin:
        job = json.loads(line)
        ended = json.dumps({"status": -1, "failed": "it did not end"})
        said = forked(lambda job=job: tested(job), 20 * job["limit"])
        sys.stdout.write(f"{said or ended}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
