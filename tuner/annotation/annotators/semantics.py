"""Semantic roles and discourse representations from files made elsewhere."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic.dataclasses import dataclass

from ...base.errors import ConfigError, InputError, faults_at
from ...base.files import read_lines
from ...families import provided
from ...texts.annotator import Annotation, AnnotationRequest, Layer
from . import _lookup, _meaning
from ._lookup import FileAnnotator
from ._meaning import Analysed, Fault, is_one_word

NAMES: dict[Layer, str] = {
    "tags": "parts of speech",
    "roles": "semantic roles",
    "drs": "discourse representation",
}
_CLAUSES = re.compile(r"%%%|b[0-9]")
"""The begin of a line that may be a clause, or stand before clauses."""


class _Analyses(NamedTuple):
    """The analyses of one sentence, and the place where a file has it first."""

    where: str
    tokens: tuple[str, ...]
    layers: dict[Layer, Any]
    """Only layers that are there."""


@dataclass(frozen=True)
class Semantics(FileAnnotator):
    """Looks sentences up by their tokens in files of roles and discourse representations.

    The format is recognised from the content: JSON lines, as `annotate` writes them; or, by the
    extension `meaning`, columns of CoNLL-2005, CoNLL-2009, CoNLL-2012, SENNA or Universal
    Propositions, clauses of the Parallel Meaning Bank with token positions, Boxer's XML or Prolog.
    Analyses of one sentence from several files are combined; if two are of the same kind, the
    first counts.
    """

    gives: ClassVar[frozenset[Layer]] = frozenset(NAMES)
    version: ClassVar[int] = 1

    def read(self) -> Mapping[str, _Analyses]:
        """Read the sentences of the files, by the key of each."""
        entries: dict[str, _Analyses] = {}
        for path in self.files:
            sentences = list(_sentences(path))
            if not sentences:
                raise InputError(
                    f"{path}: no sentence; expected roles or discourse representations"
                )
            for sentence in sentences:
                key, where = _lookup.key(sentence.tokens), f"{path}:{sentence.line}"
                layers = entries.setdefault(key, _Analyses(where, sentence.tokens, {})).layers
                for layer in NAMES:
                    if analysis := getattr(sentence, layer):
                        layers.setdefault(layer, analysis)
        return entries

    def has(self) -> frozenset[Layer]:
        """Return the layers that all sentences of the files have."""
        entries = self.entries().values()
        return frozenset(
            layer for layer in NAMES if all(layer in entry.layers for entry in entries)
        )

    def annotation_of(self, entry: _Analyses, request: AnnotationRequest) -> Annotation | None:
        """Return the layers that are asked for.

        Raises
        ------
        InputError
            The files do not have them.
        """
        wide = next((token for token in entry.tokens if not is_one_word(token)), None)
        lacking: list[Layer] = [x for x in NAMES if x in request.layers - entry.layers.keys()]
        if (wide is not None or lacking) and self.missing == "unparsed":
            return None
        if wide is not None:
            raise InputError(
                f"{entry.where}: '{wide}' is one word here and several tokens in the text; "
                f"analyse the text as it is, one word for each token"
            )
        if lacking:
            raise InputError(f"{entry.where}: no {NAMES[lacking[0]]}, which is needed")
        return Annotation(**{x: entry.layers[x] for x in NAMES if x in request.layers})


def _sentences(path: Path) -> Iterator[Analysed]:
    lines = read_lines(path)
    lines[:1] = [line.removeprefix("\ufeff") for line in lines[:1]]
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    if first.startswith("{"):
        return read_with(_meaning.read, path, lines)
    form = "meaning-columns"
    if first.lstrip(" \t").startswith("<"):
        form = "boxer-xml"
    elif any(line.startswith("sem(") for line in lines):
        form = "boxer-prolog"
    elif _CLAUSES.match(first):
        form = "meaning-clauses"
    with faults_at(path, ConfigError, InputError):
        reader = provided("portmert.meaning_formats", form)
    return read_with(reader, path, lines)


def read_with(
    reader: Callable[[Sequence[str]], Iterator[Analysed]], path: Path | str, lines: Sequence[str]
) -> Iterator[Analysed]:
    """Yield the sentences of a file in one of the formats.

    Raises
    ------
    InputError
        A line is wrong.
    """
    try:
        yield from reader(lines)
    except Fault as fault:
        raise InputError(f"{path}:{fault.line}: {fault}") from None
