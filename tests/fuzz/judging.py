"""Runs one case in a forked child with limits, and judges what it did and left."""

import bz2
import gzip
import json
import lzma
import os
import random
import re
import resource
import shutil
import signal
import sys
import traceback
import warnings
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import zstandard
from threadpoolctl import threadpool_limits

from tests.fuzz.mutations import mutate
from tests.fuzz.target import option_lines

MEMORY = 1 << 30
"""Bytes that a child may take beyond what its parent has; all input is far smaller."""
SECONDS = 30
"""Of processor time; four times as many on the clock, as other work may be going on."""
PACK = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: zstandard.ZstdCompressor(write_checksum=True).compress(data),
}
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


class Ended(NamedTuple):
    """What a child did: its exit status, or minus the signal, and what it said."""

    status: int
    stdout: str
    stderr: str


def run_case(seed, case, targets, seeds: Path, folder: Path):
    """Run a case in `folder`, new; return its target, its words, how it ended, and all faults."""
    rng = random.Random(f"{seed} {case}")
    target = targets[case % len(targets)]
    shutil.rmtree(folder.parent, ignore_errors=True)
    shutil.copytree(seeds / target.name, folder)
    found = sorted(p for pattern in target.damaged for p in folder.glob(pattern) if p.is_file())
    damaged = rng.choice(found)
    suffix = damaged.suffix
    data = damaged.read_bytes()
    if suffix == ".gz":
        data = gzip.decompress(data)
    elif target.packs and rng.random() < 0.3:
        suffix = rng.choice(sorted(PACK))
        damaged.unlink()
        damaged = damaged.with_name(damaged.name + suffix)
    if suffix not in PACK:
        data = mutate(data, rng)
    elif rng.random() < 0.4:
        data = PACK[suffix](mutate(data, rng))
    else:
        data = mutate(PACK[suffix](data), rng)
    damaged.write_bytes(data)
    name = str(damaged.relative_to(folder))
    with chdir(folder):
        words = target.command(name)
    before = _content(folder)
    ended = in_child(folder, target, words, name)
    # A message that quotes the damaged option, or its value, has named it.
    options = option_lines(damaged) if "@" in target.words else []
    quoted = [f"'{part}'" for word in options for part in (word, word.partition("=")[2]) if part]
    target = replace(target, names=(*target.names, *quoted))
    return target, words, ended, list(faults(target, ended, before, folder))


def in_child(folder, target, words, damaged):
    """Call the program in a forked child, as kernels are loaded here."""
    memory = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    said = [folder.parent / "stdout", folder.parent / "stderr"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which wait
        child = os.fork()
    if child == 0:
        status = 70
        try:
            _limit(folder, said, memory + MEMORY)
            threadpool_limits(1)  # threads that OpenMP has begun are not there in a child
            status = target.call(words)
            if status == 0 and target.then is not None:
                target.then(Path(damaged))
        except BaseException:  # noqa: BLE001  judged by the parent
            traceback.print_exc()
            status = 70
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    texts = [path.read_bytes().decode(errors="backslashreplace") for path in said]
    return Ended(os.waitstatus_to_exitcode(ended), *texts)


def _limit(folder, said, memory):
    os.chdir(folder)
    os.environ["PORTMERT_CACHE"] = str(folder.parent / "unused")
    for number, path in enumerate(said, 1):
        with path.open("wb") as file:
            os.dup2(file.fileno(), number)
    sys.stdin = open(os.devnull)  # noqa: SIM115, PTH123
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    warnings.resetwarnings()  # pytest makes them errors; users see them
    warnings.simplefilter("ignore", DeprecationWarning)
    for number in (signal.SIGALRM, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(4 * SECONDS)


def _content(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def faults(target, ended, before, folder):
    """Say what is wrong with what a case did and left, a line each."""
    if ended.status < 0:
        yield f"ended by {signal.Signals(-ended.status).name}"
    elif ended.status not in target.statuses:
        yield f"exit status {ended.status}"
    stderr = ended.stderr
    for word in ("Traceback", "Warning:", "not enough memory"):
        if word in stderr:
            yield f"{word!r} on stderr"
    if ended.status == 1:
        yield from _faults_of_message(target, stderr.splitlines(), before)
    yield from _faults_of_files(target, ended, before, _content(folder))


def _faults_of_files(target, ended, before, after):
    if parts := [name for name in after if name.endswith(".part")]:
        yield f"litter: {parts}"
    for name, data in before.items():
        if not name.startswith(target.changed) and after.get(name) != data:
            yield f"{name} was changed"
    ours = (*target.changed, *target.out)
    if new := [name for name in after if name not in before and not name.startswith(ours)]:
        yield f"nobody asked for {new}"
    outputs = [name for name in target.out if name in after]
    if ended.status in (1, 2) and outputs:
        yield f"failed, but wrote {outputs}"
    helped = ended.stdout.startswith("Usage: ")  # damage made an argument `-h`
    if ended.status == 0 and len(outputs) < len(target.out) and not helped:
        yield f"{target.out} is missing"
    for name in outputs:
        if name.endswith(".json"):
            try:
                json.loads(after[name], parse_constant=_refuse)
            except ValueError as error:
                yield f"{name} is no JSON: {error}"


def _refuse(constant):
    raise ValueError(f"{constant} is no JSON")


def _faults_of_message(target, lines, before):
    errors = [n for n, line in enumerate(lines) if line.startswith(f"{target.voice}: error: ")]
    below = 2 if len(lines) > 2 and lines[-1].strip() == "^" else 0  # a formula, and where in it
    if errors != [len(lines) - 1 - below]:
        yield "not one line of error, the last"
        return
    said = lines[errors[0]]
    names = {part for name in before for part in Path(name).parts}
    # Constraints are named by their features: they come from a configuration or from options.
    others = ("segment", "constraint", *target.names)
    if not any(name in said for name in (*names, *others)):
        yield "the message names no file and no segment"
    if CONTROL.search(said):
        yield "control characters in the message"
    if len(said) > 2000:
        yield f"a message of {len(said)} characters"
