# Long because kernels that call each other stay in one file: numba caches a caller with the
# callee that it had.
"""Searches for TERp's edits, compiled: weighted edit distance with phrases, and shifts.

With a cost of 1 for each edit, and nothing known of words, these are TER's. Costs are whole
numbers (multiples of a small unit), so that sums and ties are exact. Memory grows with the length
of texts where the edit distance has a band, and with its square where it has none. Inputs are
read-only; releases the interpreter lock.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray  # noqa: TC002  numba reads the records

from metrics._base import FloatArray, IntArray, TokenArray  # noqa: TC001  numba reads records
from metrics._lexicon_kernels import Phrases, Segments, Words  # noqa: TC001
from metrics._terp_records import Band, Found, Limits, Matches, Path, Span, Work, Worths

MATCH, INSERT, DELETE, SUBSTITUTE, STEM, SYNONYM, SHIFT, PHRASE = range(8)
"""Columns of counts, as in TERp; behind them e * log10(p), e * p and e of the phrases."""
KINDS = 8
"""Kinds of edits that a code of a match tells apart."""
START, TAKES, SIZE, COST, ENTRY, BEGIN = range(6)
"""Columns of phrases found: place and words of the reference, words of the hypothesis, price,
which phrase, and where its words begin."""
LONGEST = 10
"""Words of the longest shift."""
OUT_OF_REACH = 1 << 61
"""More than any sum of costs: a cell outside of the band."""
WORDS_KEPT = 512
"""Words, beside those of one hypothesis, whose matches are known for the rest of a segment."""


# An array is counted whenever it is taken out of a record that a function was handed, which takes
# longer than the search of a short text; an inlined function is handed none.
_inlined = njit(inline="always")


@_inlined
def _make_band(n: int, m: int, limits: Limits, rows: tuple[IntArray, IntArray, IntArray]) -> Band:
    """Return the band of an edit distance; its three arrays are modified in place."""
    lows, highs, starts = rows
    slope = m / max(n, 1)
    width = m + 1
    if max(n, m) > limits.tokens:
        width = limits.half_width
        if width < slope / 2:
            width = math.ceil(slope / 2 + width)
    stride = min(m + 1, math.ceil(slope) + 2 * width + 1) + 3
    for i in range(n + 1):
        diagonal = math.floor(i * slope)
        lows[i] = max(0, diagonal - width)
        highs[i] = min(m + 1, diagonal + width)
        starts[i] = i * stride + 1 - lows[i]
    highs[0], highs[n] = stride - 3, m + 1
    return Band(n, m, stride, lows, highs, starts)


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
    word: int, reference: TokenArray, words: Words, prices: IntArray, codes: IntArray, count: int
) -> int:
    """Write behind `count` codes those of the reference words that a hypothesis word matches.

    The kind is the cheapest of substitution, stem and synonym, of equal ones the first. Return
    how many codes there are then; `codes` is modified.
    """
    stem = words.stems[word]
    for j in range(reference.size):
        other = reference[j]
        alone = words.offsets[other] == words.offsets[other + 1]
        alike = words.stems[other] == stem
        if alone and not alike:
            continue
        kind = SUBSTITUTE
        if other == word:
            kind = MATCH
        else:
            if alike and prices[STEM] < prices[kind]:
                kind = STEM
            if not alone and _are_synonyms(other, word, words.synonyms, words.offsets):
                alike = True
                if prices[SYNONYM] < prices[kind]:
                    kind = SYNONYM
        if alike:
            codes[count] = j * KINDS + kind
            count += 1
    return count


@njit(cache=True, nogil=True)
def _first_from(codes: IntArray, low: int, high: int, place: int) -> int:
    """Return the first of the codes low..high-1 that is of this place or of one behind it."""
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < place * KINDS:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _kind(codes: IntArray, begins: IntArray, word: int, place: int) -> int:
    """Return what makes a word the reference word of a place; -1 if they do not match."""
    spot = _first_from(codes, begins[word], begins[word + 1], place)
    if spot < begins[word + 1] and codes[spot] < (place + 1) * KINDS:
        return int(codes[spot] % KINDS)
    return -1


@_inlined
def _find_phrases(
    order: IntArray,
    m: int,
    text: int,
    given: tuple[Phrases, IntArray],
    known: IntArray,
    marks: NDArray[np.bool_],
    found: Found,
) -> tuple[int, int]:
    """Find the phrases of reference `text` for which the hypothesis has all words, in any order.

    Parameters
    ----------
    order
        Words of the hypothesis.
    given
        Phrases and their prices.
    known
        The number of each word of the vocabulary, -1 for others.
    marks
        False for each word, before and after.
    found
        Modified in place, but `reach`.

    Returns
    -------
    count, reach : int
        How many there are; words of the longest one in the hypothesis, at least 1.
    """
    entries, costs = given
    phrases, ends, words, starts, by_start, _ = found
    places, offsets = entries.found, entries.offsets
    if places.offsets[text] == places.offsets[text + 1]:
        return 0, 1
    for word in order:
        marks[word] = True
    count, reach, begin = 0, 1, 0
    for occurrence in range(places.offsets[text], places.offsets[text + 1]):
        entry = places.entries[occurrence]
        size, taken = offsets[entry + 1] - offsets[entry], entries.taken[entry]
        if size > order.size:
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
        count, begin, reach = count + 1, begin + size, max(reach, size)
    for word in order:
        marks[word] = False
    if count > 0:
        for j in range(m + 2):
            ends[j] = 0
        for j in range(m + 1):
            starts[j] = 0
        for k in range(count):
            ends[phrases[k, START] + phrases[k, TAKES] + 1] += 1
            starts[phrases[k, START]] += 1
        for j in range(1, m + 2):
            ends[j] += ends[j - 1]
        for j in range(1, m + 1):
            starts[j] += starts[j - 1]
        for k in range(count - 1, -1, -1):
            starts[phrases[k, START]] -= 1
            by_start[starts[phrases[k, START]]] = k
    return count, reach


@njit(cache=True, nogil=True)
def _is_at(order: IntArray, start: int, phrases: IntArray, k: int, words: IntArray) -> bool:
    """Return whether the hypothesis, in this order, has phrase k at `start`."""
    same, i = 0 <= start <= order.size - phrases[k, SIZE], 0
    while same and i < phrases[k, SIZE]:
        same = order[start + i] == words[phrases[k, BEGIN] + i]
        i += 1
    return bool(same)


@njit(cache=True, nogil=True)
def _phrase_cost(
    costs: IntArray,
    order: IntArray,
    i: int,
    k: int,
    phrases: IntArray,
    words: IntArray,
    lows: IntArray,
    highs: IntArray,
    starts: IntArray,
) -> int:
    """Return what the cell in row i behind phrase k costs by it, or more than any cost."""
    start, before = i - phrases[k, SIZE], phrases[k, START]
    if (
        start >= 0
        and lows[start] <= before < highs[start]
        and _is_at(order, start, phrases, k, words)
    ):
        return int(costs[starts[start] + before] + phrases[k, COST])
    return OUT_OF_REACH


@njit(cache=True, nogil=True)
def _fill(
    costs: IntArray,
    order: IntArray,
    codes: IntArray,
    begins: IntArray,
    row: IntArray,
    prices: IntArray,
    phrases: IntArray,
    ends: IntArray,
    words: IntArray,
    lows: IntArray,
    highs: IntArray,
    starts: IntArray,
    span: Span,
) -> bool:
    """Fill rows of the edit distance of i hypothesis and j reference words.

    Parameters
    ----------
    costs
        Modified in place; rows before the first as far as phrases reach are given, but row 0.
    order
        Which word stands at each place of the hypothesis.
    codes, begins, row, prices, phrases, ends, words, lows, highs, starts
        See the records: one by one, since every array of a record is counted whenever it is taken
        out.

    Returns
    -------
    bool
        Whether the distance is at most the limit; False as soon as that is certain.
    """
    first, limit, reach, n, m, stride = span
    insert, delete, substitute = prices[INSERT], prices[DELETE], prices[SUBSTITUTE]
    many = phrases.shape[0] > 0
    if first == 1:
        for j in range(stride - 3):
            costs[j + 1] = j * delete
    above_limit = 0
    for i in range(first, n + 1):
        low, high, word = lows[i], highs[i], order[i - 1]
        here, above = starts[i], starts[i - 1]
        begin = max(1, low)
        left = costs[above] + insert if low == 0 else OUT_OF_REACH
        costs[here + begin - 1] = left
        least, corner = left, costs[above + begin - 1]
        spot = _first_from(codes, begins[word], begins[word + 1], begin - 1)
        last = spot
        while last < begins[word + 1] and codes[last] < (high - 1) * KINDS:
            row[codes[last] // KINDS] = prices[codes[last] % KINDS]
            last += 1
        # Whole numbers without a sign, which need no look whether they count from the end.
        cell, upper_cell = np.uint64(here + begin), np.uint64(above + begin)
        for j in range(begin - 1, high - 1):
            upper = costs[upper_cell]
            left = min(min(corner + row[j], upper + insert), left + delete)  # noqa: PLW3301  faster
            corner = upper
            costs[cell] = left
            least = min(least, left)
            cell += np.uint64(1)
            upper_cell += np.uint64(1)
        for k in range(spot, last):
            row[codes[k] // KINDS] = substitute
        if many:
            for k in range(ends[begin], ends[high]):
                cost = _phrase_cost(costs, order, i, k, phrases, words, lows, highs, starts)
                least = min(least, cost)
                cell_behind = phrases[k, START] + phrases[k, TAKES]
                for j in range(cell_behind, high):
                    if costs[here + j] <= cost:
                        break
                    costs[here + j] = cost
                    cost += delete
        for j in range(high, min(m + 1, low + stride - 2)):
            costs[here + j] = OUT_OF_REACH
        above_limit = above_limit + 1 if least > limit else 0
        if above_limit >= reach:  # no phrase leads past these rows
            return False
    return bool(costs[starts[n] + m] <= limit)


@_inlined
def _trace(
    costs: IntArray,
    order: IntArray,
    prices: IntArray,
    matches: Matches,
    found: Found,
    band: Band,
    path: Path,
    features: FloatArray,
    counts: FloatArray,
) -> None:
    """Follow the cheapest path back.

    Of equal steps a phrase comes first, the longest one, then a pair of words, then a phrase of
    one word each, then a hypothesis word, then a reference word: as in TERp.

    Modified in place: `path`; `counts` (11,), all but the shifts.
    """
    codes, begins, _ = matches
    phrases, ends, words, _, _, _ = found
    i, j, _, lows, highs, starts = band
    extra, missed, where = path
    many = phrases.shape[0] > 0
    for column in range(PHRASE + 4):
        if column != SHIFT:
            counts[column] = 0.0
    while i > 0 or j > 0:
        here, chosen = costs[starts[i] + j], -1
        if many:
            for k in range(ends[j], ends[j + 1]):
                if chosen < 0 and here == _phrase_cost(
                    costs, order, i, k, phrases, words, lows, highs, starts
                ):
                    chosen = k
        kind = -1  # no pair of words
        if i > 0 and j > 0:
            kind = _kind(codes, begins, order[i - 1], j - 1)
            kind = SUBSTITUTE if kind < 0 else kind
            if here != costs[starts[i - 1] + j - 1] + prices[kind]:
                kind = -1
        if chosen >= 0 and not (kind >= 0 and phrases[chosen, SIZE] + phrases[chosen, TAKES] == 2):
            for k in range(i - phrases[chosen, SIZE], i):
                extra[k] = 1
            for k in range(j - phrases[chosen, TAKES], j):
                missed[k], where[k] = 1, i - 1
            i, j = i - phrases[chosen, SIZE], j - phrases[chosen, TAKES]
            counts[PHRASE] += 1.0
            for k in range(3):
                counts[PHRASE + 1 + k] += features[phrases[chosen, ENTRY], k]
        elif kind >= 0:
            i, j = i - 1, j - 1
            extra[i] = missed[j] = 0 if kind == MATCH else 1
            where[j] = i
            counts[kind] += 1.0
        elif i > 0 and here == costs[starts[i - 1] + j] + prices[INSERT]:
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
def _least_cost(
    order: IntArray, m: int, matches: Matches, prices: IntArray, hits: IntArray
) -> int:
    """Return a lower bound of the edit distance without phrases in any order of the hypothesis.

    At most as many pairs match as either side has words that match any of the other. `hits` is
    modified.
    """
    codes, begins, _ = matches
    n = order.size
    for j in range(m):
        hits[j] = 0
    pairs, hit = 0, 0
    for word in order:
        pairs += begins[word] < begins[word + 1]
        for k in range(begins[word], begins[word + 1]):
            hits[codes[k] // KINDS] = 1
    for j in range(m):
        hit += hits[j]
    pairs = min(pairs, hit)
    match = min(prices[MATCH], prices[STEM], prices[SYNONYM])
    change = min(prices[SUBSTITUTE], prices[INSERT] + prices[DELETE])
    both = min(n, m)
    # As many pairs as can match, or none: the cost is linear in between.
    matched = min(pairs * match + (both - pairs) * change, both * change)
    return int(matched + (n - both) * prices[INSERT] + (m - both) * prices[DELETE])


@_inlined
def _next_place(
    word: int, place: int, stop: int, codes: IntArray, begins: IntArray, found: Found
) -> int:
    """Return the first place from `place` on where a match or a phrase with this word begins.

    `stop`, if there is none before.
    """
    phrases, _, words, starts, by_start, _ = found
    spot = _first_from(codes, begins[word], begins[word + 1], place)
    if spot < begins[word + 1]:
        stop = min(stop, codes[spot] // KINDS)
    if phrases.shape[0] > 0:
        for k in range(starts[place], starts[stop]):
            if words[phrases[by_start[k], BEGIN]] == word:
                stop = min(stop, phrases[by_start[k], START])
    return stop


@_inlined
def _spans(
    order: IntArray,
    place: tuple[int, int],
    m: int,
    most: int,
    codes: IntArray,
    begins: IntArray,
    found: Found,
    spans: NDArray[np.bool_],
) -> tuple[int, int]:
    """Find which words from place h on match which reference words from place r on.

    Modified in place: `spans[a, b]`, whether a words match b words, as far as (longest, widest),
    which is returned; longest is 0 if there is none. Without phrases only a = b is looked at.
    """
    h, r = place
    phrases, _, words, starts, by_start, _ = found
    longest, widest = min(most, order.size - h), min(most, m - r)
    if phrases.shape[0] == 0:
        alike, most = 0, min(longest, widest)
        while alike < most and _kind(codes, begins, order[h + alike], r + alike) >= 0:
            alike += 1
            spans[alike, alike] = True
        return alike, alike
    for a in range(longest + 1):
        for b in range(widest + 1):
            spans[a, b] = False
    spans[0, 0] = True
    for a in range(longest + 1):
        for b in range(widest + 1):
            if not spans[a, b] or b == widest:
                continue
            if a < longest and _kind(codes, begins, order[h + a], r + b) >= 0:
                spans[a + 1, b + 1] = True
            for k in by_start[starts[r + b] : starts[r + b + 1]]:
                above, behind = a + phrases[k, SIZE], b + phrases[k, TAKES]
                if (
                    above <= longest
                    and behind <= widest
                    and _is_at(order, h + a, phrases, k, words)
                ):
                    spans[above, behind] = True
    return longest, widest


@_inlined
def _best_shift(
    costs: IntArray,
    order: IntArray,
    prices: IntArray,
    matches: Matches,
    found: Found,
    band: Band,
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
        Which word stands at each place of the hypothesis.
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
    _, trial, moved, sums, spans, row = work
    codes, begins, content = matches
    phrases, ends, words, _, _, reach = found
    n, m, stride, lows, highs, starts = band
    many, last = phrases.shape[0] > 0, starts[n] + m
    for i in range(n):
        sums[0, i + 1] = sums[0, i] + extra[i]
        sums[2, i + 1] = sums[2, i] + content[order[i]]
    for j in range(m):
        sums[1, j + 1] = sums[1, j] + missed[j]
    best = costs[last] - max(prices[SHIFT], 1) + 1  # to be beaten
    start, length, size, gap, to = n, 0, n + m + 1, 0, 0
    for h in range(n):
        r, behind = max(0, h - limits.distance) - 1, min(m, h + limits.distance + 1)
        while r + 1 < behind:
            r = _next_place(order[h], r + 1, behind, codes, begins, found)
            if r == behind or where[r] == h:
                continue
            longest, widest = _spans(order, (h, r), m, limits.length, codes, begins, found, spans)
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
                        for cell in range(max(0, first - reach) * stride, first * stride):
                            trial[cell] = costs[cell]
                        if _fill(
                            trial, moved, codes, begins, row, prices, phrases, ends, words,
                            lows, highs, starts, Span(first, limit, reach, n, m, stride),
                        ):  # fmt: skip
                            best = trial[last]
                            start, length, size, gap, to = h, a, more, target, place
                    if tried >= limits.tried:
                        return 0, 0, 0, tried
    return start, length, to, tried


@_inlined
def _shift_all(
    order: IntArray,
    prices: IntArray,
    matches: Matches,
    found: Found,
    band: Band,
    path: Path,
    work: Work,
    limits: Limits,
    features: FloatArray,
    counts: FloatArray,
) -> None:
    """Shift words of a hypothesis as long as that pays, and count the edits.

    `order`, `path`, `work` and `counts` (12,) are modified in place.
    """
    codes, begins, _ = matches
    phrases, ends, words, _, _, reach = found
    n, m, stride, lows, highs, starts = band
    costs, row, shift = work.costs, work.row, prices[SHIFT]
    least = 0
    if phrases.shape[0] == 0:
        least = _least_cost(order, m, matches, prices, path.missed)
    # Not literals, for which numba would compile the functions called once more.
    tried, first, limit = np.int64(0), np.int64(1), np.int64(1 << 62)
    while True:
        span = Span(int(first), int(limit), reach, n, m, stride)
        _fill(
            costs, order, codes, begins, row, prices, phrases, ends, words, lows, highs, starts,
            span,
        )  # fmt: skip
        _trace(costs, order, prices, matches, found, band, path, features, counts)
        distance = costs[starts[n] + m]
        if distance - least < max(shift, 1):
            break
        start, length, to, tried = _best_shift(
            costs, order, prices, matches, found, band, path, work, least, tried, limits
        )
        if length == 0:
            break
        _move(order, start, length, to, work.moved)
        for i in range(n):
            order[i] = work.moved[i]
        first = min(start, to) + 1
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
    where, row = np.empty(m, dtype=np.int64), np.full(m, prices[SUBSTITUTE])
    lows, highs = np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    starts = np.empty(n + 1, dtype=np.int64)
    most_words = n + WORDS_KEPT
    own_words, content = np.empty(most_words, dtype=np.int64), np.empty(most_words, dtype=np.int64)
    codes, begins = np.empty(2 * m + 16, dtype=np.int64), np.zeros(most_words + 1, dtype=np.int64)
    marks = np.zeros(most_words, dtype=np.bool_)
    sums = np.zeros((4, max(n, m) + 1), dtype=np.int64)
    spans = np.empty((LONGEST + 1, LONGEST + 1), dtype=np.bool_)
    found, ends = np.empty((p, 6), dtype=np.int64), np.empty(m + 2, dtype=np.int64)
    phrase_words = np.empty(p * _longest(phrases.offsets), dtype=np.int64)
    phrase_starts, by_start = np.empty(m + 1, dtype=np.int64), np.empty(p, dtype=np.int64)
    costs, trial = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    known = np.full(words.stems.size, -1, dtype=np.int64)  # the number of each word
    counts = np.zeros((token_offsets.size - 1, PHRASE + 5))
    used = 0
    for s in range(offsets.size - 1):
        reference = reference_tokens[reference_offsets[s] : reference_offsets[s + 1]]
        m = reference.size
        path = Path(extra, missed[:m], where[:m])
        for j in range(m):
            sums[3, j + 1] = sums[3, j] + (0 if words.listed[reference[j]] else 1)
        for word in range(used):
            known[own_words[word]] = -1
        used = 0
        band_n = -1
        for h in range(offsets[s], offsets[s + 1]):
            if first[h] < h:
                for column in range(PHRASE + 5):
                    counts[h, column] = counts[first[h], column]
                continue
            begin = token_offsets[h]
            n = token_offsets[h + 1] - begin
            if used + n > most_words:
                for word in range(used):
                    known[own_words[word]] = -1
                used = 0
            for i in range(n):
                token = tokens[begin + i]
                if known[token] < 0:
                    known[token], own_words[used] = used, token
                    content[used] = 0 if words.listed[token] else 1
                    if begins[used] + m > codes.size:
                        codes = np.append(codes, np.empty_like(codes))
                    begins[used + 1] = _compare(
                        token, reference, words, prices, codes, begins[used]
                    )
                    used += 1
                order[i] = known[token]
            if n != band_n:
                band = _make_band(n, m, limits, (lows, highs, starts))
                band_n = n
            if costs.size < (n + 1) * band.stride:
                costs = np.empty((n + 1) * band.stride, dtype=np.int64)
                trial = np.empty_like(costs)
            count, reach = _find_phrases(
                order[:n], m, s, (phrases, worths.costs), known, marks,
                Found(found, ends, phrase_words, phrase_starts, by_start, 1),
            )  # fmt: skip
            _shift_all(
                order[:n],
                prices,
                Matches(codes, begins, content),
                Found(found[:count], ends, phrase_words, phrase_starts, by_start, reach),
                band,
                path,
                Work(costs, trial, moved[:n], sums, spans, row),
                limits,
                worths.features,
                counts[h],
            )
    return counts
