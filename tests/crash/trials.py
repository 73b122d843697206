"""What happens to a job, and what must be true afterwards."""

import os
import re
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.crash import children
from tests.crash.children import Child

MEBIBYTE = 1 << 20
_SECONDS = re.compile(r"\d+\.\d s\b")
UNNAMED = re.compile(rb"(?m)^# (finished|updated) .*$")
"""Lines of a moses.ini with the time."""
MEASURED = re.compile(rb"(?s)## Table 6: time .*?(?=\n## )")
"""The table of times in what `reproduce` writes."""


class Alone(NamedTuple):
    """What a job that nothing happened to does: its output and files, and how long it took."""

    stdout: str
    files: dict
    seconds: float
    changes: int


@dataclass(frozen=True)
class Trial:
    """Holds what trials need of a job: its good files, and a folder of its own."""

    job: object
    seeds: Path
    place: Path
    alone: Alone

    def new(self):
        """Make the job's folder anew."""
        shutil.rmtree(self.place, ignore_errors=True)
        folder = self.place / "files"
        shutil.copytree(self.seeds / self.job.name, folder)
        for path in folder.glob("moses.ini"):
            path.touch()  # what its decoder shows is asked for once
        return folder

    def start(self, folder, *, prepare=None, name="child", variables=()):
        """Start the job, as one that goes on where there is something of it."""
        begun = self.job.again and any(folder.rglob(self.job.begun))
        words = (*self.job.words, *(self.job.again if begun else ()))
        return Child(
            folder,
            words,
            variables=variables,
            prepare=prepare,
            name=name,
        )

    def same(self, folder, ended):
        """Say what is different from what a job alone has left and said."""
        if ended.status != 0:
            yield f"ends with status {ended.status}: {ended.stderr[-300:]}"
            return
        found = content(folder)
        for name in sorted({*found, *self.alone.files}):
            if found.get(name) != self.alone.files.get(name):
                where = "differs" if name in found and name in self.alone.files else "is not there"
                where = "is left behind" if name not in self.alone.files else where
                yield f"{name} {where}"
        if _SECONDS.sub("", ended.stdout) != _SECONDS.sub("", self.alone.stdout):
            yield f"prints other results: {ended.stdout}"

    def refused(self, ended):
        """Say what is wrong with how a fault is told: one line, exit status 1."""
        if ended.status < 0:
            yield f"ended by {signal.Signals(-ended.status).name}"
        elif ended.status != 1:
            yield f"exit status {ended.status}, expected 1"
        lines = ended.stderr.splitlines()
        for line in lines:  # a program's last words are within one
            if line.startswith("Traceback") or "Warning:" in line:
                yield f"{line!r} on stderr: {lines[-1]}"
        errors = [n for n, line in enumerate(lines) if line.startswith("portmert: error: ")]
        if ended.status == 1 and errors != [len(lines) - 1]:
            yield f"not one line of error, the last: {lines[-3:]}"
        elif ended.status == 1 and len(lines[-1]) > 3000:
            yield f"a message of {len(lines[-1])} characters"

    def unharmed(self, folder):
        """Say what of the good files is changed, and what litter there is."""
        for name, data in content(self.seeds / self.job.name).items():
            path = folder / name
            if not name.startswith(self.job.out) and (
                not path.is_file() or _read(path, name) != data
            ):
                yield f"{name} was changed"
        yield from (f"litter: {name}" for name in litter(folder))


def litter(folder):
    """List what was being written."""
    return [str(path.relative_to(folder)) for path in folder.rglob("*.part")]


def content(folder):
    """Return what a job leaves: path -> content, without times and logs."""
    return {
        name: _read(path, name)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        for name in [str(path.relative_to(folder))]
        if path.name not in {"log.txt", ".lock"} and path.suffix != ".log"
    }


def _read(path, name):
    if path.suffix == ".sqlite3" or name.startswith("cache/"):
        return _rows(path)
    data = path.read_bytes()
    if path.name == "model.json":
        return re.sub(rb'"seconds": [0-9.]+', b"", data)
    if path.name == "paper.md":
        return MEASURED.sub(b"", data)
    return UNNAMED.sub(b"", data) if path.name.endswith("moses.ini") else data


