"""The texts of an experiment in columns of files: joined by ids, and written into its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..base.errors import InputError
from ..base.files import read_lines, text_digest, write_text
from ..base.options import file_key
from ..texts import joining


class SetOfTexts(NamedTuple):
    """The files of a set of texts, as [data] names them."""

    source: Path
    references: tuple[Path, ...]
    links: tuple[Path, ...]


@dataclass(frozen=True)
class JoinedTexts:
    """Texts that a run writes into its folder before anything reads them.

    Parameters
    ----------
    texts
        The file of each text, and what it will hold.
    left_out
        The ids of segments that lack a text, for each set of texts.
    """

    texts: Mapping[Path, str] = field(default_factory=dict)
    left_out: Sequence[tuple[str, ...]] = ()

    def content(self, value: object) -> object:
        """Return a file, or files, as the hash of what they will hold; others as they are."""
        if isinstance(value, tuple):
            return tuple(map(self.content, value))
        is_joined = isinstance(value, Path) and value in self.texts
        return text_digest(self.texts[value]) if is_joined else value  # type: ignore[index]

    def write(self) -> None:
        """Write the files that are not there."""
        for path, text in self.texts.items():
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                write_text(path, text)

    def warn(self) -> None:
        """Say which segments are left out."""
        for ids in self.left_out:
            joining.warn_left_out(ids, "a text")


def joined_set(files: SetOfTexts, folder: Path, prefix: str, *, drop: bool) -> JoinedTexts | None:
    """Return the texts of a set, of the same segments in the order of the source.

    Parameters
    ----------
    folder, prefix
        The folder of the texts, and the prefix of the names of their files.
    drop
        Whether to leave out segments that are not in all texts.

    Returns
    -------
    JoinedTexts or None
        The source, the references and the links in this order; None for texts without ids.

    Raises
    ------
    InputError
        Texts cannot be joined, see `portmert.tuner.texts.joining.joined`.
    """
    files_of_set = [files.source, *files.references, *files.links]
    gold = next(filter(joining.is_gold, files_of_set), None)
    if gold is not None:
        if not drop and all(file_key(path)[1] is None for path in files_of_set):
            return None
        raise InputError(f"{gold}: the edits of an M2 file have no ids; give plain texts")
    texts, ids, left_out = joining.joined(files_of_set, drop=drop)
    if ids is None:
        return None
    kinds = ("source", *("reference" for _ in files.references), *("links" for _ in files.links))
    text_of_file = {
        folder / f"{prefix}{kind}-{number}": "".join(f"{line}\n" for line in read_lines(text))
        for number, (kind, text) in enumerate(zip(kinds, texts, strict=True))
    }
    return JoinedTexts(text_of_file, [left_out] if left_out else [])
