"""Searches for TERp's edits, compiled: weighted edit distance with phrases, and shifts.

With a cost of 1 for each edit, and nothing known of words, these are TER's. Costs are whole
numbers (multiples of a small unit), so that sums and ties are exact. Memory grows with the length
of texts where the edit distance has a band, and with its square where it has none. Inputs are
read-only; releases the interpreter lock.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray, TokenArray
from portmert.metrics.kernels.compiled import Segments, helper, kernel, longest_row
from portmert.metrics.kernels.lexicon import Phrases, Words, are_synonyms

MATCH, INSERT, DELETE, SUBSTITUTE, STEM, SYNONYM, SHIFT, PHRASE = range(8)
"""Columns of counts, as in TERp; behind them e * log10(p), e * p and e of the phrases."""
KINDS = 8
"""Kinds of edits that a code of a match tells apart."""
START, TAKES, SIZE, COST, ENTRY, BEGIN, BY_START = range(7)
"""Columns of phrases for which a hypothesis has all words, in any order, by the place behind them
in the reference, then the longest first: place and words of the reference, words of the
hypothesis, price, which phrase, where its words begin; row k of the last column is the row of the
phrase that is number k by the place at which they begin."""
ORDER, MOVED, EXTRA, LOW, HIGH, AT, EXTRAS, CONTENT = range(8)
"""Rows of places, by hypothesis place: the word there, and after a shift; 1 if it has no match on
the cheapest path, otherwise 0. By row of the edit distance: the first cell that is filled, the one
behind the last; where cell 0 is kept. Up to each place: words without a match, no stop words."""
MISSED, WHERE, PRICE, ENDS, STARTS, MISSES, OTHER_CONTENT, PLACES = range(8, 16)
"""Rows of places, by reference place: 1 if it has no match on the cheapest path, otherwise 0; the
last hypothesis word of the path when it takes this word, -1 if none; what makes one hypothesis
word this one, a substitution between two uses; how many phrases end before it, how many begin
before it. Up to each place: words without a match, no stop words. Last, how many rows there are.

