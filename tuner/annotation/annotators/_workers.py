"""Shares sentences among processes that load a backend once and may die of a sentence.

A process is started at its first chunk and kept for later calls: tuning annotates in many small
portions, and libraries and models take seconds to load.
"""

from __future__ import annotations

import atexit
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from portmert.tuner.annotation.annotators import _worker
from portmert.tuner.annotation.annotators._base import Annotation, Request
from portmert.tuner.annotation.annotators._wire import pack_request, unpack
from portmert.tuner.ground.errors import AnnotatorError
from portmert.tuner.ground.processes import Ask, Crew, Died, LineProcess, Silent

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


PATIENCE_SECONDS = 3600.0
"""A process that takes longer to load its model, or for a chunk of sentences, hangs. That is a
fault, not a sentence without a parse: what is kept must not depend on how busy a machine is."""


class _Failed(Exception):  # noqa: N818  not an error of anyone who could see it
    """Says that a process could not work on a chunk, and why."""


class Workers:
    """Keeps the processes of one backend with one model and one set of options.

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
        self._with = f" with {options['model']}" if options.get("model") else ""
        self._size = chunk
        self._crew = Crew(self._start)
        self._succeeded = False
        self._failed = 0

    @property
    def idle(self) -> list[LineProcess]:
        """The processes that are kept and have nothing to do."""
        return self._crew.idle

    def annotate(
        self,
        sentences: Sequence[Sentence],
        request: Request,
        *,
        processes: int,
        progress: Callable[[int, int], None] | None,
    ) -> Iterator[Annotation | None]:
        """Yield one answer a sentence, in order; see `Annotator.annotate`."""

        def work(ask: Ask, chunk: Sequence[Sentence]) -> list[Annotation | None]:
            return self._chunk(ask, request, chunk)

        starts = range(0, len(sentences), self._size)
        chunks = [sentences[start : start + self._size] for start in starts]
        done = 0
        for answers in self._crew.run(work, chunks, processes=processes):
            done += len(answers)
            if progress is not None:
                progress(done, len(sentences))
            yield from answers

    def close(self) -> None:
        """End all processes that have nothing to do."""
        self._crew.close()

    def _chunk(
        self, ask: Ask, request: Request, sentences: Sequence[Sentence]
    ) -> list[Annotation | None]:
        line = json.dumps([pack_request(request), [list(words) for words in sentences]])
        try:
            answers = [unpack(answer) for answer in _said(ask(line))]
        except Silent as silence:
            raise AnnotatorError(
                f"{self._name} is stuck{self._with}: {silence}; it was given {len(sentences)} "
                f"sentences, the first is '{' '.join(sentences[0])}'"
            ) from None
        except (Died, _Failed) as death:
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
        process = LineProcess(_worker.__name__, log, timeout_seconds=PATIENCE_SECONDS)
        begun(process)
        try:
            _said(process.ask(self._first))
        except Died as death:
            process.close()
            raise AnnotatorError(
                f"{self._name}: its process does not start{self._with}: {death}"
            ) from None
        except AnnotatorError:
            process.close()
            raise
        return process


def _said(answer: str) -> Any:
    """Return what an answer holds; raise what it says went wrong."""
    kind, *rest = json.loads(answer)
    if kind == "error":
        raise AnnotatorError(rest[0])
    if kind == "failed":
        raise _Failed(rest[0])
    return rest[0] if rest else None


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
