"""Compiled loops that search lines; they take and return arrays and numbers only.

Each reads one segment's hypotheses at a time, so that a second pass finds them in the
processor's first cache. `features` is feature-major, (F, H): a feature's column is contiguous.
No fastmath: the arithmetic is the same, to the last bit, wherever a line is evaluated.
"""

import numpy as np

from portmert.metrics._base import FloatArray, IntArray
from portmert.metrics.kernels.compiled import borrower, helper, kernel, longest_row

BLOCK = 1 << 12
"""Hypotheses whose slopes are computed at once."""


@borrower
def _crossing(
    slopes: FloatArray, intercepts: FloatArray, left: int, right: int
) -> tuple[float, float]:
    """Return where two lines cross and how high; a crossing beyond float64 is infinitely high."""
    step = (intercepts[left] - intercepts[right]) / (slopes[right] - slopes[left])
    height = max(slopes[left] * step + intercepts[left], slopes[right] * step + intercepts[right])
    if not np.isfinite(height):
        return 0.0, np.inf
    return step, height


@borrower
def _above(
    slopes: FloatArray, intercepts: FloatArray, ends: tuple[int, int], lines: IntArray, size: int
) -> tuple[int, int]:
    """Keep the lines above the crossing of two in `lines`; return highest (or -1), count."""
    step, crossing = _crossing(slopes, intercepts, ends[0], ends[1])
    count, middle, best = 0, -1, crossing
    for n in range(size):
        i = lines[n]
        value = slopes[i] * step + intercepts[i]
        lines[count] = i
        count += value > crossing
        if value > best:
            middle, best = i, value
    return middle, count


@borrower
def _highest(
    slopes: FloatArray, intercepts: FloatArray, begin: int, end: int, window: tuple[float, float]
) -> tuple[int, int, int]:
    """Return which of some lines is highest at the left end, at the right one, and in between."""
    low, high = window
    center = 0.0 if low < 0.0 < high else (low + high) / 2
    left = right = middle = begin
    at_low = slopes[begin] * low + intercepts[begin]
    at_high = slopes[begin] * high + intercepts[begin]
    at_center = slopes[begin] * center + intercepts[begin]
    for i in range(begin + 1, end):
        value = slopes[i] * low + intercepts[i]
        if value >= at_low and (value > at_low or slopes[i] > slopes[left]):
            left, at_low = i, value
        value = slopes[i] * high + intercepts[i]
        if value >= at_high and (value > at_high or slopes[i] < slopes[right]):
            right, at_high = i, value
        value = slopes[i] * center + intercepts[i]
        if value > at_center:
            middle, at_center = i, value
    return left, right, middle


