"""Random small corpora for the metrics' tests, and from them to the arrays that metrics read."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from metrics._base import Batch, Texts, Vocabulary
from tests.oracles_metrics import Segment, Text


@st.composite
def texts(draw, source_length, longest=7):
    words = draw(st.lists(st.sampled_from("abcd"), max_size=longest))
    if source_length == 0 or not words:
        return Text(tuple(words))
    positions = st.tuples(st.integers(0, source_length - 1), st.integers(0, len(words) - 1))
    return Text(tuple(words), frozenset(draw(st.lists(positions, max_size=8))))


@st.composite
def segments(draw):
    source_length = draw(st.integers(0, 7))
    references = draw(st.lists(texts(source_length), min_size=1, max_size=3))
    return Segment(source_length, draw(texts(source_length)), tuple(references))


def corpora(max_segments=3):
    return st.lists(segments(), min_size=1, max_size=max_segments)


def batch_of(corpus):
    """One hypothesis a segment."""
    vocabulary = Vocabulary()

    def many(rows):
        return Texts.from_lines(
            (" ".join(row.words) for row in rows), vocabulary, [sorted(row.links) for row in rows]
        )

    counts = [len(s.references) for s in corpus]
    return Batch(
        many([s.hypothesis for s in corpus]),
        np.arange(len(corpus) + 1, dtype=np.int64),
        many([r for s in corpus for r in s.references]),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.array([s.source_length for s in corpus], dtype=np.int32),
    )


def text(line, links=""):
    """From a line of words and a line of links as in files."""
    pairs = (item.split("-") for item in links.split())
    return Text(tuple(line.split()), frozenset((int(i), int(j)) for i, j in pairs))
