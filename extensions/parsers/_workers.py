"""Annotators whose library and model are loaded in worker processes.

A process is started at its first chunk of sentences and kept for later calls: tuning annotates in
many small portions, and libraries and models take seconds to load. A process may die of a
sentence.

A worker is `python -m` this module. It reads JSON lines: first the module of a backend and its
options, then `Chunk`s. It answers each line with an `Answer`, a JSON line too.
"""

import atexit
import dataclasses
import importlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import TypeAdapter

from portmert.extensions.processes.line_processes import (
    Ask,
    Died,
    LineProcess,
    ProcessPool,
    Silent,
    own_output,
)
from portmert.tuner.annotation.annotators import _models
from portmert.tuner.base.errors import AnnotatorError, counted, named
from portmert.tuner.base.extras import require
from portmert.tuner.texts.annotator import Annotation, AnnotationRequest, Annotator

Sentence = Sequence[str]
Parse = Callable[[Sequence[Sentence], AnnotationRequest], list[Annotation | None]]
"""The result of `load(options)` of a backend's module: it gives one answer a sentence.

An answer must not depend on the other sentences, to the last bit: which sentences come together
depends on what the cache has.
"""

CHUNK = 64
"""Sentences in a chunk: enough for backends that work in batches."""

HOPELESS = 20
"""If this many sentences fail and none has succeeded, the backend is at fault."""

PATIENCE_SECONDS = 3600.0
"""A process hangs if it takes longer to load its model, or to answer a chunk. That is a fault, not
a sentence without a parse: what is kept must not depend on how busy a machine is."""


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Sentences for a worker, and what is wanted for each of them."""

    request: AnnotationRequest
    sentences: list[list[str]]


@dataclasses.dataclass(frozen=True)
class Answer:
    """A worker's answer to a line.

    Parameters
    ----------
    annotations
        One for each sentence of a chunk.
    failed
        Why there are none for this chunk.
    error
        Why the backend cannot work at all.
    """

    annotations: list[Annotation | None] = dataclasses.field(default_factory=list)
    failed: str | None = None
    error: str | None = None


_CHUNKS, _ANSWERS = TypeAdapter(Chunk), TypeAdapter(Answer)


class _FailedError(Exception):
    """A process could not work on a chunk; the message says why."""


class LibraryAnnotator(Annotator):
    """An annotator that answers by processes; `load(options)` of its module loads its model."""

    libraries: ClassVar[tuple[str, ...]]
    """The packages on which the answers depend. The version of the first is its own."""
    apart: ClassVar[frozenset[str]] = frozenset({"model"})
    """Options that change no answer, or that count by the content of the model."""
    chunk: ClassVar[int] = CHUNK
    """Sentences that a process gets at a time."""

    def fingerprint(self) -> str:
        """Return the versions of the libraries, the hash of the model and the options."""
        versions = self._versions()
        options = {key: value for key, value in self._options().items() if key not in self.apart}
        return _models.fingerprint(self.name(), versions, options, *self._hashed())

    def annotate(
        self, sentences: Sequence[Sequence[str]], request: AnnotationRequest, *, processes: int = 1
    ) -> Iterator[Annotation | None]:
        """Yield one answer for each sentence, in order; None if the backend fails on it."""
        self._versions()
        self._hashed()  # says what is missing
        backend = workers(type(self).__module__, self._options(), self.name(), chunk=self.chunk)
        return backend.annotate(sentences, request, processes=processes)

    def _versions(self) -> str:
        extra = self.name()
        versions = [require(*self.libraries, extra=extra)]
        versions += [f"{name}-{require(name, extra=extra)}" for name in self.libraries[1:]]
        return " ".join(versions)

    def _hashed(self) -> list[Path | str]:
        """Return the parts of the models on which the answers depend.

        Raises
        ------
        AnnotatorError
            A part is not there.
        """
        return [Path(self._options()["model"])]

    def _options(self) -> dict[str, Any]:
        """Return the options that are given, as JSON values."""
        options = dataclasses.asdict(self)
        return {
            key: str(value) if isinstance(value, Path) else value
            for key, value in options.items()
            if value is not None
        }


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
        Sentences that a process gets at a time.
    """

    def __init__(self, module: str, options: dict[str, Any], name: str, chunk: int) -> None:
        self._first = json.dumps([module, options])
        self._name = name
        self._with = f" with {options['model']}" if options.get("model") else ""
        self._size = chunk
        self._pool = ProcessPool(self._start)
        self._succeeded = False
        self._failed = 0

    def annotate(
        self, sentences: Sequence[Sentence], request: AnnotationRequest, *, processes: int
    ) -> Iterator[Annotation | None]:
        """Yield one answer for each sentence, in order; see `Annotator.annotate`."""

        def work(ask: Ask, chunk: Sequence[Sentence]) -> list[Annotation | None]:
            return self._chunk(ask, request, chunk)

        starts = range(0, len(sentences), self._size)
        chunks = [sentences[start : start + self._size] for start in starts]
        for answers in self._pool.run(work, chunks, processes=processes):
            yield from answers

    def close(self) -> None:
        """End all processes that have nothing to do."""
        self._pool.close()

    def _chunk(
        self, ask: Ask, request: AnnotationRequest, sentences: Sequence[Sentence]
    ) -> list[Annotation | None]:
        line = _CHUNKS.dump_json(Chunk(request, list(map(list, sentences)))).decode()
        try:
            answers = _annotations(ask(line))
        except Silent as silence:
            raise AnnotatorError(
                f"{self._name} is stuck{self._with}: {silence}; it was given {len(sentences)} "
                f"sentences, the first is '{' '.join(sentences[0])}'"
            ) from None
        except (Died, _FailedError) as death:
            if len(sentences) > 1:  # find the sentence that it was
                return [self._chunk(ask, request, [sentence])[0] for sentence in sentences]
            self._failed += 1
            if not self._succeeded and self._failed >= HOPELESS:
                raise AnnotatorError(
                    f"{self._name} failed on each of the first {HOPELESS} sentences; on the last, "
                    f"{death}"
                ) from None
            return [None]
        self._succeeded = True
        return answers

    def _start(self, begun: Callable[[LineProcess], None]) -> LineProcess:
        log = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        process = LineProcess(WORKER, log, timeout_seconds=PATIENCE_SECONDS)
        begun(process)
        try:
            _annotations(process.ask(self._first))
        except Died as death:
            process.close()
            raise AnnotatorError(
                f"{self._name}: its process does not start{self._with}: {death}"
            ) from None
        except AnnotatorError:
            process.close()
            raise
        return process


