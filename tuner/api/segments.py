"""The segments of lists and of the texts beside them: joined by ids, or by their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..base.errors import InputError, counted
from ..base.files import TextFile, called
from ..nbest.model import NBest, segments_taken
from ..nbest.records import SegmentNames
from ..texts import joining
from ..texts.corpus import References
from ..texts.forms import LinesById
from ..texts.joining import positions

LISTS = "the n-best lists"


def matched(
    nbest: NBest, references: References | None, names: SegmentNames, text: TextFile
) -> NBest:
    """Return lists with the texts beside them, of the same segments in one order.

    Parameters
    ----------
    references
        Those texts; None if there are none.
    names
        The ids of the lists.
    text
        The first of the texts.

    Raises
    ------
    InputError
        An id is on one side only, or texts without ids go with ids that are not in order.
    """
    if references is None:
        if names.failed:
            joining.warn_left_out(list(names.failed), LISTS, names.failed)
        return _with_names(nbest, names)
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


def ids_in_lines(text: TextFile, nbest: NBest) -> LinesById | None:
    """Return the ids of lists if the lines of a text, which has none, begin with them."""
    if nbest.ids is None or not joining.begin_with_ids(text, nbest.ids):
        by_id = joining.seem_ids(joining.opened(text))
        if by_id is None:
            return None
        if len(by_id.ids) != len(nbest) or set(by_id.ids) != set(nbest.names):
            joining.warn_ids_alone(by_id, LISTS)
            return None
    return LinesById(LISTS, (), nbest.names)


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
