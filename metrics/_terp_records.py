"""Defines what the search for TERp's edits reads and works on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np  # noqa: TC002  numba reads the records
from numpy.typing import NDArray  # noqa: TC002  numba reads the records

from metrics._base import FloatArray, IntArray  # noqa: TC001  numba reads records


class Worths(NamedTuple):
    """Says what phrases cost.

    Parameters
    ----------
    costs : (E,) int64
        The price of each.
    features : (E, 3) float64
        e * log10(p), e * p and e.
    """

    costs: IntArray
    features: FloatArray


class Limits(NamedTuple):
    """Bounds the search.

    Parameters
    ----------
    length
        Most words of a shift, on either side.
    distance
        Longest distance of a shift.
    tried
        Most shifts tried for a hypothesis.
    tokens
        Of longer texts only cells near the diagonal of the edit distance are filled ...
    half_width
        ... at most so far from it.
    """

    length: int
    distance: int
    tried: int
    tokens: int
    half_width: int


class Band(NamedTuple):
    """Says which cells of an edit distance are filled, and where they are kept.

    Row i has those from `lows[i]` to before `highs[i]`; cell j is kept at `starts[i] + j`. One
    cell on the left of them, and on their right those that the next row reads, are out of reach.
    """

    n: int
    m: int
    stride: int
    lows: IntArray
    highs: IntArray
    starts: IntArray


class Matches(NamedTuple):
    """Holds which words of a reference each word of its hypotheses matches.

    Words have numbers of their own, in order of arrival. Those of word w are
    `codes[begins[w]:begins[w + 1]]`, by place.

    Parameters
    ----------
    codes
        Place in the reference times `KINDS`, and the kind of the cheapest edit.
    begins
        Of each word.
    content
        Of each word whether it is no stop word, 0 or 1.
    """

    codes: IntArray
    begins: IntArray
    content: IntArray


class Found(NamedTuple):
    """Holds phrases for which a hypothesis has all words, in any order.

    Parameters
    ----------
    phrases : (K, 6) int64
        By the place behind them in the reference, then the longest first.
    ends : (m + 2,) int64
        Those that end before reference word j are `phrases[ends[j]:ends[j + 1]]`.
    words
        Their words.
    starts : (m + 1,) int64
        Those that begin at reference word j are `by_start[starts[j]:starts[j + 1]]` ...
    by_start : (K,) int64
        ... which are rows of `phrases`.
    reach : int
        Words of the longest one in the hypothesis, at least 1.
    """

    phrases: IntArray
    ends: IntArray
    words: IntArray
    starts: IntArray
    by_start: IntArray
    reach: int


class Span(NamedTuple):
    """Says which rows of an edit distance to fill, and how large it is.

    Parameters
    ----------
    first
        The first row, at least 1.
    limit
        Of the distance.
    reach
        Words of the longest phrase in the hypothesis, at least 1.
    n, m, stride
        See `Band`.
    """

    first: int
    limit: int
    reach: int
    n: int
    m: int
    stride: int


class Path(NamedTuple):
    """Holds the cheapest path of an edit distance.

    Parameters
    ----------
    extra : (n,) int64
        0 where a hypothesis word matches, otherwise 1.
    missed : (m,) int64
        0 where a reference word matches, otherwise 1.
    where : (m,) int64
        The last hypothesis word of the path when it takes reference word j, -1 if none.
    """

    extra: IntArray
    missed: IntArray
    where: IntArray


class Work(NamedTuple):
    """Holds arrays to be used again and again.

    Parameters
    ----------
    costs, trial
        Edit distances in the present order, and after a shift.
    moved : (n,) int64
        The order after a shift.
    sums : (4, longest + 1) int64
        How many words up to each place have no match, how many are no stop words: hypothesis and
        reference.
    spans : (LONGEST + 1, LONGEST + 1) bool
        See `_spans`.
    row : (m,) int64
        What makes one hypothesis word each reference word; a substitution between two uses.
    """

    costs: IntArray
    trial: IntArray
    moved: IntArray
    sums: IntArray
    spans: NDArray[np.bool_]
    row: IntArray
