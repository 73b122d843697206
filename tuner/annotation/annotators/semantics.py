"""Looks up semantic roles and discourse representations in files made elsewhere."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.annotation.annotators import (
    _boxer,
    _clauses,
    _columns,
    _lookup,
    _meaning_json,
)
from portmert.tuner.annotation.annotators._analysed import Analysed, is_one_word
from portmert.tuner.annotation.annotators._base import Annotation, Layer, Request
from portmert.tuner.annotation.annotators._lookup import FileAnnotator, Missing
from portmert.tuner.ground.errors import InputError
from portmert.tuner.ground.files import read_lines

LAYERS: tuple[Layer, ...] = ("tags", "roles", "drs")
NAMES = {
    "tags": "parts of speech",
    "roles": "semantic roles",
    "drs": "discourse representation",
}


@dataclass(frozen=True)
class Semantics(FileAnnotator):
    """Looks sentences up by their tokens in files of roles and discourse representations.

    Files are told apart by their content: columns of CoNLL-2009, CoNLL-2012 or Universal
    Propositions; clauses of the Parallel Meaning Bank with places of tokens; Boxer's XML; JSON
    lines. What several files say of a sentence is put together, of two things of one kind the
    first one counts.

    Parameters
    ----------
    files : list of paths
        Plain, .gz, .xz or .zst.
    missing : error or unparsed
        What a sentence is that no file has.
    """

    files: tuple[Path, ...]
    missing: Missing = "error"

    gives: ClassVar[frozenset[Layer]] = frozenset({"tags", "roles", "drs"})
    version: ClassVar[int] = 1

    def known(self) -> Mapping[str, Analysed]:
        """Return what the files say, by the key of each sentence."""
        return _read(_lookup.states(self.files))

    def has(self) -> frozenset[Layer]:
        """Return what the files say of all their sentences."""
        found = self.known().values()
        return frozenset(layer for layer in LAYERS if all(_has(one, layer) for one in found))

    def made(self, found: Analysed, request: Request) -> Annotation | None:
        """Return what is asked for of what the files say of a sentence.

        Raises
        ------
        InputError
            They do not say it.
        """
        return _asked(found, request, self.missing)


def _has(found: Analysed, layer: Layer) -> bool:
    value = getattr(found, layer)
    return bool(value) if layer == "tags" else value is not None


def _asked(found: Analysed, request: Request, missing: Missing) -> Annotation | None:
    wide = next((token for token in found.tokens if not is_one_word(token)), None)
    if wide is not None:
        if missing == "unparsed":
            return None
        raise InputError(
            f"{found.where}: '{wide}' is one word here and several tokens in the text; analyse "
            f"the text as it is, one word for each token"
        )
    for layer in LAYERS:
        if layer in request.layers and not _has(found, layer):
            if missing == "unparsed":
                return None
            raise InputError(f"{found.where}: no {NAMES[layer]}, which is needed")
    return Annotation(
        tags=found.tags if "tags" in request.layers else (),
        roles=found.roles if "roles" in request.layers else None,
        drs=found.drs if "drs" in request.layers else None,
    )


@functools.lru_cache(maxsize=4)
def _read(states: tuple[tuple[str, int, int], ...]) -> dict[str, Analysed]:
    """Read files, once for each state of them."""
    known: dict[str, Analysed] = {}
    for path, _, _ in states:
        count = 0
        for found in _sentences(path):
            key = _lookup.key(found.tokens)
            known[key] = known[key].joined(found) if key in known else found
            count += 1
        if not count:
            raise InputError(f"{path}: no sentence; expected roles or discourse representations")
    return known


def _sentences(path: str) -> Iterator[Analysed]:
    lines = read_lines(path)
    lines[:1] = [line.removeprefix("\ufeff") for line in lines[:1]]
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    if _boxer.looks_like(first):
        return _boxer.read(path, "\n".join(lines))
    if _meaning_json.looks_like(first):
        return _meaning_json.read(path, lines)
    if _clauses.looks_like(first):
        return _clauses.read(path, lines)
    return _columns.read(path, lines)
