"""Commands that are killed as soon as they have made a file.

A process of its own imports everything once and forks: a child that is killed costs its work only.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from typing import NamedTuple

from portmert.tuner.cli import main
from tests.support.cli import run
from tests.support.places import ROOT


class Ended(NamedTuple):
    """The exit status of a child, or minus the signal; and what it printed."""

    status: int
    stdout: str
    stderr: str


class Forks:
    """Commands in the children of one process."""

    def __init__(self, process):
        self._process = process

    def alone(self, *words):
        """Run `portmert` to its end in the process itself, which then has all code ready."""
        return self._ask(words, None)

    def killed(self, *words, at=""):
        """Run `portmert` until it has made a new file whose path ends so."""
        return self._ask(words, at)

    def _ask(self, words, at):
        self._process.stdin.write(json.dumps([[str(word) for word in words], at]) + "\n")
        self._process.stdin.flush()
        return Ended(*json.loads(self._process.stdout.readline()))


@contextlib.contextmanager
def forks():
    """Start the process."""
    command = [sys.executable, "-m", "tests.support.killing"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:
        yield Forks(process)
        process.stdin.close()


def _child(words, at, files):
    replace = pathlib.Path.replace

    def replace_then_die(self, target):
        new = not pathlib.Path(target).exists()
        replace(self, target)
        if new and str(target).endswith(at):
            os.kill(os.getpid(), signal.SIGKILL)
        return target

    pathlib.Path.replace = replace_then_die
    for place, file in enumerate(files, 1):
        os.dup2(file.fileno(), place)
    status = 1
    try:
        main(words)
    except SystemExit as ended:
        status = ended.code or 0
    finally:
        sys.stdout.flush()
        os._exit(status)


def _killed(words, at):
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if child == 0:
            _child(words, at, (out, err))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = [file.seek(0) or file.read() for file in (out, err)]
    return Ended(status, *said)


def _serve():
    for line in sys.stdin:
        words, at = json.loads(line)
        if at is None:
            result = run(*words)
            ended = Ended(0, result.stdout, result.stderr)
        else:
            ended = _killed(words, at)
        sys.stdout.write(json.dumps(ended) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
