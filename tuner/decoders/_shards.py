"""Decode a text in shards, by a team here or elsewhere, and keep what is done."""

import base64
import hashlib
import itertools
import os
import tempfile
import threading
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import IO, NamedTuple, Self

from ..base.context import current
from ..base.errors import InputError, faults_at
from ..base.files import read_bytes, writing
from ..base.threads import Team
from ..nbest.records import BYTE_ORDER_MARK
from ._base import Decoding

READ = 1 << 16
"""Bytes at either end that identify a file: models are too large to be read for it."""

Step = Callable[[int, int], None]
"""Called as step(lines done, of how many), also while nothing happens. It ends work by raising."""
Prints = tuple[tuple[Path, str], ...]
"""Path and print of each file."""


class Shard(NamedTuple):
    """Lines that are decoded together.

    Parameters
    ----------
    number, of
        Which one it is, counted from 1, of how many.
    lines
        Segments, counted from 0, and the text of each.
    """

    number: int
    of: int
    lines: tuple[tuple[int, bytes], ...]

    def describe(self, source: str) -> str:
        """Return which segments it has, for messages."""
        return f"segments {self.lines[0][0] + 1} to {self.lines[-1][0] + 1} of {source}"


@dataclass(frozen=True, kw_only=True)
class Work(ABC):
    """The work of a decoder for some weights, as plain data that can be sent elsewhere.

    Parameters
    ----------
    size
        The size of the lists to make.
    source
        The file that the lines are of, for messages.
    """

    size: int
    source: str

    @property
    @abstractmethod
    def depends(self) -> Iterable[bytes]:
        """All that the answers depend on besides the lines."""

    @abstractmethod
    def decode(self, shard: Shard, scratch: Path, logs: Path, step: Step) -> Iterable[bytes]:
        """Yield an answer to each line, in their order.

        Parameters
        ----------
        scratch
            For files that nobody needs when the shard is done.
        logs
            For logs that tell why the decoder failed; on this machine the same as `scratch`.
        step
            See `Step`.

        Raises
        ------
        PortmertError
            The decoder failed; says with which segments.
        """

    def end(self) -> None:  # noqa: B027  most keep nothing
        """End the processes that were kept from shard to shard."""


def decode_lines(
    work: Work,
    lines: Sequence[bytes],
    request: Decoding,
    *,
    name: str,
    shards: Callable[[int, int], int],
    models: Iterable[Path] = (),
    here: Team | None = None,
    outputs: Mapping[Path, Callable[[bytes], bytes]] | None = None,
) -> None:
    """Decode all lines and write the answers; after a kill, only missing lines are decoded.

    Parameters
    ----------
    name
        Name of the journal in `workdir`, which keeps answers until they are written.
    shards
        Returns, for a number of lines to decode and of tasks at once, the number of shards.
    models
        Files and folders that a worker elsewhere must have too.
    here
        The team that decodes if there is no cluster; None: the calling thread.
    outputs
        File -> what it gets of an answer. Default: `out` gets all.
    """
    if request["size"] < 1:
        raise ValueError(f"size is {request['size']}, must be at least 1")
    cluster, logs = current().cluster, request["workdir"]
    workers = cluster or here
    with Journal(logs / f"{name}.journal", [*work.depends, *lines]) as journal:
        missing = [item for item in enumerate(lines) if item[0] not in journal.packed_answers]
        counter = _LineCounter(len(lines) - len(missing), len(lines))
        size = workers.wait_for_workers() if workers and missing else 1
        cut = list(_cut(missing, shards(len(missing), size) if missing else 0))
        prints = prints_of(models) if cluster and missing else ()
        shared = workers.shared(work) if workers and cut else work  # weights may be many
        check = partial(workers.step, "decoding") if workers else _go_on
        places = [
            _Place(cluster.folder, check, prints)
            if cluster
            else _Place(logs, partial(counter.step, shard.number, check))
            for shard in cut
        ]
        tasks = [(shared, shard, place) for shard, place in zip(cut, places, strict=True)]
        results = (
            workers.run(_answers, tasks, name_of=lambda number: cut[number].describe(work.source))
            if workers
            else ((number, _answers(*task)) for number, task in enumerate(tasks))
        )
        try:
            for number, answers in results:
                for (segment, _), answer in zip(cut[number].lines, answers, strict=True):
                    journal.add(segment, answer)
                counter.show(number + 1, len(cut[number].lines))
        finally:
            results.close()
            work.end()
        for path, part in (outputs or {request["out"]: bytes}).items():
            with writing(path) as file:
                file.writelines(map(part, journal.answers()))
        journal.remove()


