"""Finds a sentence among parses that were made before."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from portmert.tuner.annotation.annotators import _models
from portmert.tuner.annotation.annotators._base import Annotation, AnnotationRequest, Annotator
from portmert.tuner.annotation.annotators._tokens import as_parsed, comparable
from portmert.tuner.ground.errors import AnnotatorError, counted, faults_at

Parsed = TypeVar("Parsed")

Missing = Literal["error", "unparsed"]
"""What a sentence is that the files do not have."""

SHOWN = 12
"""Tokens of a sentence that a message shows."""


def key(tokens: Sequence[str]) -> str:
    """Return what tokens have in common with all ways to write them."""
    return " ".join(map(comparable, tokens))


def find(
    known: Mapping[str, Parsed], tokens: Sequence[str], files: Sequence[Path], missing: Missing
) -> Parsed | None:
    """Return what the files say of a sentence, whether they have it as it is or as parsers do.

    Raises
    ------
    AnnotatorError
        They do not have it, and that is an error.
    """
    found = known.get(key(tokens))
    if found is None:
        found = known.get(key(as_parsed(tokens)))
    if found is None and missing == "error":
        names = ", ".join(map(str, files))
        raise AnnotatorError(
            f"{shown(tokens)} is not in {names}; parse it too, or let sentences that are missing "
            f'count as unparsed (missing = "unparsed")'
        )
    return found


class FileAnnotator(Annotator):
    """Answers by what files say of a sentence; its fields begin with the files."""

    looks_up: ClassVar[bool] = True
    version: ClassVar[int]
    """Of what is made of a file: part of the fingerprint."""

    files: tuple[Path, ...]
    missing: Missing

    @abstractmethod
    def known(self) -> Mapping[str, Any]:
        """Return what the files say, by the `key` of each sentence."""

    @abstractmethod
    def made(self, found: Any, request: AnnotationRequest) -> Annotation | None:
        """Return what is asked for of what the files say of a sentence."""

    def fingerprint(self) -> str:
        """Return the hash of the files and the options."""
        states(self.files)
        options = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del options["files"]
        return _models.fingerprint(self.name(), str(self.version), options, *self.files)

    def annotate(
        self,
        sentences: Sequence[Sequence[str]],
        request: AnnotationRequest,
        *,
        processes: int = 1,  # noqa: ARG002  looking up is fast
        progress: Callable[[int, int], None] | None = None,
    ) -> Iterator[Annotation | None]:
        """Yield what the files say.

        Raises
        ------
        InputError
            A line of a file is wrong, or does not say what is asked for.
        AnnotatorError
            A sentence is in no file.
        """
        known = self.known()
        for number, tokens in enumerate(sentences, 1):
            found = find(known, tokens, self.files, self.missing)
            yield None if found is None else self.made(found, request)
            if progress is not None:
                progress(number, len(sentences))


def shown(tokens: Sequence[str]) -> str:
    """Return a sentence as messages show it."""
    text = " ".join(tokens[:SHOWN]) + (" ..." if len(tokens) > SHOWN else "")
    return f"'{text}' ({counted(len(tokens), 'token')})"


def states(files: Sequence[Path]) -> tuple[tuple[str, int, int], ...]:
    """Return what tells whether files were changed.

    Raises
    ------
    AnnotatorError
        One cannot be read or is a folder, or there is none.
    """
    if not files:
        raise AnnotatorError("no file is given; name them: files = [...]")
    found = []
    for path in files:
        with faults_at(path, OSError, AnnotatorError):
            state = path.stat()
        if path.is_dir():  # else the whole folder would be hashed first
            raise AnnotatorError(f"{path}: a folder; name the files in it")
        found.append((str(path), state.st_mtime_ns, state.st_size))
    return tuple(found)
