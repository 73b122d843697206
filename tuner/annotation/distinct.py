"""Finds the different texts among many: each is annotated once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from portmert.metrics._base import IntArray, Ragged, Texts, offsets_of


@dataclass(frozen=True)
class Distinct:
    """Holds the D different texts among N that are not empty.

    Parameters
    ----------
    lines
        The words of each, joined by spaces, in order of appearance.
    tokens : Ragged
        D + 1 rows, the last one empty.
    index : (N,) int64
        Which of the D + 1 each text is.
    """

    lines: list[str]
    tokens: Ragged
    index: IntArray

    @classmethod
    def of(cls, texts: Texts) -> Distinct:
        """Find the different texts."""
        tokens = texts.tokens
        used = tokens.values[tokens.offsets[0] : tokens.offsets[-1]]
        data = used.tobytes()
        ends = (used.itemsize * (tokens.offsets - tokens.offsets[0])).tolist()
        rows = [data[start:stop] for start, stop in pairwise(ends)]
        distinct = [row for row in dict.fromkeys(rows) if row]
        numbers = {row: number for number, row in enumerate(distinct)}
        numbers[b""] = len(distinct)
        index = np.fromiter(map(numbers.__getitem__, rows), np.int64, len(rows))
        lengths = np.fromiter(map(len, [*distinct, b""]), np.int64) // used.itemsize
        offsets = offsets_of(lengths)
        values = np.frombuffer(b"".join(distinct), dtype=used.dtype)
        words = list(map(texts.vocabulary.words.__getitem__, values.tolist()))
        lines = [" ".join(words[start:stop]) for start, stop in pairwise(offsets[:-1].tolist())]
        return cls(lines, Ragged(values, offsets), index)


def places_of(value: bytes | None, columns: Iterable[Sequence[bytes | None]]) -> list[int]:
    """Return the places at which any of the columns has the value."""
    with_it = [column for column in columns if value in column]  # most often none
    return sorted(
        {place for column in with_it for place, one in enumerate(column) if one == value}
    )
