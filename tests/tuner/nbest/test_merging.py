"""Merging against plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from portmert.metrics._base import Ragged, Vocabulary
from portmert.tuner.nbest.merging import Merger, empty_rows
from portmert.tuner.nbest.records import SegmentNames
from tests.support.examples import examples

ROWS = st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=6)


@examples(100)
@given(st.lists(ROWS, max_size=4))
def test_merging_keeps_the_first_of_equal_rows(blocks):
    merger, expected, first_line = Merger(), {}, {}
    for block in blocks:
        segments = [len(row) % 2 for row in block]
        features = [[row[0] / 2, row[-1]] if row else [0, 0] for row in block]
        tokens = Ragged.from_rows(block)
        merger.add(
            empty_rows(len(block), features=2)._replace(
                segments=np.array(segments, dtype=np.int64),
                tokens=tokens.values,
                token_offsets=tokens.offsets,
                features=np.array(features, dtype=np.float64).reshape(-1, 2),
                scores=np.zeros(len(block)),
                names=(("f", 2),),
            )
        )
        for row, *of_row in zip(block, segments, features, strict=True):
            first = expected.setdefault(tuple(row), (*of_row, len(first_line)))[2]
            first_line[len(first_line)] = first
    if not first_line:
        return
    nbest = merger.finish(Vocabulary(), None, SegmentNames(drop=True))
    dropped = {line: first for line, _, _, first in nbest.dropped.tolist()}
    assert {line: dropped.get(line, line) for line in first_line} == first_line
    arrived = list(expected)
    by_segment = sorted(arrived, key=lambda row: expected[row][0])
    tokens = nbest.texts.tokens
    assert [tuple(tokens.row(k).tolist()) for k in range(len(tokens))] == by_segment
    assert nbest.features.tolist() == [expected[row][1] for row in by_segment]
    assert nbest.lines.tolist() == [expected[row][2] for row in by_segment]
    assert nbest.features.flags.f_contiguous
