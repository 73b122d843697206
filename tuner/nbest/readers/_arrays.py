"""Make the arrays of a list from the records that a reader yields: the one place that does so."""

from __future__ import annotations

import gc
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Ragged, TokenArray, Vocabulary

from ...base.columns import DROP, INDEX_KEYS
from ...base.errors import InputError, counted, shown
from ...base.numbers import FINITE, LARGEST, bounded
from ...texts._token_kernels import intern_tokens
from .._merging_kernels import Rows
from ..merging import ListArrays, beyond, empty_rows, extend_rows
from ..records import Hypothesis, ListFile, Place, Record

if TYPE_CHECKING:
    from ._base import Reader

_ID = re.compile(r"[0-9]{1,9}")
_BATCH = 4096
"""Records that become arrays at once."""
_KEYS = ", ".join(INDEX_KEYS)
_OWN_FILES = "give several lists of a segment as files of their own"


_Origin = tuple[Place, int | str, int | None]
"""Where a hypothesis stands, the id of its segment, its number there."""


def arrays_of(reader: Reader, file: ListFile, vocabulary: Vocabulary) -> ListArrays:
    """Return the arrays of a whole file.

    Raises
    ------
    InputError
        The file is not what it should be, or has no hypothesis; the message says where.
    """
    with _uncollected():
        return _arrays_of(reader, file, vocabulary)


def _arrays_of(reader: Reader, file: ListFile, vocabulary: Vocabulary) -> ListArrays:
    origins: list[_Origin] = []
    places: dict[int | str, Place] = {}
    rows, first, names = empty_rows(0, features=0, stats=0), None, dict[str, int]()
    for records in _batches(reader.records(file)):
        hypotheses = []
        for record in records:
            places.setdefault(record.segment, record.place)
            if isinstance(record, Hypothesis):
                hypotheses.append(record)
            elif not file.names.drop:
                file.fail(record.place, f"id '{record.segment}': {record.reason}; {DROP}")
            else:
                file.names.failed[record.segment] = record.reason
        if not hypotheses:
            continue
        if first is None:
            first = hypotheses[0]
            names = _checked_sizes(file, first)
            rows = empty_rows(0, features=sum(names.values()), stats=0)
        extend_rows(rows, _rows_of(file, hypotheses, names, vocabulary, first.links is not None))
        origins += [(each.place, each.segment, each.rank) for each in hypotheses]
    if first is None:
        raise InputError(f"{file.where}: no hypothesis in the file")
    rows = rows._replace(segments=_segments(reader, file, origins, places))
    ranks = [rank for *_, rank in origins]
    if reader.are_unique:
        ranks = _ranks_of_records(file, origins, reader.first_rank)
    rows = rows._replace(ranks=np.array([] if None in ranks else ranks, dtype=np.int32))
    return ListArrays(rows, tuple(names.items()), (), first.links is not None, file.where)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Stop looking for cycles of objects, of which records have none: a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _batches(records: Iterator[Record]) -> Iterator[list[Record]]:
    """Yield records; those before a fault come first, as theirs would be the earlier fault."""
    batch: list[Record] = []
    fault: InputError | None = None
    try:
        for record in records:
            batch.append(record)
            if len(batch) == _BATCH:
                yield batch
                batch = []
    except InputError as error:
        fault = error
    if batch:
        yield batch
    if fault is not None:
        raise fault


def _rows_of(
    file: ListFile,
    hypotheses: Sequence[Hypothesis],
    sizes: dict[str, int],
    vocabulary: Vocabulary,
    is_linked: bool,
) -> Rows:
    """Return the rows of some hypotheses, without segments and ranks."""
    features = _features(file, hypotheses, sizes)
    tokens, offsets = _interned([hypothesis.text for hypothesis in hypotheses], vocabulary)
    rows = empty_rows(len(hypotheses), features=0, stats=0)._replace(
        tokens=tokens,
        token_offsets=offsets,
        features=features,
        scores=np.array([hypothesis.score for hypothesis in hypotheses]) + 0.0,
    )
    links = _links(file, hypotheses, np.diff(offsets), is_linked)
    return rows._replace(links=links.values, link_offsets=links.offsets)


