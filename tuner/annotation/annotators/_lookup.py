"""Finds a sentence among parses that were made before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar

from aligners._errors import counted
from tuner.annotation.annotators._tokens import as_parsed, comparable
from tuner.errors import AnnotatorError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tuner.annotation.annotators._base import Annotation

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


def each(
    known: Mapping[str, Parsed],
    sentences: Sequence[Sequence[str]],
    made: Callable[[Parsed], Annotation | None],
    *,
    files: Sequence[Path],
    missing: Missing,
    progress: Callable[[int, int], None] | None,
) -> Iterator[Annotation | None]:
    """Yield what is made of what the files say of each sentence; None where they do not have it.

    Raises
    ------
    AnnotatorError
        As of `find`.
    """
    for number, tokens in enumerate(sentences, 1):
        found = find(known, tokens, files, missing)
        yield None if found is None else made(found)
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
        try:
            state = path.stat()
        except OSError as error:
            raise AnnotatorError(f"{path}: {error.strerror or error}") from None
        if path.is_dir():  # else the whole folder would be hashed first
            raise AnnotatorError(f"{path}: a folder; name the files in it")
        found.append((str(path), state.st_mtime_ns, state.st_size))
    return tuple(found)
