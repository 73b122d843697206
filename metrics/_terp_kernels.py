# Long because kernels that call each other stay in one file: numba caches a caller with the
# callee that it had.
"""Searches for TERp's edits, compiled: weighted edit distance with phrases, and shifts.

Costs are whole numbers (multiples of a small unit), so that sums and ties are exact. Inputs are
read-only; releases the interpreter lock.
"""

# Long because kernels that call each other share a file: numba's cache does not see a callee in
# another file change.

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metrics._base import FloatArray, IntArray, TokenArray

    BoolArray = NDArray[np.bool_]
    Relations = tuple[TokenArray, TokenArray, IntArray, BoolArray]
    Occurrences = tuple[IntArray, IntArray, IntArray]
    Phrases = tuple[IntArray, TokenArray, IntArray, IntArray, FloatArray]
    Found = tuple[IntArray, IntArray, int, TokenArray, IntArray, FloatArray]
    Table = tuple[IntArray, IntArray, BoolArray]
    Path = tuple[IntArray, IntArray, IntArray]

MATCH, INSERT, DELETE, SUBSTITUTE, STEM, SYNONYM, SHIFT, PHRASE = range(8)
"""Columns of counts, as in TERp; behind them e * log10(p), e * p and e of the phrases."""
START, TAKES, SIZE, ENTRY, COST = range(5)
"""Columns of phrases found: place and words of the reference, words of the hypothesis, which."""
LONGEST = 10
"""Words of a shift (TERp, tercom)."""


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _compare(
    hypothesis: TokenArray,
    reference: TokenArray,
    relations: Relations,
    costs: IntArray,
    table: Table,
) -> None:
    """Set what it costs to make each hypothesis word each reference word, how, and if alike.

    The cheapest of substitution, stem and synonym, of equal ones the first. `table` is modified.
    """
    change, edit, alike = table
    stems, synonyms, offsets, _ = relations
    for i in range(hypothesis.size):
        for j in range(reference.size):
            one, other = reference[j], hypothesis[i]
            if one == other:
                change[i, j], edit[i, j], alike[i, j] = costs[MATCH], MATCH, True
                continue
            change[i, j], edit[i, j], alike[i, j] = costs[SUBSTITUTE], SUBSTITUTE, False
            if stems[one] == stems[other]:
                alike[i, j] = True
                if costs[STEM] < change[i, j]:
                    change[i, j], edit[i, j] = costs[STEM], STEM
            if offsets[one] < offsets[one + 1] and _are_synonyms(one, other, synonyms, offsets):
                alike[i, j] = True
                if costs[SYNONYM] < change[i, j]:
                    change[i, j], edit[i, j] = costs[SYNONYM], SYNONYM


@njit(cache=True, nogil=True)
def _find_phrases(
    hypothesis: TokenArray,
    m: int,
    occurrences: Occurrences,
    text: int,
    phrases: Phrases,
    marks: IntArray,
) -> tuple[IntArray, IntArray, int]:
    """Find the phrases of a reference for which the hypothesis has all words, in any order.

    `marks` is 0 for every word, before and after.

    Returns
    -------
    found : (K, 5) int64
        By the place behind them in the reference, then the longest first.
    ends : (m + 2,) int64
        Those that end before reference word j are `ends[j]:ends[j + 1]`.
    reach : int
        Words of the longest one in the hypothesis, at least 1.
    """
    occurrence_ends, places, entries = occurrences
    taken, words, offsets, costs, _ = phrases
    for word in hypothesis:
        marks[word] = 1
    ends = np.zeros(m + 2, dtype=np.int64)
    found = np.empty((occurrence_ends[text + 1] - occurrence_ends[text], 5), dtype=np.int64)
    count, reach = 0, 1
    for occurrence in range(occurrence_ends[text], occurrence_ends[text + 1]):
        entry = entries[occurrence]
        size = offsets[entry + 1] - offsets[entry]
        known = size <= hypothesis.size
        for place in range(offsets[entry], offsets[entry + 1]):
            known = known and marks[words[place]] == 1
        if not known:
            continue
        # Into its place; few are found.
        k, end = count, places[occurrence] + taken[entry]
        while k > 0:
            other = found[k - 1, START] + found[k - 1, TAKES]
            if other < end or (
                other == end
                and (
                    found[k - 1, SIZE] > size
                    or (found[k - 1, SIZE] == size and found[k - 1, TAKES] >= taken[entry])
                )
            ):
                break
            for column in range(5):
                found[k, column] = found[k - 1, column]
            k -= 1
        found[k, START], found[k, TAKES], found[k, SIZE] = places[occurrence], taken[entry], size
        found[k, ENTRY], found[k, COST] = entry, costs[entry]
        ends[end + 1] += 1
        count += 1
        reach = max(reach, size)
    for j in range(1, m + 2):
        ends[j] += ends[j - 1]
    for word in hypothesis:
        marks[word] = 0
    return found, ends, reach


