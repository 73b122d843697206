"""Has processes of our own translate with thot, and keeps them from shard to shard."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from portmert.aligners._base import tokens
from portmert.tuner.decoders import _thot_worker
from portmert.tuner.decoders._base import Progress
from portmert.tuner.decoders._shards import Shard, Work
from portmert.tuner.ground.errors import ProgramError
from portmert.tuner.ground.processes import Crew, Died, LineProcess, Silent

KEPT = 4
"""Models whose processes a worker keeps; a command has one, under changing weights."""

_crews: dict[str, Crew] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class ThotWork(Work):
    """Translates lines.

    Parameters
    ----------
    task
        What a process loads, see `_thot_worker`.
    trained
        What the models were trained on, and how.
    weights, size
        For which lists are made.
    source
        The file that the lines are of, for messages.
    timeout_seconds
        See `Thot`.
    """

    task: str
    trained: str
    weights: tuple[float, ...]
    size: int
    source: str
    timeout_seconds: float

    @property
    def depends(self) -> list[bytes]:
        """All that the answers depend on besides the lines."""
        asked = repr((self.weights, self.size))
        return [self.trained.encode(), self.task.encode(), asked.encode()]

    def decode(
        self,
        shard: Shard,
        scratch: Path,  # noqa: ARG002  translations come by pipes
        logs: Path,
        step: Progress,
    ) -> Iterator[bytes]:
        """Yield the n-best list of each line."""
        call = self._crew(logs).call()
        try:
            for done, (segment, line) in enumerate(shard.lines):
                step(done, len(shard.lines))
                request = [segment, tokens(line.decode()), self.size, self.weights]
                try:
                    answer = call.ask(json.dumps(request))
                except Silent as silence:
                    raise ProgramError(
                        f"{self.source}:{segment + 1}: the decoder process is stuck: {silence} "
                        f"(timeout_seconds); its log is {silence.log}"
                    ) from None
                except Died as death:
                    log = f"; its log is {death.log}" if Path(death.log).is_file() else ""
                    raise ProgramError(
                        f"{self.source}:{segment + 1}: the decoder process ended with status "
                        f"{death.status}: {death.last or 'no message'}{log}"
                    ) from None
                yield json.loads(answer).encode()
        finally:
            call.cancel()

    def end(self) -> None:
        """End the processes here, also those at work."""
        with _lock:
            crew = _crews.pop(self.task, None)
        if crew is not None:
            crew.end()

    def _crew(self, logs: Path) -> Crew:
        """Return the processes that have loaded the model; those of others end in time."""
        with _lock:
            crew = _crews.pop(self.task, None)
            if crew is None:
                crew = Crew(partial(self._started, logs, itertools.count()))
            _crews[self.task] = crew  # the last one is the one used last
            while len(_crews) > KEPT:
                _crews.pop(next(iter(_crews))).close()
            return crew

    def _started(
        self, logs: Path, numbers: Iterator[int], begun: Callable[[LineProcess], None]
    ) -> LineProcess:
        log = logs / f"thot_worker-{next(numbers)}.log"
        seconds = self.timeout_seconds
        process = LineProcess(_thot_worker.__name__, log.open("w+b"), timeout_seconds=seconds)
        begun(process)
        process.tell(self.task)
        return process
