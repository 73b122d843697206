"""Decodes a text in shards, by a team here or elsewhere, and keeps what is done."""

from __future__ import annotations

import itertools
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from portmert.tuner.decoders import _same_files
from portmert.tuner.decoders._base import Progress
from portmert.tuner.decoders._journal import Journal, packed
from portmert.tuner.decoders._same_files import Prints
from portmert.tuner.executors.team import Team


class Shard(NamedTuple):
    """Holds what is decoded at once.

    Parameters
    ----------
    number, of
        Which one it is, counted from 1, of how many.
    lines
        Segments, counted from 0, and what to decode.
    """

    number: int
    of: int
    lines: tuple[tuple[int, bytes], ...]

    def named(self, source: str) -> str:
        """Return which segments it has, for messages."""
        return f"segments {self.lines[0][0] + 1} to {self.lines[-1][0] + 1} of {source}"


class Work(ABC):
    """Does what a decoder does for some weights; plain data, as it may be sent elsewhere."""

    source: str
    """The file that the lines are of, for messages."""

    @property
    @abstractmethod
    def depends(self) -> Iterable[bytes]:
        """All that the answers depend on besides the lines."""

    @abstractmethod
    def decode(self, shard: Shard, scratch: Path, logs: Path, step: Progress) -> Iterable[bytes]:
        """Yield an answer to each line, in their order.

        Parameters
        ----------
        scratch
            For what nobody needs when the shard is done.
        logs
            For what says why the decoder failed; on this machine the same folder as `scratch`.
        step
            To be called as step(lines done, of how many), also while nothing happens; it may
            raise what ends the work.

        Raises
        ------
        PortmertError
            The decoder failed; says with which segments.
        """

    def end(self) -> None:  # noqa: B027  most keep nothing
        """End what has been kept in this process from shard to shard."""


@contextmanager
def decoded(
    work: Work,
    lines: Sequence[bytes],
    *,
    shards: Callable[[int], int],
    models: Iterable[Path],
    team: Team,
    journal: Path,
    progress: Progress,
) -> Iterator[Journal]:
    """Give the answers to all lines; what a kill interrupted goes on behind those found.

    Parameters
    ----------
    shards
        From how many lines there are to decode, to how many shards they are cut into.
    models
        Files and folders that a worker elsewhere must have too.
    journal
        Keeps answers until the block ends well; logs lie beside it.
    """
    with Journal(journal, [*work.depends, *lines]) as kept:
        missing = [(number, line) for number, line in enumerate(lines) if number not in kept.found]
        done = _Done(progress, len(kept.found), len(lines))
        prints = _same_files.prints_of(models) if team.is_remote and missing else ()
        cut = list(_cut(missing, shards(len(missing)) if missing else 0))
        held = team.shared(work) if cut else work  # the weights of sparse features may be many
        tasks = [
            (
                held,
                shard,
                prints,
                team.folder if team.is_remote else journal.parent,
                team.step if team.is_remote else partial(done.step, shard.number, team.step),
            )
            for shard in cut
        ]
        ended = team.run(_answers, tasks, named=lambda number: cut[number].named(work.source))
        try:
            for number, answers in ended:
                for (segment, _), answer in zip(cut[number].lines, answers, strict=True):
                    kept.add(segment, answer)
                done.all_of(cut[number])
        finally:
            ended.close()
            work.end()
        yield kept
        kept.remove()


def _cut(missing: Sequence[tuple[int, bytes]], count: int) -> Iterator[Shard]:
    cuts = [len(missing) * part // count for part in range(count + 1)] if count else []
    for number, (begin, end) in enumerate(itertools.pairwise(cuts), 1):
        yield Shard(number, count, tuple(missing[begin:end]))


def _answers(
    work: Work,
    shard: Shard,
    prints: Prints,
    folder: Path | Callable[[], Path],
    step: Progress,
) -> list[bytes]:
    """Decode a shard, in a folder here or in that of a worker."""
    if isinstance(folder, Path):
        return [packed(answer) for answer in work.decode(shard, folder, folder, step)]
    _same_files.check(prints)
    with tempfile.TemporaryDirectory(prefix="portmert-", dir=folder()) as scratch:
        return [packed(answer) for answer in work.decode(shard, Path(scratch), folder(), step)]


class _Done:
    """Counts lines that are decoded in several threads at once."""

    def __init__(self, progress: Progress, done: int, total: int) -> None:
        self._progress = progress
        self._before, self._shown, self._total = done, done, total
        self._of: dict[int, int] = {}
        self._lock = threading.Lock()

    def step(self, shard: int, step: Progress, done: int, total: int) -> None:
        """Show how far a shard has come, unless the work was given up."""
        step(done, total)
        self._show(shard, done)

    def all_of(self, shard: Shard) -> None:
        """Show that a shard is done."""
        self._show(shard.number, len(shard.lines))

    def _show(self, shard: int, done: int) -> None:
        with self._lock:
            self._of[shard] = max(done, self._of.get(shard, 0))
            now = min(self._before + sum(self._of.values()), self._total)
            for count in range(self._shown + 1, now + 1):
                self._progress(count, self._total)
            self._shown = now