@borrower
def _segment_envelope(
    slopes: FloatArray,
    intercepts: FloatArray,
    lines_at: tuple[int, int],
    window: tuple[float, float],
    winners: IntArray,
    starts: FloatArray,
    first: int,
    work: tuple[IntArray, IntArray, IntArray, IntArray, IntArray],
) -> int:
    """Find which line intercepts[i] + step * slopes[i] is highest, from which step on.

    The highest lines at both ends of the window are winners. Whatever wins between two winners
    is above their crossing (its differences to them are monotone), so only the lines above it
    are looked at again, and the highest of those is the next winner: quickhull in the dual plane.
    Most lines are dropped in the first pass; nothing is sorted.

    If lines are equal, the first wins. A line that only touches the envelope in a point does not.

    Parameters
    ----------
    slopes, intercepts : (H,) float64, finite
    lines_at : (begin, end)
        The lines of the segment, one at least.
    window : (low, high), finite, low < high
        The steps of interest.
    winners : int64
        Modified in place: M entries from `first` on become the winners from left to right.
    starts : float64
        Modified in place: winner m wins from `starts[m]` on; the first is `low`.
    work : five int64, longer than the segment
        Modified in place.

    Returns
    -------
    int
        M, the number of winners.
    """
    low, high = window
    begin, end = lines_at
    left, right, middle = _highest(slopes, intercepts, begin, end, window)
    winners[first] = left
    starts[first] = low
    if slopes[left] >= slopes[right]:
        return 1
    lines, spare, rights, begins, middles = work
    if not slopes[left] < slopes[middle] < slopes[right]:
        middle = -1
    size = end - begin
    for n in range(size):
        lines[n] = begin + n
    # A stack of gaps: between the last winner found and `rights[depth]` only the lines from
    # `begins[depth]` to the next gap's begin are above the crossing; `middles[depth]` is a
    # winner among them, -1 if there is none. The first gap holds all lines.
    depth, winner_count, end = 0, first + 1, size
    rights[0], begins[0], middles[0] = right, 0, middle
    if middle < 0:
        middles[0], end = _above(slopes, intercepts, (left, right), lines, size)
    while depth >= 0:
        right, begin, middle = rights[depth], begins[depth], middles[depth]
        if middle < 0 or not slopes[left] < slopes[middle] < slopes[right]:
            winners[winner_count] = right
            winner_count += 1
            left = right
            end = begin
            depth -= 1
            continue
        left_step, left_crossing = _crossing(slopes, intercepts, left, middle)
        right_step, right_crossing = _crossing(slopes, intercepts, middle, right)
        left_count, left_middle, left_best = 0, -1, left_crossing
        right_end, right_middle, right_best = begin, -1, right_crossing
        for n in range(begin, end):
            # Without branches, as these would be unpredictable: write, then keep or overwrite.
            i = lines[n]
            value = slopes[i] * left_step + intercepts[i]
            spare[left_count] = i
            above_left = value > left_crossing
            left_count += above_left
            if value > left_best:
                left_middle, left_best = i, value
            value = slopes[i] * right_step + intercepts[i]
            lines[right_end] = i
            # Above both is none but by rounding; once, or there are more lines than places.
            right_end += (value > right_crossing) & (1 - above_left)
            if value > right_best:
                right_middle, right_best = i, value
        for n in range(left_count):
            lines[right_end + n] = spare[n]
        middles[depth] = right_middle
        depth += 1
        rights[depth], begins[depth], middles[depth] = middle, right_end, left_middle
        end = right_end + left_count
    # Rounding can leave a winner an interval that is empty or outside the window: drop it.
    envelope_size = first + 1
    for m in range(first + 1, winner_count):
        i = winners[m]
        start = low
        while envelope_size > first:
            top = winners[envelope_size - 1]
            start = (intercepts[top] - intercepts[i]) / (slopes[i] - slopes[top])
            if start > starts[envelope_size - 1]:
                break
            envelope_size -= 1
            start = low
        if start < high:
            winners[envelope_size] = i
            starts[envelope_size] = start
            envelope_size += 1
    return envelope_size - first


@kernel
def segment_envelope(
    slopes: FloatArray,
    intercepts: FloatArray,
    window: tuple[float, float],
    winners: IntArray,
    starts: FloatArray,
    work: tuple[IntArray, IntArray, IntArray, IntArray, IntArray],
) -> int:
    """Find the envelope of (N,) lines, see `_segment_envelope`; winners and starts from 0 on."""
    at = 0, slopes.size
    size: int = _segment_envelope(slopes, intercepts, at, window, winners, starts, 0, work)
    return size


@helper
def _add_columns(
    features: FloatArray, columns: IntArray, values: FloatArray, a: int, b: int, out: FloatArray
) -> None:
    """Add values . features of hypotheses a..b-1 to `out`; four columns a pass, in order."""
    d = 0
    while d + 4 <= columns.size:
        v0, v1, v2, v3 = values[d], values[d + 1], values[d + 2], values[d + 3]
        c0, c1 = features[columns[d], a:b], features[columns[d + 1], a:b]
        c2, c3 = features[columns[d + 2], a:b], features[columns[d + 3], a:b]
        for i in range(b - a):
            out[i] = (((out[i] + v0 * c0[i]) + v1 * c1[i]) + v2 * c2[i]) + v3 * c3[i]
        d += 4
    while d < columns.size:
        v0, c0 = values[d], features[columns[d], a:b]
        for i in range(b - a):
            out[i] += v0 * c0[i]
        d += 1


