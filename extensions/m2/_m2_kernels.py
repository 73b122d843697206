"""Computes the edits of corrected sentences that match gold edits at most.

After Dahlmeier and Ng (2012): docs/metrics/m2.md.
"""

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, TokenArray
from portmert.metrics.kernels.compiled import Segments, helper, kernel, longest_row

DIAGONAL, DELETED, INSERTED = 1, 2, 4
"""The last step of a cheapest path to a place of the lattice, as bits."""
BOTH = 8
"""A bit's factor: the step is in both lattices."""
UNCHANGED = 2
"""Words that are not changed in an edit, at most."""
MOST, TURN = 1 << 20, 1 << 52
"""More than the steps of any path, and than the entries of any list."""
EDIT = 0.001
"""What an edit that is not gold costs beside its steps."""


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
    scratch = np.zeros((longest, longest))
    for s in range(hypothesis_offsets.size - 1):
        row = golds[gold_offsets[s] : gold_offsets[s + 1]]
        # Two numbers stand before the words of the source.
        source, gold = row[2 : 2 + lengths[s]], edits[offsets[s] : offsets[s + 1]]
        for h in range(hypothesis_offsets[s], hypothesis_offsets[s + 1]):
            hypothesis = tokens[token_offsets[h] : token_offsets[h + 1]]
            steps = _lattice(source, hypothesis)
            back = _best_path(source, hypothesis, steps, row, gold, scratch)
            counts[h, 0], counts[h, 1] = _counted(hypothesis, back, row, gold, source.size)
            if gold.shape[0]:
                counts[h, 2] = gold[-1, 2] + 1
    return counts


