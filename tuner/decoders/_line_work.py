"""Let a program that keeps running decode: a line asks, a line for each segment answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from portmert.tuner.decoders import _crews
from portmert.tuner.decoders._any_lists import Fitting, answers_of
from portmert.tuner.decoders._base import Progress
from portmert.tuner.decoders._program_work import MOST_OF_A_SEGMENT, MOST_PRINTED, joined
from portmert.tuner.decoders._shards import Shard, Work
from portmert.tuner.ground.documents import parse_json
from portmert.tuner.ground.errors import InputError, ProgramError, shown
from portmert.tuner.ground.processes import Died, LineProcess
from portmert.tuner.nbest.readers._base import ListFile
from portmert.tuner.weights.feature_weights import FeatureWeights


@dataclass(frozen=True)
class LineWork(Work):
    """Decoding with some weights by a program that keeps running.

    Parameters
    ----------
    command
        Program and arguments.
    told
        The weights that it is told.
    size, source, timeout_seconds, fitting
        As of `ProgramWork`; the seconds are those of one answer.
    """

    command: tuple[str, ...]
    told: FeatureWeights
    size: int
    source: str
    timeout_seconds: float
    fitting: Fitting

    @property
    def depends(self) -> list[bytes]:
        """All that the answers depend on besides the lines."""
        return [repr((self.command, self.told, self.size, self.fitting)).encode()]

    def decode(self, shard: Shard, scratch: Path, logs: Path, step: Progress) -> Iterator[bytes]:  # noqa: ARG002  answers come by pipes
        """Yield the n-best list of each line, as `ProgramWork` does."""
        request = {
            "weights": self.told.plain(),
            "size": self.size,
            "sources": [line.decode("utf-8") for _, line in shard.lines],
        }
        count = len(shard.lines)
        call = _crews.crew_of(self.command, logs / "command", self._started).call()
        answers: list[str] = []
        try:
            for answer in call.answers(json.dumps(request), count):
                answers.append(self._checked(answer, len(answers)))
                step(len(answers), count)
        except Died as death:
            segment = shard.lines[len(answers)][0]
            raise _crews.fault(f"{self.source}:{segment + 1}", death) from None
        finally:
            call.cancel()
        file = ListFile(self._name, "\n".join(answers).encode())
        try:
            data = self.fitting.moses_list(file, shard.lines)
        except InputError as error:
            raise ProgramError(f"the answer cannot be used: {error}") from None
        for rows in answers_of(data, shard.lines):
            yield joined(b"", rows)

    @property
    def _name(self) -> str:
        return Path(self.command[0]).name

    def _checked(self, answer: str, number: int) -> str:
        """Return an answer if it is that to source `number` of the request."""
        try:
            answer.encode("utf-8")
            content = parse_json(answer)
        except UnicodeEncodeError:
            raise ProgramError(f"{self._name}: answer {number + 1} is not UTF-8") from None
        except ValueError as error:
            raise ProgramError(
                f"{self._name}: answer {number + 1} is not JSON ({error}): '{shown(answer)}'"
            ) from None
        found = content.get("id") if isinstance(content, dict) else None
        if found != number or isinstance(found, bool):
            raise ProgramError(
                f"{self._name}: answer {number + 1} has id {json.dumps(found)}, expected "
                f'{{"id": {number}, "hypotheses": [...]}}: a line for each source, in order'
            )
        if "hypotheses" not in content:
            raise ProgramError(f"{self._name}: answer {number + 1} has no key hypotheses")
        return answer.rstrip("\n")

    def end(self) -> None:
        """End the processes that are still at work; the others wait for the next decoding."""
        _crews.cancel(self.command)

    def _started(self, log: IO[bytes]) -> LineProcess:
        try:
            return LineProcess(
                self.command,
                log,
                timeout_seconds=self.timeout_seconds,
                most=MOST_PRINTED + self.size * MOST_OF_A_SEGMENT,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ProgramError(f"{self.command[0]}: cannot be started: {reason}") from None


def close_programs(command: tuple[str, ...]) -> None:
    """End the processes of a command."""
    _crews.end(command)
