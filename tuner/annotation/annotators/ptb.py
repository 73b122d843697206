"""Constituency parses made elsewhere, in brackets: trees, or n-best lists of them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple

from annotated_types import Gt
from pydantic.dataclasses import dataclass

from ...base.errors import InputError, counted, faults_at
from ...base.files import read_lines
from ...texts.annotator import Annotation, AnnotationRequest, Layer
from . import _conllu, _lookup, _trees
from ._lookup import FileAnnotator
from ._trees import Tree

_HEADER = re.compile(r"([0-9]{1,9})[ \t]+([^(].*)")


@dataclass(frozen=True)
class Ptb(FileAnnotator):
    """Looks sentences up in files of bracketed trees by their tokens.

    A file has one tree a line, or the output of Charniak's parser (BLLIP) with -N: `N name`, then
    N times a line with the score of a parse and a line with its tree. A tree may continue on
    indented lines; blank lines are ignored. The treebank's spelling of brackets and quotes
    (-LRB-, ``) equals plain ones in the text. Traces and wrappers (S1, TOP) are dropped. If a
    sentence occurs twice, the first one counts.

    Parameters
    ----------
    log_base : number above 1
        Scores of parses are logarithms to this base. Charniak's parser uses 2.
    """

    log_base: Annotated[float, Gt(1)] = 2.0

    gives: ClassVar[frozenset[Layer]] = frozenset({"tags", "tree", "parses"})
    version: ClassVar[int] = 1

    def read(self) -> Mapping[str, Sequence[_Parse]]:
        """Read the sentences of the files, by the key of each."""
        entries: dict[str, tuple[_Parse, ...]] = {}
        for path in self.files:
            lines = _joined(read_lines(path))
            if not lines:
                raise InputError(f"{path}: the file is empty; expected bracketed trees")
            place = 0
            while place < len(lines):
                number, line = lines[place]
                header = _HEADER.fullmatch(line.strip())
                if header is None:
                    tree = _tree(path, number, line)
                    entries.setdefault(_lookup.key(tree.tokens), (_Parse(0.0, str(tree)),))
                    place += 1
                    continue
                count = int(header[1])
                rows = lines[place + 1 : place + 1 + 2 * count]
                if count:  # else the parser failed, and the sentence is missing
                    key, parses = _list(path, number, count, rows)
                    entries.setdefault(key, parses)
                place += 1 + 2 * count
        return entries

    def annotation_of(
        self, entry: Sequence[_Parse], request: AnnotationRequest
    ) -> Annotation | None:
        """Return what is asked for."""
        layers, unit = request.layers, math.log(self.log_base)
        best = _trees.parse(entry[0].tree)
        best_parses = entry[: request.parses] if "parses" in layers else ()
        return Annotation(
            tags=tuple(best.tags) if "tags" in layers else (),
            tree=entry[0].tree if "tree" in layers else "",
            parses=tuple(
                (parse.score * unit, _trees.dependencies(_trees.parse(parse.tree)))
                for parse in best_parses
            ),
        )


class _Parse(NamedTuple):
    score: float
    tree: str


def _joined(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return lines with their numbers, from 1; the lines of one tree are joined."""
    joined: list[tuple[int, list[str]]] = []
    still_open = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if still_open <= 0 or not line[0].isspace():
            joined.append((number, []))
            still_open = 0
        joined[-1][1].append(line)
        still_open += line.count("(") - line.count(")")
    return [(number, " ".join(parts)) for number, parts in joined]


def _list(
    path: Path, header: int, count: int, rows: Sequence[tuple[int, str]]
) -> tuple[str, tuple[_Parse, ...]]:
    """Return the key and the parses, best first, of an n-best list."""
    parses, keys = [], []
    for k in range(count):
        if 2 * k + 1 >= len(rows):
            raise InputError(
                f"{path}:{header}: {counted(count, 'parse')} announced, the file ends after {k}; "
                f"is it cut off?"
            )
        (score_line, score), (tree_line, line) = rows[2 * k], rows[2 * k + 1]
        with faults_at(f"{path}:{score_line}", ValueError, InputError):
            value = _conllu.finite(score.strip(), "the score of a parse")
        tree = _tree(path, tree_line, line)
        keys.append(_lookup.key(tree.tokens))
        if keys[-1] != keys[0]:
            raise InputError(
                f"{path}:{tree_line}: other tokens than the first parse of the list of line "
                f"{header}"
            )
        parses.append(_Parse(value, str(tree)))
    return keys[0], tuple(sorted(parses, key=lambda parse: -parse.score))


def _tree(path: Path, number: int, line: str) -> Tree:
    try:
        return _trees.parse(line)
    except ValueError as error:
        raise InputError(
            f"{path}:{number}: {error} (a tree goes on only in lines that are indented)"
        ) from None