def _segments(
    reader: Reader,
    file: ListFile,
    origins: Sequence[_Origin],
    places: dict[int | str, Place],
) -> IntArray:
    """Return (n,) the number of the segment of each hypothesis.

    Parameters
    ----------
    places
        Where each id stands first.
    """
    id_base = reader.id_base(file, [name for name in places if isinstance(name, str)])
    numbers: dict[int | str, int] = {}
    for name, place in places.items():
        if isinstance(name, int):
            numbers[name] = _checked_number(file, place, str(name))
        else:
            is_number = id_base and name.isdecimal()
            numbers[name] = _number(file, place, str(int(name) - id_base) if is_number else name)
    return np.array([numbers[segment] for _, segment, _ in origins], dtype=np.int64)


def _number(file: ListFile, place: Place, segment: str) -> int:
    """Return the number of a segment whose id may be a name."""
    if not file.names.decide(segment):
        return _checked_number(file, place, segment)
    try:
        return file.names.number(segment, file.segments)
    except ValueError as error:
        file.fail(place, str(error))


def _checked_number(file: ListFile, place: Place, segment: str) -> int:
    """Return a segment id that is a number."""
    if not _ID.fullmatch(segment):
        file.fail(place, f"segment id '{shown(segment)}' is not a whole number; ids count from 0")
    number, segments = int(segment), file.segments
    if segments is not None and number >= segments:
        file.fail(place, beyond(number, segments))
    return number


def _features(
    file: ListFile, hypotheses: Sequence[Hypothesis], sizes: dict[str, int]
) -> FloatArray:
    """Return (n, F) values without -0.0; `sizes` are those of the first hypothesis of the list."""
    table = _as_numbers(_flat_values(hypotheses, sizes))
    if table is None:
        table = _slow_features(file, hypotheses, sizes)
    return table.reshape(len(hypotheses), sum(sizes.values())) + 0.0