@njit(cache=True, nogil=True)
def _is_at(hypothesis: TokenArray, order: IntArray, start: int, entry: int, found: Found) -> bool:
    """Return whether the hypothesis, in this order, has a phrase at `start`."""
    words, offsets = found[3], found[4]
    if start < 0 or start + offsets[entry + 1] - offsets[entry] > hypothesis.size:
        return False
    for place in range(offsets[entry], offsets[entry + 1]):
        if hypothesis[order[start + place - offsets[entry]]] != words[place]:
            return False
    return True


@njit(cache=True, nogil=True)
def _fill(
    costs: IntArray,
    hypothesis: TokenArray,
    order: IntArray,
    change: IntArray,
    found: Found,
    prices: IntArray,
    span: tuple[int, int, int],
) -> bool:
    """Fill rows of the edit distance of i hypothesis and j reference words.

    Parameters
    ----------
    costs
        Modified in place; row 0, and rows before the first as far as phrases reach, are given.
    order
        Which word stands at each place of the hypothesis.
    span
        The first row; words of the reference; a limit.

    Returns
    -------
    bool
        Whether the distance is at most `limit`; False as soon as that is certain.
    """
    phrases, ends, reach = found[0], found[1], found[2]
    first, m, limit = span
    insert, delete = prices[INSERT], prices[DELETE]
    n, above_limit = order.size, 0
    for i in range(first, n + 1):
        row, above, word = costs[i], costs[i - 1], order[i - 1]
        left = above[0] + insert
        row[0] = left
        least = left
        for j in range(1, m + 1):
            left = min(above[j - 1] + change[word, j - 1], above[j] + insert, left + delete)
            for k in range(ends[j], ends[j + 1]):
                start = i - phrases[k, SIZE]
                if start >= 0:
                    cost = costs[start, j - phrases[k, TAKES]] + phrases[k, COST]
                    if cost < left and _is_at(hypothesis, order, start, phrases[k, ENTRY], found):
                        left = cost
            row[j] = left
            least = min(least, left)
        above_limit = above_limit + 1 if least > limit else 0
        if above_limit >= reach:  # no phrase leads past these rows
            return False
    return bool(costs[n, m] <= limit)


@njit(cache=True, nogil=True)
def _trace(
    costs: IntArray,
    hypothesis: TokenArray,
    order: IntArray,
    table: Table,
    found: Found,
    prices: IntArray,
    path: Path,
    counts: FloatArray,
) -> None:
    """Follow the cheapest path back.

    Of equal steps a phrase comes first, the longest one, then a pair of words, then a phrase of
    one word each, then a hypothesis word, then a reference word: as in TERp.

    Modified in place: of `path` `extra[i]` and `missed[j]`, 0 where words match, otherwise 1, and
    `where[j]`, the last hypothesis word of the path when it takes reference word j, -1 if none;
    `counts` (11,), all but the shifts.
    """
    change, edit, _ = table
    phrases, ends, features = found[0], found[1], found[5]
    extra, missed, where = path
    for column in range(counts.size):
        if column != SHIFT:
            counts[column] = 0.0
    i, j = order.size, missed.size
    while i > 0 or j > 0:
        chosen = -1
        for k in range(ends[j], ends[j + 1]):
            size, taken = phrases[k, SIZE], phrases[k, TAKES]
            if (
                chosen < 0
                and i >= size
                and costs[i, j] == costs[i - size, j - taken] + phrases[k, COST]
                and _is_at(hypothesis, order, i - size, phrases[k, ENTRY], found)
            ):
                chosen = k
        pair = i > 0 and j > 0 and costs[i, j] == costs[i - 1, j - 1] + change[order[i - 1], j - 1]
        if chosen >= 0 and not (pair and phrases[chosen, SIZE] + phrases[chosen, TAKES] == 2):
            for k in range(i - phrases[chosen, SIZE], i):
                extra[k] = 1
            for k in range(j - phrases[chosen, TAKES], j):
                missed[k], where[k] = 1, i - 1
            i, j = i - phrases[chosen, SIZE], j - phrases[chosen, TAKES]
            counts[PHRASE] += 1.0
            for k in range(3):
                counts[PHRASE + 1 + k] += features[phrases[chosen, ENTRY], k]
        elif pair:
            i, j = i - 1, j - 1
            kind = edit[order[i], j]
            extra[i] = missed[j] = 0 if kind == MATCH else 1
            where[j] = i
            counts[kind] += 1.0
        elif i > 0 and costs[i, j] == costs[i - 1, j] + prices[INSERT]:
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


