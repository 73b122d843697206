"""Merging against plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from portmert.metrics._base import Ragged
from portmert.tuner.nbest.merging import DistinctRows, empty_rows
from tests.support.examples import examples

ROWS = st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=6)


@examples(100)
@given(st.lists(ROWS, max_size=4))
def test_merging_keeps_the_first_of_equal_rows(blocks):
    distinct, expected = DistinctRows(features=2), {}
    for number, block in enumerate(blocks):
        segments = [len(row) % 2 for row in block]
        features = [[row[0] / 2, row[-1]] if row else [0, 0] for row in block]
        tokens = Ragged.from_rows(block)
        rows = empty_rows(len(block), features=2, stats=0)._replace(
            segments=np.array(segments, dtype=np.int64),
            tokens=tokens.values,
            token_offsets=tokens.offsets,
            features=np.array(features, dtype=np.float64).reshape(-1, 2),
            lines=10 * number + np.arange(len(block)),
        )
        dropped = {line: first for line, _, _, first in distinct.append(rows).tolist()}
        for line, row, *of_row in zip(rows.lines.tolist(), block, segments, features, strict=True):
            first = expected.setdefault(tuple(row), (*of_row, line))[2]
            assert dropped.get(line, line) == first
    rows = distinct.finish()
    arrived = list(expected)
    by_segment = sorted(range(len(arrived)), key=lambda k: expected[arrived[k]][0])
    texts = Ragged(rows.tokens, rows.token_offsets)
    assert [tuple(texts.row(k).tolist()) for k in range(len(texts))] == [
        arrived[k] for k in by_segment
    ]
    assert rows.features.tolist() == [expected[arrived[k]][1] for k in by_segment]
    assert rows.features.flags.f_contiguous
