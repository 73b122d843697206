"""Make the arrays of a list from the records that a reader yields: the one place that does so."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Ragged, TokenArray, Vocabulary

from ...base.columns import DROP, INDEX_KEYS, collected_later
from ...base.errors import InputError, counted, shown
from ...base.frames import ADVICE
from ...base.numbers import FINITE, LARGEST, bounded
from ...texts._token_kernels import intern_tokens
from ...weights.feature_weights import columns_by_name
from ..merging import Rows, beyond, empty_rows, extend_rows
from ..records import Columns, Failed, ListFile, Place

if TYPE_CHECKING:
    from ._base import Reader

_ID = re.compile(r"[0-9]{1,9}")
_BATCH = 4096
"""Hypotheses that become rows at once."""
_KEYS = ", ".join(INDEX_KEYS)
_OWN_FILES = "give several lists of a segment as files of their own"


@collected_later()
def arrays_of(reader: Reader, file: ListFile, vocabulary: Vocabulary) -> Rows:
    """Return the arrays of a whole file.

    Raises
    ------
    InputError
        The file is not what it should be, or has no hypothesis; the message says where.
    """
    gathered = _Gathered(file, vocabulary)
    try:
        for block in reader.columns(file):
            gathered.add(block)
    finally:
        gathered.make_rows()  # a fault there is earlier than one in what was read last
    return gathered.arrays(reader)


class _Gathered:
    """The hypotheses of a file as they come; their rows are made in large blocks."""

    def __init__(self, file: ListFile, vocabulary: Vocabulary) -> None:
        self.file, self.vocabulary = file, vocabulary
        self.rows = empty_rows(0)
        self.sizes: dict[str, int] = {}
        self.is_linked = False
        self.first_places: dict[int | str, Place] = {}  # of each id
        self.places: list[Place] = []
        self.segments: list[int | str] = []
        self.ranks: list[int | None] = []
        # Of the hypotheses that have no rows yet:
        self.texts: list[str | None] = []
        self.scores: list[float] = []
        self.links: list[list[tuple[int, int]] | None] = []
        self.features: list[FloatArray] = []

    def _add_failed(self, failed: Failed) -> None:
        """Note a segment without an answer, or refuse it."""
        self.first_places.setdefault(failed.segment, failed.place)
        if not self.file.names.drop:
            self.file.fail(failed.place, f"id '{failed.segment}': {failed.reason}; {DROP}")
        self.file.names.failed[failed.segment] = failed.reason

    def add(self, block: Columns | Failed) -> None:
        """Add hypotheses, or a segment without any."""
        if isinstance(block, Failed):
            self._add_failed(block)
            return
        firsts = dict(zip(block.segments[::-1], block.places[::-1], strict=True))
        for segment in dict.fromkeys(block.segments):
            self.first_places.setdefault(segment, firsts[segment])
        if not self.places:
            self.is_linked = block.links[0] is not None
        if not self.places or self.file.names.drop:
            self._widen(block)
        self.features.append(_features(self.file, block, self.sizes))
        self.places += block.places
        self.segments += block.segments
        self.ranks += block.ranks
        self.texts += block.texts
        self.scores += block.scores
        self.links += block.links
        if len(self.texts) >= _BATCH:
            self.make_rows()

    def _widen(self, block: Columns) -> None:
        """Take the features of the first hypothesis; of more, where some may lack them."""
        of_more = zip(block.places, block.features, strict=True) if self.file.names.drop else ()
        sizes = dict(self.sizes)
        for place, by_name in of_more or [(block.places[0], block.features[0])]:
            if not by_name.keys() <= sizes.keys():
                present = {k: v for k, v in by_name.items() if v is not None and k not in sizes}
                sizes |= _checked_sizes(self.file, place, present)
        if new := sum(sizes.values()) - sum(self.sizes.values()):
            self.sizes = sizes
            self.features = [_with_missing(table, new) for table in self.features]
            features = _with_missing(self.rows.features, new)
            self.rows = self.rows._replace(features=features)

    def make_rows(self) -> None:
        """Make rows of the hypotheses that have none yet; segments and ranks come last."""
        if not self.texts:
            return
        tokens, offsets = interned(self.texts, self.vocabulary)
        links = self._checked_links(np.diff(offsets))
        rows = empty_rows(len(self.texts))._replace(
            tokens=tokens,
            token_offsets=offsets,
            features=np.concatenate(self.features),
            scores=scores_of_texts(self.texts, np.array(self.scores, dtype=np.float64) + 0.0),
            links=links.values,
            link_offsets=links.offsets,
        )
        extend_rows(self.rows, rows)
        for column in (self.texts, self.scores, self.links, self.features):
            column.clear()

    def _checked_links(self, lengths: IntArray) -> Ragged:
        """Return the links of texts with these numbers of tokens; empty without alignments."""
        places = self.places[-len(self.links) :]
        are_linked = [links is not None for links in self.links]
        if (not self.is_linked) in are_linked:
            has, first = ("no", "one") if self.is_linked else ("a", "none")
            self.file.fail(
                places[are_linked.index(not self.is_linked)],
                f"{has} word alignment, the first hypothesis has {first}",
            )
        if True not in are_linked:
            return Ragged(np.empty((0, 2), dtype=np.int32), np.zeros(len(places) + 1, np.int64))
        links = Ragged.from_rows([links or [] for links in self.links], 2)
        rows = np.repeat(np.arange(len(links)), links.lengths)
        for wrong in np.flatnonzero(links.values[:, 1] >= lengths[rows])[:1].tolist():
            source, target = links.values[wrong].tolist()
            self.file.fail(
                places[int(rows[wrong])],
                f"{source}-{target} is out of range, the hypothesis has "
                f"{counted(int(lengths[rows[wrong]]), 'token')} (positions count from 0)",
            )
        return links

    def arrays(self, reader: Reader) -> Rows:
        """Return the arrays of all hypotheses."""
        if not self.places:
            raise InputError(f"{self.file.where}: no hypothesis in the file")
        numbers = _numbers(reader, self.file, self.first_places)
        ranks = self.ranks
        if reader.are_unique:
            ranks = _ranks_of_records(
                self.file, self.places, self.segments, ranks, reader.first_rank
            )
        if self.file.names.drop:  # what came first was chance
            columns = columns_by_name(self.sizes.items())
            self.sizes = dict(sorted(self.sizes.items()))
            order = [k for name in self.sizes for k in range(*columns[name].indices(1 << 30))]
            self.rows = self.rows._replace(features=self.rows.features[:, order])
        return self.rows._replace(
            segments=np.array([numbers[name] for name in self.segments], dtype=np.int64),
            ranks=np.array([] if None in ranks else ranks, dtype=np.int32),
            names=tuple(self.sizes.items()),
            has_links=self.is_linked,
            where=self.file.where,
        )


def _numbers(
    reader: Reader, file: ListFile, first_places: dict[int | str, Place]
) -> dict[int | str, int]:
    """Return the number of the segment of each id."""
    id_base = reader.id_base(file, [name for name in first_places if isinstance(name, str)])
    numbers: dict[int | str, int] = {}
    for name, place in first_places.items():
        if isinstance(name, int):
            numbers[name] = _checked_number(file, place, str(name))
        else:
            if len(name.split()) > 1 and not reader.are_unique:
                file.fail(place, f"id '{shown(name)}' is not one word")
            is_number = id_base and name.isdecimal()
            numbers[name] = _number(file, place, str(int(name) - id_base) if is_number else name)
    return numbers


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
        is_next = number == segments and isinstance(place, int)  # of a line
        hint = "; if ids count from 1: --nbest-format jsonl:first_id=1" if is_next else ""
        file.fail(place, f"{beyond(number, segments)}{hint}")
    return number


def _features(file: ListFile, columns: Columns, sizes: dict[str, int]) -> FloatArray:
    """Return (n, F) values without -0.0; `sizes` are those of the first hypothesis of the list."""
    table = _as_numbers(_flat_values(columns.features, sizes))
    if table is None:
        table = _slow_features(file, columns, sizes)
    return table.reshape(len(columns.texts), sum(sizes.values())) + 0.0


def _as_numbers(values: list[Any]) -> FloatArray | None:
    """Return values as an array; None if there is none, or one is no number of a feature."""
    try:
        table = np.array(values, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        return None
    are_numbers = values and {int, float}.issuperset(map(type, values))
    return table if are_numbers and np.all(np.abs(table) <= LARGEST) else None


def _flat_values(
    features: Sequence[Mapping[str, float | list[float] | None]], sizes: dict[str, int]
) -> list[Any]:
    """Return the values of all hypotheses; nothing if features or their sizes differ."""
    if not sizes or set(map(len, features)) != {len(sizes)}:
        return []
    try:
        rows = map(itemgetter(*sizes), features)
        values = list(rows if len(sizes) == 1 else chain.from_iterable(rows))
    except KeyError:
        return []
    if max(sizes.values(), default=1) == 1 and list not in set(map(type, values)):
        return values
    values = [value if type(value) is list else [value] for value in values]
    if list(map(len, values)) != [*sizes.values()] * len(features):
        return []
    return [*chain.from_iterable(values)]


def _slow_features(file: ListFile, columns: Columns, sizes: dict[str, int]) -> FloatArray:
    """Return the values of features; raise the error of the first hypothesis with a fault."""
    values: list[float] = []
    for place, features in zip(columns.places, columns.features, strict=True):
        in_order = (*(name for name in sizes if name in features), *sorted(features))
        if file.names.drop:  # then what it lacks is missing
            in_order = tuple(name for name in in_order if features[name] is not None)
        own_sizes = _checked_sizes(file, place, {name: features[name] for name in in_order})
        if own_sizes != (sizes if not file.names.drop else {n: sizes[n] for n in in_order}):
            file.fail(
                place,
                f"features {_in_words(own_sizes)}, the first hypothesis has {_in_words(sizes)}"
                + (
                    f"; {ADVICE}"
                    if own_sizes.items() < sizes.items() or sizes.items() < own_sizes.items()
                    else ""
                ),
            )
        for name, size in sizes.items():
            values += _as_list(features[name]) if name in own_sizes else [math.nan] * size
    return np.array(values, dtype=np.float64)


def _as_list(value: Any) -> list[float]:
    return value if isinstance(value, list) else [value]


def _checked_sizes(
    file: ListFile, place: Place, features: Mapping[str, float | list[float] | None]
) -> dict[str, int]:
    """Return the number of values of each feature; raise the error of one that is no number."""
    sizes = {}
    for name, value in features.items():
        parts = _as_list(value)
        if not parts:
            file.fail(place, f"feature {name} has no value")
        for part in parts:
            if isinstance(part, bool) or not isinstance(part, int | float):
                text = shown(json.dumps(part, ensure_ascii=False))
                advice = f"; {ADVICE}" if part is None else ""
                file.fail(place, f"'{name}' is {text}, expected a number{advice}")
            if not math.isfinite(bounded(part)):
                file.fail(place, f"'{name}' is {part}; values must be {FINITE}")
        sizes[name] = len(parts)
    return sizes


def _in_words(sizes: dict[str, int]) -> str:
    names = [name if size == 1 else f"{name} ({size} values)" for name, size in sizes.items()]
    return ", ".join(names) or "none"


def _with_missing(table: FloatArray, columns: int) -> FloatArray:
    return np.hstack([table, np.full((len(table), columns), np.nan)])


def scores_of_texts(texts: Sequence[str | None], scores: FloatArray) -> FloatArray:
    """Return (n,) model scores, NaN where there is no text: so `missing.settled` knows it."""
    return np.where([text is None for text in texts], np.nan, scores) if None in texts else scores


def interned(texts: Sequence[str | None], vocabulary: Vocabulary) -> tuple[TokenArray, IntArray]:
    """Return (T,) tokens and (n + 1,) offsets of n texts."""
    parts = [(text or "").encode() for text in texts]
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


def _ranks_of_records(
    file: ListFile,
    places: Sequence[Place],
    segments: Sequence[int | str],
    ranks: list[int | None],
    first_rank: int | None,
) -> list[int | None]:
    """Return ranks from 1; raise the error of a record that stands twice."""
    numbers = [rank for rank in ranks if rank is not None]
    if not numbers or (len(numbers) == len(ranks) and min(numbers) == max(numbers) > 1):
        _check_together(file, list(zip(segments, places, strict=True)))
        return [None] * len(ranks)
    first = min(1, *numbers) if first_rank is None else first_rank
    if len(numbers) == len(ranks) == len(set(zip(segments, ranks, strict=True))):  # the usual case
        return [rank + 1 - first for rank in numbers]
    origins = list(zip(places, segments, ranks, strict=True))
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
    unranked = [(segment, place) for place, segment, rank in origins if rank is None]
    _check_together(file, unranked)
    return all_ranks


def _check_together(file: ListFile, origins: Sequence[tuple[int | str, Place]]) -> None:
    """Raise the error of an id with two lists.

    Records of one hypothesis each may stand anywhere: samples are often drawn pass by pass.
    """
    if len({place for _, place in origins}) == len(origins):
        return
    sizes = Counter(origins)
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
