"""Makes an evaluation: selects segments, draws items, and gives them to judges."""

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

import portmert
from portmert.metrics._base import IntArray
from portmert.tuner.base import files, json_toml, streams
from portmert.tuner.base.errors import InputError, counted

FORM = 1
"""Version of the format of keys and exported answers."""
LONGEST = 32767
"""Characters that a cell of a spreadsheet holds."""


@dataclass(frozen=True)
class Item:
    """One segment to judge.

    Parameters
    ----------
    segment
        Its line, from 0.
    common
        Whether every judge sees it.
    source
        None if it is not shown.
    outputs
        Those of the first and of the second system.
    condition
        The comparison that it is of, if the sheets mix several; `segment` then counts the lines of
        all, one after the other.
    """

    segment: int
    common: bool
    source: str | None
    reference: str
    outputs: tuple[str, str]
    condition: str = ""


@dataclass(frozen=True)
class Placed:
    """One row of a sheet: an item, and whether the first system's output is on the left."""

    item: str
    first_is_left: bool


@dataclass(frozen=True)
class Evaluation:
    """Two systems, the items and the judges' sheets. The file `key.json` has all of it.

    Parameters
    ----------
    id
        Hash of the items and sheets. Every sheet has it.
    condition
        Name of the comparison in tables.
    systems
        Names of the first and the second system.
    seed
        Seed of the draw.
    filters
        How the segments were chosen, for the record.
    items
        Name of each item in sheets -> item.
    sheets
        Judge -> rows, in their order.
    """

    id: str
    condition: str
    systems: tuple[str, str]
    seed: int
    filters: Mapping[str, Any]
    items: Mapping[str, Item]
    sheets: Mapping[str, tuple[Placed, ...]]

    def row(self, placed: Placed) -> dict[str, str]:
        """Return the texts of a row of a sheet by the names of their columns."""
        item = self.items[placed.item]
        left, right = item.outputs if placed.first_is_left else item.outputs[::-1]
        texts = {"reference": item.reference, "left": left, "right": right}
        return texts if item.source is None else {"source": item.source, **texts}

    def as_json(self) -> dict[str, Any]:
        """Return the key."""
        content = json_toml.plain(self)
        name = content.pop("id")
        for item in content["items"].values():
            if not item["condition"]:
                del item["condition"]  # keys of one comparison have none
        return {
            "portmert_humaneval_key": FORM,
            "version": portmert.__version__,
            "evaluation": name,
            **content,
        }


def read_key(path: Path) -> Evaluation:
    """Read the key of an evaluation.

    Raises
    ------
    InputError
        It is not what `humaneval make` wrote.
    """
    with suppress(ValueError, KeyError, TypeError):
        content = json_toml.parse_json(files.read_bytes(path))
        content = {**content, "id": content["evaluation"]}
        evaluation = TypeAdapter(Evaluation).validate_python(content)
        if content["portmert_humaneval_key"] == FORM and evaluation.id == _digest(evaluation):
            return evaluation
    raise InputError(f"{path}: not the key of an evaluation as `portmert humaneval make` wrote it")


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
    mixed: Sequence[str] = (),
) -> Evaluation:
    """Draw items and hand them to judges.

    Parameters
    ----------
    segments : (n,) int64
        Segments to draw from.
    texts
        `reference` and maybe `source`: a line for each segment of the test set.
    outputs
        Outputs of both systems.
    judges
        Names, all different.
    per_judge
        Number of items of each judge. All judges get `common` of them; the others are his alone.
    mixed
        The condition of each line, if there are several.

    Raises
    ------
    InputError
        There are too few segments, or a text is too long for a cell.
    ValueError
        There are more common items than items.
    """
    if not 0 <= common <= per_judge:
        raise ValueError(f"common is {common}; it must be in 0..{per_judge}")
    alone = per_judge - common
    needed = common + alone * len(judges)
    if needed > len(segments):
        raise InputError(
            f"the filters let {counted(len(segments), 'segment')} pass, but {needed} are needed "
            f"({common} common and {alone} for each of {counted(len(judges), 'judge')}); ask for "
            f"fewer items, or widen the filters"
        )
    rng = streams.whole(seed)
    drawn: list[int] = rng.permutation(segments)[:needed].tolist()
    width = len(str(needed))
    # Numbers are drawn too: they must not reveal which items are common.
    names = [str(number + 1).zfill(width) for number in rng.permutation(needed).tolist()]
    items = {
        name: Item(
            segment,
            number < common,
            _cell(texts["source"][segment], segment) if "source" in texts else None,
            _cell(texts["reference"][segment], segment),
            (_cell(outputs[0][segment], segment), _cell(outputs[1][segment], segment)),
            mixed[segment] if mixed else "",
        )
        for number, (name, segment) in enumerate(zip(names, drawn, strict=True))
    }
    sheets = {}
    for number, judge in enumerate(judges):
        start = common + alone * number
        mine = rng.permutation(names[:common] + names[start : start + alone]).tolist()
        sides = rng.integers(0, 2, size=len(mine)).tolist()
        sheets[judge] = tuple(
            Placed(item, bool(side)) for item, side in zip(mine, sides, strict=True)
        )
    unnamed = Evaluation("", condition, systems, seed, filters, items, sheets)
    return Evaluation(_digest(unnamed), condition, systems, seed, filters, items, sheets)


def visible(text: str) -> str:
    """Replace characters that print nothing, so that every form of a sheet can contain a text."""
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
    """Return a hash of the whole key, by which the evaluation is known."""
    content = evaluation.as_json()
    del content["evaluation"], content["version"]
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
