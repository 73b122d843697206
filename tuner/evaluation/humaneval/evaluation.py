"""Makes an evaluation: its items, who judges which, the key that says whose output is where."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import (
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

import portmert
from portmert.metrics._base import IntArray
from portmert.tuner.ground import streams
from portmert.tuner.ground.documents import parse_json, plain
from portmert.tuner.ground.errors import InputError, counted
from portmert.tuner.ground.files import read_bytes

FORM = 1
"""Version of the form of keys and exported answers."""
LONGEST = 32767
"""Characters that a cell of a spreadsheet holds."""


@dataclass(frozen=True)
class Item:
    """Holds one segment to judge.

    Parameters
    ----------
    segment
        Its line, from 0.
    common
        Whether every judge sees it.
    source
        None if it is not shown.
    outputs
        Of the first and of the second system.
    """

    segment: int
    common: bool
    source: str | None
    reference: str
    outputs: tuple[str, str]


@dataclass(frozen=True)
class Placed:
    """Holds one row of a sheet: an item, and whether the first system's output is on the left."""

    item: str
    first_is_left: bool


@dataclass(frozen=True)
class Evaluation:
    """Holds two systems, the items and the judges' sheets: all that the key holds.

    Parameters
    ----------
    id
        Of these items in these sheets; stands in every sheet.
    condition
        What the comparison is called in tables.
    systems
        Names of the first and the second system.
    seed
        It was drawn with.
    filters
        How the segments were chosen, for the record.
    items
        By what they are called in sheets.
    sheets
        Of each judge, in the order of rows.
    """

    id: str
    condition: str
    systems: tuple[str, str]
    seed: int
    filters: Mapping[str, Any]
    items: Mapping[str, Item]
    sheets: Mapping[str, tuple[Placed, ...]]

    @property
    def with_source(self) -> bool:
        """Whether sheets show the source."""
        return any(item.source is not None for item in self.items.values())

    def row(self, placed: Placed) -> dict[str, str]:
        """Return the texts of a row of a sheet by the names of their columns."""
        item = self.items[placed.item]
        left, right = item.outputs if placed.first_is_left else item.outputs[::-1]
        texts = {"reference": item.reference, "left": left, "right": right}
        return texts if item.source is None else {"source": item.source, **texts}

    def as_json(self) -> dict[str, Any]:
        """Return the key."""
        held = plain(self)
        name = held.pop("id")
        return {
            "portmert_humaneval_key": FORM,
            "version": portmert.__version__,
            "evaluation": name,
            **held,
        }


def read_key(path: Path) -> Evaluation:
    """Read the key of an evaluation.

    Raises
    ------
    InputError
        It is not what `humaneval make` wrote.
    """
    try:
        held = parse_json(read_bytes(path))
        evaluation = TypeAdapter(Evaluation).validate_python({**held, "id": held["evaluation"]})
        whole = held["portmert_humaneval_key"] == FORM and evaluation.id == _digest(evaluation)
    except (ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise InputError(
            f"{path}: not the key of an evaluation as `portmert humaneval make` wrote it"
        )
    return evaluation


def make(
    segments: IntArray,
    *,
    texts: Mapping[str, Sequence[str]],
    outputs: tuple[Sequence[str], Sequence[str]],
    systems: tuple[str, str],
    judges: Sequence[str],
    per_judge: int,
    common: int,
    condition: str,
    filters: Mapping[str, Any],
    seed: int,
) -> Evaluation:
    """Draw items and hand them to judges.

    Parameters
    ----------
    segments : (n,) int64
        Those to draw from.
    texts
        `reference` and maybe `source`: a line for each segment of the test set.
    outputs
        Of both systems.
    judges
        Names, all different.
    per_judge
        Items of each judge; `common` of them are every judge's, the others nobody else's.

    Raises
    ------
    InputError
        There are too few segments, or a text is too long for a cell.
    ValueError
        More common items than items.
    """
    if not 0 <= common <= per_judge:
        raise ValueError(f"common is {common}; it must be in 0..{per_judge}")
    own = per_judge - common
    needed = common + own * len(judges)
    if needed > len(segments):
        raise InputError(
            f"the filters let {counted(len(segments), 'segment')} pass, but {needed} are needed "
            f"({common} common and {own} for each of {counted(len(judges), 'judge')}); ask for "
            f"fewer items, or widen the filters"
        )
    rng = streams.whole(seed)
    drawn = rng.permutation(segments)[:needed].tolist()
    width = len(str(needed))
    # Numbers are drawn too: they must not tell which items are common.
    names = [str(number + 1).zfill(width) for number in rng.permutation(needed).tolist()]
    items = {
        name: Item(
            segment,
            number < common,
            _cell(texts["source"][segment], segment) if "source" in texts else None,
            _cell(texts["reference"][segment], segment),
            (_cell(outputs[0][segment], segment), _cell(outputs[1][segment], segment)),
        )
        for number, (name, segment) in enumerate(zip(names, drawn, strict=True))
    }
    sheets = {}
    for number, judge in enumerate(judges):
        start = common + own * number
        mine = rng.permutation(names[:common] + names[start : start + own]).tolist()
        sides = rng.integers(0, 2, size=len(mine)).tolist()
        sheets[judge] = tuple(
            Placed(item, bool(side)) for item, side in zip(mine, sides, strict=True)
        )
    unnamed = Evaluation("", condition, systems, seed, filters, items, sheets)
    return Evaluation(_digest(unnamed), condition, systems, seed, filters, items, sheets)


def visible(text: str) -> str:
    """Return a text that every form of a sheet can hold: signs that print nothing replaced."""
    return "".join(
        "\ufffd" if unicodedata.category(sign) in ("Cc", "Cs") or sign in "\ufffe\uffff" else sign
        for sign in text.removeprefix("\ufeff").replace("\t", " ")
    )


def _cell(text: str, segment: int) -> str:
    if len(text) > LONGEST:
        raise InputError(
            f"segment {segment} (counted from 0): a text of {len(text)} characters; a cell of a "
            f"sheet holds {LONGEST}; lower the longest reference length"
        )
    return visible(text)


def _digest(evaluation: Evaluation) -> str:
    """Return what an evaluation is known by: of all that its key holds."""
    held = evaluation.as_json()
    del held["evaluation"], held["version"]
    content = json.dumps(held, sort_keys=True, ensure_ascii=True).encode()
    return hashlib.sha256(content).hexdigest()[:16]