@kernel
def weighted_sums(
    features: FloatArray,
    columns: IntArray,
    weights: FloatArray,
    fixed: FloatArray,
    out: FloatArray,
) -> None:
    """Compute fixed + weights . features[columns] of every hypothesis.

    `fixed` is (H,), or empty for 0; `out` (H,) is modified in place.
    """
    for begin in range(0, out.size, BLOCK):
        end = min(begin + BLOCK, out.size)
        block = out[begin:end]
        for i in range(end - begin):
            block[i] = fixed[begin + i] if fixed.size else 0.0
        _add_columns(features, columns, weights, begin, end, block)


@kernel
def first_maxima(scores: FloatArray, offsets: IntArray) -> IntArray:
    """Return the (S,) hypothesis of highest score in each segment; of equal ones the first."""
    best = np.empty(offsets.size - 1, dtype=np.int64)
    for s in range(offsets.size - 1):
        top = offsets[s]
        for i in range(offsets[s] + 1, offsets[s + 1]):
            if scores[i] > scores[top]:
                top = i
        best[s] = top
    return best


@kernel
def envelopes(
    features: FloatArray,
    offsets: IntArray,
    columns: IntArray,
    direction: FloatArray,
    scores: FloatArray,
    window: tuple[float, float],
    work: tuple[FloatArray, IntArray, FloatArray],
) -> int:
    """Find which hypotheses win their segment along a line through feature weights.

    Parameters
    ----------
    features : (F, H) float64
    offsets : (S + 1,) int64
        The offsets of all segments, or of some in a row.
    columns, direction : (D,), D >= 1
        The direction's non-zero entries: which feature, and its change per unit step.
    scores : (H,) float64
        Model scores at step 0.
    window : (low, high)
        The steps of interest.
    work : (slopes, winners, starts), (H,) each
        Modified in place. `slopes`: change of each model score per unit step. The others: one
        entry a winner, segment by segment, from left to right: the hypothesis, and the step from
        which on it wins; the first of each segment starts at `low`, the others above it.

    Returns
    -------
    int
        Number of winners; without the first of each segment, the number of breakpoints.
    """
    slopes, winners, starts = work
    rows = np.empty((5, longest_row(offsets) + 1), dtype=np.int64)
    buffers = (rows[0], rows[1], rows[2], rows[3], rows[4])
    count, end = 0, offsets[0]
    for s in range(offsets.size - 1):
        a, b = offsets[s], offsets[s + 1]
        if b > end:
            begin, end = end, max(b, min(end + BLOCK, offsets[-1]))
            slopes[begin:end] = 0.0
            _add_columns(features, columns, direction, begin, end, slopes[begin:end])
        if b - a == 1:  # near given weights most have one hypothesis left
            winners[count], starts[count] = a, window[0]
            count += 1
            continue
        count += _segment_envelope(slopes, scores, (a, b), window, winners, starts, count, buffers)
    return count


@kernel
def cumulate(table: FloatArray, order: IntArray, segments: int) -> FloatArray:
    """Sum the winners' statistics before the first breakpoint and after each.

    Parameters
    ----------
    table : (W, K) float64
        Statistics of all winners, segment by segment, from left to right.
    order : (W,) int64
        Winners by the step from which on they win; the first `segments` are each segment's first.

    Returns
    -------
    (W - segments + 1, K) float64
    """
    size = table.shape[1]
    sums = np.zeros((order.size - segments + 1, size))
    for n in range(segments):
        for k in range(size):
            sums[0, k] += table[order[n], k]
    for n in range(segments, order.size):
        row, winner = n - segments, order[n]
        for k in range(size):
            sums[row + 1, k] = sums[row, k] + (table[winner, k] - table[winner - 1, k])
    return sums


