"""Compares word orders: from links to permutations, and how alike two of them are."""

import numpy as np

from .._base import FloatArray, IntArray, TokenArray
from .compiled import helper, kernel

V, V1, V2, RHO, DISCORDANCE, AGREEMENT = range(6)
"""The values of `measure` in `compare_orders`."""
MEASURES = {"v": V, "v1": V1, "v2": V2}
"""Those of the PORT paper."""


@kernel
def permutations(
    links: TokenArray,
    link_offsets: IntArray,
    source_lengths: IntArray,
    target_lengths: IntArray,
    plus_one: bool,
    rank: bool,
) -> tuple[TokenArray, int]:
    """Turn the links of each text into the order in which the target meets the source words.

    Parameters
    ----------
    links : (L, 2) int32
        Source and target positions, in any order.
    link_offsets : (T + 1,) int64
        Links of text t are `links[link_offsets[t]:link_offsets[t + 1]]`.
    source_lengths, target_lengths : (T,) int64
    plus_one
        An unaligned word stands one target position after the previous source word, not at the
        same position.
    rank
        Return the inverse: for each source word its rank in target order.

    Returns
    -------
    orders : (sum of source_lengths,) int32
        One permutation of 0..n-1 after the other.
    fault : int
        The first link outside its sentence, as an index into `links`; -1 if there is none. With
        a fault the orders mean nothing.
    """
    longest_source, longest_target, total = 0, 0, 0
    for t in range(source_lengths.size):
        longest_source = max(longest_source, source_lengths[t])
        longest_target = max(longest_target, target_lengths[t])
        total += source_lengths[t]
    orders = np.empty(total, dtype=np.int32)
    positions = np.empty(longest_source, dtype=np.int64)
    # Positions run from -1 (before all) to the last target word, or with `plus_one` beyond it.
    starts = np.empty(longest_target + longest_source + 2, dtype=np.int64)
    base = 0
    for t in range(source_lengths.size):
        n, m = source_lengths[t], target_lengths[t]
        positions[:n] = m  # no link yet
        for k in range(link_offsets[t], link_offsets[t + 1]):
            i, j = links[k, 0], links[k, 1]
            if i < 0 or i >= n or j < 0 or j >= m:
                return orders, k
            positions[i] = min(positions[i], j)
        highest = m + n if plus_one else m
        starts[: highest + 2] = 0
        previous = -1
        for i in range(n):
            if positions[i] == m:
                positions[i] = previous + 1 if plus_one and previous >= 0 else previous
            previous = positions[i]
            starts[previous + 2] += 1
        for p in range(1, highest + 1):
            starts[p] += starts[p - 1]
        # starts[p + 1] is now the number of words at positions below p: counting sort, stable.
        for i in range(n):
            p = positions[i] + 1
            if rank:
                orders[base + i] = starts[p]
            else:
                orders[base + starts[p]] = i
            starts[p] += 1
        base += n
    return orders, -1


@helper
def _ordering_v(a: TokenArray, b: TokenArray, measure: int) -> float:
    """v1, v2 or their harmonic mean (PORT paper, equations 11 to 15)."""
    n = a.size
    if n < 2:
        return 1.0
    distance, jumps, before = 0, 0, 0
    for i in range(n):
        apart = a[i] - b[i]
        distance += abs(apart)
        jumps += abs(apart - before)
        before = apart
    v1 = 1.0 - distance / (n * (n + 1) / 2)
    v2 = 1.0 - jumps / (n * n - 1)
    if measure == V:
        return 2.0 * v1 * v2 / (v1 + v2)  # v1 is never 0
    return v1 if measure == V1 else v2


@helper
def _spearman_rho(a: TokenArray, b: TokenArray) -> float:
    n = a.size
    if n < 2:
        return 1.0
    squares = 0.0
    for i in range(n):
        apart = float(a[i] - b[i])
        squares += apart * apart
    return 1.0 - 6.0 * squares / (n * (n * n - 1.0))


@helper
def _discordant_share(a: TokenArray, b: TokenArray, image: IntArray, tree: IntArray) -> float:
    """Share of the pairs (i, j) with a[i] < a[j] and b[i] > b[j]. Modifies `image` and `tree`."""
    n = a.size
    if n < 2:
        return 0.0
    for i in range(n):
        image[a[i]] = b[i]
    tree[:n] = 0  # Fenwick tree: how many values below x stand further right
    inversions = 0
    for i in range(n - 1, -1, -1):
        x = image[i]
        while x > 0:
            inversions += tree[x]
            x -= x & -x
        x = image[i] + 1
        while x < n:
            tree[x] += 1
            x += x & -x
    return float(inversions / (n * (n - 1) / 2))


@helper
def _agreeing_share(a: TokenArray, b: TokenArray) -> float:
    n = a.size
    if n == 0:
        return 1.0
    same = 0
    for i in range(n):
        if a[i] == b[i]:
            same += 1
    return same / n


@kernel
def compare_orders(
    orders: TokenArray,
    offsets: IntArray,
    reference_orders: TokenArray,
    reference_offsets: IntArray,
    source_lengths: IntArray,
    measure: int,
) -> FloatArray:
    """Compare the order of each hypothesis with that of each reference of its segment.

    Parameters
    ----------
    orders, reference_orders : int32
        Permutations of all hypotheses and references, segment by segment (see `permutations`).
    offsets, reference_offsets : (S + 1,) int64
        Hypotheses and references of each segment.
    source_lengths : (S,) int64
        n, the length of each permutation of the segment.
    measure
        V, V1, V2, RHO (-1..1), DISCORDANCE (share of discordant pairs) or AGREEMENT (share of
        equal entries).

    Returns
    -------
    (P,) float64
        All pairs, hypothesis by hypothesis, its references in order.
    """
    pairs, longest = 0, 0
    for s in range(source_lengths.size):
        pairs += (offsets[s + 1] - offsets[s]) * (reference_offsets[s + 1] - reference_offsets[s])
        longest = max(longest, source_lengths[s])
    values = np.empty(pairs)
    image, tree = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    at, base, reference_base = 0, 0, 0
    for s in range(source_lengths.size):
        n = source_lengths[s]
        references = reference_offsets[s + 1] - reference_offsets[s]
        for _ in range(offsets[s], offsets[s + 1]):
            a = orders[base : base + n]
            for r in range(references):
                b = reference_orders[reference_base + r * n : reference_base + (r + 1) * n]
                if measure <= V2:
                    values[at] = _ordering_v(a, b, measure)
                elif measure == RHO:
                    values[at] = _spearman_rho(a, b)
                elif measure == DISCORDANCE:
                    values[at] = _discordant_share(a, b, image, tree)
                else:
                    values[at] = _agreeing_share(a, b)
                at += 1
            base += n
        reference_base += references * n
    return values
