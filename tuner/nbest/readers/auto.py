"""Find the format that the first lines of a list show."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

from pydantic.dataclasses import dataclass

from ...base.errors import ConfigError, InputError, shown
from ...families import component, fault_of, names
from ..records import ListFile
from ._base import Reader
from .moses import MosesReader

_FLAT = "--nbest-format flat:n=N"
_KINDS = {
    "i": re.compile(r"[0-9]+"),
    "n": re.compile(r"-?[0-9]+\.[0-9]+(?:e-?[0-9]+)?"),
    "l": re.compile(r"[0-9]+-[0-9]+(?: [0-9]+-[0-9]+)*"),
    "w": re.compile(r"WordScores=.*"),
    "f": re.compile(r"(?:\S+(?:=|: )-?[0-9.]+(?:e-?[0-9]+)?(?: |$))+"),
    "z": re.compile(r"[0-9]+ [0-9]+"),
}
"""Kinds of fields: id, number, links, word scores, features, sizes; any other is text, t."""
_ADVICE = {
    r"i\|.\|n\|.\|z": ("an attention file of OpenNMT or Nematus", "the n-best list or the log"),
    r"n\|.\|f": ("Joshua", f"{_FLAT},fields=-+text+features"),
    r"[^i]\|f\|n": ("Joshua", f"{_FLAT},fields=text+features+-"),
    r"i\|.\|f": ("Phrasal", "--nbest-format flat:fields=id+text+features"),
    r"n\|.\|.": ("OpenNMT-tf", f"{_FLAT},fields=score+text+links"),
    r"n\|.": ("OpenNMT-tf or CTranslate2", f"{_FLAT},fields=score+text"),
    r".\|l\tn": ("OpenNMT-py", f"{_FLAT},fields=text+links+score"),
    r".(?:\|l)?\|w": ("Marian without --n-best", "an n-best list"),
    r"[^i]\|l": ("OpenNMT-py", f"{_FLAT},fields=text+links"),
    r"n\t.\t.": ("Sockeye", f"{_FLAT},fields=score+-+text"),
    r"n\t.": ("Sockeye", f"{_FLAT},fields=score+text"),
    r".\tn": ("OpenNMT-py or NeMo", f"{_FLAT},names=score"),
}
"""Kinds of the first line's fields, with `|` for `|||`: whose it may be, and what to give."""


def _advice(head: Sequence[str]) -> str:
    """Return whose list the first line looks like and what to give; nothing where unknown."""
    kinds = ""
    for part in re.split(r"(\t| \|\|\|(?= |$))", head[0], maxsplit=5):
        field = part.strip(" ")
        kind = next((kind for kind, form in _KINDS.items() if form.fullmatch(field)), "t")
        kinds += {"\t": "\t", "|||": "|"}.get(field, kind)
    for pattern, (writer, todo) in _ADVICE.items():
        if re.fullmatch(pattern, kinds):
            return f"it looks like {writer}; give {todo}"
    return ""


@lru_cache(maxsize=16)
def _formats_of(head: tuple[str, ...], names: tuple[str, ...]) -> tuple[list[type[Reader]], str]:
    """Return the formats that first lines fit, and what is wrong with readers of other packages.

    Lists whose first lines were seen before are not looked at again.
    """
    formats: list[type[Reader]] = []
    unusable = ""
    for name in names:
        try:
            cls = component("reader", name)
            if cls.recognises(head):
                formats.append(cls)
        except Exception as error:
            fault = str(error) if isinstance(error, ConfigError) else fault_of(error)
            if fault is None:  # not of another package
                raise
            unusable += f"; {fault}"
    return formats, unusable


@dataclass(frozen=True)
class Auto(Reader):
    """Guess the format from the first lines and read it; `flat` cannot be guessed."""

    title: ClassVar[str] = "automatic"

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:  # noqa: ARG003  it is none itself
        """Never."""
        return False

    def detect(self, file: ListFile) -> Reader:
        """Return the reader of this file.

        Raises
        ------
        InputError
            No format, or more than one, fits the first lines.
        """
        if not file.head:
            raise InputError(f"{file.where}: blank lines only, expected an n-best list")
        formats, unusable = _formats_of(tuple(file.head), tuple(names("reader")))
        if len(formats) == 1:
            return formats[0]()
        if formats:
            raise InputError(
                f"{file.where}: the first lines fit the formats "
                f"{' and '.join(cls.name() for cls in formats)}; name one by --nbest-format"
            )
        advice = _advice(file.head)
        if "|||" in file.head[0] and not advice:
            return MosesReader()  # whose messages say what is wrong
        raise InputError(
            f"{file.where}: the first lines (`{shown(file.head[0])}`) fit no format of n-best "
            f"lists that is recognised; "
            f"{advice or 'name it by --nbest-format (plain hypotheses are flat:n=N)'}{unusable}"
        )