@njit(cache=True, nogil=True)
def _best_shift(
    costs: IntArray,
    hypothesis: TokenArray,
    reference: TokenArray,
    order: IntArray,
    texts: tuple[Table, Found, IntArray, BoolArray],
    path: Path,
    work: tuple[IntArray, IntArray, IntArray, BoolArray],
    limits: tuple[int, int, int],
) -> tuple[int, int, int, int]:
    """Find the shift that leaves the smallest edit distance, and pays.

    Of equal ones that with most words on one side wins, then the first one, then the first target,
    then that of most hypothesis words.

    Parameters
    ----------
    costs
        Edit distances in the present order.
    order
        Which word stands at each place of the hypothesis.
    texts
        What words cost and where they are alike; phrases; prices; whether a word is a stop word.
    path
        `extra`, `missed` and `where` of `_trace`.
    work
        Modified in place: edit distances of trials; their order; sums of flags (4, longest + 1);
        spans that match (LONGEST + 1, LONGEST + 1).
    limits
        Longest distance of a shift, most shifts to try, shifts tried so far.

    Returns
    -------
    start, length, to, tried : int
        See `_move`; the length is 0 if no shift pays.
    """
    table, found, prices, is_stop = texts
    extra, missed, where = path
    trial, moved, sums, spans = work
    phrases, _, reach = found[0], found[1], found[2]
    max_distance, max_tried, tried = limits
    n, m = order.size, reference.size
    for i in range(n):
        sums[0, i + 1] = sums[0, i] + extra[i]
        sums[2, i + 1] = sums[2, i] + (0 if is_stop[hypothesis[order[i]]] else 1)
    for j in range(m):
        sums[1, j + 1] = sums[1, j] + missed[j]
        sums[3, j + 1] = sums[3, j] + (0 if is_stop[reference[j]] else 1)
    best = costs[n, m] - max(prices[SHIFT], 1) + 1  # to be beaten
    start, length, size, gap, to = n, 0, n + m + 1, 0, 0
    many = phrases.shape[0] > 0
    for h in range(n):
        for r in range(max(0, h - max_distance), min(m, h + max_distance + 1)):
            if where[r] == h or not (many or table[2][order[h], r]):
                continue
            longest, widest = min(LONGEST, n - h), min(LONGEST, m - r)
            for a in range(longest + 1):
                for b in range(widest + 1):
                    spans[a, b] = False
            spans[0, 0] = True
            for a in range(longest + 1):
                for b in range(0 if many else a, (widest if many else min(a, widest)) + 1):
                    if not spans[a, b]:
                        continue
                    if a < longest and b < widest and table[2][order[h + a], r + b]:
                        spans[a + 1, b + 1] = True
                    for k in range(phrases.shape[0]):
                        above, behind = a + phrases[k, SIZE], b + phrases[k, TAKES]
                        if (
                            phrases[k, START] == r + b
                            and above <= longest
                            and behind <= widest
                            and _is_at(hypothesis, order, h + a, phrases[k, ENTRY], found)
                        ):
                            spans[above, behind] = True
                    if (
                        a == 0
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
                        if place == h or limit < 0:
                            continue
                        _move(order, h, a, place, moved)
                        first = min(h, place) + 1
                        for i in range(max(0, first - reach), first):
                            for j in range(m + 1):
                                trial[i, j] = costs[i, j]
                        if _fill(
                            trial,
                            hypothesis,
                            moved[:n],
                            table[0],
                            found,
                            prices,
                            (first, m, limit),
                        ):
                            best, start, length, size = trial[n, m], h, a, more
                            gap, to = target, place
                    if tried >= max_tried:
                        return 0, 0, 0, tried
    return start, length, to, tried


@njit(cache=True, nogil=True)
def plus_edits(
    texts: tuple[TokenArray, IntArray, IntArray],
    references: tuple[TokenArray, IntArray],
    relations: Relations,
    occurrences: Occurrences,
    phrases: Phrases,
    prices: IntArray,
    limits: tuple[int, int],
) -> FloatArray:
    """Count the edits of each hypothesis.

    Parameters
    ----------
    texts
        Hypothesis h is `texts[0][texts[1][h]:texts[1][h + 1]]`; those of segment s are
        `texts[2][s]:texts[2][s + 1]`.
    references
        Reference s, the same way.
    relations
        Stem of each word; synonyms and their offsets; whether a word is a stop word.
    occurrences
        See `metrics._lexicon.Occurrences`, in the references.
    phrases
        For each entry the words it takes of a reference; words and offsets of what they become;
        its price; e * log10(p), e * p and e.
    prices
        (7,) in the order of the counts.
    limits
        Longest distance of a shift, most shifts to try for a hypothesis.

    Returns
    -------
    (H, 12) float64
        The 11 counts of TERp, and the price of all edits.
    """
    tokens, token_offsets, offsets = texts
    reference_tokens, reference_offsets = references
    n, m = 0, 0
    for h in range(token_offsets.size - 1):
        n = max(n, token_offsets[h + 1] - token_offsets[h])
    for s in range(offsets.size - 1):
        m = max(m, reference_offsets[s + 1] - reference_offsets[s])
    # Of the longest hypothesis and reference; others use the upper left corner.
    costs = np.empty((n + 1, m + 1), dtype=np.int64)
    trial = np.empty((n + 1, m + 1), dtype=np.int64)
    places, moved = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    extra, missed = np.empty(n, dtype=np.int64), np.empty(m, dtype=np.int64)
    where = np.empty(m, dtype=np.int64)
    sums = np.zeros((4, max(n, m) + 1), dtype=np.int64)
    spans = np.empty((LONGEST + 1, LONGEST + 1), dtype=np.bool_)
    table = (
        np.empty((n, m), dtype=np.int64),
        np.empty((n, m), dtype=np.int64),
        np.empty((n, m), dtype=np.bool_),
    )
    marks = np.zeros(relations[0].size, dtype=np.int64)
    counts = np.zeros((token_offsets.size - 1, 12))
    for j in range(m + 1):
        costs[0, j] = trial[0, j] = j * prices[DELETE]
    for s in range(offsets.size - 1):
        reference = reference_tokens[reference_offsets[s] : reference_offsets[s + 1]]
        m = reference.size
        path = (extra, missed[:m], where[:m])
        for h in range(offsets[s], offsets[s + 1]):
            hypothesis = tokens[token_offsets[h] : token_offsets[h + 1]]
            n = hypothesis.size
            order = places[:n]
            for i in range(n):
                order[i] = i
            _compare(hypothesis, reference, relations, prices, table)
            rows, ends, reach = _find_phrases(hypothesis, m, occurrences, s, phrases, marks)
            found = (rows[: ends[m + 1]], ends, reach, phrases[1], phrases[2], phrases[4])
            # Not literals, for which numba would compile the functions called once more.
            tried, first, limit = np.int64(0), np.int64(1), np.int64(1 << 62)
            while True:
                _fill(costs, hypothesis, order, table[0], found, prices, (first, m, limit))
                _trace(costs, hypothesis, order, table, found, prices, path, counts[h, :11])
                if costs[n, m] < max(prices[SHIFT], 1):
                    break
                start, length, to, tried = _best_shift(
                    costs,
                    hypothesis,
                    reference,
                    order,
                    (table, found, prices, relations[3]),
                    path,
                    (trial, moved, sums, spans),
                    (limits[0], limits[1], tried),
                )
                if length == 0:
                    break
                _move(order, start, length, to, moved)
                for i in range(n):
                    order[i] = moved[i]
                counts[h, SHIFT] += 1.0
            counts[h, 11] = costs[n, m] + counts[h, SHIFT] * prices[SHIFT]
    return counts
