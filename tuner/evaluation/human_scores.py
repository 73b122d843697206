"""Reads human scores of several systems' outputs, and the outputs they are about.

The scores are a table with tabs between its columns, the first line naming them: `system`,
`segment` (line of the output, from 0), `score`, maybe `document`. The outputs are a folder of
files named after the systems, `SYSTEM.en`, one segment a line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tuner.errors import InputError, suggest
from tuner.files import read_lines
from tuner.numbers import FINITE, parse_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from metrics._base import FloatArray, IntArray

_COMPRESSED = (".gz", ".xz", ".zst")
_MOST_DIGITS = 7
"""Of a segment: a slip must not ask for a table of all memory."""
_MOST_CELLS, _SPARSEST = 10_000_000, 50
"""A table of systems and segments may be so large, or so often as large as there are scores."""


@dataclass(frozen=True, eq=False)
class HumanScores:
    """Holds what people thought of M systems' translations of S segments.

    Parameters
    ----------
    path : Path
        Where they were read; begins messages.
    systems : tuple of str
        M names, in the order of the file.
    scores : (S, M) float64
        Higher is better; NaN where a segment was not judged.
    documents : (S,) int64 or None
        Which of `document_names` a segment belongs to, -1 where no line says it; None: not known.
    document_names : tuple of str
        In the order of the file.
    """

    path: Path
    systems: tuple[str, ...]
    scores: FloatArray
    documents: IntArray | None
    document_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def complete(self) -> IntArray:
        """Segments on which every system has a score, rising."""
        return np.flatnonzero(~np.isnan(self.scores).any(axis=1)).astype(np.int64)

    def negated(self) -> HumanScores:
        """Return the scores of penalties: of these lower is better."""
        return replace(self, scores=-self.scores)

    def of_systems(self, names: Sequence[str]) -> HumanScores:
        """Return the scores of some systems, in the order given.

        Raises
        ------
        InputError
            A system without scores, or named twice.
        """
        for position, name in enumerate(names):
            if name not in self.systems:
                raise InputError(
                    f"{self.path}: no score of system '{name}'{suggest(name, self.systems)}"
                )
            if name in names[:position]:
                raise InputError(f"system '{name}' is named twice")
        columns = [self.systems.index(name) for name in names]
        return replace(self, systems=tuple(names), scores=self.scores[:, columns])

    def of_length(self, segments: int, *, origin: Path | str) -> HumanScores:
        """Return the scores as those of a test set of so many segments.

        Parameters
        ----------
        segments
            Lines of the file `origin`.
        origin
            Goes into the message.

        Raises
        ------
        InputError
            A score is of a segment that the test set lacks.
        """
        if len(self) > segments:
            raise InputError(
                f"{self.path}: a score of segment {len(self) - 1} (counted from 0), but {origin} "
                f"has {segments} lines; are both of the same test set?"
            )
        more = segments - len(self)
        documents = self.documents
        return replace(
            self,
            scores=np.pad(self.scores, ((0, more), (0, 0)), constant_values=np.nan),
            documents=None
            if documents is None
            else np.pad(documents, (0, more), mode="constant", constant_values=-1),
        )


def read_human_scores(path: Path) -> HumanScores:
    """Read a table of human scores.

    Raises
    ------
    InputError
        A column is missing; a score is no finite number; a segment is no number, has two scores of
        one system, or is in two documents. Each message names the line.
    """
    lines = read_lines(path)
    if len(lines) < 2:
        raise InputError(f"{path}: {len(lines)} lines; expected a line of column names and scores")
    names = lines[0].removeprefix("\ufeff").split("\t")
    for needed in ("system", "segment", "score"):
        if names.count(needed) != 1:
            raise InputError(
                f"{path}:1: {'no' if needed not in names else 'more than one'} column '{needed}'; "
                f"expected columns system, segment, score and maybe document, tabs between them"
            )
    where: dict[tuple[str, int], int] = {}
    scores: dict[tuple[str, int], float] = {}
    documents: dict[int, tuple[str, int]] = {}
    for number, line in enumerate(lines[1:], 2):
        fields = line.split("\t")
        if len(fields) != len(names):
            raise InputError(
                f"{path}:{number}: {len(fields)} columns, the first line names {len(names)}"
            )
        row = dict(zip(names, fields, strict=True))
        key = row["system"], _segment(row["segment"], path, number)
        if key in where:
            raise InputError(
                f"{path}:{number}: system '{key[0]}' has a score of segment {key[1]} in line "
                f"{where[key]} already"
            )
        where[key] = number
        scores[key] = _score(row["score"], path, number)
        if "document" in row:
            name, first = documents.setdefault(key[1], (row["document"], number))
            if name != row["document"]:
                raise InputError(
                    f"{path}:{number}: segment {key[1]} is in document '{row['document']}', but "
                    f"line {first} has it in '{name}'"
                )
    return _arrays(path, scores, documents if "document" in names else None)


def _segment(text: str, path: Path, number: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise InputError(
            f"{path}:{number}: segment is '{text}'; expected a line number counted from 0, of at "
            f"most {_MOST_DIGITS} digits"
        )
    return int(text)


def _score(text: str, path: Path, number: int) -> float:
    value = parse_number(text.strip())
    if value is None or not math.isfinite(value):
        raise InputError(
            f"{path}:{number}: score is '{text}'; expected a number, {FINITE} (leave the line "
            f"out if the segment was not judged)"
        )
    return value


def _arrays(
    path: Path,
    scores: Mapping[tuple[str, int], float],
    documents: Mapping[int, tuple[str, int]] | None,
) -> HumanScores:
    systems = tuple(dict.fromkeys(system for system, _ in scores))
    column = {name: number for number, name in enumerate(systems)}
    rows = np.array([segment for _, segment in scores], dtype=np.int64)
    count = int(rows.max()) + 1
    if count * len(systems) > max(_MOST_CELLS, _SPARSEST * len(scores)):
        raise InputError(
            f"{path}: {len(scores)} scores of {len(systems)} systems, but one is of segment "
            f"{count - 1}; is that number a slip?"
        )
    table = np.full((count, len(systems)), np.nan)
    table[rows, [column[system] for system, _ in scores]] = list(scores.values())
    if documents is None:
        return HumanScores(path, systems, table, None, ())
    names = tuple(dict.fromkeys(name for name, _ in documents.values()))
    number_of = {name: number for number, name in enumerate(names)}
    document = np.full(count, -1, dtype=np.int64)
    document[list(documents)] = [number_of[name] for name, _ in documents.values()]
    return HumanScores(path, systems, table, document, names)


def find_outputs(folder: Path, systems: Sequence[str], *, others: bool = False) -> dict[str, Path]:
    """Return the output file of each system: `SYSTEM`, or `SYSTEM.` and one more suffix.

    Parameters
    ----------
    folder
        Its hidden files and folders are not looked at.
    systems
        In the order of the result.
    others
        Whether the folder may have outputs of other systems too.

    Raises
    ------
    InputError
        A system without an output or with two, or an output of another system.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; expected a folder of files SYSTEM.en")
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or not path.is_file():
            continue
        name = _system_of(path, systems)
        if name in found:
            raise InputError(
                f"{folder}: two outputs of system '{name}': {found[name].name} and {path.name}; "
                f"leave one"
            )
        if name not in systems and not others:
            raise InputError(
                f"{path}: system '{name}' has no human scores; take the file away, or name the "
                f"systems to compare (--system)"
            )
        found[name] = path
    for name in systems:
        if name not in found:
            raise InputError(
                f"{folder}: no output of system '{name}', which has human scores; add the file, "
                f"or name the systems to compare (--system)"
            )
    return {name: found[name] for name in systems}


def _system_of(path: Path, systems: Sequence[str]) -> str:
    name = path.name
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    return name if name in systems else name.rpartition(".")[0] or name
