"""Metrics that programs compute.

A program speaks the text protocol of METEOR (`-stdio`), as Moses and cdec do. It answers each line
with a line.

    SCORE ||| reference ||| reference ||| hypothesis    ->  numbers that add over segments
    EVAL ||| the numbers, summed                        ->  the score

For metrics of word order, SCORE may have a last field after the hypothesis: `links:`, the number
of source tokens and, after semicolons, the links of each reference and those of the hypothesis:

    SCORE ||| the cat ||| cat the ||| links: 2 ; 0-0 1-1 ; 1-0 0-1
"""

from __future__ import annotations

import os
import shlex
import tempfile
import threading
import weakref
from collections.abc import Sequence
from functools import cached_property
from typing import IO, Annotated, ClassVar

import numpy as np
from annotated_types import Gt
from pydantic.dataclasses import dataclass

from portmert.aligners._base import format_links
from portmert.extensions.processes.line_processes import Died, Endless, LineProcess, Silent
from portmert.metrics._base import Batch, FloatArray, Metric, Need
from portmert.tuner.base.errors import ConfigError, InputError, ProgramError, counted, faults_at
from portmert.tuner.base.numbers import parse_finite
from portmert.tuner.base.options import exists
from portmert.tuner.base.programs import described

BARS = "|||"
LINKS_FIELD = "links:"
MOST_OF_STDERR = 1 << 16
"""Bytes at the end of stderr in which an error looks for the last lines."""
MOST_IN_A_LINE = 1 << 20
"""Bytes of an answer."""


@dataclass(frozen=True)
class CommandMetric(Metric):
    """Asks a program for statistics and scores, and keeps it running; higher is better.

    Parameters
    ----------
    command
        The program and its arguments, quoted as for a shell, though none is used.
    links
        Whether to send the field `links:` too.
    timeout_seconds
        The program is ended if it owes an answer and writes nothing for this long.
    """

    command: str
    links: bool = False
    timeout_seconds: Annotated[float, Gt(0)] = 600.0

    compares_words: ClassVar[bool] = False
    source: ClassVar[str] = "the program"

    @classmethod
    def written(cls, argument: str, *, links: bool = False) -> CommandMetric:
        """Return the metric of a command line; the name of an existing file is the program.

        Raises
        ------
        ConfigError
            It is empty, or no command line.
        """
        with faults_at(f"metric command{'+links' * links}", ValueError, ConfigError):
            return cls(shlex.quote(argument) if exists(argument) else argument, links)

    def __post_init__(self) -> None:
        with faults_at(f"'{self.command}' is no command line", ValueError, ValueError):
            words = shlex.split(self.command)
        if not words:
            raise ValueError('the command is empty; write command:"PROGRAM ARGUMENTS"')

    def __reduce__(self) -> tuple[type[CommandMetric], tuple[str, bool, float]]:
        """Travel to other processes without the program that runs: it is started there."""
        return CommandMetric, (self.command, self.links, self.timeout_seconds)

    @cached_property
    def needs(self) -> frozenset[Need]:  # type: ignore[override]
        """Links, if they are sent."""
        return frozenset({"links"} if self.links else ())

    @cached_property
    def process(self) -> _Process:
        """The program."""
        return _Process(shlex.split(self.command), self.timeout_seconds)

    @property
    def signature(self) -> str:
        """The name and the command."""
        return f"command{'+links' * self.links}:{self.command}"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """A name for each number that the program gives a hypothesis; it is asked once."""
        question = "SCORE ||| a b ||| a b"
        if self.links:
            question += " ||| links: 2 ; 0-0 1-1 ; 0-0 1-1"
        return tuple(f"s{k}" for k in range(self.process.width(question)))

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, K) numbers of the program."""
        width = len(self.stat_names)
        questions = list(_questions(batch, links=self.links))
        rows = np.empty((len(questions), width))
        for row, answer in enumerate(self.process.ask(questions)):
            numbers = self.process.numbers(answer)
            if len(numbers) != width:
                raise self.process.error(
                    f"answered {counted(len(numbers), 'number')} to a SCORE line, {width} to "
                    f"another: '{answer[:60]}'"
                )
            rows[row] = numbers
        return rows

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the program's scores (...) of stats (..., K); all rows are asked at once."""
        rows = np.asarray(stats, dtype=np.float64).reshape(-1, stats.shape[-1])
        printed = (" ".join(map(format_number, row)) for row in rows.tolist())
        scores = np.empty(len(rows))
        for row, answer in enumerate(self.process.ask([f"EVAL ||| {line}" for line in printed])):
            numbers = self.process.numbers(answer)
            if len(numbers) != 1:
                raise self.process.error(f"answered '{answer[:60]}' to EVAL, expected one number")
            scores[row] = numbers[0]
        return scores.reshape(stats.shape[:-1])

    # It has no `parts`: only the program knows the meaning of its numbers.


class CommandWithLinks(CommandMetric):
    """Asks a program as `command` does, and sends it the links of words too."""

    @classmethod
    def written(cls, argument: str, *, links: bool = True) -> CommandMetric:
        """Return the metric of a command line."""
        return CommandMetric.written(argument, links=links)


