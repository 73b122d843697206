"""Runs annotators whose library and model are loaded in worker processes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from portmert.tuner.annotation.annotators import _models
from portmert.tuner.annotation.annotators._base import Annotation, Annotator, Request
from portmert.tuner.annotation.annotators._workers import CHUNK, workers


class LibraryAnnotator(Annotator):
    """Answers by processes in which the `load(options)` of its module loads a model."""

    libraries: ClassVar[tuple[str, ...]]
    """The packages that the answers depend on; the first one's version is its own."""
    apart: ClassVar[frozenset[str]] = frozenset({"model"})
    """Options that change no answer, or count by what is in the model."""
    chunk: ClassVar[int] = CHUNK
    """Sentences a process gets at once."""

    def fingerprint(self) -> str:
        """Return the versions of the libraries, the hash of the model and the options."""
        versions = self._versions()
        options = {key: value for key, value in self._options().items() if key not in self.apart}
        return _models.fingerprint(self.name(), versions, options, *self._hashed())

    def annotate(
        self,
        sentences: Sequence[Sequence[str]],
        request: Request,
        *,
        processes: int = 1,
        progress: Callable[[int, int], None] | None = None,
    ) -> Iterator[Annotation | None]:
        """Yield one answer a sentence, in order; None where there is none, or a crash."""
        self._versions()
        self._hashed()  # says what is missing
        ours = workers(type(self).__module__, self._options(), self.name(), chunk=self.chunk)
        return ours.annotate(sentences, request, processes=processes, progress=progress)

    def _versions(self) -> str:
        first, *others = self.libraries
        found = [_models.version(first, extra=self.name(), needs=tuple(others))]
        found += [f"{name}-{_models.version(name, extra=self.name())}" for name in others]
        return " ".join(found)

    def _hashed(self) -> list[Path | str]:
        """Return what of the models the answers depend on.

        Raises
        ------
        AnnotatorError
            It is not there.
        """
        return [Path(self._options()["model"])]

    def _options(self) -> dict[str, Any]:
        """Return the options that are given as JSON values."""
        given = dataclasses.asdict(self)
        return {
            key: str(value) if isinstance(value, Path) else value
            for key, value in given.items()
            if value is not None
        }