def _as_numbers(values: list[Any]) -> FloatArray | None:
    """Return values as an array; None if there is none, or one is no number of a feature."""
    try:
        table = np.array(values, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        return None
    are_numbers = values and {int, float}.issuperset(map(type, values))
    return table if are_numbers and np.all(np.abs(table) <= LARGEST) else None


def _flat_values(hypotheses: Sequence[Hypothesis], sizes: dict[str, int]) -> list[Any]:
    """Return the values of all hypotheses; nothing if features or their sizes differ."""
    keys, values = sizes.keys(), list[Any]()
    for hypothesis in hypotheses:
        features = hypothesis.features
        if features.keys() != keys:
            return []
        values += map(features.__getitem__, keys)
    if list not in set(map(type, values)):
        return values if set(sizes.values()) <= {1} else []
    values = [value if type(value) is list else [value] for value in values]
    if list(map(len, values)) != [*sizes.values()] * len(hypotheses):
        return []
    return [*chain.from_iterable(values)]


def _slow_features(
    file: ListFile, hypotheses: Sequence[Hypothesis], sizes: dict[str, int]
) -> FloatArray:
    """Return the values of features; raise the error of the first hypothesis with a fault."""
    values: list[float] = []
    for hypothesis in hypotheses:
        own_sizes = _checked_sizes(file, hypothesis)
        if own_sizes != sizes:
            file.fail(
                hypothesis.place,
                f"features {_in_words(own_sizes)}, the first hypothesis has {_in_words(sizes)}",
            )
        values += chain.from_iterable(_as_list(hypothesis.features[name]) for name in sizes)
    return np.array(values, dtype=np.float64)


def _as_list(value: float | list[float]) -> list[float]:
    return value if isinstance(value, list) else [value]


def _checked_sizes(file: ListFile, hypothesis: Hypothesis) -> dict[str, int]:
    """Return the number of values of each feature; raise the error of one that is no number."""
    place, sizes = hypothesis.place, {}
    for name, value in hypothesis.features.items():
        parts = _as_list(value)
        if not parts:
            file.fail(place, f"feature {name} has no value")
        for part in parts:
            if isinstance(part, bool) or not isinstance(part, int | float):
                text = shown(json.dumps(part, ensure_ascii=False))
                file.fail(place, f"'{name}' is {text}, expected a number")
            if not math.isfinite(bounded(part)):
                file.fail(place, f"'{name}' is {part}; values must be {FINITE}")
        sizes[name] = len(parts)
    return sizes


def _in_words(sizes: dict[str, int]) -> str:
    names = [name if size == 1 else f"{name} ({size} values)" for name, size in sizes.items()]
    return ", ".join(names) or "none"


def _interned(texts: Sequence[str], vocabulary: Vocabulary) -> tuple[TokenArray, IntArray]:
    """Return (T,) tokens and (n + 1,) offsets of n texts."""
    parts = [text.encode() for text in texts]
    data = b"".join(parts)
    ends = np.cumsum([len(part) for part in parts]).astype(np.int64)
    cuts = np.stack([np.concatenate([[0], ends[:-1]]), ends], axis=1)[:, None, :]
    local, offsets, spans = intern_tokens(
        np.frombuffer(data, dtype=np.uint8), np.ascontiguousarray(cuts), 0, len(data) + 1
    )
    numbers = np.array(
        [vocabulary.add(data[begin:end].decode()) for begin, end in spans.tolist()],
        dtype=np.int32,
    )
    return (numbers[local] if len(numbers) else local), offsets


def _links(
    file: ListFile, hypotheses: Sequence[Hypothesis], lengths: IntArray, is_linked: bool
) -> Ragged:
    """Return the links of hypotheses with these numbers of tokens; empty without alignments."""
    for hypothesis in hypotheses:
        if (hypothesis.links is None) == is_linked:
            has, first = ("no", "one") if is_linked else ("a", "none")
            file.fail(hypothesis.place, f"{has} word alignment, the first hypothesis has {first}")
    links = Ragged.from_rows([hypothesis.links or [] for hypothesis in hypotheses], 2)
    rows = np.repeat(np.arange(len(links)), links.lengths)
    for first in np.flatnonzero(links.values[:, 1] >= lengths[rows])[:1].tolist():
        file.fail(
            hypotheses[int(rows[first])].place,
            f"{links.values[first, 0]}-{links.values[first, 1]} is out of range, the hypothesis "
            f"has {counted(int(lengths[rows[first]]), 'token')} (positions count from 0)",
        )
    return links


def _ranks_of_records(
    file: ListFile, origins: Sequence[_Origin], first_rank: int | None
) -> list[int | None]:
    """Return ranks from 1; raise the error of a record that stands twice."""
    ranks = [rank for *_, rank in origins]
    numbers = [rank for rank in ranks if rank is not None]
    if not numbers or (len(numbers) == len(ranks) and min(numbers) == max(numbers) > 1):
        _check_together(file, origins)
        return [None] * len(ranks)
    first = min(1, *numbers) if first_rank is None else first_rank
    with_ranks = {segment for _, segment, rank in origins if rank is not None}
    first_places: dict[tuple[str | int, int], Place] = {}
    sizes: Counter[str | int] = Counter()
    all_ranks: list[int | None] = []
    for place, segment, rank in origins:
        if rank is None and segment in with_ranks:
            file.fail(
                place, f"id '{segment}': no number of the hypothesis ({_KEYS}), others have one"
            )
        number = sizes[segment] + first if rank is None else rank
        sizes[segment] += 1
        if (segment, number) in first_places:
            file.fail(
                place,
                f"hypothesis {number} of id '{segment}' stands twice, first in "
                f"{_named(first_places[segment, number])}; {_OWN_FILES}",
            )
        first_places[segment, number] = place
        all_ranks.append(number + 1 - first)
    _check_together(file, [origin for origin in origins if origin[2] is None])
    return all_ranks


def _check_together(file: ListFile, origins: Sequence[_Origin]) -> None:
    """Raise the error of an id with two lists.

    Records of one hypothesis each may stand anywhere: samples are often drawn pass by pass.
    """
    if len({place for place, _, _ in origins}) == len(origins):
        return
    sizes = Counter((segment, place) for place, segment, _ in origins)
    first_places: dict[str | int, Place] = {}
    for segment, place in sizes:
        first = first_places.setdefault(segment, place)
        if first != place and max(sizes[segment, place], sizes[segment, first]) > 1:
            file.fail(
                place,
                f"id '{segment}' stands twice, first in {_named(first)}; number its "
                f"hypotheses ({_KEYS}), or {_OWN_FILES}",
            )


def _named(place: Place) -> str:
    return f"line {place}" if isinstance(place, int) else place
