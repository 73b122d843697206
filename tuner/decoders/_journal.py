"""Answers kept on disk as they come, so that interrupted work goes on where it was."""

from __future__ import annotations

import hashlib
from typing import IO, TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from types import TracebackType


class Journal:
    """A file of answers, each with the number of its request; a context manager.

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
