"""Aligns the words of texts, and compares links with those made by hand."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from portmert.aligners._agreement import Agreement, agreement, parse_gold
from portmert.aligners._base import Aligner, Links, format_links, parse_links
from portmert.tuner.api.texts import TextLike, text_file
from portmert.tuner.components import registry
from portmert.tuner.ground.errors import InputError, counted
from portmert.tuner.ground.files import TextFile, read_lines

__all__ = ["align", "check_links", "format_links"]


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
    source, target
        Each the name of a file of tokenised text or a list of lines.
    aligner, options
        By its name and options, as `"thot"` and `{"model": "ibm4"}`, or itself.

    Returns
    -------
    list of list of (int, int)
        The links of each pair, source and target positions counted from 0.

    Raises
    ------
    PortmertError
        Texts of different lengths, or an aligner that is not there or failed.

    Examples
    --------
    >>> import portmert
    >>> portmert.align(["das haus", "das buch"] * 9, ["the house", "the book"] * 9)[:2]
    [[(0, 0), (1, 1)], [(0, 0), (1, 1)]]
    """
    if isinstance(aligner, str):
        aligner = registry.aligner(aligner, options or {})
    files = text_file(source, "the source"), text_file(target, "the target")
    lines = read_lines(files[0]), read_lines(files[1])
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


def check_links(links: TextLike, gold: TextLike) -> Agreement:
    """Return how well links agree with those made by hand, `0-0` sure and `0?0` possible."""
    files = text_file(links, "the links"), text_file(gold, "the gold links")
    rows = [parse_links(line, origin=f"{files[0]}:{n}") for n, line in _numbered(files[0])]
    marks = [parse_gold(line, origin=f"{files[1]}:{n}") for n, line in _numbered(files[1])]
    if len(rows) != len(marks):
        raise InputError(f"{files[0]}: {counted(len(rows), 'line')}, {files[1]} has {len(marks)}")
    if not rows:
        raise InputError(
            f"{files[0]} and {files[1]}: no line; expected one of links for each pair"
        )
    return agreement(rows, marks)


def _numbered(file: TextFile) -> list[tuple[int, str]]:
    return list(enumerate(read_lines(file), 1))
