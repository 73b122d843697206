"""Word links: made, and compared with links made by hand."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from portmert.aligners._agreement import GOLD, Agreement, agreement, pair_lines, parse_gold
from portmert.aligners._base import SUBTRACT, Aligner, Links, link_lines, parse_links, warn_of_base

from ..base.arguments import checked
from ..base.errors import InputError, counted
from ..base.files import Lines, TextFile, called, read_lines
from ..components import registry
from ..texts import joining
from ..texts.forms import LinesById
from .texts import TextLike, text_file


@checked
def align(
    source: TextLike,
    target: TextLike,
    *,
    aligner: str | Aligner = "thot",
    options: Mapping[str, object] | None = None,
) -> list[Links]:
    """Align the words of a text and its translation.

    Parameters
    ----------
    source
        Tokenised source text, one segment a line; in Python a list of lines too.
    target
        Its tokenised translation, line by line.
    aligner : NAME
        The aligner; `portmert components aligner` lists all. In Python also an object.
    options
        Options of the aligner, as `{"model": "ibm4"}`.

    Returns
    -------
    list of list of (int, int)
        The links of each pair, source and target positions counted from 0.

    Raises
    ------
    PortmertError
        The texts differ in length, or the aligner is missing or fails.

    Examples
    --------
    >>> import portmert
    >>> portmert.align(["das haus", "das buch"] * 9, ["the house", "the book"] * 9)[:2]
    [[(0, 0), (1, 1)], [(0, 0), (1, 1)]]
    """
    if isinstance(aligner, str):
        aligner = registry.aligner(aligner, options or {})
    files = text_file(source, "the source"), text_file(target, "the target")
    lines = tuple(map(read_lines, joining.joined(files)[0]))
    if len(lines[0]) != len(lines[1]):
        raise InputError(
            f"{files[1]}: {counted(len(lines[1]), 'line')}, {files[0]} has {len(lines[0])}"
        )
    workdir = Path(tempfile.mkdtemp(prefix="portmert-align-"))
    try:
        return aligner.align(source=lines[0], target=lines[1], workdir=workdir)
    finally:  # the folder goes, unless there is a log to read in it
        if not any(workdir.glob("*.log")):
            shutil.rmtree(workdir, ignore_errors=True)


@checked
def check_links(links: TextLike, gold: TextLike, *, gold_base: Literal[0, 1] = 0) -> Agreement:
    """Return how well links agree with links made by hand: `0-0` is sure, `0?0` possible.

    Parameters
    ----------
    links : LINKS
        Compare these links with the links of `gold`. They count from 0.
    gold
        Links made by hand; 0-0 is a sure link, 0?0 or 0p0 a possible one. Lines may begin with an
        id and a tab; WPT's lines (1 3 2 S) count from 1 without being told.
    gold_base
        Number of the first word in `gold`; many files made by hand count from 1.

    Raises
    ------
    InputError
        A line is none of links, or one side has more lines.
    """
    files = _joined(text_file(links, "the links"), text_file(gold, "the gold links"), gold_base)
    rows = [parse_links(line, origin=f"{files[0]}:{n}") for n, line in _numbered(files[0])]
    marks = [
        parse_gold(line, origin=f"{files[1]}:{n}", base=gold_base)
        for n, line in _numbered(files[1])
    ]
    of_gold = [sorted(mark.possible) for mark in marks] if gold_base == 0 else []
    sides = (files[1], of_gold, "--gold-base 1 says so"), (files[0], rows, SUBTRACT)
    for file, links_of_pairs, advice in sides:
        flat = [link for row in links_of_pairs for link in row]
        warn_of_base(flat, sum(map(bool, links_of_pairs)), origin=file, advice=advice)
    if len(rows) != len(marks):
        raise InputError(f"{files[0]}: {counted(len(rows), 'line')}, {files[1]} has {len(marks)}")
    if not rows:
        raise InputError(
            f"{files[0]} and {files[1]}: no line; expected one of links for each pair"
        )
    return agreement(rows, marks)


def _joined(links: TextFile, gold: TextFile, base: int) -> Sequence[TextFile]:
    """Return both in one order, by ids, also those before tabs, and WPT's files as lines."""
    texts: list[TextFile] = []
    for file, first in ((joining.opened(links), 0), (joining.opened(gold), base)):
        lines = pair_lines(read_lines(file), base=first)
        pairs = [line.split("\t", 1) for line in lines]
        has_ids = bool(lines) and all(
            len(pair) == 2 and GOLD.match(pair[0]) is None for pair in pairs
        )
        texts.append(
            LinesById(called(file), (pair[1] for pair in pairs), (pair[0] for pair in pairs))
            if has_ids
            else file
            if isinstance(file, LinesById)
            else Lines(called(file), lines)
        )
    return joining.joined(texts)[0]


def _numbered(file: TextFile) -> list[tuple[int, str]]:
    return list(enumerate(link_lines(read_lines(file), origin=str(file)), 1))
