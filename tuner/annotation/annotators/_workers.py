"""Sharing sentences among processes that load a backend once and may die of a sentence.

A process is started at its first chunk and kept for later calls: tuning annotates in many small
portions, and libraries and models take seconds to load. JSON lines rather than a pool of
`concurrent.futures`: a pool that loses a worker cannot say what it was working on.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tuner.annotation.annotators._base import Annotation, AnnotatorError, Request
from tuner.annotation.annotators._wire import pack_request, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

Sentence = Sequence[str]
Parse = Callable[[Sequence[Sentence], Request], list[Annotation | None]]
"""What the function `load(options)` of a backend's module returns: one answer a sentence.

Its answer to a sentence must not depend on the sentences beside it, to the last bit: how many
come together depends on what the cache has.
"""

CHUNK = 64
"""Sentences at once, enough for backends that work in batches."""

HOPELESS = 20
"""Sentences that may fail one after the other, and none succeed, until the backend is at fault."""


class _Died(Exception):  # noqa: N818  not an error of anyone who could see it
    """A process ended, or could not work on a chunk; the text says what it last said."""


class _Process:
    """One worker: python -m tuner.annotation.annotators._worker."""

    def __init__(self, first: str, name: str) -> None:
        path = os.pathsep.join(part for part in sys.path if part)
        # One thread each, there are as many processes as the user wants; no GPU and no network:
        # neither answers nor their bits may depend on what this machine has.
        threads = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR")
        alone = {f"{library}_NUM_THREADS": "1" for library in threads}
        alone |= {"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "PYTHONPATH": path}
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tuner.annotation.annotators._worker"],
            env={**os.environ, **alone},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            encoding="utf-8",
        )
        try:
            self._tell(first)
        except _Died as death:
            self.close()
            raise AnnotatorError(f"{name}: its process does not start: {death}") from None
        except AnnotatorError:
            self.close()
            raise

    def ask(self, line: str) -> list[Annotation | None]:
        """Return the answers to the sentences of `line`."""
        return [unpack(answer) for answer in self._tell(line)]

    def _tell(self, line: str) -> Any:
        assert self._process.stdin is not None  # noqa: S101  pipes were asked for
        assert self._process.stdout is not None  # noqa: S101
        try:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except (BrokenPipeError, ValueError):  # ended, or closed by another thread
            answer = ""
        if not answer.endswith("\n"):
            raise _Died(self._last_words())
        kind, *rest = json.loads(answer)
        if kind == "error":
            raise AnnotatorError(rest[0])
        if kind == "failed":
            raise _Died(rest[0])
        return rest[0] if rest else None

    def _last_words(self) -> str:
        status = self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        said = f": {lines[-1]}" if lines else ""
        ended = f"signal {-status}" if status < 0 else f"status {status}"
        return f"it ended with {ended}{said}"

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process; whoever waits for its answer gets `_Died`."""
        self._process.kill()

    def close(self) -> None:
        """End the process and close its files."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._log):
            try:
                if pipe is not None:
                    pipe.close()
            except BrokenPipeError:  # what was not yet sent to a dead process
                pass


@dataclass
class _Call:
    """One run over some sentences, in several threads."""

    request: Request
    busy: set[_Process] = field(default_factory=set)
    cancelled: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class Workers:
    """The processes of one backend with one model and one set of options.

    Parameters
    ----------
    module
        The module whose `load(options)` returns a `Parse`.
    options
        JSON values.
    name
        How messages name the backend.
    chunk
        Sentences a process gets at once.
    """

    def __init__(self, module: str, options: dict[str, Any], name: str, chunk: int) -> None:
        self._first = json.dumps([module, options])
        self._name = name
        self._size = chunk
        self._idle: list[_Process] = []
        self._succeeded = False
        self._failed = 0

    def annotate(
        self,
        sentences: Sequence[Sentence],
        request: Request,
        *,
        processes: int,
        progress: Callable[[int, int], None] | None,
    ) -> Iterator[Annotation | None]:
        """Yield one answer a sentence, in order; see `Annotator.annotate`."""
        starts = deque(range(0, len(sentences), self._size))
        threads = min(processes, len(starts)) or 1
        call = _Call(request)
        waiting: deque[Future[list[Annotation | None]]] = deque()
        executor = ThreadPoolExecutor(threads)
        done = 0
        try:
            while starts or waiting:
                # A few chunks ahead, not all: 50 parses of many sentences do not fit in memory.
                while starts and len(waiting) < 2 * threads:
                    start = starts.popleft()
                    chunk = sentences[start : start + self._size]
                    waiting.append(executor.submit(self._chunk, call, chunk))
                answers = waiting.popleft().result()
                done += len(answers)
                if progress is not None:
                    progress(done, len(sentences))
                yield from answers
        finally:
            with call.lock:
                call.cancelled = True
                for process in call.busy:
                    process.kill()
            executor.shutdown(wait=True, cancel_futures=True)

    def close(self) -> None:
        """End all processes that have nothing to do."""
        while self._idle:
            self._idle.pop().close()

    def _chunk(self, call: _Call, sentences: Sequence[Sentence]) -> list[Annotation | None]:
        try:
            answers = self._ask(call, sentences)
        except _Died as death:
            if call.cancelled:
                return [None for _ in sentences]  # which nobody waits for
            if len(sentences) > 1:  # find the sentence that it was
                return [self._chunk(call, [sentence])[0] for sentence in sentences]
            self._failed += 1
            if not self._succeeded and self._failed >= HOPELESS:
                raise AnnotatorError(
                    f"{self._name} failed on each of the first {HOPELESS} sentences; on the last, "
                    f"{death}"
                ) from None
            return [None]
        self._succeeded = True
        return answers

    def _ask(self, call: _Call, sentences: Sequence[Sentence]) -> list[Annotation | None]:
        line = json.dumps([pack_request(call.request), [list(words) for words in sentences]])
        process = self._process()
        with call.lock:
            if call.cancelled:
                self._idle.append(process)
                raise _Died
            call.busy.add(process)
        try:
            return process.ask(line)
        finally:
            with call.lock:
                call.busy.remove(process)
            if process.runs and not call.cancelled:
                self._idle.append(process)
            else:
                process.close()

    def _process(self) -> _Process:
        try:
            return self._idle.pop()  # one step: lists are safe among threads
        except IndexError:
            return _Process(self._first, self._name)


_KEPT: dict[tuple[str, int], Workers] = {}


def workers(module: str, options: dict[str, Any], name: str, *, chunk: int = CHUNK) -> Workers:
    """Return the workers of a backend, the same ones for the same options."""
    # A forked process must not talk through its parent's pipes.
    key = (json.dumps([module, options, name]), os.getpid())
    if key not in _KEPT:
        _KEPT[key] = Workers(module, options, name, chunk)
    return _KEPT[key]


@atexit.register
def close_all() -> None:
    """End all processes."""
    for (_, owner), kept in _KEPT.items():
        if owner == os.getpid():
            kept.close()
