"""Computes the edits of corrected sentences that match gold edits at most.

After Dahlmeier and Ng (2012): docs/metrics/m2.md.
"""

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray, TokenArray
from portmert.metrics.kernels.compiled import Segments, helper, kernel, longest_row

DIAGONAL, DELETED, INSERTED = 1, 2, 4
"""The last step of a cheapest path to a place of the lattice, as bits."""
UNCHANGED = 2
"""Words that are not changed in an edit, at most."""
MOST = 1 << 20
"""More than the steps of any path."""


@kernel
def matched_edits(
    segments: Segments, lengths: IntArray, edits: TokenArray, offsets: IntArray
) -> FloatArray:
    """Return (H, 3) float64: correct edits, edits of the hypothesis, gold edits.

    Parameters
    ----------
    segments
        The references are rows of gold edits, as `gold_row` makes them.
    lengths : (S,) int64
        The number of words of each source.
    edits : (E, 5) int32
        A correction of a gold edit each: first and last source position, its number among the
        edits of its segment, and where its words begin and end in the row. Those of segment s are
        `offsets[s]:offsets[s + 1]`.
    """
    tokens, token_offsets, hypothesis_offsets, golds, gold_offsets, _ = segments
    counts = np.zeros((token_offsets.size - 1, 3))
    longest = longest_row(token_offsets) + 1
    reach = np.empty((2, longest, UNCHANGED + 1), dtype=np.int64)
    inserted = np.zeros((longest, longest), dtype=np.bool_)
    for s in range(hypothesis_offsets.size - 1):
        row = golds[gold_offsets[s] : gold_offsets[s + 1]]
        source, gold = row[2 : 2 + lengths[s]], edits[offsets[s] : offsets[s + 1]]
        for h in range(hypothesis_offsets[s], hypothesis_offsets[s + 1]):
            hypothesis = tokens[token_offsets[h] : token_offsets[h + 1]]
            steps = _lattice(source, hypothesis)
            back = _best_path(source, hypothesis, steps, row, gold, reach, inserted)
            counts[h, 0], counts[h, 1] = _counted(hypothesis, back, row, gold, source.size)
            if gold.shape[0]:
                counts[h, 2] = gold[-1, 2] + 1
    return counts


@helper
def _lattice(source: TokenArray, hypothesis: TokenArray) -> IntArray:
    """Return (n + 1, m + 1) int64: the last steps of the cheapest paths through each place.

    A substitution costs 1 or 2; the lattices of both are united.
    """
    n, m = source.size, hypothesis.size
    steps = np.zeros((n + 1, m + 1), dtype=np.int64)
    for cost in (1, 2):
        least = np.empty((n + 1, m + 1), dtype=np.int64)
        for i in range(n + 1):
            for j in range(m + 1):
                least[i, j] = 0 if i + j == 0 else MOST
                if i > 0 and j > 0:
                    same = source[i - 1] == hypothesis[j - 1]
                    least[i, j] = least[i - 1, j - 1] + (0 if same else cost)
                if i > 0:
                    least[i, j] = min(least[i, j], least[i - 1, j] + 1)
                if j > 0:
                    least[i, j] = min(least[i, j], least[i, j - 1] + 1)
        passed = np.zeros((n + 1, m + 1), dtype=np.bool_)
        passed[n, m] = True
        for i in range(n, -1, -1):
            for j in range(m, -1, -1):
                if not passed[i, j]:
                    continue
                if i > 0 and j > 0:
                    same = source[i - 1] == hypothesis[j - 1]
                    if least[i, j] == least[i - 1, j - 1] + (0 if same else cost):
                        steps[i, j] |= DIAGONAL
                        passed[i - 1, j - 1] = True
                if i > 0 and least[i, j] == least[i - 1, j] + 1:
                    steps[i, j] |= DELETED
                    passed[i - 1, j] = True
                if j > 0 and least[i, j] == least[i, j - 1] + 1:
                    steps[i, j] |= INSERTED
                    passed[i, j - 1] = True
    return steps


