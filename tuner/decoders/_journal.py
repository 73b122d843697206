"""Keeps what a decoder says as it comes, so that interrupted work goes on where it was."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self


class Journal:
    """Keeps a file of answers, each with the number of its segment; a context manager.

    Answers of the same work are found again when the file is opened anew; those of other work are
    thrown away, and so is a line that a kill left incomplete. Answers are packed, see `packed`.

    Parameters
    ----------
    path
        Where it lies.
    depends
        All that the answers depend on.

    Attributes
    ----------
    found : dict of int to bytes
        Segment -> its answer, packed.
    """

    def __init__(self, path: Path, depends: Iterable[bytes]) -> None:
        digest = hashlib.sha256()
        for part in depends:
            digest.update(part + b"\n")
        self._path = path
        self._key = digest.hexdigest().encode()
        self.found: dict[int, bytes] = {}

    def __enter__(self) -> Self:
        """Read what is there and open the file to add to it."""
        if self._path.exists():
            key, *lines = self._path.read_bytes().split(b"\n")[:-1] or [b""]
            if key == self._key:
                for line in lines:
                    segment, _, answer = line.partition(b"\t")
                    self.found[int(segment)] = base64.b64decode(answer)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = self._path.open("wb")
        try:
            self._file.write(self._key + b"\n")
            for number, known in self.found.items():
                self._write(number, known)
            self._file.flush()
        except OSError:  # the disk is full; closing tries once more to write what waits
            with suppress(OSError):
                self._file.close()
            raise
        return self

    def add(self, segment: int, answer: bytes) -> None:
        """Keep one answer; it survives a kill of this process."""
        self.found[segment] = answer
        self._write(segment, answer)
        self._file.flush()

    def _write(self, segment: int, answer: bytes) -> None:
        self._file.write(b"%d\t%s\n" % (segment, base64.b64encode(answer)))

    def answers(self) -> Iterator[bytes]:
        """Yield all answers, unpacked, in the order of the segments."""
        for segment in sorted(self.found):
            yield zlib.decompress(self.found[segment])

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


def packed(answer: bytes) -> bytes:
    """Return an answer as it travels and is kept: lists of hypotheses shrink to a tenth."""
    return zlib.compress(answer, 1)
