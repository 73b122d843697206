"""Computes edit distances, shifts and one-to-one word links, compiled.

Arrays and numbers in and out; inputs are read-only; every function releases the interpreter lock.
All functions for many hypotheses compare those of segment s, `offsets[s]:offsets[s + 1]`, with one
reference, number s; hypothesis h is `tokens[token_offsets[h]:token_offsets[h + 1]]`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from metrics._base import FloatArray, IntArray, TokenArray

OUT_OF_REACH = 1 << 40
"""More than any edit distance: the cost of a cell outside of the band."""


@njit(cache=True, nogil=True)
def edit_distances(
    tokens: TokenArray,
    token_offsets: IntArray,
    offsets: IntArray,
    reference_tokens: TokenArray,
    reference_token_offsets: IntArray,
    long_jumps: bool,
) -> FloatArray:
    """Return (H,) float64: the edit distance of each hypothesis.

    With `long_jumps` one may besides go from any place in the hypothesis to any other, at the
    cost of 1, after each reference word; hypothesis words jumped over cost nothing.
    """
    longest = 0
    for h in range(token_offsets.size - 1):
        longest = max(longest, token_offsets[h + 1] - token_offsets[h])
    row = np.empty(longest + 1, dtype=np.int64)  # cost of having come to each place
    distances = np.empty(token_offsets.size - 1)
    for s in range(offsets.size - 1):
        reference = reference_tokens[reference_token_offsets[s] : reference_token_offsets[s + 1]]
        for h in range(offsets[s], offsets[s + 1]):
            hypothesis = tokens[token_offsets[h] : token_offsets[h + 1]]
            n = hypothesis.size
            for i in range(n + 1):
                row[i] = min(i, 1) if long_jumps else i
            for j in range(reference.size):
                corner = row[0]
                row[0] += 1
                least = row[0]
                for i in range(1, n + 1):
                    above = row[i]
                    changed = corner + (hypothesis[i - 1] != reference[j])
                    row[i] = min(changed, min(above, row[i - 1]) + 1)
                    least = min(least, row[i])
                    corner = above
                if long_jumps:
                    for i in range(n + 1):
                        row[i] = min(row[i], least + 1)
            distances[h] = row[n]
    return distances


@njit(cache=True, nogil=True)
def edit_kinds(
    tokens: TokenArray,
    token_offsets: IntArray,
    offsets: IntArray,
    reference_tokens: TokenArray,
    reference_token_offsets: IntArray,
) -> FloatArray:
    """Return (H, 3) float64: substitutions, insertions, deletions of a cheapest path.

    Of equally cheap steps to a place an insertion is taken, then a deletion, then a pair of words.
    """
    longest = 0
    for s in range(reference_token_offsets.size - 1):
        longest = max(longest, reference_token_offsets[s + 1] - reference_token_offsets[s])
    row = np.empty((longest + 1, 4), dtype=np.int64)  # cost, substitutions, insertions, deletions
    kinds = np.empty((token_offsets.size - 1, 3))
    corner, above = np.empty(4, dtype=np.int64), np.empty(4, dtype=np.int64)
    for s in range(offsets.size - 1):
        reference = reference_tokens[reference_token_offsets[s] : reference_token_offsets[s + 1]]
        for h in range(offsets[s], offsets[s + 1]):
            for j in range(reference.size + 1):
                row[j, 0], row[j, 1], row[j, 2], row[j, 3] = j, 0, 0, j
            for k in range(token_offsets[h], token_offsets[h + 1]):
                corner[:] = row[0]
                row[0, 0] += 1
                row[0, 2] += 1
                for j in range(1, reference.size + 1):
                    differ = np.int64(tokens[k] != reference[j - 1])
                    above[:] = row[j]
                    changed, extra, missed = corner[0] + differ, above[0] + 1, row[j - 1, 0] + 1
                    if changed < extra and changed < missed:
                        row[j] = corner
                        row[j, 0] = changed
                        row[j, 1] += differ
                    elif missed < extra:
                        row[j] = row[j - 1]
                        row[j, 0] = missed
                        row[j, 3] += 1
                    else:
                        row[j, 0] = extra
                        row[j, 2] += 1
                    corner[:] = above
            kinds[h] = row[reference.size, 1:]
    return kinds


@njit(cache=True, nogil=True)
def _fill(
    costs: IntArray,
    hypothesis: TokenArray,
    reference: TokenArray,
    first: int,
    limit: int,
    half_width: int,
) -> bool:
    """Fill rows `first`.. of the edit distance of i hypothesis and j reference words.

    Row `first - 1` is given. Cells further than `half_width` from the diagonal are out of reach.
    Return False as soon as the distance is certain to exceed `limit`. Modifies `costs`.
    """
    n, m = hypothesis.size, reference.size
    slope = m / n
    width = half_width
    if width < slope / 2:
        width = math.ceil(slope / 2 + width)
    for i in range(first, n + 1):
        diagonal = math.floor(i * slope)
        low = max(0, diagonal - width)
        high = m + 1 if i == n else min(m + 1, diagonal + width)
        word = hypothesis[i - 1]
        row, above = costs[i], costs[i - 1]
        if low == 0:
            left = above[0] + 1
            row[0] = left
            begin = 1
        else:
            left = OUT_OF_REACH
            row[low - 1] = left
            begin = low
        least = left
        for j in range(begin, high):
            changed = above[j - 1] + (word != reference[j - 1])
            left = min(changed, min(above[j], left) + 1)
            row[j] = left
            least = min(least, left)
        for j in range(high, m + 1):
            row[j] = OUT_OF_REACH
        if least > limit:
            return False
    return bool(costs[n, m] <= limit)


@njit(cache=True, nogil=True)
def _trace(
    costs: IntArray,
    hypothesis: TokenArray,
    reference: TokenArray,
    extra: IntArray,
    missed: IntArray,
    where: IntArray,
) -> None:
    """Follow the cheapest path back; of equal steps a pair of words, then a hypothesis word.

    Modified in place: `extra[i]` and `missed[j]` are 0 where words match, otherwise 1; `where[j]`
    is the last hypothesis word of the path when it takes reference word j, -1 if none.
    """
    i, j = hypothesis.size, reference.size
    while i > 0 or j > 0:
        if i > 0 and j > 0:
            differ = np.int64(hypothesis[i - 1] != reference[j - 1])
            if costs[i, j] == costs[i - 1, j - 1] + differ:
                i, j = i - 1, j - 1
                extra[i], missed[j], where[j] = differ, differ, i
                continue
        if i > 0 and costs[i, j] == costs[i - 1, j] + 1:
            i -= 1
            extra[i] = 1
        else:
            j -= 1
            missed[j], where[j] = 1, i - 1


@njit(cache=True, nogil=True)
def _move(words: TokenArray, start: int, length: int, to: int, moved: TokenArray) -> None:
    """Take out `length` words at `start`, insert them at `to` of the rest. Modifies `moved`."""
    for i in range(words.size):
        moved[i] = words[i]
    if to < start:
        for i in range(to, start):
            moved[i + length] = words[i]
    else:
        for i in range(start, to):
            moved[i] = words[i + length]
    for i in range(length):
        moved[to + i] = words[start + i]


@njit(cache=True, nogil=True)
def _best_shift(
    hypothesis: TokenArray,
    reference: TokenArray,
    path: tuple[IntArray, IntArray, IntArray],
    work: tuple[IntArray, IntArray, TokenArray],
    least: int,
    tried: int,
    limits: tuple[int, int, int, int],
) -> tuple[int, int, int, int, int]:
    """Find the shift that leaves the smallest edit distance.

    Of equal ones the longest phrase wins, then the first one, then the first target. What cannot
    win is counted as tried, but not worked out.

    Parameters
    ----------
    path
        `extra`, `missed` and `where` of `_trace`.
    work
        Edit distance of `hypothesis`, the same for trials, words of trials. The last two are
        modified in place.
    least
        A lower bound of the distance after any shift.
    tried
        Shifts tried so far.
    limits
        Longest phrase and longest distance of a shift, most shifts to try, half width of the band.

    Returns
    -------
    cost, start, length, to, tried : int
        Distance after the shift, or if no shift lowers it the present one; see `_move`.
    """
    extra, missed, where = path
    costs, trial, moved = work
    max_length, max_distance, max_tried, half_width = limits
    n, m = hypothesis.size, reference.size
    cost, start, length, gap, to = costs[n, m], 0, n + 1, 0, 0
    for h in range(n):
        for r in range(max(0, h - max_distance), min(m, h + max_distance + 1)):
            any_extra = any_missed = False
            for l in range(1, min(max_length, n - h, m - r) + 1):  # noqa: E741
                if hypothesis[h + l - 1] != reference[r + l - 1]:
                    break
                if h <= where[r] < h + l:  # so it is for all longer ones
                    break
                any_extra = any_extra or extra[h + l - 1] == 1
                any_missed = any_missed or missed[r + l - 1] == 1
                if not (any_extra and any_missed):
                    continue
                previous = -1
                for k in range(r - 1, r + l):
                    target = 0 if k == -1 else where[k] + 1
                    if target == previous:
                        continue
                    previous = target
                    tried += 1
                    place = target - l if target > h + l else min(target, n - l)
                    first = min(h, place) + 1
                    wins_tie = l > length or (
                        l == length and (h < start or (h == start and target < gap))
                    )
                    limit = cost if wins_tie else cost - 1
                    if place == h or limit < least:
                        continue
                    _move(hypothesis, h, l, place, moved)
                    for j in range(m + 1):
                        trial[first - 1, j] = costs[first - 1, j]
                    if _fill(trial, moved[:n], reference, first, limit, half_width):
                        cost, start, length, gap, to = trial[n, m], h, l, target, place
                if tried >= max_tried:
                    return cost, start, length, to, tried
    return cost, start, length, to, tried


@njit(cache=True, nogil=True)
def _unmatched(hypothesis: TokenArray, reference: TokenArray, taken: IntArray) -> int:
    """Return the edit distance of the best of all orders of the words. Modifies `taken`."""
    matched = 0
    for j in range(reference.size):
        taken[j] = 0
    for word in hypothesis:
        for j in range(reference.size):
            if taken[j] == 0 and reference[j] == word:
                taken[j] = 1
                matched += 1
                break
    return max(hypothesis.size, reference.size) - matched


@njit(cache=True, nogil=True)
def translation_edits(
    tokens: TokenArray,
    token_offsets: IntArray,
    offsets: IntArray,
    reference_tokens: TokenArray,
    reference_token_offsets: IntArray,
    limits: tuple[int, int, int, int],
) -> FloatArray:
    """Return (H,) float64: the fewest shifts and other edits found for each hypothesis.

    `limits`: longest phrase and longest distance of a shift, most shifts to try for a hypothesis,
    half width of the band of the edit distance.
    """
    n, m = 0, 0
    for h in range(token_offsets.size - 1):
        n = max(n, token_offsets[h + 1] - token_offsets[h])
    for s in range(offsets.size - 1):
        m = max(m, reference_token_offsets[s + 1] - reference_token_offsets[s])
    # Of the longest hypothesis and reference; others use the upper left corner.
    costs = np.empty((n + 1, m + 1), dtype=np.int64)
    trial = np.empty((n + 1, m + 1), dtype=np.int64)
    words, moved = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    extra, missed = np.empty(n, dtype=np.int64), np.empty(m, dtype=np.int64)
    where = np.empty(m, dtype=np.int64)
    edits = np.empty(token_offsets.size - 1)
    for j in range(m + 1):
        costs[0, j] = j
    for s in range(offsets.size - 1):
        reference = reference_tokens[reference_token_offsets[s] : reference_token_offsets[s + 1]]
        m = reference.size
        for h in range(offsets[s], offsets[s + 1]):
            n = token_offsets[h + 1] - token_offsets[h]
            if n == 0 or m == 0:
                edits[h] = max(n, m)
                continue
            hypothesis = words[:n]
            for i in range(n):
                hypothesis[i] = tokens[token_offsets[h] + i]
            least = _unmatched(hypothesis, reference, where)  # no shift changes that
            first, shifts = 1, 0
            tried = np.int64(0)  # a plain 0 would have one more version compiled
            while True:
                _fill(costs, hypothesis, reference, first, OUT_OF_REACH, limits[3])
                distance = costs[n, m]
                if distance == least:
                    break
                _trace(costs, hypothesis, reference, extra, missed, where)
                cost, start, length, to, tried = _best_shift(
                    hypothesis,
                    reference,
                    (extra, missed, where),
                    (costs, trial, moved),
                    least,
                    tried,
                    limits,
                )
                if tried >= limits[2] or cost == distance:
                    break
                _move(hypothesis, start, length, to, moved)
                for i in range(n):
                    hypothesis[i] = moved[i]
                first = min(start, to) + 1
                shifts += 1
            edits[h] = shifts + distance
    return edits


@njit(cache=True, nogil=True)
def _unique_phrases(
    hypothesis: TokenArray, reference: TokenArray, lengths: IntArray, places: IntArray
) -> None:
    """Find for each hypothesis word the shortest phrase from it on that is unique in both texts.

    Its length (`OUT_OF_REACH`: there is none) and where it begins in the reference; both modified
    in place. A phrase is unique in a text if it is longer than what others there share with it.
    """
    own = np.zeros(hypothesis.size + 1, dtype=np.int64)  # words shared from i and from j on
    other = np.zeros(reference.size + 1, dtype=np.int64)
    for i in range(hypothesis.size - 1, -1, -1):
        word = hypothesis[i]
        repeated = 0
        for j in range(hypothesis.size):
            own[j] = own[j + 1] + 1 if hypothesis[j] == word else 0
            if j != i:
                repeated = max(repeated, own[j])
        longest = 0
        for j in range(reference.size):
            other[j] = other[j + 1] + 1 if reference[j] == word else 0
            if other[j] > longest:
                repeated = max(repeated, longest)
                longest = other[j]
                places[i] = j
            else:
                repeated = max(repeated, other[j])
        lengths[i] = repeated + 1 if repeated < longest else OUT_OF_REACH


@njit(cache=True, nogil=True)
def rank_agreements(
    tokens: TokenArray,
    token_offsets: IntArray,
    offsets: IntArray,
    reference_tokens: TokenArray,
    reference_token_offsets: IntArray,
) -> FloatArray:
    """Return (H, 2) float64: the share of linked pairs of words in rising order, and the links.

    A word is linked if it is unique in both texts, by itself or with as little context as makes it
    so, to its left rather than to its right.

    One link alone has no order: the share is then 1 for a reference of one word, otherwise 0.
    """
    longest = 0
    for h in range(token_offsets.size - 1):
        longest = max(longest, token_offsets[h + 1] - token_offsets[h])
    places = np.empty(longest, dtype=np.int64)
    right, right_places = np.empty_like(places), np.empty_like(places)
    left, left_places = np.empty_like(places), np.empty_like(places)
    agreements = np.zeros((token_offsets.size - 1, 2))
    for s in range(offsets.size - 1):
        reference = reference_tokens[reference_token_offsets[s] : reference_token_offsets[s + 1]]
        for h in range(offsets[s], offsets[s + 1]):
            hypothesis = tokens[token_offsets[h] : token_offsets[h + 1]]
            _unique_phrases(hypothesis, reference, right, right_places)
            _unique_phrases(hypothesis[::-1].copy(), reference[::-1].copy(), left, left_places)
            links = 0
            rising = 0
            for i in range(hypothesis.size):
                mirrored = hypothesis.size - 1 - i
                if min(left[mirrored], right[i]) == OUT_OF_REACH:
                    continue
                place = right_places[i]
                if left[mirrored] <= right[i]:
                    place = reference.size - 1 - left_places[mirrored]
                for k in range(links):
                    rising += places[k] < place
                places[links] = place
                links += 1
            agreements[h, 1] = links
            if links > 1:
                agreements[h, 0] = rising / (links * (links - 1) / 2)
            elif links == 1 and reference.size == 1:
                agreements[h, 0] = 1.0
    return agreements
