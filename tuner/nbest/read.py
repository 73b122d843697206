"""Reads n-best lists of any format and merges them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from portmert.metrics._base import Vocabulary
from portmert.tuner.ground.errors import InputError
from portmert.tuner.nbest.merge import Merger
from portmert.tuner.nbest.model import NBest
from portmert.tuner.nbest.readers._base import ListFile, Reader, read_list
from portmert.tuner.nbest.readers.moses import Moses
from portmert.tuner.nbest.segment_names import SegmentNames


def read_nbest(
    paths: Sequence[Path | str | ListFile],
    vocabulary: Vocabulary,
    *,
    segments: int | None = None,
    notice: Callable[[str], None] | None = None,
    reader: Reader | None = None,
    names: SegmentNames | None = None,
) -> NBest:
    """Read n-best lists and merge them: of equal hypotheses of a segment the first stays.

    Two are equal if tokens, feature values and links are the same. Files are read one after the
    other, so that no more than one is in memory as text. Features are matched by name; columns
    stand in the order of the first line. A feature that every hypothesis has, always with the
    same number of values, is dense; one that some lack is sparse and must have `_` in its name
    (Moses' rule for sparse names) and one value.

    Parameters
    ----------
    paths
        Plain, .gz, .xz or .zst; `-` is stdin; or files in memory.
    vocabulary : Vocabulary
        Gets the tokens that are new.
    segments : int, optional
        Number of segments S of the references; every id must be in 0..S-1. Absent: one more than
        the largest id. Either way each segment needs a hypothesis.
    notice : callable, optional
        Called with one line for what is accepted but worth knowing.
    reader : Reader, optional
        Of the lists' format, each list is then described by a notice. Absent: Moses lists.
    names : SegmentNames, optional
        Knows the ids of the references, where these have ids.

    Raises
    ------
    InputError
        A file is not what it should be; the message says where.
    """
    if not paths:
        raise ValueError("no n-best list given")
    say = notice or (lambda _: None)
    chosen = reader or Moses()
    if chosen.one_file and len(paths) > 1:
        raise InputError(
            f"{len(paths)} n-best lists, but the files of scores belong to one; put the scores "
            f"into the lists, as columns behind a tab"
        )
    merger = Merger(say)
    names = SegmentNames() if names is None else names
    for path in paths:
        names.asked = 0
        file = path if isinstance(path, ListFile) else read_list(path)
        file = replace(file, names=names)
        now = chosen.detect(file)
        new = now.read(file, vocabulary, segments, say)
        if names.ids and not names.asked:
            raise InputError(
                f"{file.where}: its segments are numbers, those of another list are names"
            )
        if reader is not None:
            prefix = f"{file.where}: " if len(paths) > 1 else ""
            say(prefix + now.describe(new))
        merger.add(new)
    return merger.finish(vocabulary, segments, from_files=True, ids=names.ids)


def read_first_hypotheses(path: Path, vocabulary: Vocabulary, *, segments: int) -> NBest:
    """Read a Moses list's first hypothesis of each segment: the decoder's own output.

    The others are not parsed.

    Raises
    ------
    InputError
        As `read_nbest`.
    """
    file = read_list(path)
    firsts: dict[bytes, bytes] = {}
    for line in file.byte_lines:
        firsts.setdefault(line.partition(b"|||")[0].strip(), line)
    data = b"".join(line + b"\n" for line in firsts.values())
    merger = Merger()
    lines = ListFile(file.where, data)
    merger.add(Moses().read(lines, vocabulary, segments, notice=lambda _: None))
    return merger.finish(vocabulary, segments, from_files=True)