def format_number(value: float) -> str:
    """Return the shortest text of a float64; whole numbers have no point."""
    return repr(value).removesuffix(".0")


def _questions(batch: Batch, *, links: bool) -> Sequence[str]:
    """Return a SCORE line for each hypothesis."""
    references = [" ".join(batch.references.words(row)) for row in range(len(batch.references))]
    lines = []
    for segment in range(len(batch)):
        first, last = batch.reference_offsets[segment : segment + 2].tolist()
        if first == last:
            raise InputError("metric command: a segment has no reference; give --ref")
        opening = " ||| ".join(["SCORE", *references[first:last]])
        for row in range(int(batch.offsets[segment]), int(batch.offsets[segment + 1])):
            line = f"{opening} ||| {' '.join(batch.hypotheses.words(row))}"
            if line.split().count(BARS) != last - first + 1:
                raise InputError(
                    f"segment {segment}: a text has the token |||, which separates fields for an "
                    f"external metric; escape it"
                )
            lines.append(line + _links_field(batch, segment, row) if links else line)
    return lines


def _links_field(batch: Batch, segment: int, row: int) -> str:
    hypotheses, references = batch.hypotheses.links, batch.references.links
    sources = batch.source_lengths
    if sources is None or hypotheses is None or references is None:
        raise ValueError("command+links needs links")

    first, last = batch.reference_offsets[segment : segment + 2].tolist()
    rows = [*(references.row(k) for k in range(first, last)), hypotheses.row(row)]
    groups = " ; ".join(format_links(links.tolist()) for links in rows)
    return f" ||| {LINKS_FIELD} {sources[segment]} ; {groups}"


class _Process:
    """A program that answers each line with a line; it is started once, when it is first asked.

    One thread asks at a time.
    """

    def __init__(self, words: list[str], timeout_seconds: float) -> None:
        self.words = words
        self.timeout_seconds = timeout_seconds
        self._lock = threading.RLock()
        self._started: LineProcess | None = None
        self._stderr: IO[bytes] | None = None
        self._failed: str | None = None
        self._width: int | None = None

    def width(self, question: str) -> int:
        """Return the count of numbers that answer a SCORE line; the first call asks `question`."""
        with self._lock:
            if self._width is None:
                (answer,) = self.ask([question])
                self._width = len(self.numbers(answer))
                if not self._width:
                    raise self.error("answered an empty line to SCORE, expected numbers")
            return self._width

    def ask(self, questions: Sequence[str]) -> list[str]:
        """Return the answers, in order.

        Raises
        ------
        ProgramError
            The program cannot be started, ends, or falls silent.
        """
        answers: list[str] = []
        if not questions:
            return answers
        with self._lock:
            if self._failed is not None:
                raise ProgramError(self._failed)
            process = self._started or self._start()
            due = counted(len(questions), "answer")
            try:
                self._exchange(process, questions, answers)
            except Silent as death:
                raise self.error(
                    f"wrote nothing for {death.seconds:g} s, {len(answers)} of {due} are there"
                ) from None
            except Died as death:
                how = described(death.status)
                if isinstance(death, Endless):
                    how = death.last.removeprefix("it ")
                raise self.error(f"{how} after {len(answers)} of {due}") from None
            except ProgramError:
                raise
            except BaseException:  # its answers would be taken for those to the next questions
                process.close()
                self._started = None
                raise
            return answers

    def _exchange(
        self, process: LineProcess, questions: Sequence[str], answers: list[str]
    ) -> None:
        if early := process.unread():
            excerpt = early.decode(errors="replace").strip()[:60]
            raise self.error(f"wrote '{excerpt}', before it was asked")
        answers.extend(process.ask_all(questions))
        if process.unread():
            count = counted(len(questions), "question")
            raise self.error(f"wrote more than one line for each of {count}")

    def numbers(self, answer: str) -> list[float]:
        """Return the numbers of an answer."""
        values = []
        for word in answer.split():
            value = parse_finite(word)
            if value is None:
                raise self.error(f"answered '{answer[:60]}', expected finite numbers")
            values.append(value)
        return values

    def error(self, event: str) -> ProgramError:
        """Return the error of a program that did `event`, which is ended; with its last words."""
        tail = ""
        if self._stderr is not None and not self._stderr.closed:
            self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - MOST_OF_STDERR))
            lines = self._stderr.read().decode(errors="replace").splitlines()
            last = [line.strip() for line in lines if line.strip()][-5:]
            tail = f"; its stderr ends: {' / '.join(last)}" if last else "; its stderr is empty"
        self._failed = f"metric program `{shlex.join(self.words)}` {event}{tail}"
        if self._started is not None:
            self._started.close()
        return ProgramError(self._failed)

    def close(self) -> None:
        """End the program."""
        with self._lock:
            if self._started is not None:
                self._started.close()
                self._failed = self._failed or f"metric program {self.words[0]} was closed"

    def _start(self) -> LineProcess:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        try:
            self._started = LineProcess(
                self.words, self._stderr, timeout_seconds=self.timeout_seconds, most=MOST_IN_A_LINE
            )
        except OSError as error:
            self._stderr.close()
            raise self.error(f"cannot be started: {error.strerror or error}") from None
        weakref.finalize(self, self._started.close)
        return self._started
