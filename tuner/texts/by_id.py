"""Reads texts whose lines begin with the id of their segment, as Kaldi's `text` files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from portmert.tuner.ground.errors import InputError
from portmert.tuner.ground.files import Lines, TextFile, called, read_lines


class LinesById(Lines):
    """Holds the lines of a text behind their ids, and the ids."""

    ids: tuple[str, ...]

    def __new__(cls, name: str, lines: Iterable[str], ids: Iterable[str] = ()) -> Self:
        """Keep lines and ids, one for each."""
        found = super().__new__(cls, name, lines)
        found.ids = tuple(ids)
        return found


def read_by_id(path: TextFile, like: LinesById | None = None) -> LinesById:
    """Read a text with ids, in its own order or in that of another text.

    Raises
    ------
    InputError
        A line has no id, an id stands twice, or is not in both texts.
    """
    where = called(path)
    known: dict[str, str] = {}
    places: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), 1):
        words = line.removeprefix("\ufeff").split(maxsplit=1)
        if not words:
            raise InputError(f"{where}:{number}: a blank line, expected an id and a text")
        if words[0] in known:
            raise InputError(
                f"{where}:{number}: id '{words[0]}' stands twice, first in line {places[words[0]]}"
            )
        known[words[0]] = words[1] if len(words) > 1 else ""
        places[words[0]] = number
    if not known:
        raise InputError(f"{where}: the file is empty; expected an id and a text a line")
    if like is None:
        return LinesById(where, known.values(), known)
    ids = frozenset(like.ids)
    for name in known:
        if name not in ids:
            raise InputError(f"{where}:{places[name]}: id '{name}' is not in {like}")
    for name in like.ids:
        if name not in known:
            raise InputError(f"{where}: no line for id '{name}' of {like}")
    return LinesById(where, (known[name] for name in like.ids), like.ids)
