"""The base class of aligners, and Pharaoh lines (`0-0 1-2`)."""

import operator
import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from portmert.tuner.base.components import Check, Component, Refuse, described
from portmert.tuner.base.errors import InputError, counted
from portmert.tuner.base.warn import warn

LEAST_PAIRS = 3
"""Pairs of links without a 0 that raise a doubt."""
SUBTRACT = "portmert counts words from 0; subtract 1 from every position"
"""What to do about links that count from 1."""

_A3 = re.compile(r"# Sentence pair \(([0-9]+)\)")
_A3_WORD = re.compile(r"\S+ \(\{((?: [1-9][0-9]*)*) \}\)")

Links = list[tuple[int, int]]
"""(source position, target position), 0-based, sorted, each once."""


def _checked_links(
    refuse: Refuse, answer: object, *, source: Sequence[str], target: Sequence[str], workdir: Path
) -> list[Links]:
    """Return the links of each pair, sorted, each once; refuse an answer that has none."""
    del workdir
    expected = f"the links of {counted(len(source), 'pair')}: a list of (source, target) for each"
    rows = list(answer) if isinstance(answer, Iterable) else refuse(described(answer), expected)
    if len(rows) != len(source):
        refuse(f"{described(answer)} with {counted(len(rows), 'entry')}", expected)
    checked = []
    for number, (row, *sides) in enumerate(zip(rows, source, target, strict=True), 1):
        try:
            links = sorted({(operator.index(i), operator.index(j)) for i, j in row})
        except (TypeError, ValueError):
            refuse(f"{described(row)} for pair {number}", expected)
        lengths = [len(tokens(side)) for side in sides]
        for link in links:
            if not all(0 <= at < length for at, length in zip(link, lengths, strict=True)):
                refuse(
                    f"link {format_links([link])} for pair {number}, of {lengths[0]} and "
                    f"{counted(lengths[1], 'token')}",
                    "positions from 0",
                )
        checked.append(links)
    return checked


@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Aligner(Component):
    """Links the words of sentence pairs; its fields are the keys of the [aligner] table.

    A subclass is a frozen pydantic dataclass in a file of the aligner's name.
    """

    _family: ClassVar[str] = "aligner"
    _checks: ClassVar[Mapping[str, Check]] = {"align": _checked_links}

    @abstractmethod
    def align(self, *, source: Sequence[str], target: Sequence[str], workdir: Path) -> list[Links]:
        """Align line n of `source` with line n of `target` (tokens separated by spaces).

        Models and logs are kept in `workdir`. A later call with the same `workdir` uses the model
        that is there. A pair with an empty side has no links.

        Raises
        ------
        PortmertError
            A file, an option or an outside program is at fault.
        ValueError
            `source` and `target` differ in length.
        """


def tokens(line: str) -> list[str]:
    """Split a line at ASCII white space only.

    A no-break or ideographic space stays inside its token, as it does in n-best lists and in the
    tools that write them: `str.split` would make other positions of the same line.
    """
    return [token.decode("utf-8") for token in line.encode("utf-8").split()]


def parse_links(line: str, *, origin: str = "links") -> Links:
    """Read one Pharaoh line; the links come back sorted and each once.

    Raises
    ------
    InputError
        An entry is not `source-target`, two whole numbers from 0; `origin` begins the message.
    """
    links = set()
    for entry in line.split():
        left, dash, right = entry.partition("-")
        if not (dash and _is_number(left) and _is_number(right)):
            raise InputError(
                f"{origin}: found '{entry}', expected source-target positions such as 0-0"
            )
        links.add((int(left), int(right)))
    return sorted(links)


def link_lines(lines: Sequence[str], *, origin: str) -> Sequence[str]:
    """Return Pharaoh lines for the lines of a file of links.

    GIZA++'s A3 files have three lines for a pair; links go from the words with brackets, which
    it calls the source, to those of the line above. In symal's longer output the links stand
    behind the sentences and `{##}`.

    Raises
    ------
    InputError
        An A3 file is cut off, or a pair is not the next one.
    """
    if not has_a3(lines):
        return [line.rpartition("{##}")[2].strip() if "{##}" in line else line for line in lines]
    pharaoh = []
    for start in range(0, len(lines), 3):
        place, pair = start // 3 + 1, a3_pair(lines[start : start + 3])
        if pair is None or pair[0] != place:
            raise InputError(
                f"{origin}:{start + 1}: expected pair {place} of GIZA++: '# Sentence pair "
                f"({place}) ...', the target, and 'NULL ({{ ... }}) word ({{ 1 ... }}) ...'"
            )
        pharaoh.append(format_links(pair[2]))
    return pharaoh


def has_a3(lines: Sequence[str]) -> bool:
    """Return whether lines are those of an A3 file of GIZA++."""
    return bool(lines) and _A3.match(lines[0]) is not None


def a3_pair(lines: Sequence[str]) -> tuple[int, int, Links] | None:
    """Return number, count of source words and links of a pair in an A3 file; None if damaged."""
    header = _A3.match(lines[0])
    words = _A3_WORD.findall("".join(lines[2:3]))
    if header is None or not words:
        return None
    del words[0]  # the empty word
    links = [(i, int(j) - 1) for i, places in enumerate(words) for j in places.split()]
    return int(header[1]), len(words), links


def counts_from_one(links: ArrayLike, pairs: int) -> bool:
    """Return whether links seem to count from 1: in several pairs no word is the first one.

    Parameters
    ----------
    links : (V, 2) integer
        The links of a whole text.
    pairs
        The number of sentence pairs that have links.
    """
    return pairs >= LEAST_PAIRS and bool(np.asarray(links).min(initial=1) > 0)


def warn_of_base(links: ArrayLike, pairs: int, *, origin: object, advice: str = SUBTRACT) -> None:
    """Warn of links that seem to count from 1, see `counts_from_one`; `origin` names them."""
    if counts_from_one(links, pairs):
        warn(f"{origin}: no link has a 0: do its positions count from 1? {advice}")


def format_links(links: Iterable[tuple[int, int]]) -> str:
    """Return links as one Pharaoh line without its end."""
    return " ".join(f"{source}-{target}" for source, target in links)


def _is_number(text: str) -> bool:
    # str.isdigit alone accepts superscripts, which int refuses.
    return text.isascii() and text.isdigit() and len(text) < 10
