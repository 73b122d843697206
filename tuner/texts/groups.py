"""Reads which segments belong together: to a document, a speaker, a family of prompts.

They are read from columns, SGML, STM and Kaldi's utt2spk. Segments of one group are not
independent, so tests draw and exchange whole groups (evaluation/significance.py); how alike they
are is computed in evaluation/standard_errors.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from portmert.metrics._base import FloatArray, IntArray

from ..base import options
from ..base.columns import column_of
from ..base.errors import InputError, counted, faults_at, shown
from ..base.files import Lines, TextFile, TextLike, called, each_line
from ..base.markup import SGML, sgml_in_documents
from .forms import LinesById, read_form
from .joining import BYTE_ORDER_MARK, positions

UTT2SPK = "utt2spk"
"""Kaldi's file of a word for the utterance and one for its speaker in each line."""


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each of S segments.

    Parameters
    ----------
    names : tuple of str
        G names, in the order in which the groups first appear.
    of_segment : (S,) int64
        The number of each segment's group; -1 if it is not known.
    where : str
        The file that says so.
    """

    names: tuple[str, ...]
    of_segment: IntArray
    where: str

    @classmethod
    def of(cls, labels: Iterable[str], where: str) -> Groups:
        """Return the groups of segments with these labels, one for each segment."""
        return cls(*numbered(labels), where)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def sizes(self) -> IntArray:
        """(G,) the number of segments in each group."""
        return np.bincount(self.of_segment, minlength=len(self))

    def of_segments(self, places: IntArray) -> Groups:
        """Return the groups of some segments."""
        return Groups.of([(*self.names, "")[k] for k in self.of_segment[places]], self.where)

    def summed(self, stats: FloatArray, axis: int = -2) -> FloatArray:
        """Return (..., G, K): statistics (..., S, K) summed over the segments of each group."""
        order = np.argsort(self.of_segment, kind="stable")
        starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        return np.asarray(np.add.reduceat(np.take(stats, order, axis), starts, axis))


def numbered(labels: Iterable[str]) -> tuple[tuple[str, ...], IntArray]:
    """Return distinct labels in their order, and the number of each label among these."""
    numbers: dict[str, int] = {}
    of_labels = [numbers.setdefault(label, len(numbers)) for label in labels]
    return tuple(numbers), np.array(of_labels, dtype=np.int64)


def group_by_id(ids: Iterable[str], labels: Iterable[str], where: str) -> dict[str, str]:
    """Return the group of each segment by its id; ids may stand twice.

    Raises
    ------
    InputError
        A segment is in two groups.
    """
    by_id: dict[str, str] = {}
    for name, label in zip(ids, labels, strict=True):
        if by_id.setdefault(name, label) != label:
            raise InputError(
                f"{where}: segment '{name}' is in two groups, '{by_id[name]}' and '{label}'; "
                f"expected one"
            )
    return by_id


def read_groups(
    groups: TextLike,
    segments: int,
    ids: Sequence[str] | None = None,
    where: str = "the texts",
    *,
    drop: bool = False,
    name: str = "groups",
) -> Groups:
    """Read the group of each segment.

    Parameters
    ----------
    groups
        `FILE#KEY`, a column of a file; SGML with documents; STM with speakers; lines of an id and
        a group, as Kaldi's utt2spk; or a group a line. In memory: a group for each segment.
    segments
        The number of segments, for what has no ids.
    ids
        The id of each segment, if they have any.
    where
        What the segments are of, for messages.
    drop
        Whether the file may lack groups of segments without an id: it then needs ids.
    name
        What they are called in messages if they are in memory.

    Raises
    ------
    InputError
        A segment has no group or two, the file has groups of another number of segments, or it has
        ids and the segments have none.
    """
    groups = groups if isinstance(groups, Path | str | Lines) else Lines(name, groups)
    labels, ids_of_labels = _labels(groups, ids)
    file = called(groups)
    if ids_of_labels is None:
        if len(labels) != segments:
            of_left_out = "; segments were left out, so give the groups ids" if drop else ""
            raise InputError(
                f"{file}: groups of {counted(len(labels), 'segment')}, {where} have {segments}; "
                f"give one for each segment{of_left_out}"
            )
        return _checked(Groups.of(labels, file))
    if ids is None:
        raise InputError(
            f"{file}: the groups have ids ('{shown(ids_of_labels[0])}'), the segments of {where} "
            f"have none; begin each line of the texts with its id and give --ids, or give FILE#KEY"
        )
    by_id = group_by_id(ids_of_labels, labels, file)
    needed = dict.fromkeys(ids)  # of other segments there may be groups too
    places = {name: k for k, name in enumerate(by_id) if name in needed}
    order = positions(ids, places, where, file)
    in_order = list(by_id.values())
    return _checked(Groups.of([in_order[k] for k in order], file))


def _checked(groups: Groups) -> Groups:
    for number, label in enumerate(groups.names):
        if not label.strip():
            segment = int(np.flatnonzero(groups.of_segment == number)[0])
            raise InputError(
                f"{groups.where}: segment {segment + 1} has an empty group; expected a name"
            )
    return groups


def _labels(
    groups: TextFile, ids: Sequence[str] | None
) -> tuple[Sequence[str], Sequence[str] | None]:
    """Return the groups of a file, and the id of the segment of each; None without ids."""
    if isinstance(groups, Lines):
        return [" ".join(line.split()) for line in groups], None
    column = column_of(groups)
    if column is not None:
        labels = []
        for row, value in enumerate(column.values):
            if value is None:
                raise column.lacking(row, "every segment needs a group")
            if isinstance(value, dict | list):
                raise InputError(
                    f"{column.places[row]}: '{column.key}' is no name of a group, but "
                    f"{'an object' if isinstance(value, dict) else 'a list'}"
                )
            labels.append(str(value))
        return labels, column.ids
    file = options.file_key(groups)[0]
    lines = each_line(file)
    first = next(lines, None)
    if first is None:
        raise InputError(f"{file}: the file is empty; expected the group of each segment")
    first = first.removeprefix(BYTE_ORDER_MARK)
    whole = itertools.chain([first], lines)
    if SGML.match(first):
        with faults_at(called(file), ValueError, InputError):
            return [document for _, document in sgml_in_documents(whole)], None
    if (speakers := _speakers(Path(file))) is not None:
        return list(speakers.values()), list(speakers) if ids and set(ids) & {*speakers} else None
    _refuse_stm(file)
    words = [line.split() for line in whole]
    if all(len(pair) == 2 for pair in words) and (
        Path(file).name == UTT2SPK or (ids is not None and words[0][0] in ids)
    ):
        return [group for _, group in words], [name for name, _ in words]
    return [" ".join(line) for line in words], None


def _refuse_stm(file: Path | str) -> None:
    """Raise InputError if a name is that of STM; lines of STM have been read before."""
    if ".stm" in Path(file).suffixes:
        raise InputError(
            f"{called(file)}: its name is that of STM, but its lines are not `file channel "
            f"speaker begin end text` with times as 1.5; give the groups in another file"
        )


def _speakers(text: TextFile) -> dict[str, str] | None:
    """Return the speaker of each segment of STM by its id; None if it is another form."""
    stm = read_form(text)
    if not isinstance(stm, LinesById) or not stm.spans:
        return None
    return {name: span[-1] for name, span in zip(stm.ids, stm.spans, strict=True)}


def groups_beside(
    texts: Sequence[TextFile], segments: int, ids: Sequence[str] | None
) -> Groups | None:
    """Return the groups that the format of a text names; None if there are no two.

    They are the documents of SGML, the speakers of STM, and those of Kaldi's `utt2spk` beside a
    file `text`.
    """
    for text in texts:
        if isinstance(text, Lines) or "#" in str(text):
            continue
        beside = Path(text).with_name(UTT2SPK)
        is_sgml = SGML.match(next(each_line(text), "").removeprefix(BYTE_ORDER_MARK))
        if is_sgml or _speakers(text) is not None:
            groups = read_groups(text, segments, ids)
        elif ids is not None and Path(text).name == "text" and beside.is_file():
            groups = read_groups(beside, segments, ids, called(text))
        else:
            continue
        if 1 < len(groups) < segments:
            return groups
    return None
