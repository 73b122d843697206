"""Annotators that look sentences up in files of parses made elsewhere."""

import dataclasses
import functools
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass

from ...base.errors import AnnotatorError, counted, faults_at
from ...texts.annotator import Annotation, AnnotationRequest, Annotator
from . import _models, _tokens

Missing = Literal["error", "unparsed"]
"""How a sentence counts that the files do not have."""

SHOWN = 12
"""The most tokens of a sentence that a message shows."""


def key(tokens: Sequence[str]) -> str:
    """Return a key of a sentence: the same one for all ways to write its tokens."""
    return " ".join(map(_tokens.comparable, tokens))


@dataclass(frozen=True)
class FileAnnotator(Annotator):
    """Looks sentences up in files.

    Parameters
    ----------
    files : list of paths
        Plain, .gz, .bz2, .xz or .zst.
    missing : error or unparsed
        The treatment of a sentence that no file has: an error, or it counts as unparsed.
    """

    files: tuple[Path, ...]
    missing: Missing = "error"

    looks_up: ClassVar[bool] = True
    version: ClassVar[int]
    """Part of the fingerprint: raised when more or something else is made of a file."""

    @abstractmethod
    def read(self) -> Mapping[str, Any]:
        """Read the sentences of the files, by the `key` of each."""

    @abstractmethod
    def annotation_of(self, entry: Any, request: AnnotationRequest) -> Annotation | None:
        """Return what is asked for, from what the files have of a sentence."""

    def entries(self) -> Mapping[str, Any]:
        """Return what `read` returns, once for each state of the files."""
        return _entries(self, states(self.files))

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
    ) -> Iterator[Annotation | None]:
        """Yield what the files have. They may write a sentence as it is, or as parsers do.

        Raises
        ------
        InputError
            A line of a file is wrong, or lacks what is asked for.
        AnnotatorError
            A sentence is in no file, and `missing` says that this is an error.
        """
        entries = self.entries()
        for tokens in sentences:
            entry = entries.get(key(tokens))
            if entry is None:
                entry = entries.get(key(_tokens.as_parsed(tokens)))
            if entry is None and self.missing == "error":
                raise AnnotatorError(
                    f"{excerpt(tokens)} is not in {', '.join(map(str, self.files))}; parse it "
                    f"too, or let sentences that are missing count as unparsed "
                    f'(missing = "unparsed")'
                )
            yield None if entry is None else self.annotation_of(entry, request)


@functools.lru_cache(maxsize=4)
def _entries(annotator: FileAnnotator, _: object) -> Mapping[str, Any]:
    return annotator.read()


def excerpt(tokens: Sequence[str]) -> str:
    """Return a sentence as a message shows it."""
    text = " ".join(tokens[:SHOWN]) + (" ..." if len(tokens) > SHOWN else "")
    return f"'{text}' ({counted(len(tokens), 'token')})"


def states(files: Sequence[Path]) -> tuple[tuple[str, int, int], ...]:
    """Return the times and sizes of files: they show whether a file was changed.

    Raises
    ------
    AnnotatorError
        A file cannot be read or is a folder, or there is no file.
    """
    if not files:
        raise AnnotatorError("no file is given; name them: files = [...]")
    file_states = []
    for path in files:
        with faults_at(path, OSError, AnnotatorError):
            state = path.stat()
        if path.is_dir():  # else all files in it would be hashed first
            raise AnnotatorError(f"{path}: a folder; name the files in it")
        file_states.append((str(path), state.st_mtime_ns, state.st_size))
    return tuple(file_states)
