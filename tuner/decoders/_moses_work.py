"""Let Moses decode shards of a text, each in a process of its own, and check what it wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from portmert.metrics._base import Vocabulary
from portmert.tuner.decoders._base import Progress
from portmert.tuner.decoders._moses_command import wrapped
from portmert.tuner.decoders._shards import Prints, Shard, Work
from portmert.tuner.ground.errors import InputError, ProgramError
from portmert.tuner.ground.files import make_folder, writing
from portmert.tuner.ground.programs import Bound, Command, run
from portmert.tuner.nbest.read import read_nbest

MOST_PRINTED = 1 << 20
"""Bytes that a decoder may print, besides those of segments."""
MOST_OF_A_SEGMENT = 1 << 16
MOST_LISTED = 1000
"""An n-best list with so many lines more than twice those asked for is endless. A program in place
of Moses may give a few more than it is asked for."""


@dataclass(frozen=True)
class MosesWork(Work):
    """What Moses does for some weights.

    Parameters
    ----------
    launcher
        The command that starts the decoder.
    command
        Program and arguments, without those that follow from a shard or change no list.
    threads
        Of a process, 1 if its flags say how many.
    sparse
        Content of a `-weight-file`; empty for none.
    size
        Of the lists.
    models
        The files that moses.ini names, and moses.ini itself.
    source
        The file that the lines come from, for messages.
    folder
        Where Moses runs, if that folder is there.
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
        """Yield the answer to each line; `answer_parts` takes it apart again."""
        for folder in (scratch, logs):
            make_folder(folder)
        name = "moses" if shard.of == 1 else f"moses-{shard.number}"
        log = logs / f"{name}.log"
        if logs != scratch:  # many commands may share a worker's folder
            log = logs / f"{name}-{scratch.name}.log"
        files = _Files(*(scratch / f"{name}.{kind}" for kind in ("source", "nbest", "weights")))
        with writing(files.source) as file:
            file.write(b"".join(line + b"\n" for _, line in shard.lines))
        segments = len(shard.lines)
        most = MOST_PRINTED + segments * MOST_OF_A_SEGMENT
        asked = f"where {self.size} were asked for of each of {segments} segments"
        listed = Bound(most * self.size, MOST_LISTED + 2 * segments * self.size, asked)
        words = self._words(files)
        program = Path(words[0])
        command = Command(
            words,
            log,
            scratch / f"{name}.out",
            folder=self.folder if self.folder.is_dir() else scratch,
            bounds={scratch / f"{name}.out": Bound(most), files.nbest: listed},
            timeout_seconds=self.timeout_seconds,
            name=f"{program.name}, {shard.named(self.source)}," if shard.of > 1 else "",
        )
        run(command, step=lambda lines: step(min(lines, segments), segments))
        yield from _answers(command, files.nbest, shard.lines)
        for path in (*files, scratch / f"{name}.out"):
            path.unlink(missing_ok=True)
        if logs != scratch:
            log.unlink(missing_ok=True)

    def _words(self, files: _Files) -> tuple[str, ...]:
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
    """What a process reads and writes."""

    source: Path
    nbest: Path
    weights: Path


def _answers(command: Command, nbest: Path, lines: Sequence[tuple[int, bytes]]) -> list[bytes]:
    """Return what a process wrote of each line, with the ids of the whole text."""
    _check(command, nbest, lines)
    lists: list[list[bytes]] = [[] for _ in lines]
    for line in nbest.read_bytes().split(b"\n"):
        head, bars, rest = line.partition(b"|||")
        if bars:
            place = int(head)
            named = head.replace(b"%d" % place, b"%d" % lines[place][0], 1)
            lists[place].append(b"%s|||%s\n" % (named, rest))
    output = (command.out or command.log).read_bytes()
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


def _check(command: Command, path: Path, lines: Sequence[tuple[int, bytes]]) -> None:
    """Raise a ProgramError if the list is not a whole one that tuning can use."""
    if not path.exists():
        raise command.failure(f"wrote no n-best list ({path})")
    try:
        nbest = read_nbest([path], Vocabulary(), segments=len(lines))
    except InputError as error:
        raise _faulty(command, str(error)) from None
    sparse = nbest.sparse is not None and bool(nbest.sparse.values.any())
    if not nbest.features.any() and not sparse:
        raise _faulty(command, f"{path}: all feature values are 0")
    if any(line.strip() for _, line in lines) and not nbest.texts.tokens.lengths.any():
        raise _faulty(command, f"{path}: every hypothesis is empty")


def _faulty(command: Command, problem: str) -> ProgramError:
    return command.failure(f"wrote a list that cannot be used ({problem})")
