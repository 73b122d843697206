"""Searches for TERp's edits, compiled: weighted edit distance with phrases, and shifts.

With a cost of 1 for each edit, and nothing known of words, these are TER's. Costs are whole
numbers (multiples of a small unit), so that sums and ties are exact. Memory grows with the length
of texts where the edit distance has a band, and with its square where it has none. Inputs are
read-only; releases the interpreter lock.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import FloatArray, IntArray, TokenArray
from .compiled import Segments, borrower, kernel, longest_row
from .lexicon import Phrases, Words, are_synonyms

MATCH, INSERT, DELETE, SUBSTITUTE, STEM, SYNONYM, SHIFT, PHRASE = range(8)
"""Columns of counts, as in TERp; behind them e * log10(p), e * p and e of the phrases."""
KINDS = 8
"""Kinds of edits that a code of a match tells apart."""
START, TAKES, SIZE, COST, ENTRY, BEGIN, BY_START = range(7)
"""Columns of `FoundPhrases.rows`: place and words of the reference, words of the hypothesis,
price, which phrase, where its words begin. Row k of the last column is the row of the phrase that
is number k by the place at which they begin."""
LONGEST = 10
"""Words of the longest shift."""
MATCHING, PAIR_LAST = 1, 2
"""How the words of two spans match. Only spans that end in a pair of words are shifted, as in the
program TERp (`_gather_exposs_shifts`)."""
OUT_OF_REACH = 1 << 61
"""More than any sum of costs: a cell outside of the band."""
WORDS_KEPT = 512
"""Words, beside those of one hypothesis, whose matches are known for the rest of a segment."""


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
        In longer texts, only cells near the diagonal of the edit distance are filled ...
    half_width
        ... at most so far from it.
    """

    length: int
    distance: int
    tried: int
    tokens: int
    half_width: int