def _rows(path):
    """Return what the cache answers.

    Numbers of kinds differ: where a kind stands already, asking for it by a
    new process takes up a number, which the next kind does not get.
    """
    if not path.read_bytes().startswith(b"SQLite format 3"):
        return path.read_bytes()
    with closing(sqlite3.connect(path)) as database:
        return database.execute(
            "SELECT annotator, layer, sentence, record FROM records "
            "LEFT JOIN kinds ON kinds.id = kind ORDER BY 1, 2, 3, 4"
        ).fetchall()


def alone(job, seeds, place):
    """Run a job that nothing happens to."""
    trial = Trial(job, seeds, place, None)
    folder = trial.new()
    counted = place / "changes"
    begin = time.monotonic()
    child = trial.start(folder, prepare=children.counting(counted))
    ended = child.finish()
    assert ended.status == 0, (job.name, ended.stderr)
    seconds = time.monotonic() - begin
    return Alone(ended.stdout, content(folder), seconds, int(counted.read_text()))


# What happens.


def killed(trial, rng):
    """Kill it at random moments, and start it again until it ends."""
    folder = trial.new()
    told = []
    for _ in range(rng.choice((1, 2, 4))):
        group = rng.random() < 0.5
        if rng.random() < 0.6:
            event = rng.randint(1, max(1, trial.alone.changes))
            told.append(f"change {event}{' (all)' * group}")
            child = trial.start(folder, prepare=children.killed_at(event, group=group))
            ended = child.finish()
        else:
            moment = rng.uniform(0.005, trial.alone.seconds)
            told.append(f"{moment:.3f} s{' (all)' * group}")
            child = trial.start(folder)
            ended = child.wait(moment)
            if ended is None:
                child.signal(signal.SIGKILL, group=group)
                ended = child.finish()
        if left := child.lingering():
            yield f"killed at {told}: still running {left}"
        if ended.status != -signal.SIGKILL:
            if ended.status:
                yield f"killed at {told}: ends with {ended.status}: {ended.stderr[-400:]}"
            break
    ended = trial.start(folder).finish()
    yield from (f"killed at {told}: {said}" for said in trial.same(folder, ended))
    yield from (f"killed at {told}: litter {name}" for name in litter(folder))


def no_room(trial, rng):
    """Let no file grow beyond some size; then go on with room."""
    sizes = [len(data) for data in trial.alone.files.values() if isinstance(data, bytes)]
    size = rng.choice((0, rng.choice(sizes), rng.randint(0, max(sizes)), 8192))
    folder = trial.new()
    limit = children.limited(resource.RLIMIT_FSIZE, size)
    yield from _broken(trial, folder, limit, f"files of at most {size} bytes")


