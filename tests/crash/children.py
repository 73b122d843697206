"""Starts the command line in a forked child, as kernels are loaded here, and waits for its end."""

import fcntl
import gc
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import NamedTuple

from portmert.tuner.cli import main

PATIENCE = 120
"""Seconds on the clock after which a child hangs."""
LINGERING = 15
"""Seconds that what a killed process had started may take to notice."""
MARK = "PORTMERT_CRASH"
CHANGES = frozenset(
    ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "shutil.rmtree",
     "sqlite3.connect", "subprocess.Popen")
)  # fmt: skip
"""Audit events of a process that changes something on disk, besides files opened to be written."""


class Ended(NamedTuple):
    """What a child did: its exit status, or minus the signal, and what it said."""

    status: int
    stdout: str
    stderr: str


class Child:
    """Runs `portmert` with some words in a folder, in a group of processes of its own.

    Parameters
    ----------
    prepare : callable or None
        Called in the child before the command.
    """

    def __init__(self, folder: Path, words, *, variables=(), prepare=None, name="child"):
        self.name = f"{folder.parent.name}-{name}-{os.getpid()}-{time.monotonic_ns()}"
        pipes = [_pipe(), _pipe()]  # no files: those may not be written to
        gc.collect()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which wait
            self.pid = os.fork()
        if self.pid == 0:
            self._work(folder, words, dict(variables), prepare, [pipe[1] for pipe in pipes])
        os.setpgid(self.pid, self.pid)  # here too: it may be signalled before it does so itself
        for _, written in pipes:
            os.close(written)
        self.said = [read for read, _ in pipes]
        self.status = self.ended = None

    def _work(self, folder, words, variables, prepare, said):
        status = 70
        try:
            os.setpgid(0, 0)
            os.chdir(folder)
            if (folder / "site").is_dir():  # for what this one starts
                sys.path.append(str(folder / "site"))
            os.environ.update(variables | {MARK: self.name})
            os.environ.setdefault("PORTMERT_CACHE", str(folder / "cache"))
            for number, pipe in enumerate(said, 1):
                os.dup2(pipe, number)
            sys.stdin = open(os.devnull)  # noqa: SIM115, PTH123
            sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
            warnings.resetwarnings()  # pytest makes them errors; users see them
            warnings.simplefilter("ignore", DeprecationWarning)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if prepare is not None:
                prepare()
            try:
                main(args=[str(word) for word in words], prog_name="portmert")
            except SystemExit as ended:
                status = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
        except BaseException:  # noqa: BLE001  judged by the parent
            traceback.print_exc()
        finally:
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(status)

    def wait(self, seconds=PATIENCE):
        """Return how it ended; None where it has not within so many seconds."""
        end = time.monotonic() + seconds
        while self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                return None
            else:
                time.sleep(0.002)
        if self.ended is None:
            texts = [_rest(pipe).decode(errors="backslashreplace") for pipe in self.said]
            self.ended = Ended(self.status, *texts)
        return self.ended

    def signal(self, number, *, group=False):
        """Send a signal to the child, or to it and all that it has started."""
        if self.status is None:
            (os.killpg if group else os.kill)(self.pid, number)

    def finish(self):
        """Return how it ended; what hangs is killed, and its status is that of SIGALRM."""
        ended = self.wait()
        if ended is not None:
            return ended
        self.signal(signal.SIGKILL, group=True)
        ended = self.wait()
        return ended._replace(status=-signal.SIGALRM)

    def lingering(self):
        """Return what it has started and what still runs a while after its end."""
        end = time.monotonic() + LINGERING
        while (found := _marked(self.name)) and time.monotonic() < end:
            time.sleep(0.05)
        for pid, _ in found:
            os.kill(pid, signal.SIGKILL)
        return [command for _, command in found]


def _pipe():
    """Make a pipe that nobody needs to read while a child writes."""
    read, written = os.pipe()
    fcntl.fcntl(written, fcntl.F_SETPIPE_SZ, 1 << 20)
    os.set_blocking(read, False)
    return read, written


def _rest(pipe):
    """Read what a pipe holds; what still runs may have it open."""
    parts = []
    try:
        while part := os.read(pipe, 1 << 16):
            parts.append(part)
    except BlockingIOError:
        pass
    finally:
        os.close(pipe)
    return b"".join(parts)


def _marked(name):
    """List the processes that have a mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={name}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if command:  # else it has ended, and nobody has asked how
                    found.append((int(folder.name), command))
        except OSError:
            pass
    return found


def counting(path: Path):
    """Return what lets a child write how often it changed something on disk."""

    def prepare():
        count = 0

        def hook(name, args):
            nonlocal count
            count += name in CHANGES or (name == "open" and _writes(args))

        def leave(status):
            path.write_text(str(count))
            leave_now(status)

        leave_now, os._exit = os._exit, leave
        sys.addaudithook(hook)

    return prepare


def killed_at(event: int, *, group: bool):
    """Return what makes a child kill itself before the n-th change of something on disk."""

    def prepare():
        left = event

        def hook(name, args):
            nonlocal left
            if name in CHANGES or (name == "open" and _writes(args)):
                left -= 1
                if left == 0:
                    os.killpg(0, signal.SIGKILL) if group else os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)

    return prepare


def _writes(args):
    _, mode, flags = args
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def limited(what: int, size: int):
    """Return what sets a limit of a child and of all that it starts."""

    def prepare():
        resource.setrlimit(what, (size, size))

    return prepare


def limited_workers(size: int):
    """Return what sets a limit of memory to all that a child starts."""

    def prepare():
        start = subprocess.Popen.__init__

        def limited_start(self, *args, **kwargs):
            kwargs["preexec_fn"] = limited(resource.RLIMIT_AS, size)
            start(self, *args, **kwargs)

        subprocess.Popen.__init__ = limited_start

    return prepare


def without_rights():
    """Become somebody who owns nothing, where this is root."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


def memory_of_this_process():
    """Return bytes of address space."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
