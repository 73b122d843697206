"""Make the arrays of a list from the records that a reader yields: the one place that does so."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Ragged, TokenArray, Vocabulary

from ...base.columns import DROP, INDEX_KEYS
from ...base.errors import InputError, counted, shown
from ...texts._kernels import intern_tokens
from ...weights.feature_weights import FeatureNames
from ..merging import ListArrays, beyond, empty_rows
from ..records import Hypothesis, ListFile, Place

if TYPE_CHECKING:
    from ._base import Reader

_ID = re.compile(r"[0-9]{1,9}")
_KEYS = ", ".join(INDEX_KEYS)
_OWN_FILES = "give several lists of a segment as files of their own"


def arrays_of(reader: Reader, file: ListFile, vocabulary: Vocabulary) -> ListArrays:
    """Return the arrays of a whole file.

    Raises
    ------
    InputError
        The file is not what it should be, or has no hypothesis; the message says where.
    """
    hypotheses: list[Hypothesis] = []
    places: dict[int | str, Place] = {}
    for record in reader.records(file):
        places.setdefault(record.segment, record.place)
        if isinstance(record, Hypothesis):
            hypotheses.append(record)
        elif file.names.drop:
            file.names.failed[record.segment] = record.reason
        else:
            file.fail(record.place, f"id '{record.segment}': {record.reason}; {DROP}")
    if not hypotheses:
        raise InputError(f"{file.where}: no hypothesis in the file")
    segments = _segments(reader, file, hypotheses, places)
    names, features = _features(file, hypotheses)
    tokens, offsets = _interned([hypothesis.text for hypothesis in hypotheses], vocabulary)
    links = _links(file, hypotheses, np.diff(offsets))
    ranks = [hypothesis.rank for hypothesis in hypotheses]
    if reader.are_unique:
        ranks = _ranks_of_records(file, hypotheses, reader.first_rank)
    rows = empty_rows(len(hypotheses), features=0, stats=0)._replace(
        segments=segments,
        tokens=tokens,
        token_offsets=offsets,
        features=features,
        scores=np.array([hypothesis.score for hypothesis in hypotheses]) + 0.0,
        ranks=np.array([] if None in ranks else ranks, dtype=np.int32),
    )
    if links is not None:
        rows = rows._replace(links=links.values, link_offsets=links.offsets)
    return ListArrays(rows, names, (), links is not None, file.where)


def _segments(
    reader: Reader,
    file: ListFile,
    hypotheses: Sequence[Hypothesis],
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
    return np.array([numbers[hypothesis.segment] for hypothesis in hypotheses], dtype=np.int64)


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


def _features(file: ListFile, hypotheses: Sequence[Hypothesis]) -> tuple[FeatureNames, FloatArray]:
    """Return the names of the features, and (n, F) their values without -0.0."""
    names, sizes = tuple(hypotheses[0].features), _sizes(hypotheses[0])
    are_numbers = sizes == dict.fromkeys(names, 1)
    rows = []
    for hypothesis in hypotheses:
        features = hypothesis.features
        values = [*features.values()]
        if tuple(features) != names or not are_numbers or list in map(type, values):
            if _sizes(hypothesis) != sizes:
                file.fail(
                    hypothesis.place,
                    f"features {_in_words(_sizes(hypothesis))}, the first hypothesis has "
                    f"{_in_words(sizes)}",
                )
            values = [*chain.from_iterable(_as_list(features[name]) for name in names)]
        rows.append(values)
    table = np.array(rows, dtype=np.float64).reshape(len(rows), sum(sizes.values()))
    return tuple(sizes.items()), table + 0.0


def _as_list(value: float | list[float]) -> list[float]:
    return value if isinstance(value, list) else [value]


def _sizes(hypothesis: Hypothesis) -> dict[str, int]:
    """Return the number of values of each feature."""
    return {name: len(_as_list(value)) for name, value in hypothesis.features.items()}


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


def _links(file: ListFile, hypotheses: Sequence[Hypothesis], lengths: IntArray) -> Ragged | None:
    """Return the links of hypotheses with these numbers of tokens; None without alignments."""
    is_linked = hypotheses[0].links is not None
    for hypothesis in hypotheses:
        if (hypothesis.links is None) == is_linked:
            has, first = ("no", "one") if is_linked else ("a", "none")
            file.fail(hypothesis.place, f"{has} word alignment, the first hypothesis has {first}")
    if not is_linked:
        return None
    links = Ragged.from_rows([hypothesis.links or [] for hypothesis in hypotheses], 2)
    rows = np.repeat(np.arange(len(links)), links.lengths)
    for first in np.flatnonzero(links.values[:, 1] >= lengths[rows])[:1]:
        file.fail(
            hypotheses[rows[first]].place,
            f"{links.values[first, 0]}-{links.values[first, 1]} is out of range, the hypothesis "
            f"has {counted(lengths[rows[first]], 'token')} (positions count from 0)",
        )
    return links


def _ranks_of_records(
    file: ListFile, hypotheses: Sequence[Hypothesis], first_rank: int | None
) -> list[int | None]:
    """Return ranks from 1; raise the error of a record that stands twice."""
    ranks = [hypothesis.rank for hypothesis in hypotheses]
    numbers = [rank for rank in ranks if rank is not None]
    if not numbers or (len(numbers) == len(ranks) and min(numbers) == max(numbers) > 1):
        _check_together(file, hypotheses)
        return [None] * len(ranks)
    first = min(1, *numbers) if first_rank is None else first_rank
    with_ranks = {each.segment for each in hypotheses if each.rank is not None}
    first_places: dict[tuple[str | int, int], Place] = {}
    sizes: Counter[str | int] = Counter()
    all_ranks: list[int | None] = []
    for place, segment, rank in ((each.place, each.segment, each.rank) for each in hypotheses):
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
    _check_together(file, [each for each in hypotheses if each.rank is None])
    return all_ranks


def _check_together(file: ListFile, hypotheses: Sequence[Hypothesis]) -> None:
    """Raise the error of an id with two lists.

    Records of one hypothesis each may stand anywhere: samples are often drawn pass by pass.
    """
    first_places: dict[str | int, Place] = {}
    sizes = Counter((each.segment, each.place) for each in hypotheses)
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