def full_disk(trial, rng):
    """Run on a small disk that gets full; then go on with room."""
    folder = trial.new()
    used = sum(_blocks(path) for path in folder.rglob("*"))
    made = sum(len(data) // 4096 + 1 for data in trial.alone.files.values()) * 4096 - used
    size = used + rng.randint(0, max(4096, int(1.1 * made)))
    yield from _broken_on_disk(trial, size)


def _blocks(path):
    return 4096 * (path.stat().st_size // 4096 + 1)


def _broken_on_disk(trial, size):
    folder, kept = trial.place / "files", trial.place / "kept"
    folder.rename(kept)
    folder.mkdir()
    with mounted(folder, size):
        try:
            shutil.copytree(kept, folder, dirs_exist_ok=True)
        except (OSError, shutil.Error):
            return  # not even the good files fit
        child = trial.start(folder, prepare=lambda: os.environ.update(TMPDIR=str(trial.place)))
        ended = child.finish()
        told = f"a disk of {size} bytes"
        if ended.status:
            yield from (f"{told}: {said}" for said in trial.refused(ended))
            yield from (f"{told}: {said}" for said in trial.unharmed(folder))
        shutil.rmtree(kept)
        shutil.copytree(folder, kept)
    folder.rmdir()
    kept.rename(folder)
    ended = trial.start(folder).finish()
    yield from (f"{told}, then with room: {said}" for said in trial.same(folder, ended))


@contextmanager
def mounted(disk, size):
    """Have a disk of some size in memory; only root can."""
    options = ["-t", "tmpfs", "-o", f"size={size // 4096 * 4096 + 4096}"]
    subprocess.run(["mount", *options, "portmert-crash", disk], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def can_mount(place):
    """Whether small disks can be had here."""
    try:
        with mounted(place, 4096):
            return True
    except (OSError, subprocess.SubprocessError):
        return False


def little_memory(trial, rng):
    """Give all, or what it starts, little memory; then go on with enough."""
    folder = trial.new()
    if rng.random() < 0.5:
        size = rng.choice((20, 60, 100, 200, 400)) * MEBIBYTE
        prepare, told = children.limited_workers(size), f"workers with {size} bytes"
    else:
        size = rng.choice((1, 4, 16, 64)) * MEBIBYTE
        whole = children.memory_of_this_process() + size
        prepare, told = children.limited(resource.RLIMIT_AS, whole), f"{size} bytes more"
    yield from _broken(trial, folder, prepare, told)


def _broken(trial, folder, prepare, told):
    child = trial.start(folder, prepare=prepare)
    ended = child.finish()
    if left := child.lingering():
        yield f"{told}: still running {left}"
    if ended.status:
        yield from (f"{told}: {said}" for said in trial.refused(ended))
        yield from (f"{told}: {said}" for said in trial.unharmed(folder))
    ended = trial.start(folder).finish()
    yield from (f"{told}, then without: {said}" for said in trial.same(folder, ended))


def two_at_once(trial, rng):
    """Start it twice in the same folder; one of them may be refused."""
    folder = trial.new()
    first = trial.start(folder, name="first")
    early = first.wait(rng.uniform(0, trial.alone.seconds))
    second = trial.start(folder, name="second")
    both = [early or first.finish(), second.finish()]
    for ended in both:
        if ended.status:
            yield from (f"two at once: {said}" for said in trial.refused(ended))
            if " is at work " not in ended.stderr:
                yield f"two at once: {ended.stderr[-400:]}"
    if all(ended.status for ended in both):
        yield "two at once: both are refused"
    ended = trial.start(folder).finish()
    yield from (f"two at once: {said}" for said in trial.same(folder, ended))


def read_only(trial, rng):
    """Run it in a folder that cannot be written to."""
    del rng
    folder = trial.new()
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    reachable = [folder.parent, *folder.parent.parents]
    try:
        for path in reachable[: len(Path("/tmp/x").parts)]:  # noqa: S108  temporary folders of ours
            if path.stat().st_uid == os.getuid() and path != Path("/"):
                path.chmod(path.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)
        child = trial.start(folder, prepare=children.without_rights)
        ended = child.finish()
    finally:
        for path in paths:
            path.chmod(path.stat().st_mode | stat.S_IWUSR)
    yield from (f"read-only: {said}" for said in trial.refused(ended))
    yield from (f"read-only: {said}" for said in trial.unharmed(folder))
    new = {*content(folder)} - {*content(trial.seeds / trial.job.name)}
    if new:
        yield f"read-only: writes {sorted(new)}"


def misbehaving(trial, rng):
    """Let the program that it runs do wrong; then go on with one that does not."""
    folder = trial.new()
    fault = rng.choice(trial.job.faults)
    begin = time.monotonic()
    child = trial.start(folder, variables={"FAULT": fault})
    if fault.endswith("hang"):
        early = child.wait(trial.alone.seconds + 1)
        if early is not None:
            yield f"a program that hangs: ends with {early.status}: {early.stderr[-300:]}"
        child.signal(signal.SIGTERM)
        ended = child.finish()
        if ended.status != 128 + signal.SIGTERM or "Traceback" in ended.stderr:
            yield f"a program that hangs: SIGTERM, status {ended.status}: {ended.stderr[-300:]}"
    else:
        ended = child.finish()
        yield from (f"a program, {fault}: {said}" for said in trial.refused(ended))
    if left := child.lingering():
        yield f"a program, {fault}: still running {left}"
    if time.monotonic() - begin > 100 + trial.alone.seconds:
        yield f"a program, {fault}: takes {time.monotonic() - begin:.0f} s"
    yield from (f"a program, {fault}: {said}" for said in trial.unharmed(folder))
    ended = trial.start(folder).finish()
    yield from (f"a program, {fault}, then one without: {s}" for s in trial.same(folder, ended))


TRIALS = (killed, killed, killed, no_room, full_disk, little_memory, two_at_once, read_only)