def _annotations(line: str) -> list[Annotation | None]:
    """Return the annotations of an answer, or raise what it says went wrong."""
    answer = _ANSWERS.validate_json(line)
    if answer.error is not None:
        raise AnnotatorError(answer.error)
    if answer.failed is not None:
        raise _FailedError(answer.failed)
    return answer.annotations


WORKER = "portmert.extensions.parsers._workers"
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
    for (_, owner), backend in _KEPT.items():
        if owner == os.getpid():
            backend.close()


def main() -> None:
    """Answer lines until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    answers = own_output()

    def say(answer: Answer) -> None:
        answers.write(_ANSWERS.dump_json(answer).decode() + "\n")
        answers.flush()

    module, options = json.loads(sys.stdin.buffer.readline())
    try:
        parse: Parse = importlib.import_module(module).load(options)
    except AnnotatorError as error:
        say(Answer(error=str(error)))
        return
    except Exception as error:  # noqa: BLE001  libraries raise what they like on a bad model
        say(Answer(error=f"cannot load the model: {named(error)}"))
        return
    say(Answer())
    for line in sys.stdin.buffer:
        say(_answer(parse, _CHUNKS.validate_json(line)))


def _answer(parse: Parse, chunk: Chunk) -> Answer:
    try:
        annotations = parse(chunk.sentences, chunk.request)
    except AnnotatorError as error:
        return Answer(error=str(error))
    except Exception as error:  # noqa: BLE001  costs the sentence, not the run
        return Answer(failed=named(error))
    if len(annotations) != len(chunk.sentences):
        expected = counted(len(chunk.sentences), "sentence")
        return Answer(error=f"{counted(len(annotations), 'answer')} to {expected}")
    return Answer(annotations)


if __name__ == "__main__":
    main()
