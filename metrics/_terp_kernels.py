# Long because kernels that call each other stay in one file: numba caches a caller with the
# callee that it had.
"""Searches for TERp's edits, compiled: weighted edit distance with phrases, and shifts.

Costs are whole numbers (multiples of a small unit), so that sums and ties are exact. Inputs are
read-only; releases the interpreter lock.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray  # noqa: TC002  numba reads the records

from metrics._base import FloatArray, IntArray, TokenArray  # noqa: TC001  numba reads records
from metrics._lexicon_kernels import Phrases, Segments, Words  # noqa: TC001

MATCH, INSERT, DELETE, SUBSTITUTE, STEM, SYNONYM, SHIFT, PHRASE = range(8)
"""Columns of counts, as in TERp; behind them e * log10(p), e * p and e of the phrases."""
ALIKE = 8
"""Added to the kind of edit of two words that match."""
START, TAKES, SIZE, COST, ENTRY, BEGIN = range(6)
"""Columns of phrases found: place and words of the reference, words of the hypothesis, price,
which phrase, and where the rows of kinds of its words begin."""
LONGEST = 10
"""Words of a shift (TERp, tercom)."""
OUT_OF_REACH = 1 << 61
"""More than any sum of costs: a cell outside of the band."""
KINDS_KEPT = 512
"""Words, beside those of one hypothesis, whose edits are known for the rest of a segment."""


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
    distance
        Longest distance of a shift.
    tried
        Most shifts tried for a hypothesis.
    tokens
        Of longer texts only cells near the diagonal of the edit distance are filled ...
    half_width
        ... at most so far from it.
    """

    distance: int
    tried: int
    tokens: int
    half_width: int


class Band(NamedTuple):
    """Says which cells of an edit distance are filled, and where they are kept.

    Row i has those from `_low` to `_high`; cell j is kept at `_at`. One cell on the left of them,
    and on their right those that the next row reads, are out of reach.
    """

    n: int
    m: int
    slope: float
    width: int
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


class Span(NamedTuple):
    """Says which rows of an edit distance to fill.

    Parameters
    ----------
    first
        The first row, at least 1.
    limit
        Of the distance.
    reach
        Words of the longest phrase in the hypothesis, at least 1.
    band
        The cells.
    """

    first: int
    limit: int
    reach: int
    band: Band


