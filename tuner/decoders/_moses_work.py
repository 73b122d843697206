"""Has Moses decode shards of a text, each in a process of its own, and checks what it wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from portmert.metrics._base import Vocabulary
from portmert.tuner.decoders._base import Progress
from portmert.tuner.decoders._moses_program import (
    MOST_OF_A_SEGMENT,
    MOST_PRINTED,
    Job,
    run_job,
    wrapped,
)
from portmert.tuner.decoders._same_files import Prints
from portmert.tuner.decoders._shards import Shard, Work
from portmert.tuner.ground.errors import InputError
from portmert.tuner.ground.files import writing
from portmert.tuner.ground.watching import Bound
from portmert.tuner.nbest.read import read_nbest

MOST_LISTED = 1000
"""Lines of an n-best list, besides twice those asked for, that show that it is endless: a program
in place of Moses may give a few more than it is asked for."""


@dataclass(frozen=True)
class MosesWork(Work):
    """Decodes lines.

    Parameters
    ----------
    launcher
        What starts the decoder.
    command
        Program and arguments, but for those that follow from a shard or change no list.
    threads
        Of a process, 1 if its flags say how many.
    sparse
        Content of a `-weight-file`; empty for none.
    size
        Of the lists.
    models
        What moses.ini names, and itself.
    source
        The file that the lines are of, for messages.
    folder
        Where it is run, if that folder is there.
    timeout_seconds
        See `Moses`.
    """

    launcher: str
    command: tuple[str, ...]
    threads: int
    sparse: str
    size: int
    models: Prints
    source: str
    folder: Path
    timeout_seconds: float

    @property
    def depends(self) -> list[bytes]:
        """All that the answers depend on besides the lines."""
        return [repr((self.command, self.sparse, self.size, self.models)).encode()]

    def decode(self, shard: Shard, scratch: Path, logs: Path, step: Progress) -> Iterator[bytes]:
        """Yield what `answer_parts` takes apart again, for each line."""
        scratch.mkdir(parents=True, exist_ok=True)
        name = "moses" if shard.of == 1 else f"moses-{shard.number}"
        log = logs / f"{name}.log"
        if logs != scratch:  # many commands may share a worker's folder
            log = logs / f"{name}-{scratch.name}.log"
        files = _Files(*(scratch / f"{name}.{kind}" for kind in ("source", "nbest", "weights")))
        files.nbest.unlink(missing_ok=True)
        with writing(files.source) as file:
            file.write(b"".join(line + b"\n" for _, line in shard.lines))
        segments = len(shard.lines)
        most = MOST_PRINTED + segments * MOST_OF_A_SEGMENT
        asked = f"where {self.size} were asked for of each of {segments} segments"
        listed = Bound(most * self.size, MOST_LISTED + 2 * segments * self.size, asked)
        job = Job(
            self._command(files),
            scratch / f"{name}.out",
            log,
            most,
            {files.nbest: listed},
            self.timeout_seconds,
            what=shard.named(self.source) if shard.of > 1 else "",
            folder=self.folder if self.folder.is_dir() else scratch,
        )
        run_job(job, lambda lines: step(min(lines, segments), segments))
        yield from _answers(job, files.nbest, shard.lines)
        for path in (*files, job.output):
            path.unlink(missing_ok=True)
        if logs != scratch:
            log.unlink(missing_ok=True)

    def _command(self, files: _Files) -> tuple[str, ...]:
        """Return the command line of one process."""
        arguments = list(self.command)
        if self.sparse:
            with writing(files.weights) as file:
                file.write(self.sparse.encode())
            arguments += ["-weight-file", str(files.weights.resolve())]
        if self.threads > 1:
            arguments += ["-threads", str(self.threads)]
        nbest, source = str(files.nbest.resolve()), str(files.source.resolve())
        arguments += ["-n-best-list", nbest, str(self.size), "distinct", "-input-file", source]
        return wrapped(self.launcher, arguments)


class _Files(NamedTuple):
    """Names what a process reads and writes."""

    source: Path
    nbest: Path
    weights: Path


def _answers(job: Job, nbest: Path, lines: Sequence[tuple[int, bytes]]) -> list[bytes]:
    """Return what a process wrote of each line, its ids those of the whole text."""
    _check(job, nbest, lines)
    lists: list[list[bytes]] = [[] for _ in lines]
    for line in nbest.read_bytes().split(b"\n"):
        head, bars, rest = line.partition(b"|||")
        if bars:
            place = int(head)
            named = head.replace(b"%d" % place, b"%d" % lines[place][0], 1)
            lists[place].append(b"%s|||%s\n" % (named, rest))
    output = job.output.read_bytes()
    best = output.splitlines(keepends=True)
    if len(best) != len(lines):  # what else it prints is not told from translations
        best = [output] + [b""] * (len(lines) - 1)
    return [
        b"%d\n%s%s" % (len(first), first, b"".join(rows))
        for first, rows in zip(best, lists, strict=True)
    ]


def answer_parts(answer: bytes) -> tuple[bytes, bytes]:
    """Return what Moses printed of a line, and the n-best list."""
    length, _, rest = answer.partition(b"\n")
    return rest[: int(length)], rest[int(length) :]


def _check(job: Job, path: Path, lines: Sequence[tuple[int, bytes]]) -> None:
    """Raise a ProgramError if the list is not a whole one that tuning can use."""
    if not path.exists():
        raise job.failure(f"it wrote no n-best list ({path})")
    try:
        nbest = read_nbest([path], Vocabulary(), segments=len(lines))
    except InputError as error:
        raise job.failure(str(error)) from None
    sparse = nbest.sparse is not None and bool(nbest.sparse.values.any())
    if not nbest.features.any() and not sparse:
        raise job.failure(f"{path}: all feature values are 0")
    if any(line.strip() for _, line in lines) and not nbest.texts.tokens.lengths.any():
        raise job.failure(f"{path}: every hypothesis is empty")