def _cut(missing: Sequence[tuple[int, bytes]], count: int) -> Iterator[Shard]:
    cuts = [len(missing) * part // count for part in range(count + 1)] if count else []
    for number, (begin, end) in enumerate(itertools.pairwise(cuts), 1):
        yield Shard(number, count, tuple(missing[begin:end]))


def _go_on(_decoded: int, _total: int) -> None:
    pass


@dataclass(frozen=True)
class _Place:
    """Where and how a shard is decoded.

    Parameters
    ----------
    folder
        A folder here, or a function that returns the folder of a worker.
    step
        See `Work.decode`.
    prints
        The files that a worker must have.
    """

    folder: Path | Callable[[], Path]
    step: Step
    prints: Prints = ()


def _answers(work: Work, shard: Shard, place: _Place) -> list[bytes]:
    """Decode a shard, in a folder here or in the folder of a worker."""
    if isinstance(place.folder, Path):
        return list(map(packed, work.decode(shard, place.folder, place.folder, place.step)))
    check_prints(place.prints)
    logs = place.folder()
    with tempfile.TemporaryDirectory(prefix="portmert-", dir=logs) as scratch:
        return list(map(packed, work.decode(shard, Path(scratch), logs, place.step)))


class _LineCounter:
    """The number of lines decoded so far, by several threads at once."""

    def __init__(self, decoded: int, total: int) -> None:
        self._progress = current().progress
        self._before, self._reported, self._total = decoded, decoded, total
        self._by_shard: dict[int, int] = {}
        self._lock = threading.Lock()

    def step(self, shard: int, check: Step, decoded: int, total: int) -> None:
        """Show how far a shard has come, unless the work was given up."""
        check(decoded, total)
        self.show(shard, decoded)

    def show(self, shard: int, decoded: int) -> None:
        """Show how far a shard has come."""
        with self._lock:
            self._by_shard[shard] = max(decoded, self._by_shard.get(shard, 0))
            count = min(self._before + sum(self._by_shard.values()), self._total)
            for number in range(self._reported + 1, count + 1):
                self._progress("decoding", number, self._total)
            self._reported = count


def lines_of(source: Path) -> list[bytes]:
    """Return the lines of a text; raise `InputError` if there is none."""
    lines = read_bytes(source).removeprefix(BYTE_ORDER_MARK).split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if not lines:
        raise InputError(f"{source}: the source is empty; there is nothing to decode")
    return lines


class Journal:
    """A file of answers, each with the number of its segment; a context manager.

    Answers of the same work are found again when the file is opened anew. Answers of other work
    are thrown away, and so is a line that a kill left incomplete. Answers are `packed`.

    Parameters
    ----------
    path
        The path of the file.
    depends
        All that the answers depend on.

    Attributes
    ----------
    packed_answers : dict of int to bytes
        Segment -> its answer, packed.
    """

    def __init__(self, path: Path, depends: Iterable[bytes]) -> None:
        digest = hashlib.sha256()
        for part in depends:
            digest.update(part + b"\n")
        self._path = path
        self._key = digest.hexdigest().encode()
        self.packed_answers: dict[int, bytes] = {}

    def __enter__(self) -> Self:
        """Read what is there and open the file to add to it."""
        if self._path.exists():
            key, *lines = self._path.read_bytes().split(b"\n")[:-1] or [b""]
            if key == self._key:
                for line in lines:
                    segment, _, answer = line.partition(b"\t")
                    self.packed_answers[int(segment)] = base64.b64decode(answer)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = self._path.open("wb")
        try:
            self._file.write(self._key + b"\n")
            for number, packed_answer in self.packed_answers.items():
                self._write(number, packed_answer)
            self._file.flush()
        except OSError:  # the disk is full; closing tries once more to write what waits
            with suppress(OSError):
                self._file.close()
            raise
        return self

    def add(self, segment: int, answer: bytes) -> None:
        """Keep one answer; it survives a kill of this process."""
        self.packed_answers[segment] = answer
        self._write(segment, answer)
        self._file.flush()

    def _write(self, segment: int, answer: bytes) -> None:
        self._file.write(b"%d\t%s\n" % (segment, base64.b64encode(answer)))

    def answers(self) -> Iterator[bytes]:
        """Yield all answers, unpacked, in the order of the segments."""
        for segment in sorted(self.packed_answers):
            yield zlib.decompress(self.packed_answers[segment])

    def remove(self) -> None:
        """Delete the file, as its answers have been written elsewhere."""
        self._path.unlink(missing_ok=True)

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()


def packed(answer: bytes) -> bytes:
    """Return an answer as it travels and is kept: lists of hypotheses shrink to a tenth."""
    return zlib.compress(answer, 1)


def prints_of(paths: Iterable[Path]) -> Prints:
    """Return the print of each file; of a folder, of all that it holds."""
    files = {file.absolute() for path in paths for file in _files(path)}
    return tuple((file, _print(file)) for file in sorted(files))


@lru_cache(maxsize=8)
def check_prints(prints: Prints) -> None:
    """Check that this machine has the same files.

    Raises
    ------
    InputError
        One of them is not there, or another one.
    """
    for path, expected in prints:
        if not path.is_file():
            raise InputError(
                f"{path}: there is no such file here; models must lie under the same paths on all "
                f"machines"
            )
        if _print(path) != expected:
            raise InputError(
                f"{path}: this machine has another file there than the one that gave the command; "
                f"models must be the same on all machines"
            )


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from (file for file in path.rglob("*") if file.is_file() and file.name[0] != ".")
    elif path.is_file():
        yield path


def _print(path: Path) -> str:
    """Return the size of a file and a hash of its two ends."""
    with faults_at(path, OSError, InputError), path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        ends = file.read(READ)
        file.seek(max(0, size - READ))
        ends += file.read(READ)
    return f"{size} {hashlib.sha256(ends).hexdigest()}"