class Pair(NamedTuple):
    """Holds what is known of a hypothesis and its reference whatever the order of words.

    Rows are those of words that hypotheses of the segment have.

    Parameters
    ----------
    edits : (R, m or more) int8
        What makes each word each reference word: the kind, and `ALIKE` where the two match.
    prices
        Of edits.
    phrases : (K, 6) int64
        Those for which the hypothesis has all words, in any order: by the place behind them in
        the reference, then the longest first.
    ends : (m + 2,) int64
        Those that end before reference word j are `phrases[ends[j]:ends[j + 1]]`.
    rows
        Their words.
    reach : int
        Words of the longest one in the hypothesis, at least 1.
    """

    edits: NDArray[np.int8]
    prices: IntArray
    phrases: IntArray
    ends: IntArray
    rows: IntArray
    reach: int
    band: Band


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
    hits : (m,) int8
        See `_least_cost`.
    content : (R,) int64
        Of the word of each row of kinds whether it is no stop word, 0 or 1.
    """

    costs: IntArray
    trial: IntArray
    moved: IntArray
    sums: IntArray
    spans: NDArray[np.bool_]
    hits: NDArray[np.int8]
    content: IntArray


# An array is counted whenever it is taken out of a record that a function was handed, which takes
# longer than the search of a short text; an inlined function is handed none.
_inlined = njit(inline="always")


@_inlined
def _band(n: int, m: int, limits: Limits) -> Band:
    slope = m / max(n, 1)
    width = m + 1
    if max(n, m) > limits.tokens:
        width = limits.half_width
        if width < slope / 2:
            width = math.ceil(slope / 2 + width)
    return Band(n, m, slope, width, min(m + 1, math.ceil(slope) + 2 * width + 1) + 3)


@njit(cache=True, nogil=True)
def _low(band: Band, i: int) -> int:
    """Return the first cell of row i that is filled."""
    return max(0, math.floor(i * band.slope) - band.width)


@njit(cache=True, nogil=True)
def _high(band: Band, i: int) -> int:
    """Return the cell behind the last one of row i that is filled."""
    if i in (0, band.n):
        return band.m + 1
    return min(band.m + 1, math.floor(i * band.slope) + band.width)


@njit(cache=True, nogil=True)
def _at(band: Band, i: int, j: int) -> int:
    """Return where cell (i, j) is kept."""
    return int(i * band.stride + j + 1 - _low(band, i))


@_inlined
def _are_synonyms(one: int, other: int, synonyms: TokenArray, offsets: IntArray) -> bool:
    """Return whether `other` stands in the rising list of the synonyms of `one`."""
    low, high = offsets[one], offsets[one + 1]
    while low < high:
        middle = (low + high) // 2
        if synonyms[middle] < other:
            low = middle + 1
        else:
            high = middle
    return bool(low < offsets[one + 1] and synonyms[low] == other)


@_inlined
def _compare(
    word: int,
    reference: TokenArray,
    words: Words,
    prices: IntArray,
    edits: NDArray[np.int8],
) -> None:
    """Set what makes a hypothesis word each reference word.

    The cheapest of substitution, stem and synonym, of equal ones the first. `edits` is modified.
    """
    stem = words.stems[word]
    for j in range(reference.size):
        other = reference[j]
        if other == word:
            edits[j] = MATCH + ALIKE
            continue
        kind, alike = SUBSTITUTE, 0
        if words.stems[other] == stem:
            alike = ALIKE
            if prices[STEM] < prices[kind]:
                kind = STEM
        if words.offsets[other] < words.offsets[other + 1] and _are_synonyms(
            other, word, words.synonyms, words.offsets
        ):
            alike = ALIKE
            if prices[SYNONYM] < prices[kind]:
                kind = SYNONYM
        edits[j] = kind + alike


@_inlined
def _find_phrases(
    order: IntArray,
    m: int,
    text: int,
    found: tuple[Phrases, IntArray],
    known: IntArray,
    marks: NDArray[np.bool_],
    work: tuple[IntArray, IntArray, IntArray],
) -> tuple[int, int]:
    """Find the phrases of reference `text` for which the hypothesis has all words, in any order.

    Parameters
    ----------
    order
        Rows of kinds of the hypothesis.
    found
        Phrases and their prices.
    known
        The row of each word, -1 for others.
    marks
        False for each row, before and after.
    work
        `phrases`, `ends` and `rows` of `Pair`, modified in place.

    Returns
    -------
    count, reach : int
        How many there are; words of the longest one in the hypothesis, at least 1.
    """
    entries, costs = found
    phrases, ends, rows = work
    places, offsets = entries.found, entries.offsets
    for j in range(m + 2):
        ends[j] = 0
    if places.offsets[text] == places.offsets[text + 1]:
        return 0, 1
    for row in order:
        marks[row] = True
    count, reach, begin = 0, 1, 0
    for occurrence in range(places.offsets[text], places.offsets[text + 1]):
        entry = places.entries[occurrence]
        size, taken = offsets[entry + 1] - offsets[entry], entries.taken[entry]
        if size > order.size:
            continue
        size = 0
        for place in range(offsets[entry], offsets[entry + 1]):
            row = known[entries.words[place]]
            if row < 0 or not marks[row]:
                size = -1
                break
            rows[begin + size] = row
            size += 1
        if size < 0:
            continue
        # Into its place; few are found.
        k, end = count, places.places[occurrence] + taken
        while k > 0:
            other = phrases[k - 1, START] + phrases[k - 1, TAKES]
            if other < end or (
                other == end
                and (
                    phrases[k - 1, SIZE] > size
                    or (phrases[k - 1, SIZE] == size and phrases[k - 1, TAKES] >= taken)
                )
            ):
                break
            for column in range(6):
                phrases[k, column] = phrases[k - 1, column]
            k -= 1
        phrases[k, START], phrases[k, TAKES], phrases[k, SIZE] = (
            places.places[occurrence], taken, size
        )  # fmt: skip
        phrases[k, COST], phrases[k, ENTRY], phrases[k, BEGIN] = costs[entry], entry, begin
        ends[end + 1] += 1
        count, begin, reach = count + 1, begin + size, max(reach, size)
    for j in range(1, m + 2):
        ends[j] += ends[j - 1]
    for row in order:
        marks[row] = False
    return count, reach


@njit(cache=True, nogil=True)
def _is_at(order: IntArray, start: int, phrases: IntArray, k: int, rows: IntArray) -> bool:
    """Return whether the hypothesis, in this order, has phrase k at `start`."""
    same, i = 0 <= start <= order.size - phrases[k, SIZE], 0
    while same and i < phrases[k, SIZE]:
        same = order[start + i] == rows[phrases[k, BEGIN] + i]
        i += 1
    return bool(same)


@njit(cache=True, nogil=True)
def _phrase_cost(
    costs: IntArray,
    order: IntArray,
    i: int,
    j: int,
    k: int,
    phrases: IntArray,
    rows: IntArray,
    band: Band,
) -> int:
    """Return the cost of cell (i, j) by phrase k, or more than any cost."""
    start, before = i - phrases[k, SIZE], j - phrases[k, TAKES]
    if (
        start >= 0
        and _low(band, start) <= before < _high(band, start)
        and _is_at(order, start, phrases, k, rows)
    ):
        return int(costs[_at(band, start, before)] + phrases[k, COST])
    return OUT_OF_REACH


@njit(cache=True, nogil=True)
def _fill(
    costs: IntArray,
    order: IntArray,
    edits: NDArray[np.int8],
    prices: IntArray,
    phrases: IntArray,
    ends: IntArray,
    rows: IntArray,
    span: Span,
) -> bool:
    """Fill rows of the edit distance of i hypothesis and j reference words.

    Parameters
    ----------
    costs
        Modified in place; rows before the first as far as phrases reach are given, but row 0.
    order
        Which row of kinds stands at each place of the hypothesis.
    edits, prices, phrases, ends, rows
        See `Pair`: one by one, since every array of a record is counted whenever it is taken out.

    Returns
    -------
    bool
        Whether the distance is at most the limit; False as soon as that is certain.
    """
    first, limit, reach, band = span
    insert, delete, many = prices[INSERT], prices[DELETE], phrases.shape[0] > 0
    n, m, stride = band.n, band.m, band.stride
    if first == 1:
        for j in range(stride - 3):
            costs[j + 1] = j * delete
    above_limit = 0
    for i in range(first, n + 1):
        low, high, word = _low(band, i), _high(band, i), order[i - 1]
        here, above = _at(band, i, 0), _at(band, i - 1, 0)
        if low == 0:
            left = costs[above] + insert
            costs[here] = left
        else:
            left = OUT_OF_REACH
            costs[here + low - 1] = left
        least = left
        begin = max(1, low)
        corner = costs[above + begin - 1]
        for j in range(begin, high):
            upper = costs[above + j]
            left = min(corner + prices[edits[word, j - 1] & 7], upper + insert, left + delete)
            corner = upper
            if many:
                for k in range(ends[j], ends[j + 1]):
                    left = min(left, _phrase_cost(costs, order, i, j, k, phrases, rows, band))
            costs[here + j] = left
            least = min(least, left)
        for j in range(high, min(m + 1, low + stride - 2)):
            costs[here + j] = OUT_OF_REACH
        above_limit = above_limit + 1 if least > limit else 0
        if above_limit >= reach:  # no phrase leads past these rows
            return False
    return bool(costs[_at(band, n, m)] <= limit)


@_inlined
def _trace(
    costs: IntArray,
    order: IntArray,
    pair: Pair,
    path: Path,
    features: FloatArray,
    counts: FloatArray,
) -> None:
    """Follow the cheapest path back.

    Of equal steps a phrase comes first, the longest one, then a pair of words, then a phrase of
    one word each, then a hypothesis word, then a reference word: as in TERp.

    Modified in place: `path`; `counts` (11,), all but the shifts.
    """
    edits, prices, phrases, ends, rows, _, band = pair
    extra, missed, where = path
    for column in range(PHRASE + 4):
        if column != SHIFT:
            counts[column] = 0.0
    i, j = band.n, band.m
    while i > 0 or j > 0:
        here, chosen = costs[_at(band, i, j)], -1
        for k in range(ends[j], ends[j + 1]):
            if chosen < 0 and here == _phrase_cost(costs, order, i, j, k, phrases, rows, band):
                chosen = k
        pairs = False
        if i > 0 and j > 0:
            kind = edits[order[i - 1], j - 1] & 7
            pairs = here == costs[_at(band, i - 1, j - 1)] + prices[kind]
        if chosen >= 0 and not (pairs and phrases[chosen, SIZE] + phrases[chosen, TAKES] == 2):
            for k in range(i - phrases[chosen, SIZE], i):
                extra[k] = 1
            for k in range(j - phrases[chosen, TAKES], j):
                missed[k], where[k] = 1, i - 1
            i, j = i - phrases[chosen, SIZE], j - phrases[chosen, TAKES]
            counts[PHRASE] += 1.0
            for k in range(3):
                counts[PHRASE + 1 + k] += features[phrases[chosen, ENTRY], k]
        elif pairs:
            i, j = i - 1, j - 1
            extra[i] = missed[j] = 0 if kind == MATCH else 1
            where[j] = i
            counts[kind] += 1.0
        elif i > 0 and here == costs[_at(band, i - 1, j)] + prices[INSERT]:
            i -= 1
            extra[i] = 1
            counts[INSERT] += 1.0
        else:
            j -= 1
            missed[j], where[j] = 1, i - 1
            counts[DELETE] += 1.0


@njit(cache=True, nogil=True)
def _move(order: IntArray, start: int, length: int, to: int, moved: IntArray) -> None:
    """Take out `length` places at `start`, insert them at `to` of the rest. Modifies `moved`."""
    for i in range(order.size):
        moved[i] = order[i]
    if to < start:
        for i in range(to, start):
            moved[i + length] = order[i]
    else:
        for i in range(start, to):
            moved[i] = order[i + length]
    for i in range(length):
        moved[to + i] = order[start + i]


@_inlined
def _least_cost(order: IntArray, pair: Pair, hits: NDArray[np.int8]) -> int:
    """Return a lower bound of the edit distance in any order of the hypothesis. Modifies `hits`.

    At most as many pairs match as either side has words that match any of the other.
    """
    n, m, edits, prices = pair.band.n, pair.band.m, pair.edits, pair.prices
    if pair.phrases.shape[0] > 0:
        return 0
    for j in range(m):
        hits[j] = 0
    pairs = 0
    for i in range(n):
        any_hit = 0
        for j in range(m):
            hits[j] |= edits[order[i], j]
            any_hit |= edits[order[i], j]
        pairs += any_hit >= ALIKE
    hit = 0
    for j in range(m):
        hit += hits[j] >= ALIKE
    pairs = min(pairs, hit)
    match = min(prices[MATCH], prices[STEM], prices[SYNONYM])
    change = min(prices[SUBSTITUTE], prices[INSERT] + prices[DELETE])
    both = min(n, m)
    # As many pairs as can match, or none: the cost is linear in between.
    matched = min(pairs * match + (both - pairs) * change, both * change)
    return int(matched + (n - both) * prices[INSERT] + (m - both) * prices[DELETE])


@_inlined
def _spans(
    order: IntArray,
    place: tuple[int, int],
    band: Band,
    edits: NDArray[np.int8],
    phrases: IntArray,
    rows: IntArray,
    spans: NDArray[np.bool_],
) -> tuple[int, int]:
    """Find which words from place h on match which reference words from place r on.

    Modified in place: `spans[a, b]`, whether a words match b words, as far as (longest, widest),
    which is returned; longest is 0 if there is none. Without phrases only a = b is looked at.
    """
    h, r = place
    longest, widest = min(LONGEST, band.n - h), min(LONGEST, band.m - r)
    if phrases.shape[0] == 0:
        alike, most = 0, min(longest, widest)
        while alike < most and edits[order[h + alike], r + alike] >= ALIKE:
            alike += 1
            spans[alike, alike] = True
        return alike, alike
    for a in range(longest + 1):
        for b in range(widest + 1):
            spans[a, b] = False
    spans[0, 0] = True
    for a in range(longest + 1):
        for b in range(widest + 1):
            if not spans[a, b]:
                continue
            if a < longest and b < widest and edits[order[h + a], r + b] >= ALIKE:
                spans[a + 1, b + 1] = True
            for k in range(phrases.shape[0]):
                above, behind = a + phrases[k, SIZE], b + phrases[k, TAKES]
                if (
                    phrases[k, START] == r + b
                    and above <= longest
                    and behind <= widest
                    and _is_at(order, h + a, phrases, k, rows)
                ):
                    spans[above, behind] = True
    return longest, widest


@_inlined
def _best_shift(
    costs: IntArray,
    order: IntArray,
    pair: Pair,
    path: Path,
    work: Work,
    least: int,
    tried: int,
    limits: Limits,
) -> tuple[int, int, int, int]:
    """Find the shift that leaves the smallest edit distance, and pays.

    Of equal ones that with most words on one side wins, then the first one, then the first target,
    then that of most hypothesis words. What cannot win is counted as tried, but not worked out.

    Parameters
    ----------
    costs
        Edit distances in the present order.
    order
        Which row of kinds stands at each place of the hypothesis.
    path
        The cheapest path of the present order.
    work
        Modified in place.
    least
        A lower bound of the distance after any shift.
    tried
        Shifts tried so far.

    Returns
    -------
    start, length, to, tried : int
        See `_move`; the length is 0 if no shift pays.
    """
    extra, missed, where = path
    _, trial, moved, sums, spans, _, content = work
    edits, prices, phrases, ends, rows, reach, band = pair
    many = phrases.shape[0] > 0
    n, m, last = band.n, band.m, _at(band, band.n, band.m)
    for i in range(n):
        sums[0, i + 1] = sums[0, i] + extra[i]
        sums[2, i + 1] = sums[2, i] + content[order[i]]
    for j in range(m):
        sums[1, j + 1] = sums[1, j] + missed[j]
    best = costs[last] - max(prices[SHIFT], 1) + 1  # to be beaten
    start, length, size, gap, to = n, 0, n + m + 1, 0, 0
    for h in range(n):
        for r in range(max(0, h - limits.distance), min(m, h + limits.distance + 1)):
            begins = edits[order[h], r] >= ALIKE
            for k in range(phrases.shape[0]):
                begins |= phrases[k, START] == r and rows[phrases[k, BEGIN]] == order[h]
            if where[r] == h or not begins:
                continue
            longest, widest = _spans(order, (h, r), band, edits, phrases, rows, spans)
            for a in range(1, longest + 1):
                for b in range(0 if many else a, (widest if many else a) + 1):
                    if (
                        not spans[a, b]
                        or h <= where[r] < h + a
                        or sums[0, h + a] == sums[0, h]
                        or sums[1, r + b] == sums[1, r]
                        or sums[2, h + a] == sums[2, h]
                        or sums[3, r + b] == sums[3, r]
                    ):
                        continue
                    previous = -1
                    for k in range(r - 1, r + b):
                        target = 0 if k == -1 else where[k] + 1
                        if target == previous:
                            continue
                        previous = target
                        tried += 1
                        place = target - a if target > h + a else min(target, n - a)
                        more = max(a, b)
                        wins_tie = more > size or (
                            more == size
                            and (
                                h < start
                                or (
                                    h == start and (target < gap or (target == gap and a > length))
                                )
                            )
                        )
                        limit = best if wins_tie else best - 1
                        if place == h or limit < least:
                            continue
                        _move(order, h, a, place, moved)
                        first = min(h, place) + 1
                        for cell in range(
                            max(0, first - reach) * band.stride, first * band.stride
                        ):
                            trial[cell] = costs[cell]
                        span = Span(first, limit, reach, band)
                        if _fill(trial, moved, edits, prices, phrases, ends, rows, span):
                            best = trial[last]
                            start, length, size, gap, to = h, a, more, target, place
                    if tried >= limits.tried:
                        return 0, 0, 0, tried
    return start, length, to, tried


@_inlined
def _shift_all(
    order: IntArray,
    pair: Pair,
    path: Path,
    work: Work,
    limits: Limits,
    features: FloatArray,
    counts: FloatArray,
) -> None:
    """Shift words of a hypothesis as long as that pays, and count the edits.

    `order`, `path`, `work` and `counts` (12,) are modified in place.
    """
    edits, prices, phrases, ends, rows, reach, band = pair
    costs, shift = work.costs, prices[SHIFT]
    least = _least_cost(order, pair, work.hits)
    # Not literals, for which numba would compile the functions called once more.
    tried, first, limit = np.int64(0), np.int64(1), np.int64(1 << 62)
    while True:
        span = Span(int(first), int(limit), reach, band)
        _fill(costs, order, edits, prices, phrases, ends, rows, span)
        _trace(costs, order, pair, path, features, counts)
        distance = costs[_at(band, band.n, band.m)]
        if distance - least < max(shift, 1):
            break
        start, length, to, tried = _best_shift(
            costs, order, pair, path, work, least, tried, limits
        )
        if length == 0:
            break
        _move(order, start, length, to, work.moved)
        for i in range(order.size):
            order[i] = work.moved[i]
        counts[SHIFT] += 1.0
    counts[PHRASE + 4] = distance + counts[SHIFT] * shift


@njit(cache=True, nogil=True)
def _longest(offsets: IntArray) -> int:
    longest = 0
    for k in range(offsets.size - 1):
        longest = max(longest, offsets[k + 1] - offsets[k])
    return longest


@njit(cache=True, nogil=True)
def plus_edits(
    segments: Segments,
    first: IntArray,
    words: Words,
    phrases: Phrases,
    worths: Worths,
    prices: IntArray,
    limits: Limits,
) -> FloatArray:
    """Count the edits of each hypothesis.

    Parameters
    ----------
    segments
        Hypotheses and references.
    first : (H,) int64
        The first hypothesis of the segment that has the same matches.
    words
        Stop words are listed.
    phrases
        In the references.
    worths
        What they cost.
    prices
        (7,) in the order of the counts.
    limits
        Of the search.

    Returns
    -------
    (H, 12) float64
        The 11 counts of TERp, and the price of all edits.
    """
    tokens, token_offsets, offsets, reference_tokens, reference_offsets = segments
    n, m, p = _longest(token_offsets), _longest(reference_offsets), _longest(phrases.found.offsets)
    # Of the longest hypothesis and reference; others use the beginning.
    order, moved = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    extra, missed = np.empty(n, dtype=np.int64), np.empty(m, dtype=np.int64)
    where = np.empty(m, dtype=np.int64)
    edits = np.empty((n + KINDS_KEPT, m), dtype=np.int8)
    row_words = np.empty(n + KINDS_KEPT, dtype=np.int64)
    content, marks = np.empty_like(row_words), np.zeros(n + KINDS_KEPT, dtype=np.bool_)
    sums = np.zeros((4, max(n, m) + 1), dtype=np.int64)
    spans = np.empty((LONGEST + 1, LONGEST + 1), dtype=np.bool_)
    hits = np.empty(m, dtype=np.int8)
    found, ends = np.empty((p, 6), dtype=np.int64), np.empty(m + 2, dtype=np.int64)
    rows = np.empty(p * _longest(phrases.offsets), dtype=np.int64)
    costs, trial = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    known = np.full(words.stems.size, -1, dtype=np.int64)  # the row of each word
    counts = np.zeros((token_offsets.size - 1, PHRASE + 5))
    used = 0
    for s in range(offsets.size - 1):
        reference = reference_tokens[reference_offsets[s] : reference_offsets[s + 1]]
        m = reference.size
        path = Path(extra, missed[:m], where[:m])
        for j in range(m):
            sums[3, j + 1] = sums[3, j] + (0 if words.listed[reference[j]] else 1)
        for row in range(used):
            known[row_words[row]] = -1
        used = 0
        for h in range(offsets[s], offsets[s + 1]):
            if first[h] < h:
                for column in range(PHRASE + 5):
                    counts[h, column] = counts[first[h], column]
                continue
            begin = token_offsets[h]
            n = token_offsets[h + 1] - begin
            if used + n > row_words.size:
                for row in range(used):
                    known[row_words[row]] = -1
                used = 0
            for i in range(n):
                word = tokens[begin + i]
                if known[word] < 0:
                    known[word], row_words[used] = used, word
                    content[used] = 0 if words.listed[word] else 1
                    _compare(word, reference, words, prices, edits[used])
                    used += 1
                order[i] = known[word]
            band = _band(n, m, limits)
            if costs.size < (n + 1) * band.stride:
                costs = np.empty((n + 1) * band.stride, dtype=np.int64)
                trial = np.empty_like(costs)
            count, reach = _find_phrases(
                order[:n], m, s, (phrases, worths.costs), known, marks, (found, ends, rows)
            )
            _shift_all(
                order[:n],
                Pair(edits, prices, found[:count], ends, rows, reach, band),
                path,
                Work(costs, trial, moved, sums, spans, hits, content),
                limits,
                worths.features,
                counts[h],
            )
    return counts