All are in one array, and arrays are handed on one by one: an array is counted whenever it is taken
out of a record or cut, which takes longer than the search of a short text."""
LONGEST = 10
"""Words of the longest shift."""
MATCHING, PAIR_LAST = 1, 2
"""How the words of two spans match. Only spans that end in a pair of words are shifted, as in the
program TERp (`_gather_exposs_shifts`)."""
OUT_OF_REACH = 1 << 61
"""More than any sum of costs: a cell outside of the band."""
WORDS_KEPT = 512
"""Words, beside those of one hypothesis, whose matches are known for the rest of a segment."""


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


class Size(NamedTuple):
    """Says how large the edit distance of a hypothesis and a reference is.

    Cell j of row i is kept at `places[AT, i] + j`. One cell on the left of those that are filled,
    and on their right those that the next row reads, are out of reach.

    Parameters
    ----------
    n, m
        Words of the hypothesis and of the reference.
    stride
        Cells kept of a row.
    phrases
        How many are found.
    reach
        Words of the longest one in the hypothesis, at least 1.
    """

    n: int
    m: int
    stride: int
    phrases: int
    reach: int


@helper
def _width(n: int, m: int, limits: Limits) -> tuple[int, int]:
    """Return how far from the diagonal cells are filled, and how many of a row are kept."""
    slope, width = m / max(n, 1), m + 1
    if max(n, m) > limits.tokens:
        width = limits.half_width
        if width < slope / 2:
            width = math.ceil(slope / 2 + width)
    return width, min(m + 1, math.ceil(slope) + 2 * width + 1) + 3


@helper
def _set_band(n: int, m: int, limits: Limits, places: IntArray) -> int:
    """Say in `places` which cells are filled. Return how many of a row are kept."""
    width, stride = _width(n, m, limits)
    slope = m / max(n, 1)
    for i in range(n + 1):
        diagonal = math.floor(i * slope)
        places[LOW, i] = max(0, diagonal - width)
        places[HIGH, i] = min(m + 1, diagonal + width)
        places[AT, i] = i * stride + 1 - places[LOW, i]
    places[HIGH, 0], places[HIGH, n] = stride - 3, m + 1
    return int(stride)


@helper
def _compare(
    word: int,
    reference: TokenArray,
    stems: TokenArray,
    synonyms: TokenArray,
    offsets: IntArray,
    prices: IntArray,
    codes: IntArray,
    count: int,
) -> int:
    """Write behind `count` codes those of the reference words that a hypothesis word matches.

    The kind is the cheapest of substitution, stem and synonym, of equal ones the first. Return
    how many codes there are then; `codes` is modified.
    """
    stem = stems[word]
    for j in range(reference.size):
        other = reference[j]
        alone, alike = offsets[other] == offsets[other + 1], stems[other] == stem
        if alone and not alike:
            continue
        kind = SUBSTITUTE
        if other == word:
            kind = MATCH
        else:
            if alike and prices[STEM] < prices[kind]:
                kind = STEM
            if not alone and are_synonyms(other, word, synonyms, offsets):
                alike = True
                if prices[SYNONYM] < prices[kind]:
                    kind = SYNONYM
        if alike:
            codes[count] = j * KINDS + kind
            count += 1
    return count


@helper
def _first_from(codes: IntArray, low: int, high: int, place: int) -> int:
    """Return the first of the codes low..high-1 that is of this place or of one behind it."""
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < place * KINDS:
            low = middle + 1
        else:
            high = middle
    return low


@helper
def _kind(codes: IntArray, begins: IntArray, word: int, place: int) -> int:
    """Return what makes a word the reference word of a place; -1 if they do not match."""
    spot = _first_from(codes, begins[word], begins[word + 1], place)
    if spot < begins[word + 1] and codes[spot] < (place + 1) * KINDS:
        return int(codes[spot] % KINDS)
    return -1


@helper
def _find_phrases(
    text: int,
    n: int,
    m: int,
    entries: Phrases,
    costs: IntArray,
    known: IntArray,
    marks: NDArray[np.bool_],
    places: IntArray,
    phrases: IntArray,
    words: IntArray,
) -> tuple[int, int]:
    """Find the phrases of reference `text` for which the hypothesis has all words, in any order.

    Parameters
    ----------
    entries, costs
        All phrases and their prices.
    known
        The number of each word of the vocabulary, -1 for others.
    marks
        False for each word, before and after.
    places, phrases, words
        Modified in place; `words` are those of the phrases found.

    Returns
    -------
    count, reach : int
        How many there are; words of the longest one in the hypothesis, at least 1.
    """
    found, offsets = entries.found, entries.offsets
    for i in range(n):
        marks[places[ORDER, i]] = True
    count, reach, begin = 0, 1, 0
    for occurrence in range(found.offsets[text], found.offsets[text + 1]):
        entry = found.entries[occurrence]
        size, taken = offsets[entry + 1] - offsets[entry], entries.taken[entry]
        if size > n:
            continue
        size = 0
        for place in range(offsets[entry], offsets[entry + 1]):
            word = known[entries.words[place]]
            if word < 0 or not marks[word]:
                size = -1
                break
            words[begin + size] = word
            size += 1
        if size < 0:
            continue
        # Into its place; few are found.
        k, end = count, found.places[occurrence] + taken
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
            for column in range(BY_START):
                phrases[k, column] = phrases[k - 1, column]
            k -= 1
        phrases[k, START], phrases[k, TAKES], phrases[k, SIZE] = (
            found.places[occurrence], taken, size
        )  # fmt: skip
        phrases[k, COST], phrases[k, ENTRY], phrases[k, BEGIN] = costs[entry], entry, begin
        count, begin, reach = count + 1, begin + size, max(reach, size)
    for i in range(n):
        marks[places[ORDER, i]] = False
    if count > 0:
        for j in range(m + 2):
            places[ENDS, j], places[STARTS, j] = 0, 0
        for k in range(count):
            places[ENDS, phrases[k, START] + phrases[k, TAKES] + 1] += 1
            places[STARTS, phrases[k, START]] += 1
        for j in range(1, m + 2):
            places[ENDS, j] += places[ENDS, j - 1]
            places[STARTS, j] += places[STARTS, j - 1]
        for k in range(count - 1, -1, -1):
            place = phrases[k, START]
            places[STARTS, place] -= 1
            phrases[places[STARTS, place], BY_START] = k
    return count, reach


@helper
def _is_at(
    start: int, k: int, places: IntArray, row: int, n: int, phrases: IntArray, words: IntArray
) -> bool:
    """Return whether the hypothesis, in the order of a row of places, has phrase k at `start`."""
    same, i = 0 <= start <= n - phrases[k, SIZE], 0
    while same and i < phrases[k, SIZE]:
        same = places[row, start + i] == words[phrases[k, BEGIN] + i]
        i += 1
    return bool(same)


@helper
def _phrase_cost(
    i: int,
    k: int,
    costs: IntArray,
    places: IntArray,
    row: int,
    n: int,
    phrases: IntArray,
    words: IntArray,
) -> int:
    """Return what the cell in row i behind phrase k costs by it, or more than any cost."""
    start, before = i - phrases[k, SIZE], phrases[k, START]
    if (
        start >= 0
        and places[LOW, start] <= before < places[HIGH, start]
        and _is_at(start, k, places, row, n, phrases, words)
    ):
        return int(costs[places[AT, start] + before] + phrases[k, COST])
    return OUT_OF_REACH


@helper
def _fill(
    first: int,
    limit: int,
    row: int,
    size: Size,
    costs: IntArray,
    places: IntArray,
    codes: IntArray,
    begins: IntArray,
    phrases: IntArray,
    words: IntArray,
    prices: IntArray,
) -> bool:
    """Fill rows of the edit distance of i hypothesis and j reference words.

    Parameters
    ----------
    first
        The first row, at least 1.
    limit
        Of the distance.
    row
        Which row of places says what word stands where in the hypothesis.
    costs
        Modified in place; rows before the first as far as phrases reach are given, but row 0.

    Returns
    -------
    bool
        Whether the distance is at most the limit; False as soon as that is certain.
    """
    n, m, stride, count, reach = size
    insert, delete, substitute = prices[INSERT], prices[DELETE], prices[SUBSTITUTE]
    if first == 1:
        for j in range(stride - 3):
            costs[j + 1] = j * delete
    above_limit = 0
    for i in range(first, n + 1):
        low, high, word = places[LOW, i], places[HIGH, i], places[row, i - 1]
        here, above = places[AT, i], places[AT, i - 1]
        begin = max(1, low)
        left = costs[above] + insert if low == 0 else OUT_OF_REACH
        costs[here + begin - 1] = left
        least, corner = left, costs[above + begin - 1]
        spot = _first_from(codes, begins[word], begins[word + 1], begin - 1)
        last = spot
        while last < begins[word + 1] and codes[last] < (high - 1) * KINDS:
            places[PRICE, codes[last] // KINDS] = prices[codes[last] % KINDS]
            last += 1
        # Whole numbers without a sign, which need no look whether they count from the end.
        cell, upper_cell = np.uint64(here + begin), np.uint64(above + begin)
        for j in range(begin - 1, high - 1):
            upper = costs[upper_cell]
            left = min(min(corner + places[PRICE, j], upper + insert), left + delete)  # noqa: PLW3301  faster
            corner = upper
            costs[cell] = left
            least = min(least, left)
            cell += np.uint64(1)
            upper_cell += np.uint64(1)
        for k in range(spot, last):
            places[PRICE, codes[k] // KINDS] = substitute
        if count > 0:
            for k in range(places[ENDS, begin], places[ENDS, high]):
                cost = _phrase_cost(i, k, costs, places, row, n, phrases, words)
                least = min(least, cost)
                for j in range(phrases[k, START] + phrases[k, TAKES], high):
                    if costs[here + j] <= cost:
                        break
                    costs[here + j] = cost
                    cost += delete
        for j in range(high, min(m + 1, low + stride - 2)):
            costs[here + j] = OUT_OF_REACH
        above_limit = above_limit + 1 if least > limit else 0
        if above_limit >= reach:  # no phrase leads past these rows
            return False
    return bool(costs[places[AT, n] + m] <= limit)


@helper
def _trace(
    size: Size,
    costs: IntArray,
    places: IntArray,
    codes: IntArray,
    begins: IntArray,
    phrases: IntArray,
    words: IntArray,
    prices: IntArray,
    features: FloatArray,
    h: int,
    counts: FloatArray,
) -> None:
    """Follow the cheapest path back.

    Of equal steps a phrase comes first, the longest one, then a pair of words, then a phrase of
    one word each, then a hypothesis word, then a reference word: as in TERp.

    Modified in place: `places`; `counts[h]`, all but the shifts.
    """
    i, j, _, found, _ = size
    order = np.int64(ORDER)
    for column in range(PHRASE + 4):
        if column != SHIFT:
            counts[h, column] = 0.0
    while i > 0 or j > 0:
        here, chosen = costs[places[AT, i] + j], -1
        if found > 0:
            for k in range(places[ENDS, j], places[ENDS, j + 1]):
                if chosen < 0 and here == _phrase_cost(
                    i, k, costs, places, order, size.n, phrases, words
                ):
                    chosen = k
        kind = -1  # no pair of words
        if i > 0 and j > 0:
            kind = _kind(codes, begins, places[ORDER, i - 1], j - 1)
            kind = SUBSTITUTE if kind < 0 else kind
            if here != costs[places[AT, i - 1] + j - 1] + prices[kind]:
                kind = -1
        if chosen >= 0 and not (kind >= 0 and phrases[chosen, SIZE] + phrases[chosen, TAKES] == 2):
            for k in range(i - phrases[chosen, SIZE], i):
                places[EXTRA, k] = 1
            for k in range(j - phrases[chosen, TAKES], j):
                places[MISSED, k], places[WHERE, k] = 1, i - 1
            i, j = i - phrases[chosen, SIZE], j - phrases[chosen, TAKES]
            counts[h, PHRASE] += 1.0
            for k in range(3):
                counts[h, PHRASE + 1 + k] += features[phrases[chosen, ENTRY], k]
        elif kind >= 0:
            i, j = i - 1, j - 1
            error = 0 if kind == MATCH else 1
            places[EXTRA, i], places[MISSED, j], places[WHERE, j] = error, error, i
            counts[h, kind] += 1.0
        elif i > 0 and here == costs[places[AT, i - 1] + j] + prices[INSERT]:
            i -= 1
            places[EXTRA, i] = 1
            counts[h, INSERT] += 1.0
        else:
            j -= 1
            places[MISSED, j], places[WHERE, j] = 1, i - 1
            counts[h, DELETE] += 1.0


@helper
def _move(n: int, start: int, length: int, to: int, places: IntArray) -> None:
    """Take out `length` words at `start`, insert them at `to` of the rest: `ORDER` to `MOVED`."""
    for i in range(n):
        places[MOVED, i] = places[ORDER, i]
    if to < start:
        for i in range(to, start):
            places[MOVED, i + length] = places[ORDER, i]
    else:
        for i in range(start, to):
            places[MOVED, i] = places[ORDER, i + length]
    for i in range(length):
        places[MOVED, to + i] = places[ORDER, start + i]


@helper
def _least_cost(
    size: Size, places: IntArray, codes: IntArray, begins: IntArray, prices: IntArray
) -> int:
    """Return a lower bound of the edit distance in any order of the hypothesis.

    At most as many pairs match as either side has words that match any of the other.
    `places[MISSED]` is modified.
    """
    n, m, _, phrases, _ = size
    if phrases > 0:
        return 0
    for j in range(m):
        places[MISSED, j] = 0
    pairs, hit = 0, 0
    for i in range(n):
        word = places[ORDER, i]
        pairs += begins[word] < begins[word + 1]
        for k in range(begins[word], begins[word + 1]):
            places[MISSED, codes[k] // KINDS] = 1
    for j in range(m):
        hit += places[MISSED, j]
    pairs = min(pairs, hit)
    match = min(prices[MATCH], prices[STEM], prices[SYNONYM])
    change = min(prices[SUBSTITUTE], prices[INSERT] + prices[DELETE])
    both = min(n, m)
    # As many pairs as can match, or none: the cost is linear in between.
    matched = min(pairs * match + (both - pairs) * change, both * change)
    return int(matched + (n - both) * prices[INSERT] + (m - both) * prices[DELETE])


@helper
def _next_place(
    word: int,
    place: int,
    stop: int,
    found: int,
    places: IntArray,
    codes: IntArray,
    begins: IntArray,
    phrases: IntArray,
    words: IntArray,
) -> int:
    """Return the first place from `place` on where a match or a phrase with this word begins.

    `stop`, if there is none before.
    """
    spot = _first_from(codes, begins[word], begins[word + 1], place)
    if spot < begins[word + 1]:
        stop = min(stop, codes[spot] // KINDS)
    if found > 0:
        for k in range(places[STARTS, place], places[STARTS, stop]):
            phrase = phrases[k, BY_START]
            if words[phrases[phrase, BEGIN]] == word:
                return int(min(stop, phrases[phrase, START]))
    return stop


@helper
def _spans(
    h: int,
    r: int,
    most: int,
    size: Size,
    places: IntArray,
    codes: IntArray,
    begins: IntArray,
    phrases: IntArray,
    words: IntArray,
    spans: IntArray,
) -> tuple[int, int]:
    """Find which words from place h on match which reference words from place r on.

    Modified in place: `spans[a, b]`, `PAIR_LAST` if a words match b words and end in a pair of
    words, `MATCHING` if they match otherwise, else 0; as far as (longest, widest), which is
    returned; longest is 0 if there is none. Without phrases only a = b is looked at.
    """
    order = np.int64(ORDER)
    longest, widest = min(most, size.n - h), min(most, size.m - r)
    if size.phrases == 0:
        alike, most = 0, min(longest, widest)
        while alike < most and _kind(codes, begins, places[ORDER, h + alike], r + alike) >= 0:
            alike += 1
            spans[alike, alike] = PAIR_LAST
        return alike, alike
    for a in range(longest + 1):
        for b in range(widest + 1):
            spans[a, b] = 0
    spans[0, 0] = MATCHING
    for a in range(longest + 1):
        for b in range(widest):
            if spans[a, b] == 0:
                continue
            if a < longest and _kind(codes, begins, places[ORDER, h + a], r + b) >= 0:
                spans[a + 1, b + 1] = PAIR_LAST
            for by_start in range(places[STARTS, r + b], places[STARTS, r + b + 1]):
                k = phrases[by_start, BY_START]
                above, behind = a + phrases[k, SIZE], b + phrases[k, TAKES]
                if (
                    above <= longest
                    and behind <= widest
                    and _is_at(h + a, k, places, order, size.n, phrases, words)
                ):
                    spans[above, behind] = max(spans[above, behind], MATCHING)
    return longest, widest


@helper
def _best_shift(
    least: int,
    tried: int,
    size: Size,
    limits: Limits,
    costs: IntArray,
    trial: IntArray,
    places: IntArray,
    codes: IntArray,
    begins: IntArray,
    content: IntArray,
    phrases: IntArray,
    words: IntArray,
    prices: IntArray,
    spans: IntArray,
) -> tuple[int, int, int, int]:
    """Find the shift that leaves the smallest edit distance, and pays.

    Of equal ones that with most words on one side wins, then the first one, then the first target,
    then that of most hypothesis words. What cannot win is counted as tried, but not worked out.

    Parameters
    ----------
    least
        A lower bound of the distance after any shift.
    tried
        Shifts tried so far.
    costs
        Edit distances in the present order.
    trial
        Those after a shift, modified in place as are `places` and `spans`.

    Returns
    -------
    start, length, to, tried : int
        See `_move`; the length is 0 if no shift pays.
    """
    n, m, stride, found, reach = size
    last, moved = places[AT, n] + m, np.int64(MOVED)
    for i in range(n):
        places[EXTRAS, i + 1] = places[EXTRAS, i] + places[EXTRA, i]
        places[CONTENT, i + 1] = places[CONTENT, i] + content[places[ORDER, i]]
    for j in range(m):
        places[MISSES, j + 1] = places[MISSES, j] + places[MISSED, j]
    best = costs[last] - max(prices[SHIFT], 1) + 1  # to be beaten
    start, length, longer, gap, to = n, 0, n + m + 1, 0, 0
    for h in range(n):
        word = places[ORDER, h]
        if found == 0 and begins[word] == begins[word + 1]:
            continue
        r, behind = max(0, h - limits.distance) - 1, min(m, h + limits.distance + 1)
        while r + 1 < behind:
            r = _next_place(word, r + 1, behind, found, places, codes, begins, phrases, words)
            if r == behind or places[WHERE, r] == h:
                continue
            longest, widest = _spans(
                h, r, limits.length, size, places, codes, begins, phrases, words, spans
            )
            for a in range(1, longest + 1):
                for b in range(0 if found > 0 else a, (widest if found > 0 else a) + 1):
                    if (
                        spans[a, b] != PAIR_LAST
                        or h <= places[WHERE, r] < h + a
                        or places[EXTRAS, h + a] == places[EXTRAS, h]
                        or places[MISSES, r + b] == places[MISSES, r]
                        or places[CONTENT, h + a] == places[CONTENT, h]
                        or places[OTHER_CONTENT, r + b] == places[OTHER_CONTENT, r]
                    ):
                        continue
                    previous = -1
                    for k in range(r - 1, r + b):
                        target = 0 if k == -1 else places[WHERE, k] + 1
                        if target == previous:
                            continue
                        previous = target
                        tried += 1
                        place = target - a if target > h + a else min(target, n - a)
                        more = max(a, b)
                        wins_tie = more > longer or (
                            more == longer
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
                        _move(n, h, a, place, places)
                        first = min(h, place) + 1
                        for cell in range(max(0, first - reach) * stride, first * stride):
                            trial[cell] = costs[cell]
                        if _fill(
                            first, limit, moved, size,
                            trial, places, codes, begins, phrases, words, prices,
                        ):  # fmt: skip
                            best = trial[last]
                            start, length, longer, gap, to = h, a, more, target, place
                    if tried >= limits.tried:
                        return 0, 0, 0, tried
    return start, length, to, tried


@kernel
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
    tokens, token_offsets, offsets, reference_tokens, reference_offsets, _ = segments
    stems, synonyms, synonym_offsets, listed = words
    phrase_costs, features = worths
    occurrences = phrases.found.offsets
    n, m, p = longest_row(token_offsets), longest_row(reference_offsets), longest_row(occurrences)
    cells = 0
    for s in range(offsets.size - 1):
        for h in range(offsets[s], offsets[s + 1]):
            own = token_offsets[h + 1] - token_offsets[h]
            stride = _width(own, reference_offsets[s + 1] - reference_offsets[s], limits)[1]
            cells = max(cells, (own + 1) * stride)
    # Of the longest hypothesis and reference; others use the beginning.
    costs, trial = np.empty(cells, dtype=np.int64), np.empty(cells, dtype=np.int64)
    places = np.zeros((PLACES, max(n, m) + 2), dtype=np.int64)
    places[PRICE] = prices[SUBSTITUTE]
    most_words = n + WORDS_KEPT
    own_words, content = np.empty(most_words, dtype=np.int64), np.empty(most_words, dtype=np.int64)
    codes, begins = np.empty(2 * m + 16, dtype=np.int64), np.zeros(most_words + 1, dtype=np.int64)
    marks = np.zeros(most_words, dtype=np.bool_)
    spans = np.empty((LONGEST + 1, LONGEST + 1), dtype=np.int64)
    found = np.empty((p, BY_START + 1), dtype=np.int64)
    found_words = np.empty(p * longest_row(phrases.offsets), dtype=np.int64)
    known = np.full(stems.size, -1, dtype=np.int64)  # the number of each word
    counts = np.zeros((token_offsets.size - 1, PHRASE + 5))
    used = 0
    for s in range(offsets.size - 1):
        reference = reference_tokens[reference_offsets[s] : reference_offsets[s + 1]]
        m = reference.size
        for j in range(m):
            places[OTHER_CONTENT, j + 1] = places[OTHER_CONTENT, j] + (
                0 if listed[reference[j]] else 1
            )
        for word in range(used):
            known[own_words[word]] = -1
        used, n, stride = 0, -1, 0
        for h in range(offsets[s], offsets[s + 1]):
            if first[h] < h:
                for column in range(PHRASE + 5):
                    counts[h, column] = counts[first[h], column]
                continue
            begin, own = token_offsets[h], token_offsets[h + 1] - token_offsets[h]
            if own != n:
                n = own
                stride = _set_band(n, m, limits, places)
            if used + n > most_words:
                for word in range(used):
                    known[own_words[word]] = -1
                used = 0
            for i in range(n):
                token = tokens[begin + i]
                if known[token] < 0:
                    known[token], own_words[used] = used, token
                    content[used] = 0 if listed[token] else 1
                    if begins[used] + m > codes.size:
                        codes = np.append(codes, np.empty_like(codes))
                    begins[used + 1] = _compare(
                        token, reference, stems, synonyms, synonym_offsets, prices, codes,
                        begins[used],
                    )  # fmt: skip
                    used += 1
                places[ORDER, i] = known[token]
            count, reach = 0, 1
            if occurrences[s] < occurrences[s + 1]:
                count, reach = _find_phrases(
                    s, n, m, phrases, phrase_costs, known, marks, places, found, found_words
                )
            size = Size(n, m, stride, count, reach)
            least = _least_cost(size, places, codes, begins, prices)
            # Not literals, here and elsewhere: numba compiles a function for each one.
            tried, begin, limit = np.int64(0), np.int64(1), np.int64(1 << 62)
            order = np.int64(ORDER)
            while True:
                _fill(
                    int(begin), int(limit), order, size,
                    costs, places, codes, begins, found, found_words, prices,
                )  # fmt: skip
                _trace(
                    size, costs, places, codes, begins, found, found_words, prices, features,
                    h, counts,
                )  # fmt: skip
                distance = costs[places[AT, n] + m]
                if distance - least < max(prices[SHIFT], 1):
                    break
                start, length, to, tried = _best_shift(
                    least, tried, size, limits,
                    costs, trial, places, codes, begins, content, found, found_words, prices,
                    spans,
                )  # fmt: skip
                if length == 0:
                    break
                _move(n, start, length, to, places)
                for i in range(n):
                    places[ORDER, i] = places[MOVED, i]
                begin = min(start, to) + 1
                counts[h, SHIFT] += 1.0
            counts[h, PHRASE + 4] = distance + counts[h, SHIFT] * prices[SHIFT]
    return counts