@kernel
def total(table: FloatArray) -> FloatArray:
    """Return the (K,) sum of the rows of a table (n, K), one after the other."""
    out = np.zeros(table.shape[1])
    for n in range(table.shape[0]):
        for k in range(out.size):
            out[k] += table[n, k]
    return out


@kernel
def best_interval(
    ends: FloatArray, values: FloatArray, tie: float, outer: float, narrow: float
) -> tuple[float, float]:
    """Return the middle of the best interval nearest to step 0, and its value.

    Parameters
    ----------
    ends : (B + 2,) float64
        Ends of the intervals, from left to right.
    values : (B + 1,) float64
    tie : float
        Values that are less apart than this share of the largest finite one are equal.
    outer : float
        The outermost intervals are entered by at most this much beyond the outermost breakpoint.
    narrow : float
        Intervals that are no wider count as empty; there must be a wider one.
    """
    best, last, largest = -np.inf, values.size - 1, 0.0
    for i in range(values.size):
        if values[i] > best and ends[i + 1] > ends[i] + narrow:
            best = values[i]
        if np.isfinite(values[i]):
            largest = max(largest, abs(values[i]))
    step, value = np.inf, best
    for i in range(values.size):
        if values[i] < best - tie * largest or not ends[i + 1] > ends[i] + narrow:
            continue
        middle = (ends[i] + ends[i + 1]) / 2
        if i == 0 and last == 0:
            middle = 0.0
        elif i == 0:
            middle = max(middle, ends[1] - outer)
        elif i == last:
            middle = min(middle, ends[last] + outer)
        if abs(middle) < abs(step):
            step, value = middle, values[i]
    return step, value


@kernel
def deviations(features: FloatArray, offsets: IntArray, spread: FloatArray) -> FloatArray:
    """Return how far hypotheses `offsets[0]:offsets[-1]` are from their segment's mean.

    The distance is that of features / spread.
    """
    out = np.zeros(offsets[-1] - offsets[0])
    for s in range(offsets.size - 1):
        a, b = offsets[s], offsets[s + 1]
        for f in range(features.shape[0]):
            mean, scale = 0.0, 1.0 / spread[f]
            for i in range(a, b):
                mean += features[f, i]
            mean /= b - a
            for i in range(a, b):
                difference = (features[f, i] - mean) * scale
                out[i - offsets[0]] += difference * difference
    for i in range(out.size):
        out[i] = np.sqrt(out[i])
    return out


@kernel
def reachable(
    features: FloatArray,
    offsets: IntArray,
    scores: FloatArray,
    spread: FloatArray,
    deviation: FloatArray,
    radius: float,
) -> IntArray:
    """Return the hypotheses that can win their segment within `radius` of the current weights.

    Hypothesis i can overtake the winner b only where the weights' change, measured in units of
    1 / spread, is at least (score_b - score_i) / |(features_i - features_b) / spread| (Cauchy
    and Schwarz). That distance is at most the sum of both deviations from the segment's mean,
    which settles most hypotheses without a look at their features. Nothing that can win is left
    out; rounding is allowed for.
    """
    best = first_maxima(scores, offsets)
    candidates = np.empty(offsets[-1] - offsets[0], dtype=np.int64)
    count = 0
    for s in range(offsets.size - 1):
        top = best[s]
        slack = 1e-9 * (1.0 + abs(scores[top]))
        reach = radius * (1.0 + 1e-9)
        begin = count
        for i in range(offsets[s], offsets[s + 1]):
            candidates[count] = i
            count += scores[top] - scores[i] <= reach * (deviation[i] + deviation[top]) + slack
        near, count = count, begin
        for n in range(begin, near):
            i = candidates[n]
            square = 0.0
            for f in range(features.shape[0]):
                difference = (features[f, i] - features[f, top]) / spread[f]
                square += difference * difference
            candidates[count] = i
            count += scores[top] - scores[i] <= reach * np.sqrt(square) + slack
    return candidates[:count].copy()
