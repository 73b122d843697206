"""Commands in forked children, which may be killed as soon as they have made a file.

A process of its own imports everything once and forks: a command costs its work only.
"""

import contextlib
import importlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import traceback
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

    def alone(self, *words, folder="."):
        """Run `portmert` to its end in the process itself, which then has all code ready."""
        return self._ask(words, folder, is_alone=True)

    def killed(self, *words, at=""):
        """Run `portmert` in a child until it has made a new file whose path ends so."""
        return self._ask(words, ".", at)

    def run(self, *words, folder):
        """Run `portmert` to its end in a child, in a folder."""
        return self._ask(words, folder)

    def _ask(self, words, folder, at=None, *, is_alone=False):
        job = [[str(word) for word in words], str(folder), at, is_alone]
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return Ended(*json.loads(self._process.stdout.readline()))


@contextlib.contextmanager
def forks(*packages, tree=ROOT):
    """Start the process on a tree of the program; it also finds the packages in these folders."""
    command = [sys.executable, "-m", "tests.support.forks"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    path = os.pathsep.join(map(str, (tree, ROOT, *packages)))
    with subprocess.Popen(
        command, cwd=tree, env={**os.environ, "PYTHONPATH": path}, **pipes
    ) as process:
        yield Forks(process)
        process.stdin.close()


def _child(words, folder, at, files):
    os.chdir(folder)
    replace = pathlib.Path.replace

    def replace_then_die(self, target):
        is_new = not pathlib.Path(target).exists()
        replace(self, target)
        if is_new and str(target).endswith(at):
            os.kill(os.getpid(), signal.SIGKILL)
        return target

    if at is not None:
        pathlib.Path.replace = replace_then_die
    for place, file in enumerate(files, 1):
        os.dup2(file.fileno(), place)
    status = 1
    try:
        main(words, prog_name="portmert")
    except SystemExit as ended:
        status = ended.code or 0
    except BaseException:  # noqa: BLE001  a child tells all
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _forked(words, folder, at):
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if child == 0:
            _child(words, folder, at, (out, err))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output = [file.seek(0) or file.read() for file in (out, err)]
    return Ended(status, *output)


def _serve():
    importlib.import_module("tests.support.loaded")
    for line in sys.stdin:
        words, folder, at, is_alone = json.loads(line)
        if is_alone:
            with contextlib.chdir(folder):
                result = run(*words)
            ended = Ended(0, result.stdout, result.stderr)
        else:
            ended = _forked(words, folder, at)
        sys.stdout.write(json.dumps(ended) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