class Size(NamedTuple):
    """How large the edit distance of a hypothesis and a reference is.

    Cell j of row i is kept at `places.at[i] + j`. One cell on the left of those that are filled,
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


class PlaceStates(NamedTuple):
    """The state of the places of a hypothesis and a reference; all are (longest + 2,) int64.

    Parameters
    ----------
    order, moved
        The word at each place of the hypothesis, and after a shift.
    extra
        1 if the hypothesis word has no match on the cheapest path, otherwise 0.
    low, high, at
        For each row of the edit distance: the first cell that is filled, the one behind the last,
        and where cell 0 is kept.
    extras, content
        Up to each place of the hypothesis: words without a match; words that are no stop words.
    missed
        1 if the reference word has no match on the cheapest path, otherwise 0.
    where
        The last hypothesis word of the path when it takes this reference word, -1 if none.
    price
        The price of making a hypothesis word this reference word; a substitution between two uses.
    misses, other_content
        Up to each place of the reference: words without a match; words that are no stop words.
    """

    order: IntArray
    moved: IntArray
    extra: IntArray
    low: IntArray
    high: IntArray
    at: IntArray
    extras: IntArray
    content: IntArray
    missed: IntArray
    where: IntArray
    price: IntArray
    misses: IntArray
    other_content: IntArray


class Matches(NamedTuple):
    """The matches of the words of hypotheses in a reference.

    Parameters
    ----------
    codes, begins
        Word w matches the places and kinds `codes[begins[w]:begins[w + 1]]`, by place.
    content
        1 for each word that is no stop word, otherwise 0.
    prices : (7,) int64
        The cost of each kind of edit.
    """

    codes: IntArray
    begins: IntArray
    content: IntArray
    prices: IntArray


class FoundPhrases(NamedTuple):
    """The phrases of a reference for which a hypothesis has all words, in any order.

    Parameters
    ----------
    rows : (P, 7) int64
        By the place behind them in the reference, then the longest first.
    words
        Their words.
    ends, starts
        How many end before each place of the reference; how many begin before it.
    """

    rows: IntArray
    words: IntArray
    ends: IntArray
    starts: IntArray


class Tables(NamedTuple):
    """Work space: edit distances in the present order and after a shift, and matching spans."""

    costs: IntArray
    trial: IntArray
    spans: IntArray


@borrower
def _width(n: int, m: int, limits: Limits) -> tuple[int, int]:
    """Return how far from the diagonal cells are filled, and how many of a row are kept."""
    slope, width = m / max(n, 1), m + 1
    if max(n, m) > limits.tokens:
        width = limits.half_width
        if width < slope / 2:
            width = math.ceil(slope / 2 + width)
    return width, min(m + 1, math.ceil(slope) + 2 * width + 1) + 3


@borrower
def _set_band(n: int, m: int, limits: Limits, places: PlaceStates) -> int:
    """Say in `places` which cells are filled. Return how many of a row are kept."""
    width, stride = _width(n, m, limits)
    slope = m / max(n, 1)
    for i in range(n + 1):
        diagonal = math.floor(i * slope)
        places.low[i] = max(0, diagonal - width)
        places.high[i] = min(m + 1, diagonal + width)
        places.at[i] = i * stride + 1 - places.low[i]
    places.high[0], places.high[n] = stride - 3, m + 1
    return int(stride)


@borrower
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
    """Append a code for each reference word that a hypothesis word matches; return the new count.

    The kind is the cheapest of substitution, stem and synonym, of equal ones the first. `codes` is
    modified in place.
    """
    stem = stems[word]
    for j in range(reference.size):
        candidate = reference[j]
        alone, alike = offsets[candidate] == offsets[candidate + 1], stems[candidate] == stem
        if alone and not alike:
            continue
        kind = SUBSTITUTE
        if candidate == word:
            kind = MATCH
        else:
            if alike and prices[STEM] < prices[kind]:
                kind = STEM
            if not alone and are_synonyms(candidate, word, synonyms, offsets):
                alike = True
                if prices[SYNONYM] < prices[kind]:
                    kind = SYNONYM
        if alike:
            codes[count] = j * KINDS + kind
            count += 1
    return count


@borrower
def _first_from(codes: IntArray, low: int, high: int, place: int) -> int:
    """Return the first of the codes low..high-1 that is of this place or of one behind it."""
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < place * KINDS:
            low = middle + 1
        else:
            high = middle
    return low


@borrower
def _kind(codes: IntArray, begins: IntArray, word: int, place: int) -> int:
    """Return the kind of match of a word with the reference word at `place`, or -1."""
    spot = _first_from(codes, begins[word], begins[word + 1], place)
    if spot < begins[word + 1] and codes[spot] < (place + 1) * KINDS:
        return int(codes[spot] % KINDS)
    return -1


@borrower
def _find_phrases(
    text: int,
    n: int,
    m: int,
    entries: Phrases,
    costs: IntArray,
    word_numbers: tuple[IntArray, NDArray[np.bool_]],
    order: IntArray,
    rows: FoundPhrases,
) -> tuple[int, int]:
    """Find the phrases of reference `text` for which the hypothesis has all words, in any order.

    Parameters
    ----------
    entries, costs
        All phrases and their prices.
    word_numbers
        The number of each word of the vocabulary, -1 for others; False for each number, before
        and after.
    order
        Which word stands where in the hypothesis.
    rows
        Modified in place.

    Returns
    -------
    count, reach : int
        How many there are; words of the longest one in the hypothesis, at least 1.
    """
    occurrences, offsets = entries.occurrences, entries.offsets
    numbers, marks = word_numbers
    phrases, words, ends, starts = rows
    for i in range(n):
        marks[order[i]] = True
    count, reach, begin = 0, 1, 0
    for occurrence in range(occurrences.offsets[text], occurrences.offsets[text + 1]):
        entry = occurrences.entries[occurrence]
        size, width = offsets[entry + 1] - offsets[entry], entries.widths[entry]
        if size > n:
            continue
        size = 0
        for place in range(offsets[entry], offsets[entry + 1]):
            word = numbers[entries.words[place]]
            if word < 0 or not marks[word]:
                size = -1
                break
            words[begin + size] = word
            size += 1
        if size < 0:
            continue
        # Insertion sort: there are few phrases.
        k, end = count, occurrences.places[occurrence] + width
        while k > 0:
            previous_end = phrases[k - 1, START] + phrases[k - 1, TAKES]
            if previous_end < end or (
                previous_end == end
                and (
                    phrases[k - 1, SIZE] > size
                    or (phrases[k - 1, SIZE] == size and phrases[k - 1, TAKES] >= width)
                )
            ):
                break
            for column in range(BY_START):
                phrases[k, column] = phrases[k - 1, column]
            k -= 1
        phrases[k, START], phrases[k, TAKES], phrases[k, SIZE] = (
            occurrences.places[occurrence], width, size
        )  # fmt: skip
        phrases[k, COST], phrases[k, ENTRY], phrases[k, BEGIN] = costs[entry], entry, begin
        count, begin, reach = count + 1, begin + size, max(reach, size)
    for i in range(n):
        marks[order[i]] = False
    if count > 0:
        for j in range(m + 2):
            ends[j], starts[j] = 0, 0
        for k in range(count):
            ends[phrases[k, START] + phrases[k, TAKES] + 1] += 1
            starts[phrases[k, START]] += 1
        for j in range(1, m + 2):
            ends[j] += ends[j - 1]
            starts[j] += starts[j - 1]
        for k in range(count - 1, -1, -1):
            place = phrases[k, START]
            starts[place] -= 1
            phrases[starts[place], BY_START] = k
    return count, reach


@borrower
def _is_at(start: int, k: int, order: IntArray, table: FoundPhrases) -> bool:
    """Return whether the hypothesis, in this order, has phrase k at `start`."""
    size, begin, i = table.rows[k, SIZE], table.rows[k, BEGIN], 0
    while i < size and order[start + i] == table.words[begin + i]:
        i += 1
    return bool(i == size)


@borrower
def _phrase_cost(
    i: int, k: int, costs: IntArray, places: PlaceStates, order: IntArray, table: FoundPhrases
) -> int:
    """Return the cost of the cell in row i after phrase k, reached by that phrase.

    It is above every cost if the hypothesis does not have the phrase there.
    """
    phrases = table.rows
    start, before = i - phrases[k, SIZE], phrases[k, START]
    if (
        start >= 0
        and places.low[start] <= before < places.high[start]
        and _is_at(start, k, order, table)
    ):
        return int(costs[places.at[start] + before] + phrases[k, COST])
    return OUT_OF_REACH


@borrower
def _fill(
    first: int,
    limit: int,
    order: IntArray,
    size: Size,
    costs: IntArray,
    places: PlaceStates,
    matches: Matches,
    table: FoundPhrases,
) -> bool:
    """Fill rows of the edit distance of i hypothesis and j reference words.

    Parameters
    ----------
    first
        The first row, at least 1.
    limit
        The limit of the distance.
    order
        Which word stands where in the hypothesis.
    costs
        Modified in place; rows before the first as far as phrases reach are given, but row 0.

    Returns
    -------
    bool
        Whether the distance is at most the limit; False as soon as that is certain.
    """
    n, m, stride, count, reach = size
    codes, begins, _, prices = matches
    phrases = table.rows
    price, ends = places.price, table.ends
    insert, delete, substitute = prices[INSERT], prices[DELETE], prices[SUBSTITUTE]
    if first == 1:
        for j in range(stride - 3):
            costs[j + 1] = j * delete
    above_limit = 0
    for i in range(first, n + 1):
        low, high, word = places.low[i], places.high[i], order[i - 1]
        here, above = places.at[i], places.at[i - 1]
        begin = max(1, low)
        left = costs[above] + insert if low == 0 else OUT_OF_REACH
        costs[here + begin - 1] = left
        least, corner = left, costs[above + begin - 1]
        spot = _first_from(codes, begins[word], begins[word + 1], begin - 1)
        last = spot
        while last < begins[word + 1] and codes[last] < (high - 1) * KINDS:
            price[codes[last] // KINDS] = prices[codes[last] % KINDS]
            last += 1
        # Whole numbers without a sign, which need no look whether they count from the end.
        cell, upper_cell = np.uint64(here + begin), np.uint64(above + begin)
        for j in range(begin - 1, high - 1):
            upper = costs[upper_cell]
            left = min(min(corner + price[j], upper + insert), left + delete)  # noqa: PLW3301  faster
            corner = upper
            costs[cell] = left
            least = min(least, left)
            cell += np.uint64(1)
            upper_cell += np.uint64(1)
        for k in range(spot, last):
            price[codes[k] // KINDS] = substitute
        if count > 0:
            for k in range(ends[begin], ends[high]):
                cost = _phrase_cost(i, k, costs, places, order, table)
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
    return bool(costs[places.at[n] + m] <= limit)


@borrower
def _trace(
    size: Size,
    costs: IntArray,
    places: PlaceStates,
    matches: Matches,
    table: FoundPhrases,
    features: FloatArray,
    counts: FloatArray,
) -> None:
    """Follow the cheapest path back.

    Among equal steps a phrase comes first, the longest one, then a pair of words, then a phrase of
    one word each, then a hypothesis word, then a reference word: as in TERp.

    Modified in place: `places`; `counts`, a row, all but the shifts.
    """
    i, j, count = size.n, size.m, size.phrases
    codes, begins, _, prices = matches
    phrases = table.rows
    for column in range(PHRASE + 4):
        if column != SHIFT:
            counts[column] = 0.0
    while i > 0 or j > 0:
        here, phrase = costs[places.at[i] + j], -1
        if count > 0:
            for k in range(table.ends[j], table.ends[j + 1]):
                cost = _phrase_cost(i, k, costs, places, places.order, table)
                if phrase < 0 and here == cost:
                    phrase = k
        kind = -1  # no pair of words
        if i > 0 and j > 0:
            kind = _kind(codes, begins, places.order[i - 1], j - 1)
            kind = SUBSTITUTE if kind < 0 else kind
            if here != costs[places.at[i - 1] + j - 1] + prices[kind]:
                kind = -1
        if phrase >= 0 and not (kind >= 0 and phrases[phrase, SIZE] + phrases[phrase, TAKES] == 2):
            for k in range(i - phrases[phrase, SIZE], i):
                places.extra[k] = 1
            for k in range(j - phrases[phrase, TAKES], j):
                places.missed[k], places.where[k] = 1, i - 1
            i, j = i - phrases[phrase, SIZE], j - phrases[phrase, TAKES]
            counts[PHRASE] += 1.0
            for k in range(3):
                counts[PHRASE + 1 + k] += features[phrases[phrase, ENTRY], k]
        elif kind >= 0:
            i, j = i - 1, j - 1
            error = 0 if kind == MATCH else 1
            places.extra[i], places.missed[j], places.where[j] = error, error, i
            counts[kind] += 1.0
        elif i > 0 and here == costs[places.at[i - 1] + j] + prices[INSERT]:
            i -= 1
            places.extra[i] = 1
            counts[INSERT] += 1.0
        else:
            j -= 1
            places.missed[j], places.where[j] = 1, i - 1
            counts[DELETE] += 1.0


@borrower
def _move(n: int, start: int, length: int, to: int, order: IntArray, moved: IntArray) -> None:
    """Take out `length` words at `start`, insert them at `to` of the rest: `order` to `moved`."""
    for i in range(n):
        moved[i] = order[i]
    if to < start:
        for i in range(to, start):
            moved[i + length] = order[i]
    else:
        for i in range(start, to):
            moved[i] = order[i + length]
    for i in range(length):
        moved[to + i] = order[start + i]


@borrower
def _least_cost(size: Size, places: PlaceStates, matches: Matches) -> int:
    """Return a lower bound of the edit distance in any order of the hypothesis.

    At most as many pairs match as either side has words that match any of the other.
    `places.missed` is modified.
    """
    n, m = size.n, size.m
    codes, begins, prices = matches.codes, matches.begins, matches.prices
    if size.phrases > 0:
        return 0
    for j in range(m):
        places.missed[j] = 0
    pairs, hit = 0, 0
    for i in range(n):
        word = places.order[i]
        pairs += begins[word] < begins[word + 1]
        for k in range(begins[word], begins[word + 1]):
            places.missed[codes[k] // KINDS] = 1
    for j in range(m):
        hit += places.missed[j]
    pairs = min(pairs, hit)
    match = min(prices[MATCH], prices[STEM], prices[SYNONYM])
    change = min(prices[SUBSTITUTE], prices[INSERT] + prices[DELETE])
    both = min(n, m)
    # As many pairs as can match, or none: the cost is linear in between.
    matched = min(pairs * match + (both - pairs) * change, both * change)
    return int(matched + (n - both) * prices[INSERT] + (m - both) * prices[DELETE])


@borrower
def _next_place(
    word: int, place: int, stop: int, count: int, matches: Matches, table: FoundPhrases
) -> int:
    """Return the first place from `place` on where a match or a phrase with this word begins.

    `stop`, if there is none before.
    """
    codes, begins = matches.codes, matches.begins
    phrases, words, starts = table.rows, table.words, table.starts
    spot = _first_from(codes, begins[word], begins[word + 1], place)
    if spot < begins[word + 1]:
        stop = min(stop, int(codes[spot] // KINDS))
    if count > 0:
        for k in range(starts[place], starts[stop]):
            phrase = phrases[k, BY_START]
            if words[phrases[phrase, BEGIN]] == word:
                return int(min(stop, phrases[phrase, START]))
    return stop


@borrower
def _spans(
    h: int,
    r: int,
    most: int,
    size: Size,
    order: IntArray,
    matches: Matches,
    table: FoundPhrases,
    spans: IntArray,
) -> tuple[int, int]:
    """Find which words from place h on match which reference words from place r on.

    Modified in place: `spans[a, b]`, `PAIR_LAST` if a words match b words and end in a pair of
    words, `MATCHING` if they match otherwise, else 0; as far as (longest, widest), which is
    returned; longest is 0 if there is none. Without phrases only a = b is looked at.
    """
    codes, begins = matches.codes, matches.begins
    starts, phrases = table.starts, table.rows
    longest, widest = min(most, size.n - h), min(most, size.m - r)
    if size.phrases == 0:
        alike, most = 0, min(longest, widest)
        while alike < most and _kind(codes, begins, order[h + alike], r + alike) >= 0:
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
            if a < longest and _kind(codes, begins, order[h + a], r + b) >= 0:
                spans[a + 1, b + 1] = PAIR_LAST
            for by_start in range(starts[r + b], starts[r + b + 1]):
                k = phrases[by_start, BY_START]
                above, end = a + phrases[k, SIZE], b + phrases[k, TAKES]
                if above <= longest and end <= widest and _is_at(h + a, k, order, table):
                    spans[above, end] = max(spans[above, end], MATCHING)
    return longest, widest


@borrower
def _best_shift(
    least: int,
    tried: int,
    size: Size,
    limits: Limits,
    tables: Tables,
    places: PlaceStates,
    matches: Matches,
    table: FoundPhrases,
) -> tuple[int, int, int, int]:
    """Find the shift that leaves the smallest edit distance, and pays.

    Among equal shifts, the one with most words on one side wins, then the first one, then the
    first target, then the one of most hypothesis words. A shift that cannot win is counted as
    tried, but not computed.

    Parameters
    ----------
    least
        A lower bound of the distance after any shift.
    tried
        Shifts tried so far.
    tables, places
        Modified in place, but for the edit distances in the present order.

    Returns
    -------
    start, length, to, tried : int
        See `_move`; the length is 0 if no shift pays.
    """
    n, m, stride, count, reach = size
    costs, trial, spans = tables
    begins, content, prices = matches.begins, matches.content, matches.prices
    last = places.at[n] + m
    for i in range(n):
        places.extras[i + 1] = places.extras[i] + places.extra[i]
        places.content[i + 1] = places.content[i] + content[places.order[i]]
    for j in range(m):
        places.misses[j + 1] = places.misses[j] + places.missed[j]
    best = costs[last] - max(prices[SHIFT], 1)  # enough for the first
    start, length, longer, gap, to = 0, 0, 0, 0, 0
    for h in range(n):
        word = places.order[h]
        if count == 0 and begins[word] == begins[word + 1]:
            continue
        r, stop = max(0, h - limits.distance) - 1, min(m, h + limits.distance + 1)
        while r + 1 < stop:
            r = _next_place(word, r + 1, stop, count, matches, table)
            if r == stop or places.where[r] == h:
                continue
            longest, widest = _spans(
                h, r, limits.length, size, places.order, matches, table, spans
            )
            for a in range(1, longest + 1):
                for b in range(0 if count > 0 else a, (widest if count > 0 else a) + 1):
                    if (
                        spans[a, b] != PAIR_LAST
                        or h <= places.where[r] < h + a
                        or places.extras[h + a] == places.extras[h]
                        or places.misses[r + b] == places.misses[r]
                        or places.content[h + a] == places.content[h]
                        or places.other_content[r + b] == places.other_content[r]
                    ):
                        continue
                    previous = -1
                    # To behind the word at which the path takes each of these reference words.
                    for k in range(r - 1, r + b):
                        target = 0 if k == -1 else places.where[k] + 1
                        if target == previous:
                            continue
                        previous = target
                        tried += 1
                        place = target - a if target > h + a else min(target, n - a)
                        extent = max(a, b)
                        # Of equal ones the longest, then the first word, then the first place.
                        wins_tie = extent > longer or (
                            extent == longer
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
                        _move(n, h, a, place, places.order, places.moved)
                        first = min(h, place) + 1
                        for cell in range(max(0, first - reach) * stride, first * stride):
                            trial[cell] = costs[cell]
                        if _fill(first, limit, places.moved, size, trial, places, matches, table):
                            best = trial[last]
                            start, length, longer, gap, to = h, a, extent, target, place
                    if tried >= limits.tried:
                        return 0, 0, 0, tried
    return start, length, to, tried


@kernel
def plus_edits(
    segments: Segments,
    first: IntArray,
    words: Words,
    phrases: Phrases,
    phrase_costs: IntArray,
    features: FloatArray,
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
    phrase_costs : (E,) int64
        The price of each phrase.
    features : (E, 3) float64
        e * log10(p), e * p and e of each.
    prices
        (7,) in the order of the counts.
    limits
        Limits of the search.

    Returns
    -------
    (H, 12) float64
        The 11 counts of TERp, and the price of all edits.
    """
    tokens, token_offsets, offsets, reference_tokens, reference_offsets, _ = segments
    stems, synonyms, synonym_offsets, is_stop_word = words
    occurrences = phrases.occurrences.offsets
    n, m, p = longest_row(token_offsets), longest_row(reference_offsets), longest_row(occurrences)
    cells = 0
    for s in range(offsets.size - 1):
        for h in range(offsets[s], offsets[s + 1]):
            own_length = token_offsets[h + 1] - token_offsets[h]
            stride = _width(own_length, reference_offsets[s + 1] - reference_offsets[s], limits)[1]
            cells = max(cells, (own_length + 1) * stride)
    # Sized for the longest hypothesis and reference; shorter ones use the beginning.
    costs, trial = np.empty(cells, dtype=np.int64), np.empty(cells, dtype=np.int64)
    rows = np.zeros((15, max(n, m) + 2), dtype=np.int64)
    places = PlaceStates(
        rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7],
        rows[8], rows[9], rows[10], rows[11], rows[12],
    )  # fmt: skip
    places.price[:] = prices[SUBSTITUTE]
    order, moved, at, other_content = (
        places.order, places.moved, places.at, places.other_content,
    )  # fmt: skip
    most_words = n + WORDS_KEPT
    own_words, content = np.empty(most_words, dtype=np.int64), np.empty(most_words, dtype=np.int64)
    codes, begins = np.empty(m, dtype=np.int64), np.zeros(most_words + 1, dtype=np.int64)
    marks = np.zeros(most_words, dtype=np.bool_)
    spans = np.empty((LONGEST + 1, LONGEST + 1), dtype=np.int64)
    table = FoundPhrases(
        np.empty((p, BY_START + 1), dtype=np.int64),
        np.empty(p * longest_row(phrases.offsets), dtype=np.int64),
        rows[13],
        rows[14],
    )
    tables, matches = Tables(costs, trial, spans), Matches(codes, begins, content, prices)
    word_numbers = np.full(stems.size, -1, dtype=np.int64)  # the number of each word
    counts = np.zeros((token_offsets.size - 1, PHRASE + 5))
    used = 0
    for s in range(offsets.size - 1):
        reference = reference_tokens[reference_offsets[s] : reference_offsets[s + 1]]
        m = reference.size
        for j in range(m):
            other_content[j + 1] = other_content[j] + (0 if is_stop_word[reference[j]] else 1)
        for word in range(used):
            word_numbers[own_words[word]] = -1
        used, n, stride = 0, -1, 0
        for h in range(offsets[s], offsets[s + 1]):
            if first[h] < h:
                for column in range(PHRASE + 5):
                    counts[h, column] = counts[first[h], column]
                continue
            begin, own_length = token_offsets[h], token_offsets[h + 1] - token_offsets[h]
            if own_length != n:
                n = own_length
                stride = _set_band(n, m, limits, places)
            if used + n > most_words:
                for word in range(used):
                    word_numbers[own_words[word]] = -1
                used = 0
            for i in range(n):
                token = tokens[begin + i]
                if word_numbers[token] < 0:
                    word_numbers[token], own_words[used] = used, token
                    content[used] = 0 if is_stop_word[token] else 1
                    if begins[used] + m > codes.size:
                        codes = np.concatenate((codes, np.empty_like(codes)))
                        matches = Matches(codes, begins, content, prices)
                    begins[used + 1] = _compare(
                        token, reference, stems, synonyms, synonym_offsets, prices, codes,
                        begins[used],
                    )  # fmt: skip
                    used += 1
                order[i] = word_numbers[token]
            count, reach = 0, 1
            if occurrences[s] < occurrences[s + 1]:
                count, reach = _find_phrases(
                    s, n, m, phrases, phrase_costs, (word_numbers, marks), order, table
                )
            size = Size(n, m, stride, count, reach)
            least = _least_cost(size, places, matches)
            # Not literals, here and elsewhere: numba compiles a function for each one.
            tried, begin, limit = np.int64(0), np.int64(1), np.int64(1 << 62)
            while True:
                _fill(int(begin), int(limit), order, size, costs, places, matches, table)
                _trace(size, costs, places, matches, table, features, counts[h])
                distance = costs[at[n] + m]
                if distance - least < max(prices[SHIFT], 1):
                    break
                start, length, to, tried = _best_shift(
                    least, tried, size, limits, tables, places, matches, table
                )
                if length == 0:
                    break
                _move(n, start, length, to, order, moved)
                for i in range(n):
                    order[i] = moved[i]
                begin = min(start, to) + 1
                counts[h, SHIFT] += 1.0
            counts[h, PHRASE + 4] = distance + counts[h, SHIFT] * prices[SHIFT]
    return counts