@helper
def _lattice(source: TokenArray, hypothesis: TokenArray) -> IntArray:
    """Return (n + 1, m + 1) int64: the last steps of the cheapest paths through each place.

    A substitution costs 1 or 2; the lattices of both are united. `BOTH` times its bit tells that a
    step is in both.
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
                bits = 0
                if i > 0 and j > 0:
                    same = source[i - 1] == hypothesis[j - 1]
                    if least[i, j] == least[i - 1, j - 1] + (0 if same else cost):
                        bits |= DIAGONAL
                        passed[i - 1, j - 1] = True
                if i > 0 and least[i, j] == least[i - 1, j] + 1:
                    bits |= DELETED
                    passed[i - 1, j] = True
                if j > 0 and least[i, j] == least[i, j - 1] + 1:
                    bits |= INSERTED
                    passed[i, j - 1] = True
                steps[i, j] |= bits | (steps[i, j] & bits) * BOTH
    return steps


@helper
def _best_path(
    source: TokenArray,
    hypothesis: TokenArray,
    steps: IntArray,
    row: TokenArray,
    gold: TokenArray,
    inserted: FloatArray,
) -> IntArray:
    """Return (P, 2) int64: the place before each place, and whether words change between them.

    Place i * (m + 1) + j is before source word i and hypothesis word j. The path has as many gold
    edits as possible, then as few steps outside of them, then as few other edits. Of equal paths
    the scorer's is taken, as it depends on the order of its list of edits. The list begins with
    the single steps; one that is in both lattices is in the list twice. Then each place in turn
    is taken as the last but one of an edit. An edit for which fewer steps are found is listed
    again. Each entry of an edit that is not gold costs `EDIT`, in floating point. The scorer goes
    through the list in turns until nothing is better, and the path that is found first stays.
    """
    width = hypothesis.size + 1
    size = (source.size + 1) * width
    cost, entries = np.full(size, np.inf), 0.0
    back = np.full((size, 2), -1, dtype=np.int64)
    found_at = np.full(size, -1, dtype=np.int64)  # when the best way to a place is found
    # Of the edits that begin at one place: steps, unchanged words, and where they are in the list.
    least, unchanged = np.full(size, MOST, dtype=np.int64), np.zeros(size, dtype=np.int64)
    times, positions = np.zeros(size, dtype=np.int64), np.zeros((size, 3), dtype=np.int64)
    cost[0] = 0.0
    # Not literals, here and below: numba compiles a function for each one.
    first, forward, last_entry = np.int64(0), np.int64(1), np.int64(MOST)
    for visit in range(2 * size):
        counting, begin = visit < size, visit % size
        i, j = begin // width, begin % width
        if j == 0 and not counting:
            _weigh_insertions(hypothesis, i, steps, row, gold, inserted, entries)
        if begin > 0 and steps[i, j] == 0:
            continue
        least[begin], unchanged[begin], far, place = 0, 0, begin, begin
        while place <= far:
            last, k = place // width, place % width
            if least[place] < MOST and place > begin:
                # An edit needs more than unchanged words; of these, single steps are enough.
                changed = least[place] > unchanged[place] or last - i != unchanged[place] != k - j
                if counting:
                    entries += times[place] if changed or least[place] == 1 else 0
                elif changed or least[place] == 1:
                    loss = float(least[place])
                    if changed and last == i:
                        loss = inserted[j, k]
                    elif changed:
                        words = hypothesis[j:k]
                        if _gold(words, i, last, row, gold, first, forward, last_entry) >= 0:
                            loss = -entries
                        else:
                            for _ in range(times[place]):
                                loss += EDIT
                    loss += cost[begin]
                    earliest = 1 << 62
                    for at in positions[place, : times[place]]:
                        turn = max(found_at[begin], 0) // TURN * TURN + at
                        turn += 0 if turn > found_at[begin] else TURN
                        earliest = min(earliest, turn)
                    if loss < cost[place] or (loss == cost[place] and earliest < found_at[place]):
                        cost[place], found_at[place] = loss, earliest
                        back[place, 0], back[place, 1] = begin, changed
            for bit, down, right in ((INSERTED, 0, 1), (DELETED, 1, 0), (DIAGONAL, 1, 1)):
                if least[place] == MOST or last + down > source.size or k + right >= width:
                    continue
                after = place + down * width + right
                step = steps[last + down, k + right]
                if not step & bit or least[place] + 1 >= least[after]:
                    continue
                same = bit == DIAGONAL and source[last] == hypothesis[k]
                if unchanged[place] + same > UNCHANGED:
                    continue
                least[after], unchanged[after] = least[place] + 1, unchanged[place] + same
                if place == begin:
                    times[after] = 2 if step & (bit * BOTH) else 1
                    positions[after, :] = begin * size + after
                else:
                    positions[after, times[after]] = ((place + 1) * size + begin) * size + after
                    times[after] += 1
                far = max(far, after)
            least[place], times[place] = MOST, 0
            place += 1
    return back


@helper
def _weigh_insertions(
    hypothesis: TokenArray,
    i: int,
    steps: IntArray,
    row: TokenArray,
    gold: TokenArray,
    inserted: FloatArray,
    entries: float,
) -> None:
    """Set what each insertion before source position i costs; a gold edit costs -`entries`.

    Each gold edit is used once. As in the scorer, insertions are looked at from the left and from
    the right in turns, and after a match only those that join it. Those in both lattices are in
    the list twice.
    """
    m = hypothesis.size
    arcs = np.empty(((m + 3) * m // 2, 2), dtype=np.int64)
    size = 0
    for j in range(m):
        k = j + 1
        while k <= m and steps[i, k] & INSERTED:
            inserted[j, k] = k - j
            for _ in range(2 if k == j + 1 and steps[i, k] & (INSERTED * BOTH) else 1):
                arcs[size, 0], arcs[size, 1] = j, k
                size += 1
            k += 1
    low, high, left, right = np.int64(0), np.int64(MOST), 0, size - 1
    at = left
    while left <= right:
        from_left = at == left
        j, k = arcs[at]
        direction = np.int64(1 if from_left else -1)
        entry = _gold(hypothesis[j:k], i, i, row, gold, low, direction, high)
        if entry < 0:
            inserted[j, k] += EDIT
            if from_left:
                left, at = left + 1, right
            else:
                right, at = right - 1, left
            continue
        inserted[j, k] = -entries
        if from_left:
            low, left = entry + 1, left + 1
            while left < size and arcs[left, 0] != k:
                inserted[arcs[left, 0], arcs[left, 1]] += EDIT
                left += 1
            at = left
        else:
            high, right = entry - 1, right - 1
            while right >= 0 and arcs[right, 1] != j:
                inserted[arcs[right, 0], arcs[right, 1]] += EDIT
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
    high: int,
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
    path = np.empty((n + hypothesis.size, 4), dtype=np.int64)
    width, place, size = hypothesis.size + 1, back.shape[0] - 1, 0
    while place > 0:
        before, changed = back[place]
        if changed:
            path[size, 0], path[size, 1] = before // width, place // width
            path[size, 2], path[size, 3] = before % width, place % width
            size += 1
        place = before
    correct, low, forward, high = 0, np.int64(0), np.int64(1), np.int64(MOST)
    for place in range(size - 1, -1, -1):
        words = hypothesis[path[place, 2] : path[place, 3]]
        while True:
            entry = _gold(words, path[place, 0], path[place, 1], row, gold, low, forward, high)
            if entry < 0:
                break
            correct, low = correct + 1, entry + 1
    return correct, size
