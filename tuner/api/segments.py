"""The segments of lists and of the texts beside them: joined by ids, or by their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from portmert.metrics._base import Vocabulary

from ..base.errors import InputError, counted
from ..base.files import Lines, TextFile, called, read_lines
from ..nbest.model import NBest, segments_taken
from ..nbest.records import SegmentNames
from ..texts import corpus, joining
from ..texts.corpus import References
from ..texts.forms import LinesById
from ..texts.joining import positions
from .texts import PathLike, TextLike, text_file, text_files

LISTS = "the n-best lists"


@dataclass(frozen=True)
class Sides:
    """The texts beside lists, with their ids if these are known before the lists are read.

    Parameters
    ----------
    refs, source, links
        References, source and word alignments.
    ids
        Whether lines begin with ids.
    """

    refs: tuple[TextFile, ...]
    source: TextFile | None
    links: tuple[TextFile, ...]
    ids: bool

    @classmethod
    def of(
        cls,
        refs: Sequence[TextLike] | PathLike,
        source: TextLike | None,
        links: Sequence[TextLike] | PathLike,
        *,
        ids: bool,
    ) -> Sides:
        """Take texts as callers give them."""
        files = text_files(refs, "references")
        linked = text_files(links, "links of references")
        if linked and not files:
            raise InputError("links of references, but no references of these lists; give both")
        if ids and not files and source is None:
            raise InputError("the ids of segments are those of references; give them too")
        read = joining.read_by_id if ids else _read_once
        return cls(
            tuple(map(read, files)),
            None if source is None else read(text_file(source, "the source")),
            tuple(map(read, linked)),
            ids,
        )

    def references(self, vocabulary: Vocabulary, *, drop: bool) -> References | None:
        """Read references and source; None if there is neither. There may be a source alone."""
        if self.refs:
            return corpus.read_references(
                self.refs, vocabulary=vocabulary, source=self.source, links=self.links, drop=drop
            )
        if self.source is None:
            return None
        (source,), ids, left_out = joining.joined([self.source], drop=drop)
        lines = corpus.read_source(source)
        empty = corpus.no_references(vocabulary, len(lines), lines)
        return replace(empty, ids=ids, left_out=left_out)

    def names(self, references: References | None, *, drop: bool) -> SegmentNames:
        """Return the ids that lists may have."""
        if references is None or references.ids is None:
            return SegmentNames(drop=drop)
        number_of_id = {name: number for number, name in enumerate(references.ids)}
        return SegmentNames(number_of_id, called(self._first), strict=self.ids, drop=drop)

    def matched(self, nbest: NBest, references: References | None, names: SegmentNames) -> NBest:
        """Return lists with the texts beside them, of the same segments in one order.

        Raises
        ------
        InputError
            An id is on one side only, or texts without ids go with ids that are not in order.
        """
        if references is None:
            if names.failed:
                joining.warn_left_out(list(names.failed), LISTS, names.failed)
            return _with_names(nbest, names)
        if references.ids is None and joining.begin_with_ids(
            Lines(called(self._first), read_lines(joining.opened(self._first))), nbest.names
        ):
            texts = [*self.refs, *self.links, *([] if self.source is None else [self.source])]
            by_id, _, _ = joining.joined(texts, LinesById(LISTS, (), nbest.names), drop=names.drop)
            count = len(self.refs)
            source = None if self.source is None else by_id[-1]
            links = tuple(by_id[count : count + len(self.links)])
            by_id_sides = Sides(tuple(by_id[:count]), source, links, ids=True)
            references = by_id_sides.references(references.texts.vocabulary, drop=names.drop)
            assert references is not None  # noqa: S101  there are some
        elif references.ids is None and (alone := joining.seem_ids(joining.opened(self._first))):
            joining.warn_ids_alone(alone, LISTS)
        return _matched(nbest, references, names, self._first)

    @property
    def _first(self) -> TextFile:
        return (*self.refs, self.source or "")[0]


def _matched(nbest: NBest, references: References, names: SegmentNames, text: TextFile) -> NBest:
    """See `Sides.matched`; `text` is the first of the texts."""
    here = _names_here(nbest, names)
    if references.ids is None or (nbest.ids is None and set(here).isdisjoint(references.ids)):
        nbest, joined, absent, lacking = _by_places(nbest, references, names, text)
    else:
        nbest, joined, absent, lacking = _by_ids(nbest, here, references, names, text)
    left_out = dict.fromkeys(absent, f"nothing in {LISTS}")
    left_out |= dict.fromkeys((*references.left_out, *lacking), f"nothing in {called(text)}")
    left_out |= names.failed
    if left_out:
        joining.warn_left_out(list(left_out), LISTS, left_out)
    return replace(nbest, beside=joined)


def _names_here(nbest: NBest, names: SegmentNames) -> tuple[str, ...]:
    """Return the names of the segments; their numbers in the files where they have none."""
    return nbest.ids or tuple(map(str, range(len(nbest)) if names.left is None else names.left))


def _with_names(nbest: NBest, names: SegmentNames) -> NBest:
    """Return lists that keep their names if others were left out."""
    here = _names_here(nbest, names)
    return nbest if here == tuple(map(str, range(len(nbest)))) else replace(nbest, ids=here)


Matched = tuple[NBest, References, Sequence[str], Sequence[str]]
"""Lists, references, and the ids that are not in the lists and not in the references."""


def _by_ids(
    nbest: NBest,
    here: Sequence[str],
    references: References,
    names: SegmentNames,
    text: TextFile,
) -> Matched:
    """Join lists and references that both have ids."""
    there = references.ids or ()
    places = {name: number for number, name in enumerate(there)}
    if not names.drop:
        order = positions(here, places, LISTS, called(text))
        return nbest, references.take(order), (), ()
    both = [number for number, name in enumerate(here) if name in places]
    if not both:
        raise InputError(f"{called(text)}: no id is in {LISTS} too; are both of one text?")
    in_order = references.take([places[here[number]] for number in both])
    absent = [name for name in there if name not in set(here)]
    lacking = [name for name in here if name not in places]
    if len(both) < len(here):  # they keep their names, by which features are joined
        nbest = replace(nbest, ids=tuple(here))
    return segments_taken(nbest, np.array(both)), in_order, absent, lacking


def _by_places(
    nbest: NBest, references: References, names: SegmentNames, text: TextFile
) -> Matched:
    """Set line n beside the n-th segment, where not both sides have ids."""
    if nbest.ids is not None:
        joining.check_order(names.ids or nbest.ids, LISTS, text)
    elif references.ids is not None:
        joining.check_order(references.ids, text, LISTS)
    order = list(range(len(nbest))) if names.left is None else names.left.tolist()
    count = max(len(names.ids or nbest.ids or ()), order[-1] + 1)
    if count > len(references) or (
        count < len(references) and not (names.drop and nbest.ids is None)
    ):
        raise InputError(
            f"{called(text)}: {counted(len(references), 'segment')}, {LISTS} have {count}; both "
            f"must be of the same text"
        )
    if len(order) == len(references):
        return nbest, references, (), ()
    if names.are_places:
        raise InputError(
            f"{called(text)}: {counted(len(references), 'segment')}, {LISTS} have {count} and no "
            f"ids: which are missing cannot be known; give the lists ids (id=KEY in "
            f"--nbest-format)"
        )
    filled, are_named = set(order), nbest.ids is not None
    absent = [str(number) for number in range(len(references)) if number not in filled]
    return _with_names(nbest, names), references.take(order), () if are_named else absent, ()


def _read_once(text: TextFile) -> TextFile:
    """Return a text that can be read twice; stdin cannot."""
    return Lines("stdin", read_lines(text)) if str(text) == "-" else text
