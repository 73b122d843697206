"""Asks processes and keeps answers as they come, so that interrupted work goes on where it was."""

from __future__ import annotations

import hashlib
import itertools
import threading
from typing import IO, TYPE_CHECKING, Self

from tuner.errors import ProgramError
from tuner.processes import Crew, Died, LineProcess, Silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path
    from types import TracebackType

    from tuner.decoders._base import Progress
    from tuner.processes import Ask


class Journal:
    """Keeps a file of answers, each with the number of its request; a context manager.

    Answers of the same requests are found again when the file is opened anew; those of others are
    thrown away, and so is a line that a kill left incomplete.

    Parameters
    ----------
    path
        Where it lies.
    requests
        All that the answers depend on, one line each.

    Attributes
    ----------
    found : dict of int to str
        Answers found when the file was opened, each ending with a newline.
    """

    def __init__(self, path: Path, requests: Iterable[str]) -> None:
        digest = hashlib.sha256()
        for request in requests:
            digest.update(request.encode("utf-8") + b"\n")
        self._path = path
        self._key = f"{digest.hexdigest()}\n"
        self._lock = threading.Lock()
        self.found: dict[int, str] = {}

    def __enter__(self) -> Self:
        """Read what is there and open the file to add to it."""
        complete = [self._key]
        if self._path.exists():
            *lines, _ = self._path.read_text("utf-8", "replace").split("\n")
            if lines[:1] == [self._key.removesuffix("\n")]:
                complete = [f"{line}\n" for line in lines]
        for line in complete[1:]:
            index, _, answer = line.partition("\t")
            self.found[int(index)] = answer
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] = self._path.open("w", encoding="utf-8", newline="\n")
        self._file.write("".join(complete))
        self._file.flush()
        return self

    def add(self, index: int, answer: str) -> None:
        """Keep one answer, a line with its newline; it survives a kill of this process."""
        with self._lock:
            self._file.write(f"{index}\t{answer}")
            self._file.flush()

    def remove(self) -> None:
        """Delete the file: its answers stand elsewhere now."""
        self._path.unlink(missing_ok=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self._file.close()


def answers(
    module: str,
    first: str,
    requests: Sequence[str],
    *,
    processes: int,
    logs: Path,
    name: Callable[[int], str],
    progress: Progress,
    journal: Journal,
    timeout_seconds: float,
) -> list[str]:
    """Send each request to one of some processes; return the answers in order.

    Parameters
    ----------
    module
        What the processes run; each answers a line with a line.
    first
        The line that every process gets first.
    requests
        One line each.
    logs
        Folder for what the processes print besides, one file each.
    name
        Names a request in the error message.
    journal
        Open; requests that it has answers of are not sent again, new answers are added.
    timeout_seconds
        A process whose answer takes longer is ended; 0: none is.

    Raises
    ------
    ProgramError
        A process died or was ended; says with which request.
    """
    found = dict(journal.found)
    missing = [index for index in range(len(requests)) if index not in found]
    logs.mkdir(parents=True, exist_ok=True)
    stem = module.rpartition(".")[2].lstrip("_")
    paths = (logs / f"{stem}-{number}.log" for number in itertools.count())
    lock = threading.Lock()

    def start(begun: Callable[[LineProcess], None]) -> LineProcess:
        with lock:
            path = next(paths)
        process = LineProcess(module, path.open("w+b"), timeout_seconds=timeout_seconds)
        begun(process)
        process.tell(first)
        return process

    def work(ask: Ask, index: int) -> tuple[int, str]:
        try:
            answer = ask(requests[index])
        except Silent as silence:
            raise ProgramError(
                f"{name(index)}: the decoder process is stuck: {silence} (timeout_seconds); its "
                f"log is {silence.log}"
            ) from None
        except Died as death:
            raise ProgramError(
                f"{name(index)}: the decoder process ended with status {death.status}: "
                f"{death.last or 'no message'}; its log is {death.log}"
            ) from None
        journal.add(index, answer)
        return index, answer

    crew = Crew(start)
    try:
        for index, answer in crew.run(work, missing, processes=processes):
            found[index] = answer
            progress(len(found), len(requests))
    finally:
        crew.close()
    return [found[index] for index in range(len(requests))]