@helper
def _best_path(
    source: TokenArray,
    hypothesis: TokenArray,
    steps: IntArray,
    row: TokenArray,
    gold: TokenArray,
    reach: IntArray,
    inserted: NDArray[np.bool_],
) -> IntArray:
    """Return (n + 1, m + 1, 3) int64: the place before each place, and whether words change.

    The path has as many gold edits as possible, then as few steps outside of them, then as few
    other edits. An edit is any way through the lattice with few unchanged words.
    """
    n, m = source.size, hypothesis.size
    value = np.full((n + 1, m + 1), -(1 << 62), dtype=np.int64)
    back = np.full((n + 1, m + 1, 3), -1, dtype=np.int64)
    value[0, 0] = 0
    for i in range(n + 1):
        _mark_insertions(hypothesis, i, steps, row, gold, inserted)
        for j in range(m + 1):
            if value[i, j] == -(1 << 62):
                continue
            # (m + 1, UNCHANGED + 1) steps from here to the places of a row, by unchanged words.
            for last in range(i, n + 1):
                now, above = reach[last % 2], reach[(last + 1) % 2]
                some = False
                for k in range(j, m + 1):
                    step = steps[last, k]
                    for kept in range(UNCHANGED + 1):
                        least = 0 if last == i and k == j and kept == 0 else MOST
                        if k > j and step & INSERTED:
                            least = min(least, now[k - 1, kept] + 1)
                        if last > i and step & DELETED:
                            least = min(least, above[k, kept] + 1)
                        if last > i and k > j and step & DIAGONAL:
                            same = source[last - 1] == hypothesis[k - 1]
                            if kept >= same:
                                least = min(least, above[k - 1, kept - same] + 1)
                        now[k, kept] = least
                        some |= least < MOST
                    fewest = now[k].min()
                    if fewest == 0 or fewest >= MOST:
                        continue
                    changed = True
                    for kept in range(1, UNCHANGED + 1):
                        if now[k, kept] == kept == fewest and last - i == kept == k - j:
                            changed = False  # nothing but unchanged words
                    if not changed and fewest > 1:
                        continue
                    gain = -(fewest << 20) - changed
                    if changed and last == i:
                        if inserted[j, k]:
                            gain = 1 << 40
                    elif changed and _gold(hypothesis[j:k], i, last, row, gold, 0, 1) >= 0:
                        gain = 1 << 40
                    if value[i, j] + gain > value[last, k]:
                        value[last, k] = value[i, j] + gain
                        back[last, k, 0], back[last, k, 1], back[last, k, 2] = i, j, changed
                if not some:
                    break
    return back


@helper
def _mark_insertions(
    hypothesis: TokenArray,
    i: int,
    steps: IntArray,
    row: TokenArray,
    gold: TokenArray,
    inserted: NDArray[np.bool_],
) -> None:
    """Find the insertions before source position i that count as gold edits.

    Each gold edit is used once. As in the scorer, insertions are looked at from the left and from
    the right in turns, and after a match only those that join it.
    """
    m, some = hypothesis.size, False
    inserted[: m + 1, : m + 1] = False
    for e in range(gold.shape[0]):
        some |= gold[e, 0] == i and gold[e, 1] == i
    if not some:
        return
    arcs = np.empty(((m + 1) * m // 2, 2), dtype=np.int64)
    size = 0
    for j in range(m):
        k = j + 1
        while k <= m and steps[i, k] & INSERTED:
            arcs[size, 0], arcs[size, 1] = j, k
            size += 1
            k += 1
    low, high, left, right = 0, MOST, 0, size - 1
    at = left
    while left <= right:
        from_left = at == left
        j, k = arcs[at]
        found = _gold(hypothesis[j:k], i, i, row, gold, low, 1 if from_left else -1, high)
        if found < 0:
            if from_left:
                left, at = left + 1, right
            else:
                right, at = right - 1, left
            continue
        inserted[j, k] = True
        if from_left:
            low, left = found + 1, left + 1
            while left < size and arcs[left, 0] != k:
                left += 1
            at = left
        else:
            high, right = found - 1, right - 1
            while right >= 0 and arcs[right, 1] != j:
                right -= 1
            at = right


@helper
def _gold(
    words: TokenArray,
    first: int,
    last: int,
    row: TokenArray,
    gold: TokenArray,
    low: int,
    direction: int,
    high: int = MOST,
) -> int:
    """Return the number of the gold edit that an edit is, from low to high; -1 if it is none."""
    size = gold.shape[0]
    for place in range(size):
        e = place if direction > 0 else size - 1 - place
        if gold[e, 0] != first or gold[e, 1] != last or not low <= gold[e, 2] <= high:
            continue
        begin = gold[e, 3]
        if gold[e, 4] - begin == words.size:
            same = True
            for k in range(words.size):
                same &= row[begin + k] == words[k]
            if same:
                return int(gold[e, 2])
    return -1


@helper
def _counted(
    hypothesis: TokenArray, back: IntArray, row: TokenArray, gold: TokenArray, n: int
) -> tuple[int, int]:
    """Return the correct edits and all edits of a path; gold edits must come in their order."""
    path = np.empty((n + hypothesis.size + 1, 4), dtype=np.int64)
    i, j, size = n, hypothesis.size, 0
    while i > 0 or j > 0:
        before, start, changed = back[i, j]
        if changed:
            path[size, 0], path[size, 1], path[size, 2], path[size, 3] = before, i, start, j
            size += 1
        i, j = before, start
    correct, low = 0, 0
    for place in range(size - 1, -1, -1):
        words = hypothesis[path[place, 2] : path[place, 3]]
        while True:
            found = _gold(words, path[place, 0], path[place, 1], row, gold, low, 1)
            if found < 0:
                break
            correct, low = correct + 1, found + 1
    return correct, size
